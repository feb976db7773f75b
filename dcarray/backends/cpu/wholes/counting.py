"""Places in an order and counts of values, by pieces on all cores."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np

from ..threads import available_threads, run_slices
from .radix import in_pieces

__all__ = ["bincount", "digitize", "histogram", "searchsorted"]

HostArray = np.ndarray[Any, Any]

LEAST = 1 << 16
"""Elements from which threads share the work."""

FEW = 1 << 16
"""Most counts that each piece has for itself."""


def _is_shared(x: Any, kinds: str) -> bool:
    return (
        type(x) is np.ndarray
        and x.dtype.kind in kinds
        and x.dtype.isnative
        and x.size >= LEAST
        and x.flags.c_contiguous
        and available_threads() > 1
    )


@functools.wraps(np.searchsorted)
def searchsorted(a: Any, v: Any, side: Any = "left", sorter: Any = None) -> Any:
    """`numpy.searchsorted`."""
    if (
        _is_shared(v, "biuf")
        and type(a) is np.ndarray
        and a.ndim == 1
        and a.dtype == v.dtype
        and side in ("left", "right")
        and sorter is None
    ):
        flat, found = v.reshape(-1), np.empty(v.shape, np.intp)
        places = found.reshape(-1)
        pieces, each = in_pieces(flat.size)

        def part(number: int) -> None:
            piece = slice(number * each, (number + 1) * each)
            places[piece] = np.searchsorted(a, flat[piece], side)

        run_slices(part, pieces, available_threads())
        return found
    return np.searchsorted(a, v, side, sorter)


@functools.wraps(np.digitize)
def digitize(x: Any, bins: Any, right: Any = False) -> Any:
    """`numpy.digitize`."""
    if _is_shared(x, "biuf"):
        flat, found = x.reshape(-1), np.empty(x.shape, np.intp)
        places = found.reshape(-1)
        pieces, each = in_pieces(flat.size)

        def part(number: int) -> None:
            piece = slice(number * each, (number + 1) * each)
            places[piece] = np.digitize(flat[piece], bins, right)

        run_slices(part, pieces, available_threads())
        return found
    return np.digitize(x, bins, right)


@functools.wraps(np.bincount)
def bincount(x: Any, /, weights: Any = None, minlength: Any = 0) -> Any:
    """`numpy.bincount`; sums of weights depend on their order, and are NumPy's."""
    if weights is None and _is_shared(x, "iu") and x.ndim == 1:
        pieces, each = in_pieces(x.size)
        ends = np.empty((pieces, 2), x.dtype)

        def bounds(number: int) -> None:
            piece = x[number * each : (number + 1) * each]
            ends[number] = piece.min(), piece.max()

        run_slices(bounds, pieces, available_threads())
        low, high = int(ends.min()), int(ends.max())
        if low >= 0 and high < FEW and np.can_cast(x.dtype, np.intp):
            counts = np.empty((pieces, high + 1), np.intp)

            def part(number: int) -> None:
                piece = x[number * each : (number + 1) * each]
                counts[number] = np.bincount(piece, minlength=high + 1)

            run_slices(part, pieces, available_threads())
            total = counts.sum(0)
            if minlength <= len(total):
                return total
            return np.pad(total, (0, minlength - len(total)))
    return np.bincount(x, weights, minlength)


@functools.wraps(np.histogram)
def histogram(
    a: Any, bins: Any = 10, range: Any = None, density: Any = None, weights: Any = None
) -> Any:
    """`numpy.histogram`."""
    if (
        type(bins) is int
        and 0 < bins <= FEW
        and weights is None
        and not density
        and _is_shared(a, "iuf")
    ):
        flat = a.reshape(-1)
        ends = (flat.min(), flat.max()) if range is None else range
        pieces, each = in_pieces(flat.size)
        counts = np.empty((pieces, bins), np.intp)
        edges: list[Any] = [None] * pieces

        def part(number: int) -> None:
            piece = flat[number * each : (number + 1) * each]
            counts[number], edges[number] = np.histogram(piece, bins, ends)

        run_slices(part, pieces, available_threads())
        return counts.sum(0), edges[0]
    return np.histogram(a, bins, range, density, weights)
