"""Memory of a Metal device: shared with the host, pooled."""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np

from ...errors import DeviceError

__all__ = ["Block", "Fate", "bytes_of"]

HostArray = np.ndarray[Any, Any]


class Home(Protocol):
    """Where blocks go back to."""

    device: str

    def give_back(self, block: Any, size: int) -> None:
        """Take a block; waits for no lock."""


class Fate:
    """Whether the work that wrote to a block has failed.

    Launches on their way keep it, and so ``owner``, whose memory the block may be.
    """

    __slots__ = ("error", "owner")

    def __init__(self, owner: object = None) -> None:
        self.error: DeviceError | None = None
        self.owner = owner


class Block:
    """A block of shared memory; it goes back when it dies.

    ``owner`` keeps the memory that it is, if that came from no pool of the device's.
    """

    __slots__ = ("__weakref__", "_home", "_size", "buffer", "fate", "nbytes")

    def __init__(
        self, home: Home, buffer: Any, size: int, nbytes: int, owner: object = None
    ) -> None:
        self._home = home
        self._size = size
        self.buffer = buffer
        self.nbytes = nbytes
        self.fate = Fate(owner)

    def __repr__(self) -> str:
        return f"<{self.nbytes} bytes on {self._home.device}>"

    def __del__(self) -> None:
        self._home.give_back(self.buffer, self._size)


def bytes_of(buffer: Any, nbytes: int) -> HostArray:
    """The first bytes of an MTLBuffer, as the host sees them, without a copy."""
    return np.frombuffer(buffer.contents().as_buffer(nbytes), np.uint8)
