"""Random numbers: the streams of NumPy's bit generators, made on the device."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from ....ops.elementwise import CAST
from ....ops.kernels.drawing import pcg_kernel, philox_kernel
from ....ops.kernels.ziggurats import CODE, STATES, make_kernel, read_kernel
from ....ops.random import PCG_MULTIPLIER
from ....ops.ziggurat import ziggurat
from ..views import GridView
from .work import INT64, WAVES, HostArray, Work

__all__ = ["TABLE"]

FLOAT64 = np.dtype(np.float64)
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


# --------------------------------------------------------------------------- ziggurats
def _shaped(
    name: str, work: Work, *, size: int, dtype: Any, **place: Any
) -> tuple[GridView, GridView]:
    """Normal or exponential numbers, and how many words they took."""
    dtype = np.dtype(dtype)
    work.check(dtype)
    tables = ziggurat(name, dtype)
    operands = [work.put(x) for x in (tables.factors, tables.limits, tables.heights)]
    doubles = FLOAT64 in work.backend.supported
    variant = (name, dtype, doubles, tables.edge)
    states = STATES[name]
    out, end = work.new((size,), dtype), work.full(1, 0, INT64)
    # A few words in a hundred make no number.
    count = size + size // 24 + 64
    while size:
        bits = np.dtype(f"u{dtype.itemsize}")
        words = _draw(work, size=count, dtype=bits, **place)
        length = max(32, min(1024, count >> 13))
        chunks = -(-count // length)
        codes = work.new((chunks, states), INT64)
        kernel = read_kernel(*variant)
        numbers = (count, length, chunks)
        work.run(kernel, codes.size, words, *operands, codes, *numbers)
        begins, made = _begins(work.read(codes))
        if made >= size:
            kernel = make_kernel(*variant)
            starts = work.put(begins)
            given = (words, *operands, starts, out, end)
            work.run(kernel, chunks, *given, *numbers, size)
            break
        count *= 2
    return out, end


def _begins(codes: HostArray) -> tuple[HostArray, int]:
    """The code at the beginning of each chunk, and how many numbers there are."""
    begins = []
    state = made = 0
    for row in codes.tolist():
        begins.append(made * CODE + state)
        numbers, state = divmod(row[state], CODE)
        made += numbers
    return np.array(begins, np.int64), made


TABLE: dict[str, Callable[..., Any]] = {
    "random.draw": _draw,
    "random.standard_normal": partial(_shaped, "standard_normal"),
    "random.standard_exponential": partial(_shaped, "standard_exponential"),
}
"""Functions by the name of their rows."""
