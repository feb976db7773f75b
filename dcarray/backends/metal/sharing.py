"""Shared storage: the memory of a Metal device is the host's."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..moving import Bytes
from .driver import autorelease_pool
from .memory import Block, bytes_of
from .queue import Queue

__all__ = ["SharedStorage"]

HostArray = np.ndarray[Any, Any]


PAGE = 16384
"""Bytes of a page on Apple silicon, and of four elsewhere."""


class _Nobody:
    """To whom memory goes back that came from no pool of the device's: it is the
    host's."""

    device = "metal"

    def give_back(self, buffer: Any, size: int) -> None:
        """Metal keeps the buffer, and a launch the memory, until it has ended."""


_NOBODY = _Nobody()


class SharedStorage:
    """Says whose turn it is: a `Sharing`.

    What the host writes, later kernels see; and the host waits for the kernels that use
    what it wants to touch.
    """

    least = 1

    def __init__(self, handle: Any, queue: Queue, storage: Any) -> None:
        self._handle = handle
        self._queue = queue
        self._storage = storage

    def bytes_of(self, memory: Block) -> HostArray:
        """A block where the host sees it; see `Sharing`."""
        seen = bytes_of(memory.buffer, memory.nbytes)
        start = seen.__array_interface__["data"][0]
        return np.asarray(Bytes(memory, start, memory.nbytes))

    def adopted(self, source: HostArray, room: int) -> Block | None:
        """Memory of the host as a block; see `Sharing`."""
        start = source.__array_interface__["data"][0]
        length = -(-source.size // PAGE) * PAGE
        if start % PAGE or length > room:
            return None
        pages: Any = np.asarray(Bytes(source, start, length))
        with autorelease_pool():
            buffer = self._handle.newBufferWithBytesNoCopy_length_options_deallocator_(
                memoryview(pages), length, self._storage, None
            )
        if buffer is None or not np.may_share_memory(bytes_of(buffer, length), pages):
            return None
        return Block(_NOBODY, buffer, length, source.size, source)

    def to_host(self, memory: Block, writing: bool) -> None:
        """The host's turn; see `Sharing`.

        Raises
        ------
        DeviceError
            What should have written the block has failed.
        """
        self._queue.wait_for(memory.buffer)
        if memory.fate.error is not None:
            raise memory.fate.error

    def to_device(self, memory: Block, writing: bool) -> None:
        """The device's turn; it sees what the host wrote."""
