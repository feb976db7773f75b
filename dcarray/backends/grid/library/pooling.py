"""Maxima and sums over windows, and what is brought to places by indices."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from ....errors import UnsupportedError
from ....kernel.nodes import Kernel
from ....ops.kernels.convolving import Window
from ....ops.kernels.pooling import (
    UNIT,
    gathered_kernel,
    maximum_kernel,
    sum_gradient_kernel,
    sum_kernel,
)
from ....ops.reduction import MAX, MIN
from ..views import GridView
from .neural import channels_first, shaped, three, window_of
from .ordering import order_of
from .places import resolved, scatter
from .work import INT64, Work, rows_of

__all__ = ["TABLE"]

Sizes = tuple[int, ...]


# ----------------------------------------------------------------------------- windows
def _counts(x: GridView, out: GridView, size: Sizes) -> list[int]:
    offset, strides = x.elements()
    channels = x.shape[1]
    return [out.size, channels, *three(size, 1), *x.shape[2:], offset, *strides]


def _maxima(
    work: Work,
    x: Any,
    window: Window | None,
    size: Sizes,
    channels_last: bool,
    indexed: bool,
) -> tuple[GridView, GridView]:
    x = channels_first(work.put(x), channels_last)
    if x.dtype.kind not in "biuf":
        raise UnsupportedError(f"maxima of {x.dtype}")
    shape = shaped(x.shape[0], x.shape[1], size, channels_last)
    out = work.new(shape, x.dtype)
    places = work.new(shape if indexed else (1,), INT64)
    if out.size:
        kernel = maximum_kernel(x.dtype, window is None, channels_last, indexed)
        counts = (*_counts(x, out, size), *(window or UNIT).numbers())
        work.run(kernel, out.size, x, out, places, *counts)
    return out, places


def _max_pool(
    work: Work, x: Any, *, size: Sizes, channels_last: bool, **window: Sizes
) -> GridView:
    """The largest element of each window."""
    made = window_of(**window)
    return _maxima(work, x, made, size, channels_last, False)[0]


def _max_pool_with_indices(
    work: Work, x: Any, *, size: Sizes, channels_last: bool, **window: Sizes
) -> tuple[GridView, GridView]:
    """The same, and its place in the plane."""
    return _maxima(work, x, window_of(**window), size, channels_last, True)


def _adaptive_max_pool(
    work: Work, x: Any, *, size: Sizes, channels_last: bool
) -> tuple[GridView, GridView]:
    """The same for windows that share the positions."""
    return _maxima(work, x, None, size, channels_last, True)


def _sums(
    work: Work,
    x: Any,
    kernel_of: Callable[..., Kernel],
    window: Window,
    size: Sizes,
    channels_last: bool,
) -> GridView:
    x = channels_first(work.put(x), channels_last)
    if x.dtype.kind not in "iufc":
        raise UnsupportedError(f"sums of windows of {x.dtype}")
    out = work.new(shaped(x.shape[0], x.shape[1], size, channels_last), x.dtype)
    if out.size:
        counts = (*_counts(x, out, size), *window.numbers())
        work.run(kernel_of(x.dtype, last=channels_last), out.size, x, out, *counts)
    return out


def _sum_pool(
    work: Work, x: Any, *, size: Sizes, channels_last: bool, **window: Sizes
) -> GridView:
    """The sum of each window."""
    kernel_of = partial(sum_kernel, even=False)
    return _sums(work, x, kernel_of, window_of(**window), size, channels_last)


def _sum_pool_gradient(
    work: Work, gradient: Any, *, size: Sizes, channels_last: bool, **window: Sizes
) -> GridView:
    """The adjoint of `_sum_pool`."""
    made = window_of(**window)
    return _sums(work, gradient, sum_gradient_kernel, made, size, channels_last)


def _adaptive_sum_pool(
    work: Work, x: Any, *, size: Sizes, channels_last: bool
) -> GridView:
    """The sum of each window, of those that share the positions.

    This is its own adjoint: position ``p`` of ``n`` lies in the windows of ``m`` that
    window ``p`` of ``n`` over ``m`` positions has.
    """
    kernel_of = partial(sum_kernel, even=True)
    return _sums(work, x, kernel_of, UNIT, size, channels_last)


# ------------------------------------------------------------------------------ places
def _plain(work: Work, x: GridView) -> GridView:
    """The elements from the start of a block."""
    x = work.dense(x)
    return work.copy(x) if x.layout.offset else x


def _planes(
    work: Work, values: Any, indices: Any, size: Sizes, channels_last: bool
) -> tuple[GridView, GridView]:
    """Values and indices as rows, one for each plane.

    Raises
    ------
    IndexError
        An index is outside of its plane.
    """
    pair = []
    for x in (work.put(values), work.put(indices)):
        x = channels_first(x, channels_last)
        planes = x.shape[0] * x.shape[1]
        pair.append(work.reshaped(x, (planes, math.prod(x.shape[2:]))))
    found, places = pair[0], work.cast(pair[1], INT64)
    if places.size:
        low, high = [
            int(work.read(work.reduce(op, (0, 1), places))[0, 0]) for op in (MIN, MAX)
        ]
        whole = math.prod(size)
        if low < 0 or high >= whole:
            raise IndexError(
                f"indices: got {low} to {high}, a plane takes 0 to {whole - 1}"
            )
    return found, places


def _back(work: Work, flat: GridView, shape: Sizes, channels_last: bool) -> GridView:
    """Planes laid end to end as a result with the channels where they belong."""
    found = flat.through(lambda a: a.reshape(shape))
    if channels_last:
        return work.copy(found.through(lambda a: np.moveaxis(a, 1, -1)))
    return found


def _gathered(
    work: Work, values: GridView, indices: GridView, size: int, width: int
) -> GridView:
    """Rows of ``width`` values added up at their places, plane by plane."""
    if values.dtype.kind not in "iufc":
        raise UnsupportedError(f"sums at places of {values.dtype}")
    planes, length = indices.shape
    out = work.new((planes * size * width,), values.dtype)
    if out.size:
        if not length:
            return work.full(out.size, 0, values.dtype)
        values, indices = _plain(work, values), _plain(work, indices)
        order = order_of(work, rows_of(work, indices, 1))
        arrays = (values, indices, order, out)
        kernel = gathered_kernel(values.dtype)
        work.run(kernel, out.size, *arrays, out.size, size, length, width)
    return out


def _scatter_positions(
    work: Work, values: Any, indices: Any, *, size: Sizes, channels_last: bool
) -> GridView:
    """Planes in which every value is added at its index."""
    values = work.put(values)
    rows, places = _planes(work, values, indices, size, channels_last)
    found = _gathered(work, rows, places, math.prod(size), 1)
    channels = values.shape[-1 if channels_last else 1]
    return _back(work, found, (values.shape[0], channels, *size), channels_last)


def _max_pool_gradient(
    work: Work, gradient: Any, x: Any, *, channels_last: bool, **window: Sizes
) -> GridView:
    """The adjoint of `_max_pool`: what a window has goes to its largest element."""
    x = work.put(x)
    _, places = _max_pool_with_indices(work, x, channels_last=channels_last, **window)
    size = x.shape[1:-1] if channels_last else x.shape[2:]
    return _scatter_positions(
        work, gradient, places, size=size, channels_last=channels_last
    )


def _place_positions(
    work: Work, values: Any, indices: Any, *, size: Sizes, channels_last: bool
) -> GridView:
    """Planes with every value at its index, and 0 elsewhere; the last one counts."""
    values = work.put(values)
    rows, places = _planes(work, values, indices, size, channels_last)
    whole = math.prod(size)
    out = work.full(rows.shape[0] * whole, 0, rows.dtype)
    if out.size:
        starts = out.through(lambda a: a.reshape(-1, whole)[:, :1])
        target = starts.through(lambda a: np.broadcast_to(a, rows.shape))
        scatter(work, rows, places, target, out.size)
    channels = values.shape[-1 if channels_last else 1]
    return _back(work, out, (values.shape[0], channels, *size), channels_last)


def _embedding_gradient(
    work: Work, gradient: Any, indices: Any, *, count: int
) -> GridView:
    """``count`` rows, in which every row of the gradient is added at its index."""
    gradient, indices = work.put(gradient), work.put(indices)
    width = gradient.shape[-1]
    flat = resolved(work, work.reshaped(indices, (-1,)), 0, count, 1)
    places = flat.through(lambda a: a[None, :])
    found = _gathered(work, gradient, places, count, width)
    return found.through(lambda a: a.reshape(count, width))


TABLE: dict[str, Callable[..., Any]] = {
    "nn.max_pool": _max_pool,
    "nn.max_pool_with_indices": _max_pool_with_indices,
    "nn.max_pool_gradient": _max_pool_gradient,
    "nn.sum_pool": _sum_pool,
    "nn.sum_pool_gradient": _sum_pool_gradient,
    "nn.adaptive_max_pool": _adaptive_max_pool,
    "nn.adaptive_sum_pool": _adaptive_sum_pool,
    "nn.adaptive_sum_pool_gradient": _adaptive_sum_pool,
    "nn.scatter_positions": _scatter_positions,
    "nn.place_positions": _place_positions,
    "nn.embedding_gradient": _embedding_gradient,
}
"""Functions by the name of their rows."""
