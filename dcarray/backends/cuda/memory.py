"""Memory of a CUDA device."""

from __future__ import annotations

from typing import Any

from ..pool import Pool

__all__ = ["Block", "Borrowed"]


class Block:
    """A block of the device's memory; it goes back to the pool when it dies."""

    __slots__ = ("__weakref__", "_home", "_size", "nbytes", "pointer")

    def __init__(self, home: Pool[int], pointer: int, size: int, nbytes: int) -> None:
        self._home = home
        self._size = size
        self.pointer = pointer
        self.nbytes = nbytes

    def __repr__(self) -> str:
        return f"<{self.nbytes} bytes on {self._home.device}>"

    def __del__(self) -> None:
        self._home.give_back(self.pointer, self._size)


class Borrowed:
    """Memory that something else owns, which lives as long as this does."""

    __slots__ = ("__weakref__", "nbytes", "owner", "pointer")

    def __init__(self, pointer: int, nbytes: int, owner: Any) -> None:
        self.pointer = pointer
        self.nbytes = nbytes
        self.owner = owner

    def __repr__(self) -> str:
        return f"<{self.nbytes} bytes of {type(self.owner).__name__}>"
