"""Random numbers: rows that continue the stream of a bit generator.

They take no operands.  Options are the number of elements, their dtype, and where the
stream goes on: ``kind`` is ``"PCG64"`` or ``"Philox"``, ``key`` what never changes
(the increment; the two words of the key), ``place`` where it stands (the state; the
number of the next 64-bit word), ``held`` the half of a word that is left of the last
draw, or None.  Rows whose numbers take more words than one also give how many words,
or halves for numbers of 32 bits, they took.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

import numpy as np

from .spec import Kind, Op

__all__ = [
    "DRAW",
    "EXPONENTIAL",
    "MULTIPLIERS",
    "NORMAL",
    "PCG_MULTIPLIER",
    "TABLE",
    "WEYL",
    "host_state",
    "philox",
]

NDArray: TypeAlias = np.ndarray[Any, np.dtype[Any]]

MULTIPLIERS = (0xD2E7470EE14C6C93, 0xCA5A826395121157)
WEYL = (0x9E3779B97F4A7C15, 0xBB67AE8584CAA73B)
"""Of Philox 4x64: what the words are multiplied by, and what the key grows by."""

PCG_MULTIPLIER = 0x2360ED051FC65DA44385DF649FCCF645
"""Of PCG64: what the state is multiplied by."""


def host_state(kind: str, key: tuple[int, ...], place: int, held: int | None) -> Any:
    """The state of NumPy's bit generator at a place of its stream."""
    halves = {"has_uint32": int(held is not None), "uinteger": held or 0}
    if kind == "PCG64":
        state: dict[str, Any] = {"state": place, "inc": key[0]}
        return {"bit_generator": kind, "state": state, **halves}
    # Words of the block that the counter names, from the first one on that is left.
    counter = (place - 1) // 4 % (1 << 256)
    words = [counter >> 64 * k & 0xFFFFFFFFFFFFFFFF for k in range(4)]
    state = {
        "counter": np.array(words, np.uint64),
        "key": np.array(key, np.uint64),
    }
    return {
        "bit_generator": kind,
        "state": state,
        "buffer": np.array(philox(words, key), np.uint64),
        "buffer_pos": place - 4 * ((place - 1) // 4),
        **halves,
    }


def philox(counter: Any, key: Any) -> list[int]:
    """The four words of a block of Philox 4x64, by 10 rounds (Salmon et al. 2011)."""
    x = [int(word) for word in counter]
    k0, k1 = (int(word) for word in key)
    mask = 0xFFFFFFFFFFFFFFFF
    for _ in range(10):
        first, second = x[0] * MULTIPLIERS[0], x[2] * MULTIPLIERS[1]
        x = [
            second >> 64 ^ x[1] ^ k0,
            second & mask,
            first >> 64 ^ x[3] ^ k1,
            first & mask,
        ]
        k0, k1 = k0 + WEYL[0] & mask, k1 + WEYL[1] & mask
    return x


def _draw(*, size: int, dtype: Any, **place: Any) -> NDArray:
    """Numbers of a stream: raw words of 64 or 32 bits, or floats from 0 to 1."""
    from numpy import random  # who draws nothing does not load it

    bits: Any = getattr(random, place["kind"])()
    bits.state = host_state(**place)
    dtype = np.dtype(dtype)
    if dtype.kind == "f":
        return random.Generator(bits).random(size, dtype)
    if dtype.itemsize == 8:
        return np.asarray(bits.random_raw(size), np.uint64)
    held = [] if place["held"] is None else [place["held"]]
    words = np.asarray(bits.random_raw((size - len(held) + 1) // 2), np.uint64)
    halves = words.astype("<u8").view("<u4").astype(np.uint32)
    return np.concatenate([np.array(held, np.uint32), halves])[:size]


def _shaped(name: str) -> Callable[..., Any]:
    """The oracle of a row whose numbers take more or fewer words."""

    def draw(*, size: int, dtype: Any, **place: Any) -> tuple[NDArray, NDArray]:
        from numpy import random

        bits: Any = getattr(random, place["kind"])()
        bits.state = host_state(**place)
        found = getattr(random.Generator(bits), name)(size, dtype)
        used = _between(place, bits.state, 8 // np.dtype(dtype).itemsize)
        return found, np.array([used])

    return draw


def _between(place: dict[str, Any], state: Any, each: int) -> int:
    """How many words of 64 bits, or halves of them, lie before a state."""
    inner = state["state"]
    if place["kind"] == "PCG64":
        words, here = 0, place["place"]
        while here != inner["state"]:
            here = here * PCG_MULTIPLIER + place["key"][0] & (1 << 128) - 1
            words += 1
    else:
        counter = [int(word) << 64 * k for k, word in enumerate(inner["counter"])]
        words = (4 * sum(counter) + state["buffer_pos"] - place["place"]) % (1 << 258)
    halves = int(place["held"] is not None) - int(state["has_uint32"])
    return words if each == 1 else 2 * words + halves


DRAW = Op("random.draw", Kind.RANDOM, _draw, 0)
NORMAL = Op("random.standard_normal", Kind.RANDOM, _shaped("standard_normal"), 0, 2)
EXPONENTIAL = Op(
    "random.standard_exponential", Kind.RANDOM, _shaped("standard_exponential"), 0, 2
)

TABLE: dict[str, Op] = {row.name: row for row in (DRAW, NORMAL, EXPONENTIAL)}
"""Rows by name."""
