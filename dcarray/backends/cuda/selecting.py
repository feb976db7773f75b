"""Elements where a mask is true, in one launch: the host waits for their number alone.

The result gets as much memory as the whole array would take, so that nothing has to be
known before; a kernel writes how many there are to memory of the host as soon as it
knows, and what is launched after that finds the elements in order.
"""

from __future__ import annotations

import ctypes
import threading
from typing import TYPE_CHECKING, Any

import numpy as np

from ...errors import LaunchError
from ..starting import Starter, starter_of
from .calling import address
from .kernels import choosing, selecting
from .raw import MOST as MOST_STARTS, signature
from .transfers import pinned

if TYPE_CHECKING:
    from .raw import Raw

__all__ = ["LARGEST", "Selector"]

LARGEST = 1 << 26
"""Bytes of the array up to which memory for all of it is taken."""

SPARE, PARTS = 1 << 20, 4
"""Bytes from which on memory is not kept of which less than one of so many parts is
used."""

MOST = (1 << 64 - selecting.COUNT_BITS) - 1
"""Launches that have numbers."""

PATIENCE = 20_000
"""How often the host looks for a count before it waits for the whole stream: some
milliseconds."""

_SELECT = signature("select_true", "rrwwqqqq")


class _State:
    """What the launches of one stream share, one after the other.

    Attributes
    ----------
    words : memory
        Of the device: how many tiles are taken, and a word for each.
    seen : numpy.ndarray
        Of the host: the word that says how many elements there are.
    place : int
        Its address.
    number : int
        Of the last launch.
    lock : Lock
        Held from a launch until its count is there.
    """

    __slots__ = ("lock", "number", "place", "seen", "words")

    def __init__(self, raw: Raw) -> None:
        nbytes = 8 * (1 + LARGEST // choosing.TILE)
        self.words = raw.backend.allocate(nbytes)
        raw.backend._clear(self.words.pointer, nbytes)
        self.seen = pinned(8).view(np.uint64)
        self.seen[0] = 0
        self.place = int(self.seen.ctypes.data)
        self.number = 0
        self.lock = threading.Lock()


class Selector:
    """The selections of one device.

    Parameters
    ----------
    raw : Raw
    """

    __slots__ = ("_allocator", "_backend", "_raw", "_starts", "_states", "_streams")

    def __init__(self, raw: Raw) -> None:
        self._raw = raw
        self._backend = raw.backend
        self._allocator = raw.backend.allocator
        self._streams = raw.backend.streams
        self._starts: dict[Any, Any] = {}
        self._states: dict[int, _State] = {}

    def select(
        self, mask: Any, source: Any, count: int, size: int, begin: int
    ) -> tuple[Any, int] | None:
        """Elements side by side where a mask is true, and how many they are.

        Parameters
        ----------
        mask, source : memory
            Bools, and the array.
        count : int
            Of the bools, one at least.
        size : int
            Bytes of an element; 0 for the places of bools that are true.
        begin : int
            Elements before the array in its memory.

        Returns
        -------
        memory, count
            None for what one launch does not do.

        Raises
        ------
        CaptureError
            A function is being captured.
        """
        room = count * (size or 8)
        if room > LARGEST or address(mask) & 15 or (size and address(source) % size):
            return None
        streams = self._streams
        stream = streams.main
        if streams.several:
            stream = streams.current
            if stream.capture is not None:
                stream.capture.refuse_reading()
        name = (count, size, begin)
        starter = self._starts.get(name)
        if starter is None:
            starter = self._prepared(count, size, begin)
        state = self._states.get(stream.pointer)
        if state is None:
            state = self._states[stream.pointer] = _State(self._raw)
        out = self._allocator.allocate(room)
        with state.lock:
            number = state.number + 1
            if number > MOST:
                self._clear(state)
                number = 1
            state.number = number
            starter.start([mask, source, out, state.words], [number, state.place])
            found = _found(state.place, number, PATIENCE)
            if found < 0:
                stream.synchronize()
                found = _found(state.place, number, 1)
        if found < 0:
            raise LaunchError(
                "a kernel ended without its count", device=self._backend.device
            )
        used = found * (size or 8)
        if room > SPARE and used * PARTS < room:
            small = self._allocator.allocate(used)
            if used:
                self._backend.copy(out, 0, small, used)
            return small, found
        out.nbytes = used
        return out, found

    def _prepared(self, count: int, size: int, begin: int) -> Starter:
        text = selecting.select_text(size)
        tiles = -(-count // choosing.TILE)
        start = self._raw.start(text, _SELECT, (tiles,), choosing.THREADS, count, begin)
        starter = starter_of(start)
        if len(self._starts) >= MOST_STARTS:
            self._starts.clear()
        self._starts[count, size, begin] = starter
        return starter

    def _clear(self, state: _State) -> None:
        self._backend._clear(state.words.pointer, state.words.nbytes)


def _found(place: int, number: int, patience: int) -> int:
    """How many elements the launch of a number has found; -1 if it is not known yet."""
    return counted(place, number, patience)  # type: ignore[name-defined,no-any-return]  # noqa: F821


def _by_ctypes(place: int, number: int, patience: int) -> int:
    word: int = ctypes.c_uint64.from_address(place).value
    if word >> selecting.COUNT_BITS != number:
        return -1
    return word & ((1 << selecting.COUNT_BITS) - 1)


# In the compiled core this name stands for a function in C, see the .pxd file.
globals().update(counted=_by_ctypes)
