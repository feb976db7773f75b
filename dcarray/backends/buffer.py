"""Stored memory with at most one copy on each device: the one place that knows
coherence.  It knows nothing of laziness."""

from __future__ import annotations

import time
import weakref
import zlib
from typing import Any

import numpy as np

from ..config import current
from ..errors import DeviceError
from ..layout import Layout, address_of
from ..profile import Event, emit
from .base import Backend, Memory
from .registry import backend_for

__all__ = ["Buffer", "resident"]

HostArray = np.ndarray[Any, Any]

_buffers: weakref.WeakSet[Buffer] = weakref.WeakSet()
"""Buffers with a copy on a device other than the CPU, for spilling."""


class Buffer:
    """Bytes, and a record of which devices hold a valid copy.

    Make one from an array of the host with `of_host`, or empty on a device with
    `empty`.

    Attributes
    ----------
    nbytes : int
    start : int
        Address of the first byte of the copy on the host, if there is one.
    sharer : object or None
        Set while somebody outside can write the host's memory: True for ever, a weak
        reference as long as its referent lives.  No copy on another device is kept
        then.
    """

    __slots__ = (
        "__weakref__",
        "_copies",
        "_sharer",
        "_valid",
        "last_used",
        "nbytes",
        "root",
        "start",
    )

    def __init__(self, nbytes: int) -> None:
        self.nbytes = nbytes
        self.root: HostArray | None = None
        self.start = 0
        self._copies: dict[str, Memory] | None = None
        self._valid: set[str] | None = None
        self._sharer: Any = None
        self.last_used = 0.0

    # ----------------------------------------------------------------------- making
    @classmethod
    def of_host(cls, array: HostArray, shared: bool = False) -> Buffer:
        """Take over the memory of a NumPy array."""
        start = address_of(array)
        low, high = Layout(array.shape, array.strides).span(array.itemsize)
        buffer = cls(high - low)
        buffer.root = array
        buffer.start = start + low
        if shared:
            buffer._sharer = True
        return buffer

    @classmethod
    def empty(cls, backend: Backend, nbytes: int) -> Buffer:
        """Uninitialised memory on a device, which counts as valid there."""
        buffer = cls(nbytes)
        buffer._put(backend.device, backend.allocate(nbytes))
        return buffer

    @classmethod
    def of_device(cls, backend: Backend, memory: Memory, nbytes: int) -> Buffer:
        """Take over a block of a device's memory."""
        buffer = cls(nbytes)
        buffer._put(backend.device, memory)
        return buffer

    def _put(self, device: str, memory: Memory) -> None:
        if device == "cpu":
            self.root = memory
            self.start = address_of(memory)
            if self._valid is not None:
                self._valid.add("cpu")
        else:
            if self._copies is None or self._valid is None:
                self._copies = {}
                self._valid = set() if self.root is None else {"cpu"}
                _buffers.add(self)
            self._copies[device] = memory
            self._valid.add(device)

    # ---------------------------------------------------------------------- sharing
    @property
    def is_shared(self) -> bool:
        """Whether somebody outside can write this memory now."""
        sharer = self._sharer
        if sharer is None:
            return False
        if sharer is True:
            return True
        if sharer() is None:
            self._sharer = None
            return False
        return True

    def share(self, exporter: object | None) -> None:
        """The memory can be written from outside while ``exporter`` lives; for ever if
        it is None.  The CPU's copy is the only one from now on."""
        self.read_on(backend_for("cpu"))
        self._keep_only("cpu")
        if exporter is None:
            self._sharer = True
        elif self._sharer is not True:
            older = self._sharer() if self._sharer is not None else None
            self._sharer = weakref.ref(exporter)
            if older is not None:
                # The newer exporter keeps the older one's promise alive.
                exporter.earlier = older  # type: ignore[attr-defined]

    # -------------------------------------------------------------------- coherence
    def is_valid_on(self, device: str) -> bool:
        """Whether the device's copy is up to date."""
        if self._valid is None:
            return device == "cpu"
        return device in self._valid

    def valid_devices(self) -> list[str]:
        """Where the bytes are up to date, the CPU first."""
        return ["cpu"] if self._valid is None else sorted(self._valid, key=_cpu_first)

    def read_on(self, backend: Backend) -> Memory:
        """Memory on a device with the current bytes; copied only if stale."""
        device = backend.device
        if self._valid is None:
            if device == "cpu":
                return self.root
        else:
            self.last_used = time.monotonic()
            if device in self._valid:
                return self._copy_on(device)
        memory = self._stale_copy_on(backend)
        self._transfer(backend, memory)
        if not self.is_shared:
            self._put(device, memory)
        return memory

    def write_on(self, backend: Backend, whole: bool = False) -> Memory:
        """Memory on a device for writing; the other copies become stale.

        ``whole`` says that every byte will be written, so that nothing is copied.
        """
        device = backend.device
        if self._valid is None and device == "cpu":
            return self.root
        if whole and not self.is_valid_on(device):
            memory = self._stale_copy_on(backend)
            self._put(device, memory)
        else:
            memory = self.read_on(backend)
        if not self.is_shared:
            self._valid = {device}
        return memory

    def _copy_on(self, device: str) -> Memory:
        if device == "cpu":
            return self.root
        assert self._copies is not None
        return self._copies[device]

    def _stale_copy_on(self, backend: Backend) -> Memory:
        device = backend.device
        if device == "cpu" and self.root is not None:
            return self.root
        if self._copies is not None and device in self._copies:
            return self._copies[device]
        return backend.allocate(self.nbytes)

    def _transfer(self, backend: Backend, target: Memory) -> None:
        source_device = self.valid_devices()[0]
        started = time.perf_counter()
        if backend.device == "cpu":
            source = backend_for(source_device)
            source.download(self._copy_on(source_device), _bytes(target, self.nbytes))
        elif source_device == "cpu":
            backend.upload(self._host_bytes(), target)
        else:
            staging = np.empty(self.nbytes, dtype=np.uint8)
            source = backend_for(source_device)
            source.download(self._copy_on(source_device), staging)
            backend.upload(staging, target)
        emit(
            Event(
                "transfer",
                "copy",
                f"{source_device} -> {backend.device}",
                nbytes=self.nbytes,
                seconds=time.perf_counter() - started,
            )
        )
        if current().verify_transfers:
            self._verify(source_device, backend, target)

    def _verify(self, source_device: str, backend: Backend, target: Memory) -> None:
        sums = []
        for device, memory in (
            (source_device, self._copy_on(source_device)),
            (backend.device, target),
        ):
            if device == "cpu":
                read = _bytes(memory, self.nbytes)
            else:
                read = np.empty(self.nbytes, dtype=np.uint8)
                backend_for(device).download(memory, read)
            sums.append(zlib.crc32(read.tobytes()))
        if sums[0] != sums[1]:
            raise DeviceError(
                f"a transfer of {self.nbytes} bytes arrived changed",
                device=backend.device,
                hint="the device's memory or its link is faulty",
            )

    def _host_bytes(self) -> HostArray:
        assert self.root is not None
        return _bytes(self.root, self.nbytes)

    # ---------------------------------------------------------------- giving up copies
    def _keep_only(self, device: str) -> None:
        if self._copies is not None:
            self._copies = {
                d: m for d, m in self._copies.items() if d == device
            } or None
        if device == "cpu" and self._copies is None:
            self._valid = None

    def drop(self, device: str) -> int:
        """Give up the copy on ``device`` if another one is valid; bytes given up."""
        if self._copies is None or device not in self._copies:
            return 0
        if self.is_valid_on(device) and len(self.valid_devices()) < 2:
            return 0
        return self._discard(device)

    def spill(self, device: str) -> int:
        """Copy to the host what only ``device`` holds, then give up its copy."""
        if self._copies is None or device not in self._copies:
            return 0
        if self.is_valid_on(device):
            self.read_on(backend_for("cpu"))
        return self._discard(device)

    def lose(self, device: str) -> bool:
        """The device is gone.  Whether the bytes live on elsewhere."""
        if self._copies is not None and device in self._copies:
            self._discard(device)
        return bool(self.valid_devices())

    def _discard(self, device: str) -> int:
        assert self._copies is not None and self._valid is not None
        del self._copies[device]
        self._valid.discard(device)
        if not self._copies and "cpu" in self._valid:
            self._copies = self._valid = None
        return self.nbytes


def resident(device: str) -> list[Buffer]:
    """Buffers with a copy on a device, the least recently used first."""
    found = [b for b in list(_buffers) if b._copies is not None and device in b._copies]
    return sorted(found, key=lambda buffer: buffer.last_used)


def _cpu_first(device: str) -> tuple[bool, str]:
    return device != "cpu", device


def _bytes(root: HostArray, nbytes: int) -> HostArray:
    """The bytes that ``root`` lies in, from its lowest address on."""
    if root.dtype == np.uint8 and root.ndim == 1 and root.strides == (1,):
        return root[:nbytes]
    low, _ = Layout(root.shape, root.strides).span(root.itemsize)
    return np.asarray(_Bytes(root, address_of(root) + low, nbytes))


class _Bytes:
    """Shows an array's memory as bytes, and keeps the array alive."""

    def __init__(self, root: HostArray, start: int, nbytes: int) -> None:
        self.root = root
        self.__array_interface__ = {
            "version": 3,
            "shape": (nbytes,),
            "typestr": "|u1",
            "data": (start, not root.flags.writeable),
        }
