"""Random numbers by our own texts in CUDA C++: see `kernels.ziggurats`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from ...ops.kernels.ziggurats import EDGE
from ...ops.random import PCG_MULTIPLIER
from ...ops.ziggurat import ziggurat
from ..grid.library.work import INT64
from ..grid.views import GridView
from .kernels import ziggurats
from .raw import Raw, signature

__all__ = ["TABLE"]

LEAST = 1 << 15
"""Numbers from which on the text is worth it."""

WHOLE = 1 << 128
WORD = (1 << 64) - 1

_PCG = signature("pcg", "rwqqqqq")
_NORMAL = signature("normal", "rrrrrwwqqqq")


def _standard_normal(
    raw: Raw,
    *,
    size: int,
    dtype: Any,
    kind: str,
    key: tuple[int, ...],
    place: int,
    held: int | None,
) -> Any:
    """Normal numbers, and how many words they took."""
    dtype = np.dtype(dtype)
    if kind != "PCG64" or not LEAST <= size < 1 << 40 or dtype.char not in "fd":
        return None
    parts = 8 // dtype.itemsize
    first = int(held is not None and parts == 2)
    (increment,) = key
    # A few words in a hundred make no number.
    tiles = -(-(size + size // 24 + 4096) // ziggurats.TILE)
    words = ziggurats.TILE // parts
    back = ziggurats.BEFORE // parts + first
    factor, plus = raw.kept(("back", increment, back), _back)
    place = (place - plus) * factor % WHOLE
    tables = raw.kept(("ziggurat", dtype), _tables)
    doubling, each = raw.kept(("leaps", increment), _leaps)
    text = ziggurats.normal_text(dtype, EDGE)
    states = raw.new((2 * tiles,), INT64)
    out = raw.new((size,), dtype)
    progress = raw.zeros(ziggurats.HEAD + tiles)
    start = (_signed(place >> 64), _signed(place & WORD))
    rows = (tiles * words).bit_length()
    numbers = (tiles, words, rows, *start)
    raw.run(text, _PCG, (-(-tiles // 256),), 256, doubling, states, *numbers)
    most = ziggurats.groups_of(dtype) * raw.backend.limits.units
    groups = (min(tiles, most),)
    operands = (*tables, each, states, out, progress)
    ends = (size, tiles, held or 0, first)
    raw.run(text, _NORMAL, groups, ziggurats.THREADS, *operands, *ends)
    found = np.empty(ziggurats.HEAD, np.int64)
    raw.backend.download(progress.memory, found.view(np.uint8))
    if found[1] or not found[2]:
        return None
    return out, progress.through(lambda a: a[2:3])


def _tables(raw: Raw, key: Any) -> tuple[GridView, GridView, GridView]:
    made = ziggurat("standard_normal", key[1])
    factors, limits, heights = (made.factors, made.limits, made.heights)
    return raw.work.put(factors), raw.work.put(limits), raw.work.put(heights)


def _back(raw: Raw, key: Any) -> tuple[int, int]:
    """What leads back so many words: minus the second number, times the first one."""
    _, increment, words = key
    plus = 0
    for _ in range(words):
        plus = (plus * PCG_MULTIPLIER + increment) % WHOLE
    return pow(PCG_MULTIPLIER, -words, WHOLE), plus


def _leaps(raw: Raw, key: Any) -> tuple[GridView, GridView]:
    """Leaps of 1, 2, 4 ... words, and of 1, 2, 3 ... words."""
    _, increment = key
    doubling, each = [], []
    factor, plus = PCG_MULTIPLIER, increment
    for _ in range(48):
        doubling += _words(factor, plus)
        factor, plus = factor * factor % WHOLE, (factor + 1) * plus % WHOLE
    factor, plus = PCG_MULTIPLIER, increment
    for _ in range(ziggurats.BEFORE + ziggurats.THREADS):
        each += _words(factor, plus)
        factor, plus = (
            factor * PCG_MULTIPLIER % WHOLE,
            (plus * PCG_MULTIPLIER + increment) % WHOLE,
        )
    put = raw.work.put
    return put(np.array(doubling, np.uint64)), put(np.array(each, np.uint64))


def _words(*numbers: int) -> list[int]:
    return [half for number in numbers for half in (number >> 64, number & WORD)]


def _signed(number: int) -> int:
    return number - (1 << 64) if number >> 63 else number


TABLE: Mapping[str, Callable[..., Any]] = {"random.standard_normal": _standard_normal}
"""Functions by the name of their rows."""
