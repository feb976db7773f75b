"""Memory of a Metal device: shared with the host, pooled."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...errors import DeviceError
from ..pool import Pool

__all__ = ["Block", "Fate", "bytes_of"]

HostArray = np.ndarray[Any, Any]


class Fate:
    """Whether the work that wrote to a block has failed."""

    __slots__ = ("error",)

    def __init__(self) -> None:
        self.error: DeviceError | None = None


class Block:
    """A block of shared memory; it goes back to the pool when it dies."""

    __slots__ = ("__weakref__", "_home", "_size", "buffer", "fate", "nbytes")

    def __init__(self, home: Pool[Any], buffer: Any, size: int, nbytes: int) -> None:
        self._home = home
        self._size = size
        self.buffer = buffer
        self.nbytes = nbytes
        self.fate = Fate()

    def __repr__(self) -> str:
        return f"<{self.nbytes} bytes on {self._home.device}>"

    def __del__(self) -> None:
        self._home.give_back(self.buffer, self._size)


def bytes_of(buffer: Any, nbytes: int) -> HostArray:
    """The first bytes of an MTLBuffer, as the host sees them, without a copy."""
    return np.frombuffer(buffer.contents().as_buffer(nbytes), np.uint8)
