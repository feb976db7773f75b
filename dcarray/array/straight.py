"""Large arrays, straight between memory of NumPy's and a device: one copy, and none
that stays on the host.

Small ones, and those of other devices, go through a `Buffer` and keep the copy that
they have on the host.
"""

from __future__ import annotations

import contextlib
import time
from typing import Any

import numpy as np

from ..backends.base import Sharing
from ..backends.buffer import device_buffer
from ..backends.registry import Device, backend_for
from ..backends.retry import retried
from ..config import current
from ..errors import OutOfMemoryError
from ..layout import Layout, is_contiguous
from ..lazy import execute, recover
from ..profile import Event, emit
from .state import ArrayState, HostArray, check_dtype

__all__ = ["between", "fetched", "is_near", "pooled", "sent"]


LARGE = 1 << 20
"""Bytes from which a copy is made in memory of the pool."""


def is_near(device: Device) -> bool:
    """Whether the host reads memory of a device where it is."""
    if device.kind in ("auto", "cpu"):
        return True
    return getattr(backend_for(str(device)), "sharing", None) is not None


def pooled(host: HostArray) -> HostArray:
    """A copy; of large arrays in memory of the pool, which costs no new pages."""
    if host.nbytes >= LARGE and host.flags.c_contiguous and not host.dtype.hasobject:
        cpu = backend_for("cpu")
        with contextlib.suppress(OutOfMemoryError):
            memory = cpu.allocate(host.nbytes)
            layout = Layout.dense(host.shape, host.itemsize)
            made: HostArray = cpu.view(memory, layout, host.dtype)
            np.copyto(made, host)
            return made
    return np.array(host, copy=True)


def _direct_from(device: Device) -> int | None:
    """Bytes from which arrays of a device go straight; None where they never do."""
    if device.kind in ("auto", "cpu") or current().verify_transfers:
        return None
    # As `Exchanging` has it; to ask whether it is one takes 10 µs.
    return getattr(backend_for(str(device)), "direct_from", None)


def sent(cls: type[ArrayState], host: HostArray, device: Device) -> Any:
    """An array on a device with the elements of one of NumPy's, whose memory is not
    needed afterwards; None where that is not the way for it."""
    if device.kind in ("auto", "cpu") or current().verify_transfers:
        return None
    backend = backend_for(str(device))
    sharing: Sharing | None = getattr(backend, "sharing", None)
    least = _direct_from(device) if sharing is None else sharing.least
    if least is None or host.nbytes < least or not host.flags.c_contiguous:
        return None
    check_dtype(host.dtype, device)
    memory = recover.allocated(host.nbytes, str(device))
    source = host.reshape(-1).view(np.uint8)
    if sharing is None:
        _told(lambda: backend.upload(source, memory), "cpu", str(device), host.nbytes)
    else:
        # The new memory is the host's as well: a copy, and no transfer.
        retried(lambda: backend.upload(source, memory), "copy", f"cpu -> {device}")
    layout = Layout.dense(host.shape, host.itemsize)
    buffer = device_buffer(backend.device, memory, host.nbytes)
    return cls._of_buffer(buffer, layout, host.dtype, device)


def fetched(x: ArrayState, out: HostArray | None = None) -> HostArray:
    """A NumPy copy of an array, wherever it is; in ``out``, if that is given."""
    found = _straight(x, out)
    if found is not None:
        return found
    if out is None:
        return np.array(x._array(), copy=True)
    np.copyto(out, x._array(), casting="no")
    return out


def _straight(x: ArrayState, out: HostArray | None) -> HostArray | None:
    least = _direct_from(x._device)
    nbytes = x.size * x.dtype.itemsize
    if least is None or nbytes < least:
        return None
    read = x._read()
    execute.evaluate((read.value,))
    buffer, layout = read.value.buffer, read.layout
    assert buffer is not None
    backend = backend_for(str(x._device))
    is_all = nbytes == buffer.nbytes and not layout.offset
    if not is_all or not is_contiguous(
        layout.shape, layout.strides, x.dtype.itemsize, "C"
    ):
        return None
    if buffer.is_valid_on("cpu") or not buffer.is_valid_on(backend.device):
        return None
    if out is None:
        out = np.empty(x.shape, x.dtype)
    elif not out.flags.c_contiguous or (out.shape, out.dtype) != (x.shape, x.dtype):
        return None
    target = out.reshape(-1).view(np.uint8)
    buffer.hold()
    try:
        memory = buffer.read_on(backend)
        _told(lambda: backend.download(memory, target), backend.device, "cpu", nbytes)
    finally:
        buffer.release()
    return out


def between(x: ArrayState, device: Device) -> Any:
    """A copy on another device, without the host; None where that is not possible."""
    if x._device.kind != device.kind or _direct_from(x._device) is None:
        return None
    there = backend_for(str(device))
    receive = getattr(there, "receive", None)
    if receive is None:
        return None
    check_dtype(x.dtype, device)
    read = x._read()
    execute.evaluate((read.value,))
    buffer, layout = read.value.buffer, read.layout
    here = backend_for(str(x._device))
    if buffer is None or not buffer.is_valid_on(here.device):
        return None
    target = recover.allocated(buffer.nbytes, str(device))
    buffer.hold()
    try:
        source = buffer.read_on(here)
        came: list[bool] = []
        _told(
            lambda: came.append(receive(here, source, target, buffer.nbytes)),
            *(here.device, there.device, buffer.nbytes),
        )
    finally:
        buffer.release()
    if not came[-1]:
        return None
    made = device_buffer(there.device, target, buffer.nbytes)
    return type(x)._of_buffer(made, layout, x.dtype, device)


def _told(move: Any, start: str, end: str, nbytes: int) -> None:
    """Move bytes, again if that fails for a moment, and tell who watches."""
    started = time.perf_counter()
    route = f"{start} -> {end}"
    retried(move, "copy", route)
    seconds = time.perf_counter() - started
    emit(
        Event("transfer", "copy", route, nbytes=nbytes, seconds=seconds, start=started)
    )
