"""One long run in order, by the digits of its keys."""

from __future__ import annotations

from typing import Any

import numpy as np

from ....ops.kernels import radix as rows
from ....ops.kernels.sorting import key_dtype
from ...registry import backend_for
from .. import memory
from ..kernels import run_pieces
from ..threads import available_threads, run_slices

__all__ = ["in_pieces", "order_of", "rented", "sorted_run"]

HostArray = np.ndarray[Any, Any]

PIECES = 4
"""Pieces for each thread: who has a core for itself takes more of them."""

INT32 = np.dtype(np.int32)
INT64 = np.dtype(np.intp)


def rented(count: int, dtype: np.dtype[Any]) -> HostArray:
    """Memory of the pool for so many elements."""
    backend: Any = backend_for("cpu")
    block = memory.rent(backend.pool, count * dtype.itemsize)
    return np.ndarray(count, dtype, block)


def in_pieces(count: int) -> tuple[int, int]:
    """In how many pieces a run is cut, and the elements of each but the last one."""
    threads = available_threads()
    pieces = PIECES * threads if threads > 1 else 1
    each = max(1, -(-count // pieces))
    return max(1, -(-count // each)), each


class _Keys:
    """Keys of a contiguous array of one axis, of integers or floats up to 64 bits.

    ``shifts`` are the places of the digits in which they differ.
    """

    def __init__(self, x: HostArray) -> None:
        self.x = x
        self.key = key_dtype(x.dtype)
        self.pieces, each = in_pieces(x.size)
        self.sizes = (x.size, each)
        self.low = _lowest(x, *self.sizes) if x.dtype.kind in "iu" else 0

    def make(self, descending: bool = False, exact: bool = False) -> bool:
        """Whether there is machine code to make them, and all else."""
        count = self.x.size
        self.keys, self.spare = rented(count, self.key), rented(count, self.key)
        differing = np.empty(self.pieces, self.key)
        kernel = rows.key_kernel(self.x.dtype, descending, exact)
        arguments = (self.x, self.keys, differing, *self.sizes, self.low)
        if not run_pieces(kernel, self.pieces, arguments):
            return False
        bits = int(np.bitwise_or.reduce(differing))
        steps = range(0, bits.bit_length(), rows.DIGIT)
        self.shifts = [step for step in steps if bits >> step & (rows.DIGITS - 1)]
        return True

    def places(self, shift: int) -> HostArray:
        """Where the first key with each digit goes, for each piece."""
        counts = np.zeros((self.pieces, 4, rows.DIGITS), np.int64)
        arguments = (self.keys, counts, *self.sizes, shift)
        run_pieces(rows.count_kernel(self.key), self.pieces, arguments)
        wanted = counts.sum(1).T  # digit by digit, piece by piece
        ends = wanted.cumsum().reshape(wanted.shape)
        return np.ascontiguousarray((ends - wanted).T)


def order_of(x: HostArray, descending: bool) -> HostArray | None:
    """What `numpy.argsort` with ``kind="stable"`` gives for a run, see `_Keys`; None
    if there is no machine code.

    Parameters
    ----------
    x : ndarray
        Of fewer than 2**31 elements.
    descending : bool
        The largest first, what is equal in its order.
    """
    run = _Keys(x)
    if not run.make(descending):
        return None
    order = rented(x.size, INT64)
    if not run.shifts:
        order[...] = np.arange(x.size)
        return order
    # The numbers are short in between, where there is something in between.
    numbers, others = rented(x.size, INT32), rented(x.size, INT32)
    for turn, shift in enumerate(run.shifts):
        first, last = turn == 0, turn == len(run.shifts) - 1
        kept = order if last else others
        kernel = rows.place_kernel(run.key, INT32, kept.dtype, first, last)
        places = run.places(shift)
        arguments = (run.keys, numbers, places, run.spare, kept, *run.sizes, shift)
        run_pieces(kernel, run.pieces, arguments)
        run.keys, run.spare, numbers, others = run.spare, run.keys, others, numbers
    return order


def sorted_run(x: HostArray) -> HostArray | None:
    """A sorted copy of a run, see `_Keys`: zeros below zero first, NaN last and without
    signs; None if there is no machine code."""
    run = _Keys(x)
    if not run.make(exact=True):
        return None
    found = rented(x.size, x.dtype)
    if not run.shifts:
        found[...] = x
    for shift in run.shifts:
        last = shift == run.shifts[-1]
        kept = found if last else run.spare
        kernel = rows.move_kernel(run.key, x.dtype, last)
        arguments = (run.keys, run.places(shift), kept, *run.sizes, shift, run.low)
        run_pieces(kernel, run.pieces, arguments)
        run.keys, run.spare = run.spare, run.keys
    return found


def _lowest(x: HostArray, count: int, each: int) -> int:
    """The lowest integer; as an int64 of the same bits."""
    pieces = -(-count // each)
    found = [int(x[0])] * pieces

    def task(number: int) -> None:
        part = x[number * each : (number + 1) * each]
        found[number] = int(part.min(initial=found[number]))

    run_slices(task, pieces, available_threads())
    low = min(found)
    return low - (1 << 64) if low >= 1 << 63 else low
