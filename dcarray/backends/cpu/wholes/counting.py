"""Places in an order and counts of values, by pieces on all cores.

Where NumPy's searches guess at every step which way an element goes, and are mostly
wrong, kernels of dcarray do not guess (`ops.kernels.binning`).
"""

from __future__ import annotations

import functools
from typing import Any

import numpy as np

from ....ops.kernels import binning as rows
from ....ops.kernels.sorting import key_dtype
from ..kernels import run_pieces
from ..threads import available_threads, run_slices
from .quantiles import ends_of
from .radix import in_pieces, rented

__all__ = ["bincount", "digitize", "histogram", "searchsorted"]

HostArray = np.ndarray[Any, Any]

LEAST = 1 << 16
"""Elements from which threads share the work."""

FEW = 1 << 16
"""Most counts that each piece has for itself."""


NEAR = 1 << 19
"""Most bytes of an order that is searched in without guesses: memory that is far must
be fetched ahead, on a guess."""

_KINDS = "bBhHiIlLqQfd"


def _increases(a: HostArray) -> bool:
    """Whether a run is in order, NaN last; elsewhere NumPy's places depend on those of
    the elements before."""
    later = a[1:] >= a[:-1]
    if a.dtype.kind == "f" and not later.all():
        later |= a[1:] != a[1:]
    return bool(later.all())


def _is_in_order(a: Any, dtype: np.dtype[Any]) -> bool:
    """Whether it is a short run in order, without NaN, of a dtype that kernels have."""
    return (
        type(a) is np.ndarray
        and a.ndim == 1
        and a.dtype == dtype
        and dtype.char in _KINDS
        and a.size > 1
        and a.nbytes <= NEAR
        and a.flags.c_contiguous
        and a.flags.aligned
        and bool((a[1:] >= a[:-1]).all())
    )


def _keys(a: HostArray) -> HostArray | None:
    found = np.empty(a.size, key_dtype(a.dtype))
    return (
        found if run_pieces(rows.keys_kernel(a.dtype), 1, (a, found, a.size)) else None
    )


def _tree(keys: HostArray) -> tuple[HostArray, int]:
    """Keys in order as a tree, see `ops.kernels.binning`, and its levels."""
    levels = keys.size.bit_length()
    filled = np.full(1 << levels, np.iinfo(keys.dtype).max, keys.dtype)
    filled[: keys.size] = keys
    tree = np.empty_like(filled)
    for level in range(levels):
        apart = 1 << (levels - level)
        tree[1 << level : 2 << level] = filled[apart // 2 - 1 :: apart]
    return tree, levels


def _placed(a: HostArray, v: HostArray, right: bool) -> HostArray | None:
    """Where elements belong in what is in order."""
    keys = _keys(a)
    if keys is None:
        return None
    tree, levels = _tree(keys)
    found = rented(v.size, np.dtype(np.intp)).reshape(v.shape)
    pieces, each = in_pieces(v.size)
    kernel = rows.places_kernel(v.dtype, right)
    sizes = (a.size, levels, v.size, each)
    done = run_pieces(kernel, pieces, (tree, v, found, *sizes))
    return found if done else None


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
        and _increases(a)
    ):
        if _is_in_order(a, v.dtype) and v.flags.aligned:
            quickly = _placed(a, v, side == "right")
            if quickly is not None:
                return quickly
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
        if _is_in_order(bins, x.dtype):
            return searchsorted(bins, x, "left" if right else "right")
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
    found = None
    if (
        type(bins) is int
        and 0 < bins <= FEW
        and weights is None
        and not density
        and _is_shared(a, "iuf")
        and a.flags.aligned
    ):
        found = _uniform(a.reshape(-1), bins, range)
    return np.histogram(a, bins, range, density, weights) if found is None else found


def _uniform(x: HostArray, bins: int, ends: Any) -> tuple[HostArray, HostArray] | None:
    """The histogram of bins of one width; None where NumPy computes it otherwise."""
    if x.dtype.char not in "bBhHiIfd":
        return None  # what float64 cannot hold
    if ends is None:
        ends = ends_of(x)
    elif x.dtype.char == "f" or not all([type(end) in (int, float) for end in ends]):
        return None
    if not all([np.isfinite(end) for end in ends]):
        return None  # NumPy says what is wrong
    edges = np.histogram_bin_edges(x[:1], bins, tuple(ends))
    pieces, each = in_pieces(x.size)
    counts = np.zeros((pieces, edges.size), np.int64)
    kernel = rows.uniform_kernel(x.dtype, edges.dtype)
    if not run_pieces(kernel, pieces, (edges, x, counts, edges.size, x.size, each)):
        return None
    return counts.sum(0)[:-1].astype(np.intp, copy=False), edges
