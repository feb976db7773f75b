"""The memory of a simulated device: handles outside, bytes inside."""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from typing import Any

import numpy as np

from ...layout import Layout
from ..pool import Pool

__all__ = ["Handle", "Memory", "View"]

HostArray = np.ndarray[Any, Any]

POISON = 0xCB
"""What is in memory that nobody has written yet."""


class Handle:
    """A block of the device's memory, as opaque as an address on a GPU is.

    It goes back to the pool when it dies.
    """

    __slots__ = ("__weakref__", "_block", "_home", "_size", "nbytes")

    def __init__(self, home: Memory, block: int, size: int, nbytes: int) -> None:
        self._home = home
        self._block = block
        self._size = size
        self.nbytes = nbytes

    def __repr__(self) -> str:
        return f"<{self.nbytes} bytes on {self._home.device}>"

    def __del__(self) -> None:
        self._home.release(self._block, self._size)


@dataclass(frozen=True, slots=True)
class View:
    """A block seen through a layout."""

    handle: Handle
    layout: Layout
    dtype: np.dtype[Any]


class Memory:
    """What only the device itself can touch.

    Parameters
    ----------
    device : str
    capacity : int or None
        Bytes that there are; None means no end.
    """

    def __init__(self, device: str, capacity: int | None) -> None:
        self.device = device
        self.capacity = capacity
        self.pool: Pool = Pool(device, self._allocate, self._free, self._clear)
        self._blocks: dict[int, HostArray] = {}
        self._numbers = itertools.count()
        self._used = 0

    @property
    def used(self) -> int:
        """Bytes that the pool holds."""
        return self._used

    def rent(self, nbytes: int) -> Handle:
        """A block of ``nbytes``."""
        block, size = self.pool.rent(nbytes)
        return Handle(self, block, size, nbytes)

    def release(self, block: int, size: int, poison: int = POISON) -> None:
        """Give a block back; what it held is gone.

        ``poison`` is there because modules are empty when a process ends.
        """
        self._blocks[block].fill(poison)
        self.pool.give_back(block, size)

    def bytes_of(self, handle: Handle) -> HostArray:
        """The bytes themselves."""
        assert handle._home is self, f"{handle} is no memory of {self.device}"
        return self._blocks[handle._block][: handle.nbytes]

    def array(self, view: View) -> HostArray:
        """The elements themselves."""
        layout = view.layout
        return np.ndarray(
            layout.shape,
            view.dtype,
            self.bytes_of(view.handle),
            layout.offset,
            layout.strides,
        )

    def _allocate(self, nbytes: int) -> int:
        if self.capacity is not None and self._used + nbytes > self.capacity:
            raise MemoryError(f"{self._used} of {self.capacity} bytes are in use")
        number = next(self._numbers)
        self._blocks[number] = np.full(nbytes, POISON, np.uint8)
        self._used += nbytes
        return number

    def _free(self, block: int) -> None:
        self._used -= self._blocks.pop(block).size

    def _clear(self, block: int, nbytes: int) -> None:
        self._blocks[block].fill(0)
