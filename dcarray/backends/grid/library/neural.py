"""Convolutions."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from ....errors import UnsupportedError
from ....ops.kernels.convolving import (
    Window,
    convolution_kernel,
    input_gradient_kernel,
    weight_gradient_kernel,
)
from ..views import GridView
from .correlating import FEW, convolve, input_gradient, weight_gradient
from .work import DType, Work

__all__ = ["TABLE", "channels_first", "shaped", "three", "window_of"]

Sizes = tuple[int, ...]
AXES = 3
"""Axes of positions that kernels have."""


# --------------------------------------------------------------------- what they share
def three(numbers: Sizes, fill: int) -> tuple[int, int, int]:
    """One number for each of three axes: there may be more axes than given."""
    if not 0 < len(numbers) <= AXES:
        raise UnsupportedError(f"windows over {len(numbers)} axes")
    first, second, third = (fill,) * (AXES - len(numbers)) + tuple(numbers)
    return int(first), int(second), int(third)


def window_of(kernel: Sizes, stride: Sizes, low: Sizes, dilation: Sizes) -> Window:
    """A window over three axes."""
    return Window(three(kernel, 1), three(stride, 1), three(low, 0), three(dilation, 1))


def channels_first(x: GridView, channels_last: bool) -> GridView:
    """(batch, channels, three axes of positions)."""
    if channels_last:
        x = x.through(lambda a: np.moveaxis(a, -1, 1))
    three(x.shape[2:], 1)
    more = (None,) * (AXES + 2 - x.ndim)
    return x.through(lambda a: a[(slice(None), slice(None), *more)])


def shaped(images: int, channels: int, size: Sizes, channels_last: bool) -> Sizes:
    """The shape of a result."""
    if channels_last:
        return (images, *size, channels)
    return (images, channels, *size)


def _numbers(*views: GridView) -> list[int]:
    """Offset and strides of each."""
    found = []
    for view in views:
        offset, strides = view.elements()
        found += [offset, *strides]
    return found


def _result(x: GridView, y: GridView) -> DType:
    dtype = np.result_type(x.dtype, y.dtype)
    if dtype.kind not in "iufc":
        raise UnsupportedError(f"convolutions of {dtype}")
    return dtype


# -------------------------------------------------------------------------------- rows
def _convolution(
    work: Work,
    x: Any,
    w: Any,
    *,
    stride: Sizes,
    low: Sizes,
    dilation: Sizes,
    size: Sizes,
    groups: int,
    channels_last: bool,
) -> GridView:
    """``y[o] = sum of x[o * stride + tap * dilation - low] * w[tap]``."""
    window = window_of(work.put(w).shape[2:], stride, low, dilation)
    x = channels_first(work.put(x), channels_last)
    w = channels_first(work.put(w), False)
    dtype = _result(x, w)
    outs, ins = w.shape[0] // groups, w.shape[1]
    out = work.new(shaped(x.shape[0], w.shape[0], size, channels_last), dtype)
    if out.size and outs >= FEW:
        seen = channels_first(out, channels_last)
        found = convolve(work, x, w, seen, window, groups)
        return GridView(found.memory, out.layout, dtype)
    if out.size:
        kernel = convolution_kernel(x.dtype, w.dtype, dtype, channels_last)
        counts = (out.size, w.shape[0], *three(size, 1), *x.shape[2:], outs, ins)
        work.run(
            kernel, out.size, x, w, out, *counts, *_numbers(x, w), *window.numbers()
        )
    return out


def _convolution_input_gradient(
    work: Work,
    gradient: Any,
    w: Any,
    *,
    stride: Sizes,
    low: Sizes,
    dilation: Sizes,
    size: Sizes,
    groups: int,
    channels_last: bool,
) -> GridView:
    """The adjoint of `_convolution` in its operand."""
    window = window_of(work.put(w).shape[2:], stride, low, dilation)
    g = channels_first(work.put(gradient), channels_last)
    w = channels_first(work.put(w), False)
    dtype = _result(g, w)
    outs, ins = w.shape[0] // groups, w.shape[1]
    channels = groups * ins
    out = work.new(shaped(g.shape[0], channels, size, channels_last), dtype)
    if out.size and ins >= FEW:
        seen = channels_first(out, channels_last)
        found = input_gradient(work, g, w, seen, window, groups)
        return GridView(found.memory, out.layout, dtype)
    if out.size:
        kernel = input_gradient_kernel(g.dtype, w.dtype, dtype, channels_last)
        counts = (out.size, channels, *three(size, 1), *g.shape[2:], outs, ins)
        work.run(
            kernel, out.size, g, w, out, *counts, *_numbers(g, w), *window.numbers()
        )
    return out


def _convolution_weight_gradient(
    work: Work,
    x: Any,
    gradient: Any,
    *,
    stride: Sizes,
    low: Sizes,
    dilation: Sizes,
    kernel: Sizes,
    groups: int,
    channels_last: bool,
) -> GridView:
    """The adjoint of `_convolution` in its weights."""
    window = window_of(kernel, stride, low, dilation)
    x = channels_first(work.put(x), channels_last)
    g = channels_first(work.put(gradient), channels_last)
    dtype = _result(x, g)
    outs, ins = g.shape[1] // groups, x.shape[1] // groups
    out = work.new((g.shape[1], ins, *kernel), dtype)
    if out.size and outs >= FEW:
        seen = channels_first(out, False)
        found = weight_gradient(work, x, g, seen, window, groups)
        return GridView(found.memory, out.layout, dtype)
    if out.size:
        items = 1 << (min(work.items, 256).bit_length() - 1)
        while items > 1 and items >= 2 * x.shape[0] * math.prod(g.shape[2:]):
            items //= 2
        one = weight_gradient_kernel(x.dtype, g.dtype, dtype, items)
        counts = (out.size, x.shape[0], *x.shape[2:], *g.shape[2:], outs, ins)
        groups_of = min(out.size, 1 << 15)
        arguments = (x, g, out, *counts, *_numbers(x, g), *window.numbers())
        work.run_groups(one, (groups_of, 1), *arguments, items=items)
    return out


TABLE: dict[str, Callable[..., Any]] = {
    "nn.convolution": _convolution,
    "nn.convolution_input_gradient": _convolution_input_gradient,
    "nn.convolution_weight_gradient": _convolution_weight_gradient,
}
"""Functions by the name of their rows."""
