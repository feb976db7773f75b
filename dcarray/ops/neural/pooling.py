"""Maxima and sums over windows, each plane (one channel of one image) for itself.

Of equal largest elements the first one counts, and a NaN is larger than any number: the
rules of `numpy.argmax`.  An index says the place in the plane, the rows of it laid end
to end.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator

import numpy as np

from ..spec import Kind, Op
from .scattering import _scatter_positions
from .windows import (
    NDArray,
    Sizes,
    adaptive_edges,
    at,
    channels_first,
    overlaps,
    restored,
)

__all__ = [
    "ADAPTIVE_MAX_POOL",
    "ADAPTIVE_SUM_POOL",
    "ADAPTIVE_SUM_POOL_GRADIENT",
    "MAX_POOL",
    "MAX_POOL_GRADIENT",
    "MAX_POOL_WITH_INDICES",
    "SUM_POOL",
    "SUM_POOL_GRADIENT",
]


def _least(dtype: np.dtype[np.generic]) -> object:
    if dtype.kind in "iu":
        return np.iinfo(dtype).min  # type: ignore[type-var]
    return False if dtype.kind == "b" else -np.inf


# ------------------------------------------------------------------ windows of one size
def _max_pool(
    x: NDArray,
    *,
    kernel: Sizes,
    stride: Sizes,
    low: Sizes,
    dilation: Sizes,
    size: Sizes,
    channels_last: bool,
) -> NDArray:
    planes = channels_first(x, channels_last)
    best = np.full((*planes.shape[:2], *size), _least(x.dtype), x.dtype)
    for _, outer, inner in overlaps(
        planes.shape[2:], size, kernel, stride, low, dilation
    ):
        target = best[at(outer)]
        np.maximum(target, planes[at(inner)], out=target)
    return restored(best, channels_last)


def _max_pool_with_indices(
    x: NDArray,
    *,
    kernel: Sizes,
    stride: Sizes,
    low: Sizes,
    dilation: Sizes,
    size: Sizes,
    channels_last: bool,
) -> tuple[NDArray, NDArray]:
    planes = channels_first(x, channels_last)
    source = planes.shape[2:]
    places = np.arange(np.prod(source, dtype=int)).reshape(source)
    window = {"kernel": kernel, "stride": stride, "low": low, "dilation": dilation}
    best = _max_pool(planes, size=size, channels_last=False, **window)
    nothing = np.isnan(best) if x.dtype.kind not in "biu" else np.zeros((), bool)
    some = bool(nothing.any())
    index = np.full(best.shape, -1, np.int64)
    # Backwards, so that the first of equal elements is written last.
    for _, outer, inner in reversed(list(overlaps(source, size, **window))):
        found = planes[at(inner)]
        equal = found == best[at(outer)]
        if some:
            equal |= np.isnan(found) & nothing[at(outer)]
        np.copyto(index[at(outer)], places[inner], where=equal)
    return restored(best, channels_last), restored(index, channels_last)


def _max_pool_gradient(
    gradient: NDArray, x: NDArray, *, channels_last: bool, **window: Sizes
) -> NDArray:
    """The adjoint of `_max_pool`: what a window has goes to its largest element."""
    _, index = _max_pool_with_indices(x, channels_last=channels_last, **window)
    size = channels_first(x, channels_last).shape[2:]
    return _scatter_positions(gradient, index, size=size, channels_last=channels_last)


def _sum_pool(
    x: NDArray,
    *,
    kernel: Sizes,
    stride: Sizes,
    low: Sizes,
    dilation: Sizes,
    size: Sizes,
    channels_last: bool,
) -> NDArray:
    planes = channels_first(x, channels_last)
    total = np.zeros((*planes.shape[:2], *size), x.dtype)
    for _, outer, inner in overlaps(
        planes.shape[2:], size, kernel, stride, low, dilation
    ):
        target = total[at(outer)]
        np.add(target, planes[at(inner)], out=target)
    return restored(total, channels_last)


def _sum_pool_gradient(
    gradient: NDArray,
    *,
    kernel: Sizes,
    stride: Sizes,
    low: Sizes,
    dilation: Sizes,
    size: Sizes,
    channels_last: bool,
) -> NDArray:
    """The adjoint of `_sum_pool`: ``size`` are positions of its operand."""
    planes = channels_first(gradient, channels_last)
    total = np.zeros((*planes.shape[:2], *size), gradient.dtype)
    for _, outer, inner in overlaps(
        size, planes.shape[2:], kernel, stride, low, dilation
    ):
        target = total[at(inner)]
        np.add(target, planes[at(outer)], out=target)
    return restored(total, channels_last)


# ------------------------------------------------------------- windows of equal share
def _cells(source: Sizes, size: Sizes) -> Iterator[tuple[tuple[int, slice], ...]]:
    """For each window of `adaptive_edges` its number and its positions, by axis."""
    per_axis = [
        [(k, slice(*edges)) for k, edges in enumerate(adaptive_edges(n, m))]
        for n, m in zip(source, size)
    ]
    return itertools.product(*per_axis)


def _adaptive_max_pool(
    x: NDArray, *, size: Sizes, channels_last: bool
) -> tuple[NDArray, NDArray]:
    planes = channels_first(x, channels_last)
    source = planes.shape[2:]
    places = np.arange(np.prod(source, dtype=int)).reshape(source)
    best = np.empty((*planes.shape[:2], *size), x.dtype)
    index = np.empty(best.shape, np.int64)
    for cell in _cells(source, size):
        target = at([k for k, _ in cell])
        window = tuple([positions for _, positions in cell])
        numbers = places[at(window)].reshape(-1)
        found = planes[at(window)].reshape(*planes.shape[:2], numbers.size)
        chosen = found.argmax(-1)
        best[target] = np.take_along_axis(found, chosen[..., None], -1)[..., 0]
        index[target] = numbers[chosen]
    return restored(best, channels_last), restored(index, channels_last)


def _adaptive_sum_pool(x: NDArray, *, size: Sizes, channels_last: bool) -> NDArray:
    planes = channels_first(x, channels_last)
    axes = tuple(range(2, planes.ndim))
    total = np.empty((*planes.shape[:2], *size), x.dtype)
    for cell in _cells(planes.shape[2:], size):
        window = planes[at([positions for _, positions in cell])]
        total[at([k for k, _ in cell])] = window.sum(axes, x.dtype)
    return restored(total, channels_last)


def _adaptive_sum_pool_gradient(
    gradient: NDArray, *, size: Sizes, channels_last: bool
) -> NDArray:
    """The adjoint of `_adaptive_sum_pool`: ``size`` are positions of its operand."""
    planes = channels_first(gradient, channels_last)
    total = np.zeros((*planes.shape[:2], *size), gradient.dtype)
    ones = (None,) * len(size)
    for cell in _cells(size, planes.shape[2:]):
        part = planes[at([k for k, _ in cell])]
        total[at([positions for _, positions in cell])] += part[at(ones)]
    return restored(total, channels_last)


# -------------------------------------------------------------------------------- rows
def _row(name: str, oracle: Callable[..., object], outputs: int = 1) -> Op:
    return Op(f"nn.{name}", Kind.INDEXING, oracle, 1, outputs)


MAX_POOL = _row("max_pool", _max_pool)
MAX_POOL_WITH_INDICES = _row("max_pool_with_indices", _max_pool_with_indices, 2)
MAX_POOL_GRADIENT = Op("nn.max_pool_gradient", Kind.INDEXING, _max_pool_gradient, 2)
SUM_POOL = _row("sum_pool", _sum_pool)
SUM_POOL_GRADIENT = _row("sum_pool_gradient", _sum_pool_gradient)
ADAPTIVE_MAX_POOL = _row("adaptive_max_pool", _adaptive_max_pool, 2)
ADAPTIVE_SUM_POOL = _row("adaptive_sum_pool", _adaptive_sum_pool)
ADAPTIVE_SUM_POOL_GRADIENT = _row(
    "adaptive_sum_pool_gradient", _adaptive_sum_pool_gradient
)
