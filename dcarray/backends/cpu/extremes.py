"""Places of the largest and smallest elements: NumPy's functions on pieces.

NumPy looks through memory at the speed of memory where the reduced axis is the
contiguous one.  Along any other axis it first makes a transposed copy of everything,
element by element; here that copy is made of small tiles, which stay in the cache.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from .threads import available_threads, run_slices

__all__ = ["argmax", "argmin"]

HostArray = np.ndarray[Any, Any]
Function = Callable[..., Any]

THREADED = 1 << 18
"""Elements from which a second thread is worth its start."""

TILED = 1 << 20
"""Elements from which NumPy's transposed copy is slow."""

NARROW = 64
"""Columns that lie so close that it is fast again."""

TILE = (256, 128)
"""Elements of a tile along the reduced axis, and beside it."""

COPY_BYTES = 1 << 23
"""Most memory of the transposed piece of one thread."""

PADDING = 16
"""Elements between its rows, whose length may be a power of two."""


def argmax(x: HostArray, axis: Any = None, keepdims: Any = False) -> Any:
    """`numpy.argmax`."""
    return _places(np.argmax, x, axis, keepdims)


def argmin(x: HostArray, axis: Any = None, keepdims: Any = False) -> Any:
    """`numpy.argmin`."""
    return _places(np.argmin, x, axis, keepdims)


def _places(function: Function, x: HostArray, axis: Any, keepdims: Any) -> Any:
    found = None
    if x.size >= THREADED and x.dtype.kind in "biufc":
        threads = available_threads()
        if axis is None or x.ndim == 1:
            if threads > 1 and x.flags.c_contiguous and axis in (None, 0, -1):
                found = _of_run(function, x.reshape(-1), threads)
                if keepdims:
                    found = np.full((1,) * x.ndim, found)
        elif type(axis) is int and -x.ndim <= axis < x.ndim:
            found = _along(function, np.moveaxis(x, axis, -1), threads)
            if found is not None and keepdims:
                found = np.expand_dims(found, axis)
    if found is None:
        return function(x, axis=axis, keepdims=keepdims)
    return found


def _of_run(function: Function, run: HostArray, threads: int) -> Any:
    """The place in a run: that of the first piece whose own is the best."""
    count = 4 * threads
    edges = [len(run) * k // count for k in range(count + 1)]
    places = np.empty(count, np.intp)

    def task(number: int) -> None:
        first, last = edges[number : number + 2]
        places[number] = first + function(run[first:last])

    run_slices(task, count, threads)
    return places[function(run[places])]


def _along(function: Function, x: HostArray, threads: int) -> HostArray | None:
    """The places along the last axis."""
    result = np.empty(x.shape[:-1], np.intp)
    if x.strides[-1] == x.itemsize:
        axis = max(range(x.ndim - 1), key=lambda k: x.shape[k])
        length = x.shape[axis]
        count = min(length, 4 * threads)
        if threads < 2 or count < 2:
            return None
        before = (slice(None),) * axis

        def rows(number: int) -> None:
            piece = slice(length * number // count, length * (number + 1) // count)
            index = (*before, piece)
            function(x[index], axis=-1, out=result[index])

        run_slices(rows, count, threads)
        return result
    if x.size < TILED:
        return None
    beside = min(
        [k for k in range(x.ndim - 1) if x.shape[k] > 1],
        key=lambda k: abs(x.strides[k]),
        default=None,
    )
    if beside is None:
        return None
    planes = np.moveaxis(x, beside, -2)
    results = np.moveaxis(result, beside, -1)
    columns, length = planes.shape[-2:]
    if columns < NARROW:
        return None
    most = COPY_BYTES // ((length + PADDING) * x.itemsize)
    width = max(1, min(columns, TILE[1], most))
    outer = planes.shape[:-2]
    pieces = -(-columns // width)

    def tiles(number: int) -> None:
        plane, piece = divmod(number, pieces)
        index = np.unravel_index(plane, outer) if outer else ()
        part = slice(piece * width, (piece + 1) * width)
        source = planes[*index, part]
        function(_transposed(source), axis=-1, out=results[*index, part])

    run_slices(tiles, math.prod(outer) * pieces, threads)
    return result


def _transposed(source: HostArray) -> HostArray:
    """The columns of a strip as contiguous rows."""
    columns, length = source.shape
    memory = np.empty((columns, length + PADDING), source.dtype)
    rows = memory[:, :length]
    tile = np.empty((TILE[0], columns), source.dtype)
    for first in range(0, length, TILE[0]):
        part = slice(first, first + TILE[0])
        strip = source[:, part].T
        compact = tile[: len(strip)]
        compact[...] = strip
        rows[:, part] = compact.T
    return rows
