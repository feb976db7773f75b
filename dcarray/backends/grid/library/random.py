"""Random numbers: the streams of NumPy's bit generators, made on the device."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ....ops.elementwise import CAST
from ....ops.kernels.drawing import pcg_kernel, philox_kernel
from ....ops.random import PCG_MULTIPLIER
from ..views import GridView
from .work import WAVES, Work

__all__ = ["TABLE"]

WORD = 0xFFFFFFFFFFFFFFFF
WHOLE = (1 << 128) - 1
LEAST = 8
"""Words for which a work item finds its place in the stream of PCG64."""


def _draw(
    work: Work,
    *,
    size: int,
    dtype: Any,
    kind: str,
    key: tuple[int, ...],
    place: int,
    held: int | None,
) -> GridView:
    """Raw words of 64 or 32 bits, or floats from 0 to 1."""
    dtype = np.dtype(dtype)
    out = work.new((size,), dtype)
    first = int(held is not None and dtype.itemsize == 4)
    if size > first:
        draw = _pcg if kind == "PCG64" else _philox
        draw(work, out, first, key, place)
    if first and size:
        # Only now: in its place is what comes before the words that were wanted.
        number = held if dtype.kind == "u" else ((held or 0) >> 8) * 2.0**-24
        work.map(CAST, dtype.type(number), out=out.through(lambda a: a[:1]))
    return out


def _philox(
    work: Work, out: GridView, first: int, key: tuple[int, ...], place: int
) -> None:
    each = 8 // out.dtype.itemsize
    counter, skipped = divmod(place, 4)
    words = [np.uint64(counter >> 64 * k & WORD) for k in range(4)]
    blocks = -(-(skipped * each + out.size) // (4 * each))
    numbers = [np.uint64(word) for word in key]
    skip = skipped * each - first
    kernel = philox_kernel(out.dtype)
    work.run(kernel, blocks, out, out.size, skip, *words, *numbers)


def _pcg(
    work: Work, out: GridView, first: int, key: tuple[int, ...], place: int
) -> None:
    each = 8 // out.dtype.itemsize
    words = -(-out.size // each)
    most = work.backend.limits.units * WAVES * work.items
    groups = -(-min(-(-words // LEAST), most) // work.items)
    rows = (groups * work.items).bit_length()
    leaps = _leaps(key[0], rows, groups * work.items)
    table = work.put(np.array(leaps, np.uint64))
    state = np.uint64(place >> 64), np.uint64(place & WORD)
    kernel = pcg_kernel(out.dtype)
    numbers = (out.size, -first, rows)
    work.run_groups(kernel, (groups, 1), out, table, *numbers, *state)


def _leaps(increment: int, rows: int, items: int) -> list[int]:
    """The words of the table that `pcg_kernel` takes."""
    found = []
    factor, plus = PCG_MULTIPLIER, increment
    whole, added = 1, 0
    for k in range(rows):
        found += _halves(factor) + _halves(plus)
        if items >> k & 1:
            whole, added = whole * factor & WHOLE, (added * factor + plus) & WHOLE
        factor, plus = factor * factor & WHOLE, (factor + 1) * plus & WHOLE
    return found + _halves(whole) + _halves(added)


def _halves(number: int) -> list[int]:
    return [number >> 64, number & WORD]


TABLE: dict[str, Callable[..., Any]] = {"random.draw": _draw}
"""Functions by the name of their rows."""
