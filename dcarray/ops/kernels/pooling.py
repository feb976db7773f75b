"""Maxima and sums over windows, and sums of what indices bring to a place.

Operands, results and windows are those of `convolving`, or the windows
(``even``) share the positions evenly: window ``k`` of ``m`` over ``n`` positions goes
from ``k * n // m`` to ``(k + 1) * n / m``, rounded up.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np

from ...kernel import nodes
from ...kernel.grid import global_id, global_size
from ...kernel.language import Scalar, isnan, truncate_divide, truncate_remainder
from .convolving import Window, position, stepped
from .parts import INT32, INT64
from .products import sums_in
from .searching import array, built

__all__ = [
    "UNIT",
    "gathered_kernel",
    "maximum_kernel",
    "sum_gradient_kernel",
    "sum_kernel",
]

DType = np.dtype[Any]
UNIT = Window((1, 1, 1), (1, 1, 1), (0, 0, 0), (1, 1, 1))
"""What stands for the window among the numbers of a kernel of even ones."""


def _least(dtype: DType) -> Any:
    """What no element is smaller than."""
    if dtype.kind in "iu":
        return int(np.iinfo(dtype).min)
    return False if dtype.kind == "b" else float("-inf")


def bounds(
    i: Scalar,
    windows: Scalar,
    size: Scalar,
    step: Scalar,
    low: Scalar,
    reach: Scalar,
    even: bool,
) -> tuple[Scalar, Scalar]:
    """Where window ``i`` along an axis begins and ends, in the kernel language."""
    if even:
        start = truncate_divide(i * size, windows)
        return start, truncate_divide((i + 1) * size + windows - 1, windows)
    start = i * step - low
    return start, start + reach


@cache
def maximum_kernel(dtype: DType, even: bool, last: bool, indexed: bool) -> nodes.Kernel:
    """The largest element of each window, and (``indexed``) its place in the plane.

    Parameters are x, the maxima, the places, and: the elements of the result, its
    channels, its positions (3), those of x (3), the offset and the strides (5) of x,
    and the window (`UNIT` for even ones).
    """
    number, floating, least = dtype.type, dtype.kind == "f", _least(dtype)

    def maxima(
        x: Scalar,
        y: Scalar,
        places: Scalar,
        count: Scalar,
        channels: Scalar,
        y_0: Scalar,
        y_1: Scalar,
        y_2: Scalar,
        x_0: Scalar,
        x_1: Scalar,
        x_2: Scalar,
        offset: Scalar,
        batch: Scalar,
        along: Scalar,
        x_step_0: Scalar,
        x_step_1: Scalar,
        x_step_2: Scalar,
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
            base = offset + image * batch + channel * along
            start_0, stop_0 = bounds(
                i_0, y_0, x_0, step_0, low_0, size_0 * wide_0, even
            )
            start_1, stop_1 = bounds(
                i_1, y_1, x_1, step_1, low_1, size_1 * wide_1, even
            )
            start_2, stop_2 = bounds(
                i_2, y_2, x_2, step_2, low_2, size_2 * wide_2, even
            )
            best = number(least)
            found = np.int64(-1)
            for at_0 in range(start_0, stop_0, wide_0):
                if at_0 >= 0 and at_0 < x_0:
                    for at_1 in range(start_1, stop_1, wide_1):
                        if at_1 >= 0 and at_1 < x_1:
                            for at_2 in range(start_2, stop_2, wide_2):
                                if at_2 >= 0 and at_2 < x_2:
                                    place = base + at_0 * x_step_0
                                    place = place + at_1 * x_step_1 + at_2 * x_step_2
                                    own = x[place]
                                    larger = own > best or found < 0
                                    if floating:
                                        new = isnan(own) and not isnan(best)
                                        larger = larger or new
                                    at = (at_0 * x_1 + at_1) * x_2 + at_2
                                    found = at if larger else found
                                    best = own if larger else best
            y[flat] = best
            if indexed:
                places[flat] = found

    return built(
        maxima, array(dtype), array(dtype, True), array(INT64, True), numbers=26
    )


@cache
def sum_kernel(dtype: DType, even: bool, last: bool) -> nodes.Kernel:
    """The sum of each window; parameters as for `maximum_kernel`, but no places."""
    number, sum_of = dtype.type, sums_in(dtype).type

    def window_sums(
        x: Scalar,
        y: Scalar,
        count: Scalar,
        channels: Scalar,
        y_0: Scalar,
        y_1: Scalar,
        y_2: Scalar,
        x_0: Scalar,
        x_1: Scalar,
        x_2: Scalar,
        offset: Scalar,
        batch: Scalar,
        along: Scalar,
        x_step_0: Scalar,
        x_step_1: Scalar,
        x_step_2: Scalar,
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
            base = offset + image * batch + channel * along
            start_0, stop_0 = bounds(
                i_0, y_0, x_0, step_0, low_0, size_0 * wide_0, even
            )
            start_1, stop_1 = bounds(
                i_1, y_1, x_1, step_1, low_1, size_1 * wide_1, even
            )
            start_2, stop_2 = bounds(
                i_2, y_2, x_2, step_2, low_2, size_2 * wide_2, even
            )
            total = sum_of(0)
            for at_0 in range(start_0, stop_0, wide_0):
                if at_0 >= 0 and at_0 < x_0:
                    for at_1 in range(start_1, stop_1, wide_1):
                        if at_1 >= 0 and at_1 < x_1:
                            for at_2 in range(start_2, stop_2, wide_2):
                                if at_2 >= 0 and at_2 < x_2:
                                    place = base + at_0 * x_step_0
                                    place = place + at_1 * x_step_1 + at_2 * x_step_2
                                    total = total + sum_of(x[place])
            y[flat] = number(total)

    return built(window_sums, array(dtype), array(dtype, True), numbers=26)


@cache
def sum_gradient_kernel(dtype: DType, last: bool) -> nodes.Kernel:
    """The adjoint of `sum_kernel`: each element gathers the windows that meet it.

    Parameters as for `sum_kernel`, with the gradient as x.
    """
    number, sum_of = dtype.type, sums_in(dtype).type

    def window_sums_gradient(
        g: Scalar,
        y: Scalar,
        count: Scalar,
        channels: Scalar,
        y_0: Scalar,
        y_1: Scalar,
        y_2: Scalar,
        g_0: Scalar,
        g_1: Scalar,
        g_2: Scalar,
        offset: Scalar,
        batch: Scalar,
        along: Scalar,
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
        for flat in range(global_id(0), count, global_size(0)):
            image, channel, i_0, i_1, i_2 = position(
                flat, channels, y_0, y_1, y_2, last
            )
            base = offset + image * batch + channel * along
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
                                    place = base + at_0 * g_step_0
                                    place = place + at_1 * g_step_1 + at_2 * g_step_2
                                    total = total + sum_of(g[place])
            y[flat] = number(total)

    return built(window_sums_gradient, array(dtype), array(dtype, True), numbers=26)


@cache
def gathered_kernel(dtype: DType) -> nodes.Kernel:
    """Rows added up at the places that indices say, in their order.

    Parameters are the rows of values, an index for each, the order of the indices of
    each plane, the result, and: its elements, places of a plane, rows of a plane, the
    length of a row.
    """
    number, sum_of = dtype.type, sums_in(dtype).type

    def gathered(
        values: Scalar,
        indices: Scalar,
        order: Scalar,
        out: Scalar,
        count: Scalar,
        size: Scalar,
        length: Scalar,
        width: Scalar,
    ) -> None:
        for flat in range(global_id(0), count, global_size(0)):
            column = truncate_remainder(flat, width)
            rest = truncate_divide(flat, width)
            place = truncate_remainder(rest, size)
            base = truncate_divide(rest, size) * length
            low = np.int64(0)
            high = length
            while low < high:
                middle = (low + high) >> 1
                ahead = indices[base + order[base + middle]] < place
                low = middle + 1 if ahead else low
                high = high if ahead else middle
            first = low
            high = length
            while low < high:
                middle = (low + high) >> 1
                ahead = indices[base + order[base + middle]] <= place
                low = middle + 1 if ahead else low
                high = high if ahead else middle
            total = sum_of(0)
            for k in range(first, low):
                total = total + sum_of(
                    values[(base + order[base + k]) * width + column]
                )
            out[flat] = number(total)

    return built(
        gathered,
        array(dtype),
        array(INT64),
        array(INT32),
        array(dtype, True),
        numbers=4,
    )
