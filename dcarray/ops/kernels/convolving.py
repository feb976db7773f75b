"""Convolutions and their gradients: each element of a result is a sum of its own.

Positions have three axes, of length 1 where an array has fewer.  Operands are seen as
(batch, channels, positions), weights as (channels out, channels in of a group, kernel),
with any strides; results are C-contiguous, with the channels before the positions or
(``last``) behind them.  What describes the window are 12 numbers, the last ones of each
kernel: see `Window.numbers`.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np

from ...kernel import nodes
from ...kernel.grid import (
    barrier,
    global_id,
    global_size,
    group_count,
    group_id,
    local_id,
    shared,
)
from ...kernel.language import Scalar, truncate_divide, truncate_remainder
from .products import sums_in
from .searching import array, built

__all__ = [
    "Window",
    "convolution_kernel",
    "input_gradient_kernel",
    "position",
    "stepped",
    "weight_gradient_kernel",
]

DType = np.dtype[Any]
Triple = tuple[int, int, int]


@dataclass(frozen=True, slots=True)
class Window:
    """A window over three axes of positions."""

    kernel: Triple
    stride: Triple
    low: Triple
    dilation: Triple

    def numbers(self) -> tuple[int, ...]:
        """Sizes, strides, what lies before the array, and dilations, by axis."""
        return (*self.kernel, *self.stride, *self.low, *self.dilation)


def position(
    flat: Scalar, channels: Scalar, n_0: Scalar, n_1: Scalar, n_2: Scalar, last: bool
) -> tuple[Scalar, Scalar, Scalar, Scalar, Scalar]:
    """Image, channel and position of an element, in the kernel language.

    ``last`` says that the channels are the fastest axis.
    """
    rest = truncate_divide(flat, channels) if last else flat
    i_2 = truncate_remainder(rest, n_2)
    rest = truncate_divide(rest, n_2)
    i_1 = truncate_remainder(rest, n_1)
    rest = truncate_divide(rest, n_1)
    i_0 = truncate_remainder(rest, n_0)
    rest = truncate_divide(rest, n_0)
    channel = truncate_remainder(flat if last else rest, channels)
    image = rest if last else truncate_divide(rest, channels)
    return image, channel, i_0, i_1, i_2


def stepped(far: Scalar, step: Scalar) -> Scalar:
    """``far / step``, in the kernel language; 64-bit divisions are slow."""
    found = far
    if step != 1:
        found = truncate_divide(far, step)
    return found


@cache
def convolution_kernel(
    first: DType, second: DType, result: DType, last: bool
) -> nodes.Kernel:
    """``y[o] = sum of x[o * stride + tap * dilation - low] * w[tap]``.

    Parameters are x, w, y, and: the elements of y, its channels, its positions (3),
    those of x (3), channels of a group of y and of x, the offset and the strides (5) of
    x and of w, and the window.
    """
    number, sum_of = result.type, sums_in(result).type

    def convolution(
        x: Scalar,
        w: Scalar,
        y: Scalar,
        count: Scalar,
        channels: Scalar,
        y_0: Scalar,
        y_1: Scalar,
        y_2: Scalar,
        x_0: Scalar,
        x_1: Scalar,
        x_2: Scalar,
        outs: Scalar,
        ins: Scalar,
        x_offset: Scalar,
        x_batch: Scalar,
        x_channel: Scalar,
        x_step_0: Scalar,
        x_step_1: Scalar,
        x_step_2: Scalar,
        w_offset: Scalar,
        w_out: Scalar,
        w_in: Scalar,
        w_step_0: Scalar,
        w_step_1: Scalar,
        w_step_2: Scalar,
        size_0: Scalar,
        size_1: Scalar,
        size_2: Scalar,
        step_0: Scalar,
        step_1: Scalar,
        step_2: Scalar,
        low_0: Scalar,
        low_1: Scalar,
        low_2: Scalar,
        wide_0: Scalar,
        wide_1: Scalar,
        wide_2: Scalar,
    ) -> None:
        for flat in range(global_id(0), count, global_size(0)):
            image, channel, i_0, i_1, i_2 = position(
                flat, channels, y_0, y_1, y_2, last
            )
            from_x = x_offset + image * x_batch
            from_x = from_x + truncate_divide(channel, outs) * ins * x_channel
            from_w = w_offset + channel * w_out
            total = sum_of(0)
            for tap_0 in range(size_0):
                at_0 = i_0 * step_0 + tap_0 * wide_0 - low_0
                if at_0 >= 0 and at_0 < x_0:
                    for tap_1 in range(size_1):
                        at_1 = i_1 * step_1 + tap_1 * wide_1 - low_1
                        if at_1 >= 0 and at_1 < x_1:
                            for tap_2 in range(size_2):
                                at_2 = i_2 * step_2 + tap_2 * wide_2 - low_2
                                if at_2 >= 0 and at_2 < x_2:
                                    of_x = from_x + at_0 * x_step_0
                                    of_x = of_x + at_1 * x_step_1 + at_2 * x_step_2
                                    of_w = from_w + tap_0 * w_step_0
                                    of_w = of_w + tap_1 * w_step_1 + tap_2 * w_step_2
                                    for k in range(ins):
                                        one = sum_of(x[of_x + k * x_channel])
                                        other = sum_of(w[of_w + k * w_in])
                                        total = total + one * other
            y[flat] = number(total)

    return built(
        convolution, array(first), array(second), array(result, True), numbers=34
    )


@cache
def input_gradient_kernel(
    first: DType, second: DType, result: DType, last: bool
) -> nodes.Kernel:
    """The adjoint of `convolution_kernel` in x: each element of the result gathers the
    windows that meet it.

    Parameters are the gradient, w, the result, and: the elements of the result, its
    channels, its positions (3), those of the gradient (3), channels of a group of the
    gradient and of the result, the offset and the strides (5) of the gradient and of w,
    and the window.
    """
    number, sum_of = result.type, sums_in(result).type

    def input_gradient(
        g: Scalar,
        w: Scalar,
        x: Scalar,
        count: Scalar,
        channels: Scalar,
        x_0: Scalar,
        x_1: Scalar,
        x_2: Scalar,
        g_0: Scalar,
        g_1: Scalar,
        g_2: Scalar,
        outs: Scalar,
        ins: Scalar,
        g_offset: Scalar,
        g_batch: Scalar,
        g_channel: Scalar,
        g_step_0: Scalar,
        g_step_1: Scalar,
        g_step_2: Scalar,
        w_offset: Scalar,
        w_out: Scalar,
        w_in: Scalar,
        w_step_0: Scalar,
        w_step_1: Scalar,
        w_step_2: Scalar,
        size_0: Scalar,
        size_1: Scalar,
        size_2: Scalar,
        step_0: Scalar,
        step_1: Scalar,
        step_2: Scalar,
        low_0: Scalar,
        low_1: Scalar,
        low_2: Scalar,
        wide_0: Scalar,
        wide_1: Scalar,
        wide_2: Scalar,
    ) -> None:
        for flat in range(global_id(0), count, global_size(0)):
            image, channel, i_0, i_1, i_2 = position(
                flat, channels, x_0, x_1, x_2, last
            )
            group = truncate_divide(channel, ins)
            from_g = g_offset + image * g_batch + group * outs * g_channel
            from_w = w_offset + group * outs * w_out
            from_w = from_w + truncate_remainder(channel, ins) * w_in
            total = sum_of(0)
            for tap_0 in range(size_0):
                far_0 = i_0 + low_0 - tap_0 * wide_0
                at_0 = stepped(far_0, step_0)
                if far_0 >= 0 and at_0 < g_0 and at_0 * step_0 == far_0:
                    for tap_1 in range(size_1):
                        far_1 = i_1 + low_1 - tap_1 * wide_1
                        at_1 = stepped(far_1, step_1)
                        if far_1 >= 0 and at_1 < g_1 and at_1 * step_1 == far_1:
                            for tap_2 in range(size_2):
                                far_2 = i_2 + low_2 - tap_2 * wide_2
                                at_2 = stepped(far_2, step_2)
                                if far_2 >= 0 and at_2 < g_2 and at_2 * step_2 == far_2:
                                    of_g = from_g + at_0 * g_step_0
                                    of_g = of_g + at_1 * g_step_1 + at_2 * g_step_2
                                    of_w = from_w + tap_0 * w_step_0
                                    of_w = of_w + tap_1 * w_step_1 + tap_2 * w_step_2
                                    for k in range(outs):
                                        one = sum_of(g[of_g + k * g_channel])
                                        other = sum_of(w[of_w + k * w_out])
                                        total = total + one * other
            x[flat] = number(total)

    return built(
        input_gradient, array(first), array(second), array(result, True), numbers=34
    )


@cache
def weight_gradient_kernel(
    first: DType, second: DType, result: DType, items: int
) -> nodes.Kernel:
    """The adjoint of `convolution_kernel` in w: a group adds up an element, each work
    item some of the positions; the order of the sums is always the same.

    Parameters are x, the gradient, the result, and: its elements, images, positions of
    x (3) and of the gradient (3), channels of a group of the gradient and of x, the
    offset and the strides (5) of x and of the gradient, and the window.
    """
    number, sums = result.type, sums_in(result)
    sum_of = sums.type
    halves = tuple([items >> k for k in range(1, items.bit_length())])

    def weight_gradient(
        x: Scalar,
        g: Scalar,
        w: Scalar,
        count: Scalar,
        images: Scalar,
        x_0: Scalar,
        x_1: Scalar,
        x_2: Scalar,
        g_0: Scalar,
        g_1: Scalar,
        g_2: Scalar,
        outs: Scalar,
        ins: Scalar,
        x_offset: Scalar,
        x_batch: Scalar,
        x_channel: Scalar,
        x_step_0: Scalar,
        x_step_1: Scalar,
        x_step_2: Scalar,
        g_offset: Scalar,
        g_batch: Scalar,
        g_channel: Scalar,
        g_step_0: Scalar,
        g_step_1: Scalar,
        g_step_2: Scalar,
        size_0: Scalar,
        size_1: Scalar,
        size_2: Scalar,
        step_0: Scalar,
        step_1: Scalar,
        step_2: Scalar,
        low_0: Scalar,
        low_1: Scalar,
        low_2: Scalar,
        wide_0: Scalar,
        wide_1: Scalar,
        wide_2: Scalar,
    ) -> None:
        tile = shared(sums, items)
        lane = local_id(0)
        for flat in range(group_id(0), count, group_count(0)):
            tap_2 = truncate_remainder(flat, size_2)
            rest = truncate_divide(flat, size_2)
            tap_1 = truncate_remainder(rest, size_1)
            rest = truncate_divide(rest, size_1)
            tap_0 = truncate_remainder(rest, size_0)
            rest = truncate_divide(rest, size_0)
            channel = truncate_divide(rest, ins)
            source = truncate_divide(channel, outs) * ins
            source = source + truncate_remainder(rest, ins)
            from_x = x_offset + source * x_channel
            from_g = g_offset + channel * g_channel
            total = sum_of(0)
            for k in range(lane, images * g_0 * g_1 * g_2, items):
                i_2 = truncate_remainder(k, g_2)
                left = truncate_divide(k, g_2)
                i_1 = truncate_remainder(left, g_1)
                left = truncate_divide(left, g_1)
                i_0 = truncate_remainder(left, g_0)
                image = truncate_divide(left, g_0)
                at_0 = i_0 * step_0 + tap_0 * wide_0 - low_0
                at_1 = i_1 * step_1 + tap_1 * wide_1 - low_1
                at_2 = i_2 * step_2 + tap_2 * wide_2 - low_2
                inside = at_0 >= 0 and at_0 < x_0 and at_1 >= 0 and at_1 < x_1
                if inside and at_2 >= 0 and at_2 < x_2:
                    of_x = from_x + image * x_batch + at_0 * x_step_0
                    of_x = of_x + at_1 * x_step_1 + at_2 * x_step_2
                    of_g = from_g + image * g_batch + i_0 * g_step_0
                    of_g = of_g + i_1 * g_step_1 + i_2 * g_step_2
                    total = total + sum_of(x[of_x]) * sum_of(g[of_g])
            tile[lane] = total
            barrier()
            for half in halves:
                if lane < half:
                    tile[lane] = tile[lane] + tile[lane + half]
                barrier()
            if lane == 0:
                w[flat] = number(tile[0])
            barrier()

    return built(
        weight_gradient, array(first), array(second), array(result, True), numbers=34
    )
