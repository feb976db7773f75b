"""The stable order of one long run, by the digits of its keys."""

from __future__ import annotations

from typing import Any

import numpy as np

from ....ops.kernels import radix as rows
from ....ops.kernels.sorting import key_dtype
from ...registry import backend_for
from .. import memory
from ..kernels import run_pieces
from ..threads import run_slices

__all__ = ["order_of", "rented"]

HostArray = np.ndarray[Any, Any]

INT32 = np.dtype(np.int32)
INT64 = np.dtype(np.intp)


def rented(count: int, dtype: np.dtype[Any]) -> HostArray:
    """Memory of the pool for so many elements."""
    backend: Any = backend_for("cpu")
    block = memory.rent(backend.pool, count * dtype.itemsize)
    return np.ndarray(count, dtype, block)


def order_of(x: HostArray, descending: bool, threads: int) -> HostArray | None:
    """What `numpy.argsort` with ``kind="stable"`` gives for a contiguous array of one
    axis, of integers or floats up to 64 bits; None if there is no machine code.

    Parameters
    ----------
    x : ndarray
        Of fewer than 2**31 elements.
    descending : bool
        The largest first, what is equal in its order.
    threads : int
    """
    count, pieces = x.size, threads
    each = -(-count // pieces)
    key = key_dtype(x.dtype)
    keys, spare = rented(count, key), rented(count, key)
    differing = np.empty(pieces, key)
    low = _lowest(x, pieces, each) if x.dtype.kind in "iu" else 0
    sizes = (count, each)
    kernel = rows.key_kernel(x.dtype, descending)
    if not run_pieces(kernel, pieces, (x, keys, differing, *sizes, low)):
        return None
    bits = int(np.bitwise_or.reduce(differing))
    shifts = [
        shift
        for shift in range(0, bits.bit_length(), rows.DIGIT)
        if bits >> shift & (rows.DIGITS - 1)
    ]
    order = rented(count, INT64)
    if not shifts:
        order[...] = np.arange(count)
        return order
    # The numbers are short in between, where there is something in between.
    numbers, others = rented(count, INT32), rented(count, INT32)
    for turn, shift in enumerate(shifts):
        counts = np.zeros((pieces, 4, rows.DIGITS), np.int64)
        run_pieces(rows.count_kernel(key), pieces, (keys, counts, *sizes, shift))
        first, last = turn == 0, turn == len(shifts) - 1
        kept = order if last else others
        run_pieces(
            rows.place_kernel(key, INT32, kept.dtype, first, last),
            pieces,
            (keys, numbers, _places(counts), spare, kept, *sizes, shift),
        )
        keys, spare, numbers, others = spare, keys, others, numbers
    return order


def _places(counts: HostArray) -> HostArray:
    """Where the first key of each digit goes, for each piece."""
    wanted = counts.sum(1).T  # digit by digit, piece by piece
    ends = wanted.cumsum().reshape(wanted.shape)
    return np.ascontiguousarray((ends - wanted).T)


def _lowest(x: HostArray, pieces: int, each: int) -> int:
    """The lowest integer; as an int64 of the same bits."""
    found = [int(x[0])] * pieces

    def task(number: int) -> None:
        part = x[number * each : (number + 1) * each]
        found[number] = int(part.min(initial=found[number]))

    run_slices(task, pieces, pieces)
    low = min(found)
    return low - (1 << 64) if low >= 1 << 63 else low
