"""Stored memory with at most one copy on each device: the one place that knows
coherence.  It knows nothing of laziness."""

from __future__ import annotations

import os
import threading
import weakref
from typing import Any

import numpy as np

from .. import native
from ..errors import DeviceLostError, UnsupportedError
from ..layout import Layout
from .base import Backend, Memory
from .moving import transfer
from .pair import Pair, adopted, shown
from .registry import backend_for
from .residents import enter, moment

__all__ = ["Buffer", "device_buffer"]

HostArray = np.ndarray[Any, Any]

_locks = [threading.RLock() for _ in range(16)]
"""Each buffer is guarded by one of them.  Nothing below takes the graph's lock, and a
thread that holds one takes no other but a pool's."""


class Buffer:
    """Bytes, and a record of which devices hold a valid copy.

    `of_host` and `device_buffer` make one.

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
    pair : Pair or None
        The device whose copy is the host's too, where one memory serves both.  The copy
        is valid for whose turn it is, and goes over to the other one without a copy.
    seen : Seen or None
        What is known of the elements since the last write, see `lazy.elements`.
    """

    __slots__ = (
        "__weakref__",
        "_copies",
        "_sharer",
        "_valid",
        "home",
        "last_used",
        "nbytes",
        "pair",
        "root",
        "seen",
        "start",
        "users",
    )

    nbytes: int
    root: HostArray | None
    start: int
    _copies: dict[str, Memory] | None
    _valid: set[str] | None
    _sharer: Any
    home: str
    last_used: float
    users: int
    pair: Pair | None
    seen: Any

    @property
    def _lock(self) -> threading.RLock:
        return _locks[id(self) >> 6 & 15]

    # ----------------------------------------------------------------------- making
    @classmethod
    def of_host(cls, array: HostArray, shared: bool = False) -> Buffer:
        """Take over the memory of a NumPy array."""
        low, high = 0, array.nbytes
        if not array.flags.c_contiguous:
            low, high = Layout(array.shape, array.strides).span(array.itemsize)
        buffer = _buffer(high - low)
        buffer.root, buffer.start = array, native.address(array) + low
        buffer._sharer = True if shared else None
        return buffer

    def _put(self, device: str, memory: Memory) -> None:
        if device == "cpu":
            self.root = memory
            self.start = native.address(memory)
            if self._valid is not None:
                self._valid.add("cpu")
        else:
            if self._copies is None or self._valid is None:
                self._copies, self._valid = {}, set() if self.root is None else {"cpu"}
                enter(self)
            self._copies[device] = memory
            self._valid.add(device)
            self.last_used = moment()

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
            self._take_for(device)
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
        return device == "cpu" if self._valid is None else device in self._valid

    def is_near(self, device: str) -> bool:
        """Whether the device needs no transfer to read the current bytes."""
        pair = self.pair
        if pair is not None and device in pair:
            return self.is_valid_on("cpu") or self.is_valid_on(pair.device)
        return self.is_valid_on(device)

    def valid_devices(self) -> list[str]:
        """Where the bytes are up to date, the CPU first."""
        valid = {"cpu"} if self._valid is None else self._valid
        return sorted(valid, key=lambda device: (device != "cpu", device))

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
            self.last_used = moment()
            if self.is_valid_on(device) or self._passed_to(backend):
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
            self.seen = None
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
            if whole and not self.is_near(backend.device):
                return self._stale_copy_on(backend)
            memory = self.read_on(backend)
            self._take_for(backend.device)
            return memory

    def wrote_on(self, backend: Backend, memory: Memory) -> None:
        """What `prepare_on` gave holds the current bytes now."""
        device = backend.device
        with self._lock:
            self.seen = None
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
        self._take_for(device)
        if device == "cpu" and self.root is not None:
            return self.root
        if self._copies is not None and device in self._copies:
            return self._copies[device]
        return backend.allocate(self.nbytes)

    def _passed_to(self, backend: Backend) -> bool:
        """Whether a device may read without a transfer, because the memory of one that
        holds the bytes is its own memory."""
        if self.is_shared:
            return False
        device = backend.device
        if self.pair is None:
            self._find_pair(backend)
        pair = self.pair
        if pair is None or device not in pair or not self.is_near(device):
            return False
        try:
            pair.let_read(device)
        except DeviceLostError:
            if device != "cpu":
                raise
            self._discard(pair.device)
            return False
        assert self._valid is not None
        self._valid.add(device)
        return True

    def _find_pair(self, backend: Backend) -> None:
        if backend.device != "cpu":
            if self.root is not None and self.is_valid_on("cpu"):
                pair = adopted(backend, self.root, self.nbytes)
                if pair is not None:
                    self._put(pair.device, pair.memory)
                    self.pair = pair
            return
        for device in self.valid_devices():
            found = shown(backend_for(device), self._copy_on(device), self.nbytes)
            if found is not None:
                self.pair, self.root = found
                self.start = native.address(self.root)
                return

    def _take_for(self, device: str) -> None:
        """A device is going to write: who shares its memory cannot read any more."""
        pair = self.pair
        if pair is not None and device in pair:
            assert self._valid is not None
            self._valid.discard(pair.other(device))
            pair.let_write(device)

    def _transfer(self, backend: Backend, target: Memory) -> None:
        for device in self.valid_devices():
            source, memory = backend_for(device), self._copy_on(device)
            try:
                return transfer(self.nbytes, source, memory, backend, target)
            except DeviceLostError as error:
                if error.device == backend.device:
                    raise
                self._discard(device)
        raise DeviceLostError(
            f"{self.nbytes} bytes were only on a device that is gone",
            hint="x.prefetch('cpu') keeps a copy on the host",
        )

    # ---------------------------------------------------------------- giving up copies
    def is_on(self, device: str) -> bool:
        """Whether there is a copy on a device beside the CPU, valid or not."""
        return self._copies is not None and device in self._copies

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
            kept = {d: m for d, m in self._copies.items() if d == device}
            self._copies = kept or None
        self.pair = None
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
            if self.users or not self.is_on(device) or self._is_paired_with(device):
                return 0  # of one memory there is no other copy
            if self.is_valid_on(device) and len(self.valid_devices()) < 2:
                return 0
            return self._discard(device)

    def spill(self, device: str) -> int:
        """Copy to the host what only ``device`` holds, then give up its copy."""
        with self._lock:
            if self.users or not self.is_on(device) or self.is_shared_on(device):
                return 0
            if self._is_paired_with(device) and not self._part():
                return 0
            if self.is_valid_on(device) and not self.is_valid_on("cpu"):
                host = backend_for("cpu")
                memory = self._stale_copy_on(host)
                self._transfer(host, memory)
                self._put("cpu", memory)
            return self._discard(device)

    def _is_paired_with(self, device: str) -> bool:
        return self.pair is not None and self.pair.device == device

    def _part(self) -> bool:
        """Leave the memory of both to the device alone; whether the host can."""
        pair = self.pair
        assert pair is not None and self._valid is not None and self.root is not None
        looks = pair.shows(self.root)
        if looks is None:
            return False  # it is the host's own
        self.root = None
        owner = looks()
        if owner is not None:
            self.root = np.asarray(owner)
            return False  # somebody looks at it
        if self.is_near("cpu"):
            pair.let_read(pair.device)
            self._valid.add(pair.device)
        self._valid.discard("cpu")
        self.start = 0
        self.pair = None
        return True

    def leave(self, device: str) -> None:
        """Have nothing more to do with a device that shares the host's memory: what is
        there is the host's from now on."""
        with self._lock:
            if self._is_paired_with(device) and not self.users:
                if self.is_near("cpu"):
                    self.write_on(backend_for("cpu"))
                self._discard(device)

    def lose(self, device: str) -> bool:
        """The device is gone.  Whether the bytes live on elsewhere."""
        with self._lock:
            if self.is_on(device):
                self._discard(device)
            return bool(self.valid_devices())

    def _discard(self, device: str) -> int:
        assert self._copies is not None and self._valid is not None
        del self._copies[device]
        self._valid.discard(device)
        if self._is_paired_with(device):
            self.pair = None
            if "cpu" not in self._valid:
                self.root = None
                self.start = 0
        if not self._copies and "cpu" in self._valid:
            self._copies = self._valid = None
        return self.nbytes


def _buffer(nbytes: int) -> Buffer:
    """A new `Buffer`, nowhere yet."""
    buffer = Buffer.__new__(Buffer)
    buffer.nbytes = nbytes
    buffer.root = buffer._sharer = buffer.pair = buffer._copies = buffer._valid = None
    buffer.start, buffer.users, buffer.seen = 0, 0, None
    buffer.home, buffer.last_used = "cpu", 0.0
    return buffer


def device_buffer(device: str, memory: Memory, nbytes: int) -> Buffer:
    """Take over a block of a device's memory."""
    buffer = _buffer(nbytes)
    if device == "cpu":
        buffer._put(device, memory)
    else:
        buffer._copies, buffer._valid = {device: memory}, {device}
        buffer.last_used = moment()
        enter(buffer)
    return buffer


def _after_fork() -> None:
    _locks[:] = [threading.RLock() for _ in _locks]


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)
