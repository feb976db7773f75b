"""Differences, counts and bins."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ....errors import UnsupportedError
from ....ops.elementwise import ADD, EQUAL, NOT_EQUAL, SUBTRACT
from ....ops.kernels.counting import count_kernel, weigh_kernel
from ....ops.reduction import MAX, MIN, SUM
from ..views import GridView
from .joining import joined, slab
from .ordering import search
from .work import BOOL, INT32, INT64, INTP, HostArray, Work, normalized_axis

__all__ = ["TABLE", "counted", "edges_of"]

FLOAT64 = np.dtype(np.float64)


# ------------------------------------------------------------------------- differences
def _diff(
    work: Work,
    x: Any,
    *,
    n: int = 1,
    axis: int = -1,
    prepend: Any = np._NoValue,
    append: Any = np._NoValue,
) -> GridView:
    """`numpy.diff`."""
    found = work.put(x)
    if n < 0:
        raise ValueError(f"order must be non-negative but got {n}")
    if not found.ndim:
        raise ValueError("diff requires input that is at least one dimensional")
    axis = normalized_axis(axis, found.ndim)
    found = _extended(work, found, axis, prepend, append)
    difference = NOT_EQUAL if found.dtype.kind == "b" else SUBTRACT
    for _ in range(n):
        length = found.shape[axis]
        ahead = found.through(slab(axis, 1, length))
        behind = found.through(slab(axis, 0, max(length - 1, 0)))
        found = work.map(difference, ahead, behind)
    return found


def _extended(
    work: Work, x: GridView, axis: int, prepend: Any, append: Any
) -> GridView:
    """An array with something before and behind it along an axis."""
    shape = (*x.shape[:axis], 1, *x.shape[axis + 1 :])
    parts = []
    for given in (prepend, x, append):
        if given is not np._NoValue:
            part = work.put(given)
            parts.append(part if part.ndim else part.through(_spread(shape)))
    return x if len(parts) == 1 else joined(work, parts, axis)


def _spread(shape: tuple[int, ...]) -> Callable[[Any], Any]:
    return lambda a: np.broadcast_to(a, shape)


# ------------------------------------------------------------------------------ counts
def _bincount(
    work: Work, x: Any, *, weights: Any = None, minlength: int = 0
) -> GridView:
    """`numpy.bincount`."""
    x = work.put(x)
    if x.ndim != 1:
        raise ValueError("object of too small depth for desired array")
    least = 0 if type(minlength) is int and minlength > 0 else minlength
    np.bincount(np.zeros(1, x.dtype), minlength=least)  # says what is wrong
    numbers = work.cast(x, INT64)
    length = minlength
    if x.size:
        low, high = (work.read(work.reduce(op, (0,), numbers)) for op in (MIN, MAX))
        if low[0] < 0:
            raise ValueError("'list' argument must have no negative elements")
        length = max(length, int(high[0]) + 1)
    else:
        weights = None  # NumPy gives integers then
    return counted(work, numbers, length, weights)


def counted(
    work: Work, numbers: GridView, length: int, weights: Any = None
) -> GridView:
    """How often each number below ``length`` is there, or the sum of its weights."""
    flat = work.copy(numbers) if numbers.size else numbers
    if weights is None:
        counts = work.full(length, 0, INT32)
        if numbers.size:
            work.run(count_kernel(), numbers.size, flat, counts, numbers.size)
        return work.cast(counts, INTP)
    given = work.put(weights)
    if given.shape != numbers.shape:
        raise ValueError("The weights and list don't have the same length.")
    sums = work.full(length, 0, FLOAT64)
    if numbers.size:
        weight = work.copy(work.cast(given, FLOAT64))
        work.run(weigh_kernel(), numbers.size, flat, weight, sums, numbers.size)
    return sums


def _rises(edges: HostArray) -> bool:
    """Whether edges increase; they may decrease, too.

    NumPy decides by the first two that differ, and NaN is neither above nor below.
    """
    ahead, behind = edges[1:], edges[:-1]
    differ = np.flatnonzero(ahead != behind)
    rises = not differ.size or bool(behind[differ[0]] < ahead[differ[0]])
    if ((ahead < behind) if rises else (ahead > behind)).any():
        raise ValueError("bins must be monotonically increasing or decreasing")
    return rises


def _digitize(work: Work, x: Any, bins: Any, *, right: Any = False) -> GridView:
    """`numpy.digitize`."""
    x, edges = work.put(x), work.put(bins)
    if x.dtype.kind == "c":
        raise TypeError("x may not be complex")
    if edges.ndim != 1:
        raise ValueError("object too deep for desired array")
    rises = _rises(work.read(edges))
    dtype = np.promote_types(x.dtype, edges.dtype)
    side = "left" if right else "right"
    if rises:
        return search(work, edges, x, side, dtype)
    found = search(work, edges.through(lambda a: a[::-1]), x, side, dtype)
    return work.map(SUBTRACT, edges.size, found, dtype=INTP)


# -------------------------------------------------------------------------- histograms
def edges_of(
    work: Work, x: GridView, bins: Any, span: Any, ends: Callable[[], HostArray]
) -> HostArray:
    """The edges of the bins of an array, on the host; ``ends`` gives the smallest and
    the largest element, once they are asked for."""
    if isinstance(bins, str):
        raise UnsupportedError(f"bins by {bins!r}")
    if isinstance(span, GridView):
        span = work.read(span)
    if np.ndim(bins):
        host = work.read(bins) if isinstance(bins, GridView) else np.asarray(bins)
        return np.histogram_bin_edges(np.empty(0, x.dtype), host)
    found = ends() if x.size and span is None else np.empty(0, x.dtype)
    return np.histogram_bin_edges(found, bins, span)


def _edges(work: Work, x: GridView, bins: Any, span: Any) -> HostArray:
    def ends() -> HostArray:
        axes = tuple(range(x.ndim))
        found = [work.read(work.reduce(op, axes, x)) for op in (MIN, MAX)]
        return np.concatenate([end.reshape(1) for end in found])

    return edges_of(work, x, bins, span, ends)


def _histogram_bin_edges(
    work: Work, x: Any, *, bins: Any = 10, range: Any = None, weights: Any = None
) -> GridView:
    """`numpy.histogram_bin_edges`."""
    return work.put(_edges(work, work.put(x), bins, range))


def _histogram(
    work: Work,
    x: Any,
    *,
    bins: Any = 10,
    range: Any = None,
    density: Any = None,
    weights: Any = None,
) -> tuple[GridView, GridView]:
    """`numpy.histogram`, without densities."""
    if density:
        raise UnsupportedError("a histogram of densities")
    x = work.reshaped(work.put(x), (-1,))
    if x.dtype == BOOL:
        x = work.cast(x, np.dtype(np.uint8))
    host = _edges(work, x, bins, range)
    edges = work.put(host)
    dtype = np.promote_types(x.dtype, host.dtype)
    # Where an element belongs behind all edges, it is the last one or too large.
    places = work.cast(search(work, edges, x, "right", dtype), INT64)
    if weights is not None:
        given = work.reshaped(work.put(weights), (-1,))
        ends = work.map(EQUAL, x, host[-1], dtype=INT64)
        places = work.map(SUBTRACT, places, ends)
        sums = counted(work, places, host.size + 1, given)
        return work.cast(sums, given.dtype).through(lambda a: a[1:-1]), edges
    counts = counted(work, places, host.size + 1)
    found = counts.through(lambda a: a[1:-1])
    if x.size and found.size:
        last = work.reduce(SUM, (0,), x, host[-1], before=EQUAL, dtype=INTP)
        end = found.through(lambda a: a[-1:])
        work.map(ADD, end, last, out=end)
    return found, edges


TABLE: dict[str, Callable[..., Any]] = {
    "diff": _diff,
    "bincount": _bincount,
    "digitize": _digitize,
    "histogram": _histogram,
    "histogram_bin_edges": _histogram_bin_edges,
}
"""Functions by the name of their rows."""
