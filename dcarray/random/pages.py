"""Where the stream of a counter stands, and how it goes on from there."""

from __future__ import annotations

import math
import operator
import threading
from collections.abc import Callable
from typing import Any, TypeVar

import numpy as np

from ..array import DeviceArray
from ..backends.registry import Device

__all__ = ["Pages"]

Drawn = TypeVar("Drawn")

WORD = 1 << 64
WHOLE = 1 << 128
BLOCKS = 32
"""Of a page."""


class Pages:
    """A place in a stream; see `ops.kernels.counters` for how numbers lie in it.

    Attributes
    ----------
    key : int
        64 bits.
    counter : int
        The first block of the page, of 128 bits.
    taken : int
        Numbers of the page that are taken.
    bits : int
        Of each of them.

    Raises
    ------
    ValueError
        A number that is out of range.
    """

    def __init__(self, key: int, counter: int, taken: int = 0, bits: int = 32) -> None:
        if bits not in (32, 64, 128):
            raise ValueError(f"CounterGenerator: there are no numbers of {bits!r} bits")
        self.key = _within("key", key, WORD)
        self.counter = _within("counter", counter, WHOLE)
        self.taken = _within("taken", taken, _per_page(bits))
        self.bits = bits
        self._lock = threading.Lock()

    def __getstate__(self) -> dict[str, int]:
        with self._lock:
            names = ("key", "counter", "taken", "bits")
            return {name: getattr(self, name) for name in names}

    def __setstate__(self, state: dict[str, int]) -> None:
        self.__init__(**state)  # type: ignore[misc]

    def moved(self, blocks: int) -> Pages:
        """Another place, so many blocks further."""
        state = self.__getstate__()
        state["counter"] = (state["counter"] + blocks) % WHOLE
        return Pages(**state)

    def made(
        self,
        shape: tuple[int, ...],
        dtype: np.dtype[Any],
        device: Device,
        make: str,
        bits: int,
        *numbers: Any,
    ) -> DeviceArray:
        """A new array of the next numbers; see `fill`."""

        def draw(given: list[Any], blocks: int) -> DeviceArray:
            made: DeviceArray = _filling().made(
                shape, dtype, device, make, bits, given, blocks
            )
            return made

        return self._next(math.prod(shape), bits, numbers, draw)

    def fill(self, out: DeviceArray, make: str, bits: int, *numbers: Any) -> None:
        """Put the next numbers into an array in C order.

        Parameters
        ----------
        out : DeviceArray
        make : str
            The function that makes them of words.
        bits : int
            That each of them takes.
        *numbers
            What the function takes behind the words.
        """

        def draw(given: list[Any], blocks: int) -> None:
            _filling().fill(out, make, bits, given, blocks)

        self._next(out.size, bits, numbers, draw)

    def _next(
        self,
        count: int,
        bits: int,
        numbers: tuple[Any, ...],
        draw: Callable[[list[Any], int], Drawn],
    ) -> Drawn:
        """Go on by so many numbers, once they are drawn."""
        page = _per_page(bits)
        with self._lock:
            counter, taken = self.counter, self.taken
            if taken and count and bits != self.bits:
                counter, taken = (counter + BLOCKS) % WHOLE, 0
            last = taken + count
            words = (counter % WORD, counter // WORD, self.key)
            given = [*map(np.uint64, words), np.int64(taken), *numbers]
            found = draw(given, -(-last // page) * BLOCKS if count else 0)
            if count:
                self.counter = (counter + last // page * BLOCKS) % WHOLE
                self.taken, self.bits = last % page, bits
            return found


def _filling() -> Any:
    """The module that runs the kernel; who draws nothing does not load the language."""
    from . import filling

    return filling


def _per_page(bits: int) -> int:
    return BLOCKS * 128 // bits


def _within(name: str, number: Any, end: int) -> int:
    found = operator.index(number)
    if not 0 <= found < end:
        raise ValueError(f"CounterGenerator: {name} is {found}, not from 0 to {end}")
    return found
