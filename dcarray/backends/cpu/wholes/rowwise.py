"""Functions of NumPy along one axis, on pieces of an array that threads share."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np

from ..threads import available_threads, run_slices
from .radix import in_pieces

__all__ = ["by_rows", "count_nonzero"]

HostArray = np.ndarray[Any, Any]
Function = Callable[..., Any]

LEAST = 1 << 17
"""Elements from which threads share rows."""

BLOCK = 1 << 18
"""Elements that are compared at a time, in the cache."""


def by_rows(function: Function, place: int) -> Function:
    """A function that gives a number for each row of its first argument.

    Parameters
    ----------
    function : callable
    place : int
        Which of the other positional arguments is the axis.
    """

    @functools.wraps(function)
    def call(a: Any, /, *rest: Any, **keywords: Any) -> Any:
        axis = keywords.get("axis")
        if len(rest) == place + 1:
            axis = rest[place]
        found = None
        if (
            type(a) is np.ndarray
            and type(axis) is int
            and -a.ndim <= axis < a.ndim
            and a.size >= LEAST
            and a.dtype.kind in "biuf"
            and a.flags.c_contiguous
            and len(rest) <= place + 1
            and keywords.keys() <= {"axis", "ord"}
        ):
            whole = functools.partial(_called, function, rest, keywords)
            found = _pieced(whole, a, axis % a.ndim)
        return function(a, *rest, **keywords) if found is None else found

    return call


def _called(function: Function, rest: Any, keywords: Any, x: HostArray) -> Any:
    return function(x, *rest, **keywords)


def _pieced(function: Function, x: HostArray, axis: int) -> HostArray | None:
    """The results of pieces along another axis, together."""
    kept = [k for k in range(x.ndim) if k != axis]
    threads = available_threads()
    if not kept or threads < 2:
        return None
    long = max(kept, key=lambda k: x.shape[k])
    length = x.shape[long]
    count = min(length // 2, 4 * threads)
    if count < 2 or long == x.ndim - 1:  # pieces of columns are no faster
        return None
    before = (slice(None),) * long
    parts: list[Any] = [None] * count
    state: Any = np.geterr()
    call: Any = np.geterrcall()

    def part(number: int) -> None:
        piece = slice(length * number // count, length * (number + 1) // count)
        with np.errstate(call=call, **state):
            parts[number] = function(x[(*before, piece)])

    run_slices(part, count, threads)
    joined: HostArray = np.concatenate(parts, axis=long - (long > axis))
    return joined


_counted = by_rows(np.count_nonzero, 0)


def _counted_down(a: Any) -> HostArray | None:
    """How many elements are not zero along the first axis of several; rows are counted
    by threads, as many at a time as the cache holds."""
    if not (
        type(a) is np.ndarray
        and a.ndim > 1
        and a.dtype.kind in "biufc"
        and a.size >= LEAST
        and a.flags.c_contiguous
    ):
        return None
    pieces, each = in_pieces(a.shape[0])
    some = max(1, BLOCK // (a.size // a.shape[0]))
    counts = np.zeros((pieces, *a.shape[1:]), np.intp)

    def part(number: int) -> None:
        stop = min(a.shape[0], (number + 1) * each)
        for start in range(number * each, stop, some):
            block = a[start : min(start + some, stop)]
            counts[number] += np.count_nonzero(block, axis=0)

    run_slices(part, pieces, available_threads())
    found: HostArray = counts.sum(0)
    return found


@functools.wraps(np.count_nonzero)
def count_nonzero(a: Any, axis: Any = None, *, keepdims: Any = False) -> Any:
    """`numpy.count_nonzero`."""
    if keepdims:
        return np.count_nonzero(a, axis, keepdims=keepdims)
    if axis is not None:
        found = _counted_down(a) if axis == 0 else None
        return _counted(a, axis) if found is None else found
    if (
        type(a) is np.ndarray
        and a.dtype.kind in "iufc"  # of truths NumPy counts many at once
        and a.size >= LEAST
        and a.flags.c_contiguous
    ):
        run = a.reshape(-1)
        pieces, each = in_pieces(run.size)
        counts = np.zeros(pieces, np.intp)

        def part(number: int) -> None:
            for start in range(
                number * each, min((number + 1) * each, run.size), BLOCK
            ):
                block = run[start : min(start + BLOCK, (number + 1) * each)]
                counts[number] += np.count_nonzero(block != 0)

        run_slices(part, pieces, available_threads())
        return type(np.count_nonzero(np.zeros(1)))(counts.sum())
    return np.count_nonzero(a)
