"""Where the stream of one of NumPy's bit generators stands, and how far draws take it.

Devices continue the streams of `PCG64`, which can leap, and of `Philox`, which counts.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..array import DeviceArray
from ..backends.registry import Device
from ..lazy.libraries import call_library
from ..ops.random import DRAW, PCG_MULTIPLIER, host_state, philox
from ..ops.spec import Op

__all__ = ["Stream"]

WORD = 0xFFFFFFFFFFFFFFFF
WHOLE = (1 << 128) - 1


class Stream:
    """A place in a stream.

    Attributes
    ----------
    kind : str
        ``"PCG64"`` or ``"Philox"``.
    key : tuple of int
        What never changes.
    place : int
        The state of `PCG64`, or the number of the next word of `Philox`.
    half : int
        The upper half of the last word that was halved.
    held : bool
        Whether that half is the next one to be drawn.
    """

    def __init__(self, bits: Any) -> None:
        state = bits.state
        inner = state["state"]
        self.kind: str = state["bit_generator"]
        self.held = bool(state["has_uint32"])
        self.half = int(state["uinteger"])
        if self.kind == "PCG64":
            self.key: tuple[int, ...] = (inner["inc"],)
            self.place: int = inner["state"]
        else:
            self.key = tuple([int(word) for word in inner["key"]])
            words = [int(word) for word in inner["counter"]]
            counter = sum([word << 64 * k for k, word in enumerate(words)])
            self.place = 4 * counter + state["buffer_pos"]

    @staticmethod
    def has(bits: Any) -> bool:
        """Whether devices know the stream of a bit generator."""
        return type(bits) in (np.random.PCG64, np.random.Philox)

    def state(self) -> Any:
        """The state of NumPy's bit generator here."""
        found = host_state(self.kind, self.key, self.place, None)
        return {**found, "has_uint32": int(self.held), "uinteger": self.half}

    def draw(self, device: Device, count: int, dtype: Any) -> DeviceArray:
        """The next numbers: words of 64 or 32 bits, or floats made of one.

        Parameters
        ----------
        device : Device
        count : int
        dtype : dtype
            uint64, uint32, float64 or float32.
        """
        (found,) = self._call(DRAW, device, count, dtype)
        self._pass_numbers(count, dtype)
        return found

    def shaped(self, row: Op, device: Device, count: int, dtype: Any) -> DeviceArray:
        """The next numbers of a row that also tells how many words it took."""
        found, used = self._call(row, device, count, dtype)
        self._pass_numbers(int(used.get()[0]), dtype)
        return found

    def _call(
        self, row: Op, device: Device, count: int, dtype: Any
    ) -> list[DeviceArray]:
        options = {
            "size": count,
            "dtype": np.dtype(dtype),
            "kind": self.kind,
            "key": self.key,
            "place": self.place,
            "held": self.half if self.held else None,
        }
        return [
            DeviceArray._of_buffer(buffer, layout, made, device)
            for buffer, layout, made in call_library(
                row, row.numpy, (), device, options
            )
        ]

    # ---------------------------------------------------------------------- how far
    def _pass_numbers(self, count: int, dtype: Any) -> None:
        if np.dtype(dtype).itemsize == 8:
            self._pass(count)
        else:
            self._pass_halves(count)

    def _pass_halves(self, count: int) -> None:
        words, rest = divmod(count - self.held + 1, 2)
        if count == 0:
            return
        self._pass(words)
        self.held = not rest
        if words:
            self.half = self._last() >> 32

    def _pass(self, words: int) -> None:
        if self.kind != "PCG64":
            self.place = (self.place + words) % (1 << 258)
            return
        factor, plus = PCG_MULTIPLIER, self.key[0]
        while words:
            if words & 1:
                self.place = self.place * factor + plus & WHOLE
            factor, plus = factor * factor & WHOLE, (factor + 1) * plus & WHOLE
            words >>= 1

    def _last(self) -> int:
        """The word before this place."""
        if self.kind == "PCG64":
            turn = self.place >> 122
            mixed = (self.place >> 64 ^ self.place) & WORD
            return (mixed >> turn | mixed << 64 - turn) & WORD
        block, number = divmod(self.place - 1, 4)
        counter = [block >> 64 * k & WORD for k in range(4)]
        return philox(counter, self.key)[number]
