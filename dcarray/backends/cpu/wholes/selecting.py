"""Elements by masks and by index arrays, on all cores.

NumPy's way through a mask waits for the processor to guess each element of it; here
nothing is guessed (`ops.kernels.selecting`).  Index arrays are cut into pieces; what is
stored by them is brought together first (`storing`).
"""

from __future__ import annotations

import functools
from typing import Any

import numpy as np

from ....ops.indexing import filled
from ....ops.kernels import selecting as rows
from ....ops.kernels.gathering import carrier
from ..kernels import run_pieces
from ..threads import available_threads, run_slices
from .radix import in_pieces, rented
from .storing import is_worth_it, stored

__all__ = [
    "argwhere",
    "compress",
    "extract",
    "flatnonzero",
    "get",
    "nonzero",
    "picked",
    "put",
    "take",
]

HostArray = np.ndarray[Any, Any]

LEAST = 1 << 16
"""Elements of a mask from which this pays."""

SHARED = 1 << 19
"""Elements of a mask from which threads share it: to wake one takes longer than to go
through so few."""

_PLAIN = (bool, int, float)

MANY = 1 << 17
"""Elements that are taken, from which threads share them."""


def _is_run(x: Any) -> bool:
    """Whether an array is contiguous memory of numbers, as machine code has them."""
    return (
        type(x) is np.ndarray
        and x.dtype.kind in "biufc"
        and (x.dtype.itemsize <= 8 or x.dtype.char == "D")
        and x.flags.c_contiguous
        and x.flags.aligned
    )


def _pieces(count: int) -> tuple[int, int]:
    """In how many pieces a mask is cut, and their elements: whole words."""
    pieces, each = (1, count) if count < SHARED else in_pieces(count)
    return pieces, -(-each // rows.WORD) * rows.WORD


def _words(truths: HostArray) -> HostArray:
    """The bytes of a mask as words, but for the last few."""
    return truths[: truths.size // rows.WORD * rows.WORD].view(np.uint64)


class _Mask:
    """A contiguous mask, how many elements it selects, and before each piece."""

    def __init__(self, mask: HostArray) -> None:
        self.bytes = mask.reshape(-1).view(np.uint8)
        self.count = len(self.bytes)
        self.pieces, self.each = _pieces(self.count)
        self.begun = np.zeros(self.pieces + 1, np.int64)
        truths = self.bytes.view(np.bool)

        def counted(number: int) -> None:
            piece = truths[number * self.each : (number + 1) * self.each]
            self.begun[number + 1] = np.count_nonzero(piece)

        run_slices(counted, self.pieces, available_threads())
        self.begun.cumsum(out=self.begun)
        self.selected = int(self.begun[-1])


def _is_mask(mask: Any) -> bool:
    return (
        type(mask) is np.ndarray
        and mask.dtype == np.bool
        and mask.size >= LEAST
        and mask.flags.c_contiguous
        and mask.__array_interface__["data"][0] % rows.WORD == 0
    )


def _selected(x: HostArray, mask: HostArray) -> HostArray | None:
    """``x[mask]`` of a run and a mask of its size; None without machine code."""
    found = _Mask(mask)
    if found.selected == found.count:
        return x.reshape(-1).copy()
    kind = carrier(x.dtype)
    kernel = rows.select_kernel(kind, False)
    out = rented(found.selected, x.dtype)
    elements = x.reshape(-1).view(kind)
    sizes = (found.count, found.each)
    truths = found.bytes
    arguments = (elements, truths, _words(truths), found.begun, out.view(kind))
    done = run_pieces(kernel, found.pieces, (*arguments, *sizes))
    return out if done else None


def _places(mask: HostArray) -> HostArray | None:
    """Where a mask of any shape holds, as places in all of it."""
    found = _Mask(mask)
    kernel = rows.select_kernel(rows.BYTE, True)
    out = rented(found.selected, np.dtype(np.int64))
    bytes_ = found.bytes
    arguments = (bytes_, bytes_, _words(bytes_), found.begun, out)
    done = run_pieces(kernel, found.pieces, (*arguments, found.count, found.each))
    return out if done else None


# -------------------------------------------------------------------------- selecting
def picked(x: HostArray, key: Any) -> Any:
    """``x[key]``."""
    if type(key) is np.ndarray and _is_run(x):
        found = None
        if key.dtype == np.bool:
            if key.shape == x.shape and _is_mask(key):
                found = _selected(x, key)
        elif x.ndim and key.ndim and _shares(x, key, 0):
            found = _taken(x, key, 0)
        if found is not None:
            return found
    return x[key]


@functools.wraps(np.compress)
def compress(condition: Any, a: Any, axis: Any = None, out: Any = None) -> Any:
    """`numpy.compress`."""
    if out is None and type(a) is np.ndarray and type(condition) is np.ndarray:
        alone = axis is None or (a.ndim == 1 and axis in (0, -1))
        if alone and condition.shape == (a.size,) and condition.dtype == np.bool:
            return picked(a.reshape(-1), condition)
    return np.compress(condition, a, axis, out)


@functools.wraps(np.extract)
def extract(condition: Any, arr: Any) -> Any:
    """`numpy.extract`."""
    if (
        type(arr) is np.ndarray
        and type(condition) is np.ndarray
        and condition.dtype == np.bool
        and condition.shape == arr.shape
        and arr.ndim
    ):
        return picked(arr, condition)
    return np.extract(condition, arr)


def get(x: HostArray, *arrays: HostArray, key: Any) -> Any:
    """The oracle of `ops.indexing.GET`."""
    return picked(x, filled(key, arrays))


def put(x: HostArray, key: Any, value: Any) -> None:
    """``x[key] = value``."""
    if type(key) is np.ndarray and _is_run(x) and not np.may_share_memory(key, x):
        if key.dtype == np.bool:
            if key.shape == x.shape and _is_mask(key) and _replaced(x, key, value):
                return
        elif x.ndim == 1 and x.itemsize <= 8 and is_worth_it(x, key):
            values = _elements(x, value)
            if (
                values is not None
                and (np.ndim(value) == 0 or values.shape == key.shape)
                and stored(x, key, values)
            ):
                return
    x[key] = value


def _elements(x: HostArray, value: Any) -> HostArray | None:
    """What is to be stored, as contiguous elements of the dtype of ``x`` in memory of
    their own; None where NumPy converts them."""
    if np.ndim(value) == 0:
        if type(value) not in _PLAIN and getattr(value, "dtype", None) != x.dtype:
            return None  # NumPy has rules, and warnings
        one = np.empty(1, x.dtype)
        one[0] = value
        return one
    if not _is_run(value) or value.dtype != x.dtype or np.may_share_memory(value, x):
        return None
    elements: HostArray = value
    return elements


def _replaced(x: HostArray, mask: HostArray, value: Any) -> bool:
    kind = carrier(x.dtype)
    values = _elements(x, value)
    if values is None or values.ndim != 1:
        return False
    if np.ndim(value) == 0:
        pieces, each = _pieces(mask.size)
        begun = np.zeros(pieces, np.int64)
    else:
        found = _Mask(mask)
        pieces, each, begun = found.pieces, found.each, found.begun
        if found.selected != values.size or not values.size:
            return False  # NumPy says what is wrong
    truths = mask.reshape(-1).view(np.uint8)
    arguments = (x.reshape(-1).view(kind), truths, _words(truths), begun)
    sizes = (values.size, mask.size, each)
    kernel = rows.place_kernel(kind)
    return run_pieces(kernel, pieces, (*arguments, values.view(kind), *sizes))


# ----------------------------------------------------------------------------- places
def _as_mask(a: Any) -> HostArray | None:
    if not _is_run(a) or a.size < LEAST:
        return None
    mask = a
    if a.dtype != np.bool:
        mask = np.empty(a.shape, np.bool)
        run, truths = a.reshape(-1), mask.reshape(-1)
        pieces, each = in_pieces(run.size)

        def part(number: int) -> None:
            piece = slice(number * each, (number + 1) * each)
            np.not_equal(run[piece], 0, out=truths[piece])

        run_slices(part, pieces, available_threads())
    return mask if _is_mask(mask) else None


@functools.wraps(np.flatnonzero)
def flatnonzero(a: Any) -> Any:
    """`numpy.flatnonzero`."""
    mask = _as_mask(a)
    found = None if mask is None else _places(mask)
    return np.flatnonzero(a) if found is None else found


@functools.wraps(np.nonzero)
def nonzero(a: Any) -> Any:
    """`numpy.nonzero`."""
    mask = _as_mask(a) if np.ndim(a) else None
    found = None if mask is None else _places(mask)
    if mask is None or found is None:
        return np.nonzero(a)
    return tuple(_unravelled(found, mask.shape))


def _unravelled(places: HostArray, shape: tuple[int, ...]) -> list[HostArray]:
    """Flat places as one along each axis."""
    results = [places]
    for length in reversed(shape[1:]):
        flat, outer = results[0], np.empty_like(places)
        pieces, each = in_pieces(flat.size)

        def part(
            number: int,
            flat: HostArray = flat,
            outer: HostArray = outer,
            length: int = length,
            each: int = each,
        ) -> None:
            piece = slice(number * each, (number + 1) * each)
            np.floor_divide(flat[piece], length, out=outer[piece])
            flat[piece] -= outer[piece] * length

        run_slices(part, pieces, available_threads())
        results.insert(0, outer)
    return results


@functools.wraps(np.argwhere)
def argwhere(a: Any) -> Any:
    """`numpy.argwhere`."""
    if type(a) is np.ndarray and a.ndim:
        return np.transpose(nonzero(a))
    return np.argwhere(a)


# ----------------------------------------------------------------------- index arrays
def _shares(x: HostArray, places: HostArray, axis: int) -> bool:
    """Whether threads take elements of a run by their places along an axis."""
    if type(places) is not np.ndarray or places.dtype.kind not in "iu":
        return False
    if not (places.flags.c_contiguous and places.flags.aligned and places.size):
        return False
    each = x.size // max(1, x.shape[axis])
    return places.size * each >= MANY and available_threads() > 1


def _taken(x: HostArray, places: HostArray, axis: int) -> HostArray | None:
    """`numpy.take` with places in range; None if they are not."""
    length = x.shape[axis]
    flat = places.reshape(-1)
    pieces, each = in_pieces(flat.size)
    ends = np.empty((pieces, 2), np.int64)

    def bounds(number: int) -> None:
        piece = flat[number * each : (number + 1) * each]
        ends[number] = piece.min(), min(piece.max(), length)

    run_slices(bounds, pieces, available_threads())
    low, high = ends[:, 0].min(), ends[:, 1].max()
    if low < -length or high >= length:
        return None  # NumPy says what is wrong
    mode: Any = "wrap" if low < 0 else "clip"
    shape = (*x.shape[:axis], flat.size, *x.shape[axis + 1 :])
    out = np.empty(shape, x.dtype)
    if axis == 0:

        def part(number: int) -> None:
            piece = slice(number * each, (number + 1) * each)
            np.take(x, flat[piece], axis=0, out=out[piece], mode=mode)

        run_slices(part, pieces, available_threads())
    else:
        outer = x.shape[0]
        pieces, each = in_pieces(outer)

        def rows_of(number: int) -> None:
            piece = slice(number * each, (number + 1) * each)
            np.take(x[piece], flat, axis=axis, out=out[piece], mode=mode)

        run_slices(rows_of, pieces, available_threads())
    return out.reshape((*x.shape[:axis], *places.shape, *x.shape[axis + 1 :]))


@functools.wraps(np.take)
def take(
    a: Any, indices: Any, axis: Any = None, out: Any = None, mode: Any = "raise"
) -> Any:
    """`numpy.take`."""
    if _is_run(a) and a.ndim and out is None and mode == "raise":
        x, along = (a.reshape(-1), 0) if axis is None else (a, axis)
        if type(along) is int and -x.ndim <= along < x.ndim:
            along %= x.ndim
            if type(indices) is np.ndarray and _shares(x, indices, along):
                found = _taken(x, indices, along)
                if found is not None:
                    return found
    return np.take(a, indices, axis, out, mode)
