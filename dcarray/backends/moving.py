"""Bytes on their way from the memory of one device to that of another."""

from __future__ import annotations

import time
import zlib
from typing import Any

import numpy as np

from ..config import current
from ..errors import DeviceError
from ..layout import Layout, address_of
from ..profile import Event, emit
from .base import Backend, Memory
from .retry import retried

__all__ = ["Bytes", "bytes_of", "transfer"]

HostArray = np.ndarray[Any, Any]


def transfer(
    nbytes: int, source: Backend, memory: Memory, backend: Backend, target: Memory
) -> None:
    """Copy the first bytes of a block of ``source`` to one of ``backend``, again if
    that fails for a moment, and tell who watches.

    Raises
    ------
    DeviceError
        It failed, or the setting ``verify_transfers`` is on and other bytes arrived.
    """
    started = time.perf_counter()
    route = f"{source.device} -> {backend.device}"
    retried(lambda: _move(nbytes, source, memory, backend, target), "copy", route)
    seconds = time.perf_counter() - started
    emit(
        Event("transfer", "copy", route, nbytes=nbytes, seconds=seconds, start=started)
    )


def _move(
    nbytes: int, source: Backend, memory: Memory, backend: Backend, target: Memory
) -> None:
    if source.device == "cpu":
        backend.upload(bytes_of(memory, nbytes), target)
    elif backend.device == "cpu":
        source.download(memory, bytes_of(target, nbytes))
    else:
        staging = np.empty(nbytes, dtype=np.uint8)
        source.download(memory, staging)
        backend.upload(staging, target)
    if not current().verify_transfers:
        return
    if _sum_of(nbytes, source, memory) != _sum_of(nbytes, backend, target):
        raise DeviceError(
            f"a transfer of {nbytes} bytes arrived changed",
            device=backend.device,
            hint="the device's memory or its link is faulty",
            transient=True,
        )


def _sum_of(nbytes: int, backend: Backend, memory: Memory) -> int:
    if backend.device == "cpu":
        read = bytes_of(memory, nbytes)
    else:
        read = np.empty(nbytes, dtype=np.uint8)
        backend.download(memory, read)
    return zlib.crc32(np.ascontiguousarray(read).data)


def bytes_of(root: HostArray, nbytes: int) -> HostArray:
    """The bytes that ``root`` lies in, from its lowest address on."""
    if root.dtype == np.uint8 and root.ndim == 1 and root.strides == (1,):
        return root[:nbytes]
    low, _ = Layout(root.shape, root.strides).span(root.itemsize)
    start = address_of(root) + low
    return np.asarray(Bytes(root, start, nbytes, root.flags.writeable))


class Bytes:
    """Shows memory of the host to NumPy, and keeps its owner alive."""

    def __init__(
        self, owner: object, start: int, nbytes: int, is_writeable: bool = True
    ) -> None:
        self.owner = owner
        self.__array_interface__ = {
            "version": 3,
            "shape": (nbytes,),
            "typestr": "|u1",
            "data": (start, not is_writeable),
        }
