"""``accumulate`` of sums and products on all cores, with NumPy's bits.

NumPy goes along the axis even where neighbours in memory lie beside it, and waits for
each addition before the next one.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from typing import Any

import numpy as np

from ....ops.kernels import accumulating as rows
from ..kernels import run_pieces
from ..threads import available_threads, run_slices
from .radix import in_pieces, rented

__all__ = ["accumulate"]

HostArray = np.ndarray[Any, Any]

LEAST = 1 << 16
"""Elements from which this pays."""

_NUMBERS = "fdlqLQ"

FEWEST = 16
"""Columns that a thread has at least: one cache line."""


def accumulate(ufunc: np.ufunc) -> Callable[..., Any]:
    """``ufunc.accumulate`` of `numpy.add` or `numpy.multiply`."""

    @functools.wraps(ufunc.accumulate)
    def call(array: Any, axis: Any = 0, dtype: Any = None, out: Any = None) -> Any:
        found = None
        if (
            out is None
            and type(array) is np.ndarray
            and array.size >= LEAST
            and array.flags.c_contiguous
            and array.flags.aligned
            and array.dtype.isnative
            and type(axis) is int
            and -array.ndim <= axis < array.ndim
        ):
            found = _accumulated(ufunc, array, axis % array.ndim, dtype)
        return ufunc.accumulate(array, axis, dtype, out) if found is None else found

    return call


def _in_turn(ufunc: np.ufunc, x: HostArray, total: np.dtype[Any]) -> HostArray | None:
    """A run that is accumulated element by element, into memory that is there."""
    if x.dtype != total or total.char not in _NUMBERS:
        return None
    found = rented(x.size, total).reshape(x.shape)
    ufunc.accumulate(x.reshape(-1), out=found.reshape(-1))
    return found


def _accumulated(
    ufunc: np.ufunc, x: HostArray, axis: int, dtype: Any
) -> HostArray | None:
    total = _dtype_of_total(x.dtype) if dtype is None else np.dtype(dtype)
    outer, length = math.prod(x.shape[:axis]), x.shape[axis]
    columns = math.prod(x.shape[axis + 1 :])
    if columns == outer == 1:
        found = _of_integers(x, total) if ufunc is np.add else None
        return _in_turn(ufunc, x, total) if found is None else found
    if total != x.dtype or total.char not in _NUMBERS or length < 2:
        return None
    times = ufunc is np.multiply
    if times and _is_told("under"):
        return None
    found = np.empty(x.shape, total)
    arguments = (x.reshape(-1), found.reshape(-1))
    if columns == 1:
        pieces, each = in_pieces(-(-outer // rows.AT_ONCE))
        kernel = rows.rows_kernel(total, times)
        numbers: tuple[int, ...] = (outer, length, each * rows.AT_ONCE)
    elif columns >= FEWEST:
        lines = -(-columns // FEWEST)
        each = -(-lines // available_threads()) * FEWEST
        pieces = -(-columns // each)
        kernel = rows.down_kernel(total, times)
        numbers = (outer, length, columns, each)
    else:
        return None
    if not run_pieces(kernel, pieces, (*arguments, *numbers)):
        return None
    if total.kind == "f" and _is_told("over", "invalid"):
        ends = found.reshape(outer, length, columns)[:, -1]
        if not np.isfinite(ends).all():
            return None  # NumPy says what went over
    return found


def _dtype_of_total(dtype: np.dtype[Any]) -> np.dtype[Any]:
    """What NumPy accumulates numbers of a dtype in."""
    return np.add.accumulate(np.zeros(1, dtype)).dtype


def _is_told(*kinds: str) -> bool:
    """Whether somebody wants to know of some kinds of errors."""
    told: dict[str, Any] = dict(np.geterr())
    return any([told[kind] != "ignore" for kind in kinds])


def _of_integers(x: HostArray, total: np.dtype[Any]) -> HostArray | None:
    """The sums of a run of integers, in two passes."""
    if x.dtype.kind not in "biu" or total.char not in "lqLQ":
        return None
    run = x.reshape(-1)
    pieces, each = in_pieces(run.size)
    before = np.zeros(pieces + 1, total)

    def part(number: int) -> None:
        piece = run[number * each : (number + 1) * each]
        before[number + 1] = piece.sum(dtype=total)

    run_slices(part, pieces, available_threads())
    np.add.accumulate(before, out=before)
    found = np.empty(x.shape, total)
    given = run.view(np.uint8) if run.dtype == np.bool else run
    kernel = rows.piece_kernel(given.dtype, total)
    arguments = (given, before, found.reshape(-1), run.size, each)
    return found if run_pieces(kernel, pieces, arguments) else None
