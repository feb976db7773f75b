"""Memory of a CUDA device."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from ..pool import Pool, Shelf, size_class
from ..starting import Allocator
from .streams import Stream, Streams

if TYPE_CHECKING:
    from .backend import CudaBackend

__all__ = ["Block", "Borrowed", "DeviceAllocator", "DevicePool", "Room", "block_of"]


class DevicePool(Pool):
    """The pool of a device, which keeps the blocks of its streams apart.

    A block's size is a multiple of 512 and the number of its lane: so blocks of one
    lane are found by the requests of that lane alone.
    """

    def shelf_in(self, nbytes: int, lane: int) -> Shelf:
        """The blocks of a lane; see `Pool.shelf_of`."""
        if not lane:
            return self.shelf_of(nbytes)
        return self._shelf(size_class(nbytes) + lane)


class Block:
    """A block of the device's memory; it goes back to the pool when it dies.

    Attributes
    ----------
    pointer, nbytes : int
    writer : Stream
        Who wrote it last.
    readers : tuple of Stream
        Who read it since.
    """

    __slots__ = (
        "__weakref__",
        "_home",
        "_shelf",
        "_streams",
        "nbytes",
        "pointer",
        "readers",
        "writer",
    )

    _home: Pool
    _shelf: Shelf
    _streams: Streams
    pointer: int
    nbytes: int
    writer: Stream
    readers: tuple[Stream, ...]

    def __repr__(self) -> str:
        return f"<{self.nbytes} bytes on {self._home.device}>"

    def __del__(self) -> None:
        if _is_ending is None or _is_ending():
            return  # the driver frees all, and what is called here may be gone
        streams = self._streams
        if streams.several:
            users = (self.writer, *self.readers)
            lane = self._shelf.size % 512
            # The stream of lane 0 is the default one, whose address is 0.
            if any([s.lane != lane or (s.pointer and not lane) for s in users]):
                streams.passed[self.pointer] = users
        self._home.put(self._shelf, self.pointer)


def block_of(
    home: Pool, nbytes: int, writer: Stream, shelf: Shelf | None = None
) -> Block:
    """A `Block` that shows what `Pool.take` gives, of a shelf or of the usual one."""
    if shelf is None:
        shelf = home.shelf_of(nbytes)
    pointer = home.take(shelf)
    block = Block.__new__(Block)
    block._home = home
    block._shelf = shelf
    block.pointer = pointer
    block._streams = writer._home
    block.nbytes = nbytes
    block.writer = writer
    block.readers = ()
    return block


_is_ending: Callable[[], bool] | None = sys.is_finalizing
"""None once the module is empty, when a process ends."""


class DeviceAllocator(Allocator):
    """See `Allocator`.

    Parameters
    ----------
    backend : CudaBackend
    """

    __slots__ = ("pool", "streams")

    def __init__(self, backend: CudaBackend) -> None:
        super().__init__(backend)
        self.pool = backend.pool
        self.streams = backend.streams

    def allocate(self, nbytes: int) -> Any:
        """A block of the device's memory."""
        if self.streams.several:
            return self.backend.allocate(nbytes)
        return block_of(self.pool, nbytes, self.streams.main)


class Room:
    """Memory that calls on a device's main stream work in, one after the other.

    Parameters
    ----------
    allocator : Allocator
    """

    __slots__ = ("_allocator", "_block")

    def __init__(self, allocator: Allocator) -> None:
        self._allocator = allocator
        self._block: Any = None

    def at_least(self, nbytes: int) -> Any:
        """A block of so many bytes.  Who holds it until the launch need not fear that
        another thread asks for more meanwhile."""
        block = self._block
        if block is None or block.nbytes < nbytes:
            block = self._block = self._allocator.allocate(nbytes)
        return block


class Borrowed:
    """Memory that something else owns, which lives as long as this does.

    Attributes
    ----------
    pointer, nbytes : int
    owner : object
    writer : Stream or None
        As of `Block`; None is the default stream.
    readers : tuple of Stream
        As of `Block`.
    """

    __slots__ = ("__weakref__", "nbytes", "owner", "pointer", "readers", "writer")

    def __init__(
        self, pointer: int, nbytes: int, owner: Any, writer: Stream | None = None
    ) -> None:
        self.pointer = pointer
        self.nbytes = nbytes
        self.owner = owner
        self.writer = writer
        self.readers: tuple[Stream, ...] = ()

    def __repr__(self) -> str:
        return f"<{self.nbytes} bytes of {type(self.owner).__name__}>"
