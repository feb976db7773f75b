"""``x[places] = values`` with many random places, on all cores.

NumPy waits for memory at almost every element.  Here places are brought together by
their upper bits, in the order in which they came, and every thread writes regions of
its own that the cache holds.  Of several elements for a place the last one wins, as in
NumPy.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ....ops.kernels import radix, storing as rows
from ....ops.kernels.gathering import carrier
from ..kernels import run_pieces
from ..threads import available_threads
from .radix import in_pieces, rented

__all__ = ["is_worth_it", "stored"]

HostArray = np.ndarray[Any, Any]

LEAST = 1 << 20
"""Places from which this pays."""

LARGE = 1 << 23
"""Bytes from which what is written to lies in no cache of one core."""

REGION = 5
"""Bits of a place that make a region: a processor keeps some 16 pages at hand that are
written to."""

SAMPLES = 256
NEAR = 1 << 12
"""How many pairs of neighbouring places are looked at, and how many bytes apart they
are where NumPy's way is as good."""


def is_worth_it(x: HostArray, places: HostArray) -> bool:
    """Whether places are many, and lie apart in an array that no cache holds."""
    return (
        places.size >= LEAST
        and x.nbytes >= LARGE
        and x.size < 1 << 32
        and places.dtype.kind in "iu"
        and places.dtype.isnative
        and places.flags.c_contiguous
        and places.flags.aligned
        and not _are_near(places.reshape(-1), x.itemsize)
    )


def stored(x: HostArray, places: HostArray, values: HostArray) -> bool:
    """Store elements, one or as many as there are places; whether that was done.

    Parameters
    ----------
    x : ndarray
        A contiguous run of elements.
    places : ndarray
        For which `is_worth_it` holds.
    values : ndarray
        Contiguous, of the dtype of ``x``.  None of them shares memory.
    """
    count = places.size
    pieces, each = in_pieces(count)
    keys = rented(count, rows.KEY)
    ends = np.zeros((pieces, 2), np.int64)
    kernel = rows.keys_kernel(places.dtype)
    flat = places.reshape(-1)
    if not run_pieces(kernel, pieces, (flat, keys, ends, count, each, x.size)):
        return False
    if ends[:, 0].min() < -x.size or ends[:, 1].max() >= x.size:
        return False  # NumPy says what is wrong
    shift = max(0, (x.size - 1).bit_length() - REGION)
    counts = np.zeros((pieces, 4, radix.DIGITS), np.int64)
    sizes = (count, each, shift)
    run_pieces(radix.count_kernel(rows.KEY), pieces, (keys, counts, *sizes))
    wanted = counts.sum(1).T  # region by region, piece by piece
    stops = wanted.cumsum()
    begins = np.ascontiguousarray((stops.reshape(wanted.shape) - wanted).T)
    edges = _edges(stops[pieces - 1 :: pieces])
    kind = carrier(x.dtype)
    given = values.reshape(-1).view(kind)
    is_one = values.size == 1
    together = rented(count, rows.KEY)
    if is_one:
        move = radix.move_kernel(rows.KEY, rows.KEY, False)
        run_pieces(move, pieces, (keys, begins, together, *sizes, 0))
    else:
        ordered = rented(count, kind)
        place = radix.place_kernel(rows.KEY, kind, kind, False, False)
        arguments = (keys, given, begins, together, ordered)
        run_pieces(place, pieces, (*arguments, *sizes))
        given = ordered
    target = x.reshape(-1).view(kind)
    store = rows.store_kernel(kind, is_one)
    return run_pieces(store, len(edges) - 1, (target, together, given, edges))


def _are_near(places: HostArray, itemsize: int) -> bool:
    """Whether most places lie near the ones before."""
    step = max(1, (places.size - 1) // SAMPLES)
    pairs = places[: step * SAMPLES : step], places[1 : 1 + step * SAMPLES : step]
    some = min(len(pairs[0]), len(pairs[1]))
    apart = np.abs(pairs[0][:some].astype(np.int64) - pairs[1][:some].astype(np.int64))
    return bool(np.median(apart) * itemsize < NEAR)


def _edges(stops: HostArray) -> HostArray:
    """With which place each thread's parts begin and end, at ends of regions."""
    threads = available_threads()
    parts = 4 * threads if threads > 1 else 1
    wanted = stops[-1] * np.arange(1, parts) // parts
    inner = stops[np.searchsorted(stops, wanted)]
    return np.unique(np.concatenate([[0], inner, stops[-1:]])).astype(np.int64)
