"""Stored memory with at most one copy on each device: the one place that knows
coherence.  It knows nothing of laziness."""

from __future__ import annotations

import contextlib
import os
import threading
import time
import weakref
import zlib
from typing import Any

import numpy as np

from ..config import current
from ..errors import DeviceError, DeviceLostError, UnsupportedError
from ..layout import Layout, address_of
from ..profile import Event, emit
from .base import Backend, Memory
from .registry import backend_for
from .retry import retried

__all__ = ["Buffer", "evacuate", "resident"]

HostArray = np.ndarray[Any, Any]

_buffers: weakref.WeakSet[Buffer] = weakref.WeakSet()
"""Buffers with a copy on a device other than the CPU, for spilling."""

_locks = [threading.RLock() for _ in range(16)]
"""Each buffer is guarded by one of them.  Nothing below takes the graph's lock, and a
thread that holds one takes no other but a pool's."""


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
        Set while somebody outside can write the memory on the device `home`: True for
        ever, a weak reference as long as its referent lives.  No copy on another device
        is kept then.
    home : str
        Where the memory is that somebody outside can write, while it is shared.
    users : int
        How many running kernels work on it: meanwhile no copy is given up.
    """

    __slots__ = (
        "__weakref__",
        "_copies",
        "_sharer",
        "_valid",
        "home",
        "last_used",
        "nbytes",
        "root",
        "start",
        "users",
    )

    def __init__(self, nbytes: int) -> None:
        self.nbytes = nbytes
        self.root: HostArray | None = None
        self.start = 0
        self._copies: dict[str, Memory] | None = None
        self._valid: set[str] | None = None
        self._sharer: Any = None
        self.home = "cpu"
        self.last_used = 0.0
        self.users = 0

    @property
    def _lock(self) -> threading.RLock:
        return _locks[id(self) >> 6 & 15]

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
            self.last_used = time.monotonic()

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

    def is_shared_on(self, device: str) -> bool:
        """Whether somebody outside can write the device's memory now."""
        return self.is_shared and device == self.home

    def share(self, exporter: object | None, device: str = "cpu") -> None:
        """The memory on a device can be written from outside while ``exporter`` lives;
        for ever if it is None.  That copy is the only one from now on.

        Raises
        ------
        BufferError
            It is shared on another device.
        """
        with self._lock:
            if self.is_shared and device != self.home:
                raise BufferError(
                    f"the memory is shared on {self.home}, and so cannot be on "
                    f"{device}; export a copy"
                )
            self.read_on(backend_for(device))
            self._keep_only(device)
            self.home = device
            self._remember_sharer(exporter)

    def _remember_sharer(self, exporter: object | None) -> None:
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
        """Memory on a device with the current bytes; copied only if stale.

        Raises
        ------
        DeviceLostError
            The only device that had them is gone.
        """
        device = backend.device
        if self._valid is None and device == "cpu":
            return self.root
        with _locks[id(self) >> 6 & 15]:  # the most frequent call: nothing in vain
            self.last_used = time.monotonic()
            if self.is_valid_on(device):
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
        if self._valid is None and backend.device == "cpu":
            return self.root
        with self._lock:
            memory = self.prepare_on(backend, whole)
            self.wrote_on(backend, memory)
            return memory

    def prepare_on(self, backend: Backend, whole: bool = False) -> Memory:
        """Memory on a device that somebody is going to write: the other copies stay
        what they are until `wrote_on` says that it succeeded.

        Raises
        ------
        UnsupportedError
            The memory is shared with outsiders on another device.
        """
        with self._lock:
            if self.is_shared and backend.device != self.home:
                raise UnsupportedError(
                    f"{backend.device}: the array's memory is shared with others on "
                    f"{self.home}, and only there it can be written"
                )
            if whole and not self.is_valid_on(backend.device):
                return self._stale_copy_on(backend)
            return self.read_on(backend)

    def wrote_on(self, backend: Backend, memory: Memory) -> None:
        """What `prepare_on` gave holds the current bytes now."""
        device = backend.device
        with self._lock:
            if self._valid is None and device == "cpu":
                return
            self._put(device, memory)
            self._valid = {device}

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
        for device in self.valid_devices():
            started = time.perf_counter()
            try:
                retried(
                    lambda: self._move(device, backend, target),  # noqa: B023
                    "copy",
                    f"{device} -> {backend.device}",
                )
            except DeviceLostError as error:
                if error.device == backend.device:
                    raise
                self._discard(device)
                continue
            emit(
                Event(
                    "transfer",
                    "copy",
                    f"{device} -> {backend.device}",
                    nbytes=self.nbytes,
                    seconds=time.perf_counter() - started,
                    start=started,
                )
            )
            return
        raise DeviceLostError(
            f"{self.nbytes} bytes were only on a device that is gone",
            hint="x.prefetch('cpu') keeps a copy on the host",
        )

    def _move(self, source_device: str, backend: Backend, target: Memory) -> None:
        memory = self._copy_on(source_device)
        if source_device == "cpu":
            backend.upload(self._host_bytes(), target)
        elif backend.device == "cpu":
            backend_for(source_device).download(memory, _bytes(target, self.nbytes))
        else:
            staging = np.empty(self.nbytes, dtype=np.uint8)
            backend_for(source_device).download(memory, staging)
            backend.upload(staging, target)
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
            sums.append(zlib.crc32(np.ascontiguousarray(read).data))
        if sums[0] != sums[1]:
            raise DeviceError(
                f"a transfer of {self.nbytes} bytes arrived changed",
                device=backend.device,
                hint="the device's memory or its link is faulty",
                transient=True,
            )

    def _host_bytes(self) -> HostArray:
        assert self.root is not None
        return _bytes(self.root, self.nbytes)

    # ---------------------------------------------------------------- giving up copies
    def hold(self) -> None:
        """A kernel is going to work on the copies: give none up until `release`."""
        with self._lock:
            self.users += 1

    def release(self) -> None:
        """The kernel has ended."""
        with self._lock:
            self.users -= 1

    def _keep_only(self, device: str) -> None:
        if self._copies is not None:
            self._copies = {
                d: m for d, m in self._copies.items() if d == device
            } or None
        if device == "cpu":
            if self._copies is None:
                self._valid = None
        else:
            self.root = None
            self.start = 0
            self._valid = {device}

    def drop(self, device: str) -> int:
        """Give up the copy on ``device`` if another one is valid; bytes given up."""
        with self._lock:
            if self.users or self._copies is None or device not in self._copies:
                return 0
            if self.is_valid_on(device) and len(self.valid_devices()) < 2:
                return 0
            return self._discard(device)

    def spill(self, device: str) -> int:
        """Copy to the host what only ``device`` holds, then give up its copy."""
        with self._lock:
            if self.users or self._copies is None or device not in self._copies:
                return 0
            if self.is_shared_on(device):
                return 0
            if self.is_valid_on(device):
                self.read_on(backend_for("cpu"))
            return self._discard(device)

    def lose(self, device: str) -> bool:
        """The device is gone.  Whether the bytes live on elsewhere."""
        with self._lock:
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


def evacuate(device: str) -> None:
    """Bring to the host what a device holds; no kernel may be running on it.

    Raises
    ------
    DeviceError
        The device cannot be read, or somebody is still at work.
    """
    with contextlib.suppress(DeviceLostError):
        backend_for(device).synchronize()
    for buffer in resident(device):
        try:
            buffer.spill(device)
        except DeviceLostError:
            buffer.lose(device)
    left = len(resident(device))
    if left:
        raise DeviceError(f"{left} of its arrays are in use", device=device)


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


def _after_fork() -> None:
    for place in range(len(_locks)):
        _locks[place] = threading.RLock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)
