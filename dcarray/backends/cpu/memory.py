"""Blocks of the host's memory, rented from the pool."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...layout import Layout, view_host
from ..pool import Pool

__all__ = ["host_pool", "rent", "room_of", "view"]

HostArray = np.ndarray[Any, Any]

ALIGNMENT = 64
"""Bytes of a cache line; blocks begin at a multiple of it."""

PAGE = 16384
LARGE = 1 << 20
"""Blocks from here on are whole pages of any system: devices that share the host's
memory can use them in place."""


class Raw(np.ndarray):
    """Memory of the system.  It has a class of its own for the sake of `Block`."""


class Block(np.ndarray):
    """One-dimensional bytes that go back to their pool when they die.

    Arrays made over a block keep it alive: NumPy looks for the owner of memory no
    further than to an array whose own base is of another class than ``ndarray``.
    """

    _home: tuple[Pool, HostArray, int] | None = None  # only the block itself

    def __del__(self) -> None:
        home = self._home
        if home is not None:
            pool, raw, size = home
            pool.give_back(raw, size)


def _allocate(nbytes: int) -> HostArray:
    unit = PAGE if nbytes >= LARGE else ALIGNMENT
    whole = -(-nbytes // unit) * unit
    raw = np.empty(whole + unit, np.uint8).view(Raw)
    start = -raw.__array_interface__["data"][0] % unit
    return raw[start : start + whole]


def room_of(root: HostArray, nbytes: int) -> int:
    """How many bytes there are from the start of ``root``, of which it shows the first
    ``nbytes``, that belong to nobody else."""
    owner: object = root
    while isinstance(owner, np.ndarray):
        if isinstance(owner, Block) and owner._home is not None:
            raw = owner._home[1]
            begins = root.__array_interface__["data"] == raw.__array_interface__["data"]
            return raw.nbytes if begins else nbytes
        owner = owner.base
    return nbytes


def _free(raw: HostArray) -> None:
    """NumPy frees the memory with the last reference."""


def _clear(raw: HostArray, nbytes: int) -> None:
    raw[:nbytes] = 0


def host_pool() -> Pool:
    """A pool of the host's memory."""
    return Pool("cpu", _allocate, _free, _clear)


def rent(pool: Pool, nbytes: int) -> HostArray:
    """A block of exactly ``nbytes``."""
    raw, size = pool.rent(nbytes)
    block: Block = raw[:nbytes].view(Block)
    block._home = (pool, raw, size)
    return block


def view(memory: HostArray, layout: Layout, dtype: np.dtype[Any]) -> HostArray:
    """``memory`` seen as an array."""
    if memory.flags.c_contiguous and layout.size:
        return np.ndarray(layout.shape, dtype, memory, layout.offset, layout.strides)
    return view_host(memory, layout, dtype)
