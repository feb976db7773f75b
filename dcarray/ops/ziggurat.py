"""The tables of NumPy's ziggurats (Marsaglia and Tsang 2000), which are not public.

They are found by drawing: a bit generator whose next words are known shows which
numbers NumPy makes of them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, TypeAlias

import numpy as np

__all__ = ["LAYERS", "Ziggurat", "ziggurat"]

NDArray: TypeAlias = np.ndarray[Any, np.dtype[Any]]

LAYERS = 256


@dataclass(frozen=True)
class Ziggurat:
    """The layers of a distribution, the one at the bottom first.

    Attributes
    ----------
    factors : array of floats
        Width of a layer over the number of places in it.
    limits : array of unsigned integers
        How many of the places lie wholly below the curve.
    heights : array of floats
        Upper end of a layer.
    edge : float
        Where the tail begins.
    """

    factors: NDArray
    limits: NDArray
    heights: NDArray
    edge: float


class _Script:
    """NumPy's generator with words that are given.

    Parameters
    ----------
    name : str
        Which of its methods draws.
    dtype : dtype
        Of the numbers; words have their width.
    """

    def __init__(self, name: str, dtype: Any) -> None:
        from numpy import random  # who draws nothing does not load it

        self.bits: Any = random.MT19937(0)
        self.method = getattr(random.Generator(self.bits), name)
        self.dtype = np.dtype(dtype)
        self.state: Any = self.bits.state

    def draw(self, words: Sequence[int], count: int) -> NDArray:
        """The first numbers that are made of words, up to 300 of them."""
        halves = words
        if self.dtype.itemsize == 8:
            halves = [
                half for word in words for half in (word >> 32, word & 0xFFFFFFFF)
            ]
        key = self.state["state"]["key"].copy()
        key[: len(halves)] = [_before_tempering(half) for half in halves]
        self.bits.state = {**self.state, "state": {"key": key, "pos": 0}}
        return np.asarray(self.method(count, self.dtype))


def _before_tempering(word: int) -> int:
    """The element of the state of MT19937 from which a word is made."""
    word ^= word >> 18
    word ^= word << 15 & 0xEFC60000
    found = word
    for _ in range(4):
        found = word ^ found << 7 & 0x9D2C5680
    word = found & 0xFFFFFFFF
    found = word
    for _ in range(2):
        found = word ^ found >> 11
    return found


@cache
def ziggurat(name: str, dtype: Any) -> Ziggurat:
    """The tables of a method of NumPy's generators.

    Parameters
    ----------
    name : {"standard_normal", "standard_exponential"}
    dtype : dtype
        float64 or float32.
    """
    dtype = np.dtype(dtype)
    script = _Script(name, dtype)
    normal = name == "standard_normal"
    width = 8 * dtype.itemsize
    # A word is, from its lowest bits, the layer, a sign and the place; for exponential
    # numbers a few bits that are not used, the layer and the place.
    spare = 0 if normal else 3 if width == 64 else 1
    shift = 9 if normal else 8 + spare
    places = (52 if width == 64 else 23) if normal else (53 if width == 64 else 23)

    def word(layer: int, place: int) -> int:
        return place << shift | layer << spare

    parts = (range(1, 129), range(129, LAYERS))
    # Words of zeros end what a place above the curve begins, or give a zero.
    drawn = [script.draw([word(0, 1)], 1)]
    for part in parts:
        found = script.draw([w for k in part for w in (word(k, 1), 0)], 2 * len(part))
        drawn.append(found[found != 0][: len(part)])
    factors = np.concatenate(drawn)
    ones = (1 << width) - 1
    limits = [0] * LAYERS
    for bit in reversed(range(places)):
        tried = [limit | 1 << bit for limit in limits]
        # A place of 0 is told by nothing: limits of 0 and 1 are the same but for it.
        tests = [max(limit - 1, 1) for limit in tried]
        below = [script.draw([word(0, tests[0]), 0, ones], 2)[1] == 0]
        for part in parts:
            words = [w for k in part for w in (word(k, tests[k]), 0)]
            below += _below(script, words)
        for k, alone in enumerate(below):
            if alone and tried[k] > 1:
                limits[k] = tried[k]
    widths = factors.astype(np.float64) * 2.0**places
    heights = np.exp(-0.5 * widths**2 if normal else -widths)
    heights[0] = 1
    most = word(0, (1 << places) - 1)
    # The tail begins where its first number is nothing; the second one is large.
    edge = script.draw([most, 0, ones], 1)[0]
    unsigned = np.uint64 if width == 64 else np.uint32
    return Ziggurat(
        factors,
        np.array(limits, unsigned),
        heights.astype(dtype),
        float(abs(edge)),
    )


def _below(script: _Script, words: Sequence[int]) -> list[bool]:
    """For each first word of a pair, whether it alone makes a number."""
    numbers = script.draw(words, len(words))
    found = []
    place = 0
    for _ in range(len(words) // 2):
        alone = place + 1 < len(numbers) and numbers[place + 1] == 0
        found.append(bool(alone))
        place += 2 if alone else 1
    return found
