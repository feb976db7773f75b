"""Memory of an OpenCL device: pooled, and seen by the host too where it is the host's.

A device with unified memory computes in the host's own.  There, a block of the pool is
memory of the host that a ``cl_mem`` uses in place, and so can be any other memory of
the host.  OpenCL lets the host touch it while it is mapped; the queue keeps its order,
so mapping waits for the kernels that were launched before.  Kernels may read what is
mapped for reading.
"""

from __future__ import annotations

import threading
from collections import deque
from typing import Any

import numpy as np

from ...errors import DeviceError
from ..moving import Bytes
from ..pool import Pool

__all__ = ["PAGE", "Block", "HostMemory", "Storage"]

HostArray = np.ndarray[Any, Any]

PAGE = 4096


class Storage:
    """A ``cl_mem``, and where there is one the host's memory that it uses.

    Attributes
    ----------
    buffer : pyopencl.Buffer
    host : numpy.ndarray or None
        Bytes of the host.
    mapped : pyopencl.MemoryMap or None
        The host's right to touch them.
    writing : bool
        Whether it may write.
    begun : pyopencl.Event or None
        What must have ended before it may, if that is not known yet.
    """

    __slots__ = ("begun", "buffer", "host", "mapped", "writing")

    def __init__(self, buffer: Any, host: HostArray | None = None) -> None:
        self.buffer = buffer
        self.host = host
        self.mapped: Any = None
        self.writing = False
        self.begun: Any = None


class Block:
    """A block of the device's memory; it goes back where it came from when it dies."""

    __slots__ = ("__weakref__", "_home", "_size", "buffer", "nbytes", "storage")

    def __init__(
        self, home: Pool | HostMemory, storage: Storage, size: int, nbytes: int
    ) -> None:
        self._home = home
        self._size = size
        self.storage = storage
        self.buffer = storage.buffer
        self.nbytes = nbytes

    def __repr__(self) -> str:
        return f"<{self.nbytes} bytes on {self._home.device}>"

    def __del__(self) -> None:
        self._home.give_back(self.storage, self._size)


class HostMemory:
    """Makes memory that host and device see, and says whose turn it is: a `Sharing`.

    Parameters
    ----------
    device : str
    context : pyopencl.Context
    queue : pyopencl.CommandQueue
    alignment, step : int
        The device uses memory of the host in place from a multiple of ``alignment`` on,
        and of a length that is a multiple of ``step``.
    """

    least = 1 << 16

    def __init__(
        self, device: str, context: Any, queue: Any, alignment: int, step: int
    ) -> None:
        import pyopencl as cl

        self._cl: Any = cl  # its annotations are stricter than its functions
        self.device = device
        self._context = context
        self._queue = queue
        self._alignment = alignment
        self._step = step
        # Given back, and of it what is behind the marker: kernels may be at work on it.
        self._left: deque[Storage] = deque()
        self._leaving: list[Storage] = []
        self._marker: Any = None
        self._sweeping = threading.Lock()

    # ------------------------------------------------------------------ coming, going
    def allocate(self, nbytes: int) -> Storage:
        """New memory.

        Raises
        ------
        MemoryError
            There is not that much.
        """
        self.sweep()
        try:
            return self._allocated(nbytes)
        except (MemoryError, self._cl.Error):
            self.sweep(wait=True)
            return self._allocated(nbytes)

    def _allocated(self, nbytes: int) -> Storage:
        raw = np.empty(nbytes + PAGE, np.uint8)
        start = -_address(raw) % PAGE
        return self._in_place(raw[start : start + nbytes], nbytes)

    def _in_place(self, host: HostArray, length: int) -> Storage:
        flags = self._cl.mem_flags
        # The buffer does not keep the memory: the storage does.
        seen = np.asarray(Bytes(None, _address(host), length))
        used = flags.READ_WRITE | flags.USE_HOST_PTR
        return Storage(self._cl.Buffer(self._context, used, hostbuf=seen), host)

    def give_back(self, storage: Storage, size: int = 0) -> None:
        """Let go of memory when no kernel can be using it.

        Finalisers call it: it waits for nothing.
        """
        self._left.append(storage)

    def sweep(self, wait: bool = False) -> None:
        """Let go of what the device is done with; of all if it may wait for that."""
        if not self._left and self._marker is None:
            return
        if not self._sweeping.acquire(blocking=wait):
            return
        try:
            complete = self._cl.command_execution_status.COMPLETE
            while self._left or self._marker is not None:
                if self._marker is None:
                    self._mark()
                if wait:
                    self._marker.wait()
                elif self._marker.command_execution_status != complete:
                    return
                for storage in self._leaving:
                    storage.buffer.release()
                self._leaving.clear()
                self._marker = None
        finally:
            self._sweeping.release()

    def _mark(self) -> None:
        while self._left:
            storage = self._left.popleft()
            self.unmap(storage)
            self._leaving.append(storage)
        self._marker = self._cl.enqueue_marker(self._queue)
        self._queue.flush()

    # -------------------------------------------------------------------------- turns
    def bytes_of(self, memory: Block) -> HostArray:
        """A block where the host sees it; see `Sharing`."""
        host = memory.storage.host
        assert host is not None
        return np.asarray(Bytes(memory, _address(host), memory.nbytes))

    def adopted(self, source: HostArray, room: int) -> Block | None:
        """Memory of the host as a block; see `Sharing`."""
        owner: object = source.base
        if isinstance(owner, Bytes) and isinstance(owner.owner, Block):
            return None  # it has a buffer already
        whole = -(-source.size // self._step) * self._step
        if _address(source) % self._alignment or whole > room:
            return None
        self.sweep()
        try:
            storage = self._in_place(source, whole)
        except self._cl.Error:
            return None
        self._map(storage, source.size, writing=False, wait=False)
        return Block(self, storage, source.size, source.size)

    def to_host(self, memory: Block, writing: bool) -> None:
        """The host's turn; see `Sharing`."""
        storage = memory.storage
        before = storage.mapped
        if before is None or (writing and not storage.writing):
            self._map(storage, memory.nbytes, writing, wait=True)
            if before is not None:
                before.release(self._queue)
        elif storage.begun is not None:
            storage.begun.wait()
            storage.begun = None

    def to_device(self, memory: Block, writing: bool) -> None:
        """The device's turn; see `Sharing`."""
        storage = memory.storage
        if writing:
            self.unmap(storage)
        elif storage.writing:
            self.unmap(storage)
            self._map(storage, memory.nbytes, writing=False, wait=False)

    def _map(self, storage: Storage, nbytes: int, writing: bool, wait: bool) -> None:
        flags = self._cl.map_flags
        wanted = flags.READ | flags.WRITE if writing else flags.READ
        try:
            seen, event = self._cl.enqueue_map_buffer(
                *(self._queue, storage.buffer, wanted, 0, (max(nbytes, 1),), np.uint8),
                is_blocking=wait,
            )
        except self._cl.Error as error:
            raise DeviceError(f"map: {error}", device=self.device) from None
        storage.mapped = seen.base
        storage.writing = writing
        storage.begun = None if wait else event

    def unmap(self, storage: Storage) -> None:
        """The memory is the device's alone."""
        mapped, storage.mapped = storage.mapped, None
        storage.writing = False
        storage.begun = None
        if mapped is not None:
            mapped.release(self._queue)


def _address(host: HostArray) -> int:
    found: int = host.__array_interface__["data"][0]
    return found
