"""`numpy.sort`, `numpy.argsort` and `numpy.unique` on all cores.

Long runs are sorted in parts that are merged (`merging`), or ordered by their digits if
there are few (`radix`), or, where there is no LLVM, cut around their medians
(`numpy.partition`) into parts that threads sort.  A stable order of numbers
differs from any other one only in the signs of zeros and in NaN, which are put back in
place.
"""

from __future__ import annotations

import functools
import itertools
import math
from typing import Any

import numpy as np

from ....ops import indexing as picks
from ....ops.kernels.radix import distinct_kernel
from ..kernels import run_pieces
from ..threads import available_threads, run_slices
from .merging import merged_run
from .radix import in_pieces, order_of, rented, sorted_run

__all__ = ["argsort", "sort", "unique", "unique_counts", "unique_values"]

HostArray = np.ndarray[Any, Any]

_Counts: Any = type(np.unique_counts(np.zeros(1)))

LEAST = 1 << 18
"""Elements of a run from which digits and threads are faster than NumPy's sort."""

ROWS = 1 << 16
"""Elements in all from which threads share rows."""

ORDERED = 1 << 14
"""Elements of a run from which digits are the shortest way to its stable order."""

MOST = np.iinfo(np.int32).max
"""Elements that numbers of 4 bytes can count."""

BLOCK = 1 << 15
"""Elements that are compared at a time, in the cache."""

STABLE = frozenset({"stable", "mergesort"})

KINDS = frozenset({None, "quicksort", "heapsort", *STABLE})


def _run_of(a: Any, axis: Any, order: Any) -> HostArray | None:
    """The elements of an array along its only axis, or of all its axes."""
    if type(a) is not np.ndarray or order is not None:
        return None
    if not (a.dtype.isnative and a.flags.aligned):
        return None
    if a.dtype.kind not in "iuf" or a.dtype.itemsize > 8 or a.size > MOST:
        return None
    if axis is None and a.flags.c_contiguous:
        return a.reshape(-1)
    plain = type(axis) is int and a.ndim == 1 and -1 <= axis <= 0
    return a if plain else None


def _is_long(x: HostArray) -> bool:
    """Whether a run is sorted here; NumPy has the digits of short integers itself."""
    return x.size >= LEAST and (x.dtype.itemsize > 2 or x.dtype.kind == "f")


def _stable(kind: Any, stable: Any) -> bool | None:
    """Whether equal elements must keep their order; None for what NumPy refuses."""
    if stable is not None:
        return bool(stable) if kind is None else None
    if type(kind) is str or kind is None:
        return kind in STABLE if kind in KINDS else None
    return None


# ------------------------------------------------------------------------------- sort
@functools.wraps(np.sort)
def sort(
    a: Any,
    axis: Any = -1,
    kind: Any = None,
    order: Any = None,
    *,
    stable: Any = None,
    descending: bool = False,
) -> Any:
    """`numpy.sort`; the largest first if ``descending``, equal elements in order."""
    keeps = _stable(kind, stable)
    x = None if keeps is None else _run_of(a, axis, order)
    if descending:
        if x is not None:
            found = argsort(a, axis, kind, order, stable=stable, descending=True)
            return x.take(found)
        return picks.SORT.numpy(a, axis=axis, kind=kind, stable=stable, descending=True)
    if x is not None and _is_long(x):
        return _sorted(x, bool(keeps))
    if keeps is not None and order is None:
        if type(a) is np.ndarray and a.dtype.kind in "iu" and a.dtype.itemsize < 4:
            kind, stable = "stable", None  # NumPy counts them
        rows = _rows(a, axis)
        if rows is not None:
            return _sorted_rows(rows, kind, stable).reshape(a.shape)
    return np.sort(a, axis, kind, order, stable=stable)


def _rows(a: Any, axis: Any) -> HostArray | None:
    """An array as several rows that are sorted one by one."""
    if type(a) is not np.ndarray or a.ndim < 2 or a.dtype.hasobject:
        return None
    if type(axis) is not int or axis not in (-1, a.ndim - 1):
        return None
    if a.size < ROWS or not a.flags.c_contiguous or a.size == a.shape[-1]:
        return None
    return a.reshape(-1, a.shape[-1])


def _cut(rows: int, threads: int) -> list[slice]:
    """Rows in pieces, some for each thread."""
    pieces = min(rows, 4 * threads)
    edges = [rows * k // pieces for k in range(pieces + 1)]
    return [slice(a, b) for a, b in itertools.pairwise(edges)]


def _sorted_rows(rows: HostArray, kind: Any, stable: Any) -> HostArray:
    found = np.empty_like(rows)
    threads = available_threads()
    pieces = _cut(rows.shape[0], threads)

    def task(number: int) -> None:
        part = found[pieces[number]]
        part[...] = rows[pieces[number]]
        part.sort(axis=-1, kind=kind, stable=stable)

    run_slices(task, len(pieces), threads)
    return found


def _sorted(x: HostArray, stable: bool) -> HostArray:
    """A sorted copy of a long run."""
    x = np.ascontiguousarray(x)
    found = merged_run(x)
    if found is None:
        found = sorted_run(x)
    if found is None:
        found = _sorted_in_parts(x, available_threads())
    if stable and x.dtype.kind == "f":
        _restore(x, found)
    return found


def _sorted_in_parts(x: HostArray, threads: int) -> HostArray:
    """The same without machine code."""
    found = np.array(x)
    runs = [found]
    while len(runs) < threads:
        runs = _halves(runs, threads)

    def task(number: int) -> None:
        runs[number].sort()

    run_slices(task, len(runs), threads)
    return found


def _halves(runs: list[HostArray], threads: int) -> list[HostArray]:
    """Each run as two, with nothing in the second that is less than in the first."""

    def split(number: int) -> None:
        runs[number].partition(runs[number].size // 2)

    run_slices(split, len(runs), threads)
    found = []
    for run in runs:
        found += [run[: run.size // 2], run[run.size // 2 :]]
    return found


def _place(x: HostArray, number: float, side: Any = "left") -> int:
    """Where a number is in an ordered run; of another dtype it would cost a copy."""
    return int(x.searchsorted(x.dtype.type(number), side))


def _restore(x: HostArray, found: HostArray) -> None:
    """Zeros and NaN in their order: all else that is equal has the same bits."""
    first = _place(found, math.nan)
    if first < found.size:
        found[first:] = x[np.isnan(x)]
    first, last = _place(found, 0), _place(found, 0, "right")
    if first < last:  # vector instructions even change their signs
        found[first:last] = x[x == 0]


# ---------------------------------------------------------------------------- argsort
@functools.wraps(np.argsort)
def argsort(
    a: Any,
    axis: Any = -1,
    kind: Any = None,
    order: Any = None,
    *,
    stable: Any = None,
    descending: bool = False,
) -> Any:
    """`numpy.argsort`; the largest first if ``descending``, equal elements in order."""
    keeps = _stable(kind, stable)
    if keeps or (descending and keeps is not None):
        x = _run_of(a, axis, order)
        if x is not None and x.size >= (ORDERED if x.dtype.itemsize > 2 else LEAST):
            x = np.ascontiguousarray(x)
            found = order_of(x, descending)
            if found is not None:
                return found
    if descending:
        options = {"axis": axis, "kind": kind, "stable": stable}
        return picks.ARGSORT.numpy(a, descending=True, **options)
    if keeps is not None and order is None:
        rows = _rows(a, axis)
        if rows is not None:
            return _order_of_rows(rows, kind, stable).reshape(a.shape)
    return np.argsort(a, axis, kind, order, stable=stable)


def _order_of_rows(rows: HostArray, kind: Any, stable: Any) -> HostArray:
    found = np.empty(rows.shape, np.intp)
    threads = available_threads()
    pieces = _cut(rows.shape[0], threads)

    def task(number: int) -> None:
        part = pieces[number]
        found[part] = rows[part].argsort(axis=-1, kind=kind, stable=stable)

    run_slices(task, len(pieces), threads)
    return found


# ----------------------------------------------------------------------------- unique
@functools.wraps(np.unique)
def unique(
    ar: Any,
    return_index: Any = False,
    return_inverse: Any = False,
    return_counts: Any = False,
    axis: Any = None,
    **options: Any,
) -> Any:
    """`numpy.unique`."""
    equal_nan = options.get("equal_nan", True)
    plain = options.keys() <= {"equal_nan", "sorted"} and type(equal_nan) is bool
    if plain and not (return_index or return_inverse) and axis is None:
        x = _run_of(ar, None, None)
        if x is not None and _is_long(x):
            return _distinct(_sorted(x, False), equal_nan, bool(return_counts))
    return np.unique(ar, return_index, return_inverse, return_counts, axis, **options)


def unique_counts(x: Any) -> Any:
    """`numpy.unique_counts`."""
    run = _run_of(x, None, None)
    if run is None or not _is_long(run):
        return np.unique_counts(x)
    return _Counts(*_distinct(_sorted(run, False), False, True))


def unique_values(x: Any) -> Any:
    """`numpy.unique_values`; a long run's are in order."""
    run = _run_of(x, None, None)
    if run is None or not _is_long(run):
        return np.unique_values(x)
    return _distinct(_sorted(run, False), False, False)


def _distinct(x: HostArray, equal_nan: bool, counted: bool) -> Any:
    """One of each sequence of equal elements, and how many there are."""
    count = x.size
    if equal_nan and x.dtype.kind == "f":
        count = min(count, _place(x, math.nan) + 1)  # one NaN
    pieces, each = in_pieces(count)
    numbers = np.zeros(pieces + 1, np.int64)

    def look(number: int) -> None:
        stop = min((number + 1) * each, count)
        for begin in range(number * each, stop, BLOCK):
            end = min(begin + BLOCK, stop)
            numbers[number + 1] += np.count_nonzero(_begins(x, begin, end))

    run_slices(look, pieces, available_threads())
    begun = numbers.cumsum()
    found = rented(int(begun[-1]), x.dtype)
    if x.dtype.kind == "f" and np.isnan(x[0]):
        found[...] = x[:count]
    elif not run_pieces(
        distinct_kernel(x.dtype), pieces, (x, begun, found, count, each)
    ):
        found[...] = x[:count][_begins(x, 0, count)]
    if not counted:
        return found
    starts = np.flatnonzero(_begins(x, 0, count))
    return found, np.diff(starts, append=x.size)


def _begins(x: HostArray, begin: int, end: int) -> HostArray:
    """Whether elements differ from those before them."""
    if begin:
        return np.not_equal(x[begin:end], x[begin - 1 : end - 1])
    found = np.empty(end, np.bool_)
    found[:1] = True
    np.not_equal(x[1:end], x[: end - 1], out=found[1:])
    return found
