"""Bytes between the host, a CUDA device and another one.

Small uploads return at once: the driver keeps a copy of what they hold.  Memory of the
host that is pinned is read and written by the device itself; where it is not, the bytes
go through pinned memory in pieces, one being copied while another one is under way.
"""

from __future__ import annotations

import os
import threading
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

import numpy as np

from .driver import runtime

if TYPE_CHECKING:
    from .backend import CudaBackend
    from .streams import Stream

__all__ = ["Transfers", "pinned"]

HostArray = np.ndarray[Any, Any]

CHUNK = 16 << 20
"""Bytes of a piece."""

LARGE = 2 * CHUNK
"""From here on, memory that is not pinned goes in pieces.  The driver does less."""

THREADS = 8
"""Each one copies its part of a piece on the host; fewer where there are no cores."""


def pinned(nbytes: int) -> HostArray:
    """Bytes of the host that stay where they are, so that devices can reach them."""
    import cupy

    memory = cupy.cuda.alloc_pinned_memory(max(nbytes, 1))
    return np.frombuffer(memory, np.uint8, nbytes)


class Transfers:
    """The transfers of one device.

    Parameters
    ----------
    backend : CudaBackend
    """

    def __init__(self, backend: CudaBackend) -> None:
        self._backend = backend
        self._pieces: list[HostArray] = []
        self._workers: ThreadPoolExecutor | None = None
        self._threads = THREADS
        self._lock = threading.Lock()

    def upload(self, source: HostArray, pointer: int, stream: Stream) -> None:
        """Copy to the device.  ``source`` may change once this returns."""
        nbytes = source.nbytes
        start = source.ctypes.data
        is_pinned = _is_pinned(start)
        if nbytes >= LARGE and not is_pinned:
            return self._in_pieces(source, pointer, stream, True)
        kind = runtime().memcpyHostToDevice
        runtime().memcpyAsync(pointer, start, nbytes, kind, stream.pointer)
        if is_pinned:  # the device reads it later than now
            runtime().streamSynchronize(stream.pointer)

    def download(self, pointer: int, target: HostArray, stream: Stream) -> None:
        """Copy to the host."""
        start = target.ctypes.data
        if target.nbytes >= LARGE and not _is_pinned(start):
            return self._in_pieces(target, pointer, stream, False)
        kind = runtime().memcpyDeviceToHost
        runtime().memcpyAsync(start, pointer, target.nbytes, kind, stream.pointer)
        runtime().streamSynchronize(stream.pointer)

    def _in_pieces(
        self, host: HostArray, pointer: int, stream: Stream, up: bool
    ) -> None:
        """Through pinned memory: two pieces take turns."""
        host = host.reshape(-1).view(np.uint8)
        with self._lock:
            if not self._pieces:
                self._pieces = [pinned(CHUNK), pinned(CHUNK)]
                self._threads = max(1, min(THREADS, (os.cpu_count() or 2) // 2))
                self._workers = ThreadPoolExecutor(self._threads, "dcarray transfer")
            move = self._up if up else self._down
            move(host, pointer, stream)

    def _up(self, host: HostArray, pointer: int, stream: Stream) -> None:
        events = [stream.record(), stream.record()]
        kind = runtime().memcpyHostToDevice
        for number, start in enumerate(range(0, host.size, CHUNK)):
            piece = self._pieces[number % 2]
            part = host[start : start + CHUNK]
            if number > 1:
                events[number % 2].synchronize()
            self._copy(piece, part)
            target = pointer + start
            source = piece.ctypes.data
            runtime().memcpyAsync(target, source, part.size, kind, stream.pointer)
            stream.record(events[number % 2])
        for event in events:
            event.synchronize()

    def _down(self, host: HostArray, pointer: int, stream: Stream) -> None:
        events = [stream.record(), stream.record()]
        kind = runtime().memcpyDeviceToHost
        waiting: Any = None
        for number, start in enumerate(range(0, host.size, CHUNK)):
            piece = self._pieces[number % 2]
            part = host[start : start + CHUNK]
            target = piece.ctypes.data
            source = pointer + start
            runtime().memcpyAsync(target, source, part.size, kind, stream.pointer)
            stream.record(events[number % 2])
            if waiting is not None:
                self._finish(*waiting)
            waiting = (events[number % 2], part, piece)
        if waiting is not None:
            self._finish(*waiting)

    def _finish(self, event: Any, part: HostArray, piece: HostArray) -> None:
        event.synchronize()
        self._copy(part, piece)

    def _copy(self, target: HostArray, source: HostArray) -> None:
        """Copy on the host, in parts at the same time."""
        size = min(target.size, source.size)
        step = -(-size // self._threads)
        workers = self._workers
        assert workers is not None
        jobs = [
            workers.submit(np.copyto, target[k : k + step], source[k : k + step])
            for k in range(0, size, step)
            if k + step <= size
        ]
        rest = size - size % step
        if rest < size:
            np.copyto(target[rest:size], source[rest:size])
        for job in jobs:
            job.result()


def _is_pinned(address: int) -> bool:
    found = runtime().pointerGetAttributes(address)
    return int(found.type) == int(runtime().memoryTypeHost)
