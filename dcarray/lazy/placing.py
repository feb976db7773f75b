"""``x[key] = value`` with index arrays, in the memory where ``x`` lies."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any

from ..backends.base import Backend
from ..backends.registry import Device, backend_for
from ..errors import DeviceError, UnsupportedError
from ..layout import Layout, view_host
from ..ops.indexing import filled
from ..profile import Event, emit
from . import recover, route
from .callers import name_line, user_frame
from .execute import evaluate, flush_readers, host_view
from .graph import Read
from .places import Into
from .running import view_on

__all__ = ["place"]


def place(
    target: Read, value: Read, arrays: Sequence[Read], key: Any, device: Device
) -> bool:
    """Store a value at places that index arrays choose.

    Parameters
    ----------
    target : Read
        What the key is of.
    value : Read
    arrays : sequence of Read
        The index arrays of the key.
    key : object
        The key, with a `Slot` for each of them.
    device : Device
        A named one.

    Returns
    -------
    bool
        False, and nothing has happened, where the device cannot do it in place.
    """
    backend = backend_for(device.label)
    if not hasattr(backend, "put_at") or not _lies_apart(target):
        return False
    reads = (value, *arrays)
    evaluate([target.value, *[read.value for read in reads]])
    flush_readers(target.value)
    into = Into(target, False)
    started = time.perf_counter()

    def attempt(backend: Backend) -> None:
        put_at: Any = getattr(backend, "put_at", None)
        if put_at is None:
            given = [host_view(read) for read in reads]
            memory = into.prepare(backend)
            host = view_host(memory, target.layout, target.dtype)
            host[filled(key, given[1:])] = given[0]
        else:
            for read in reads:
                if read.dtype not in backend.supported:
                    raise UnsupportedError(f"put: {backend.device} has no {read.dtype}")
            views = [view_on(backend, read) for read in reads]
            memory = into.prepare(backend)
            put_at(backend.view(memory, target.layout, target.dtype), *views, key=key)
        into.wrote(backend, memory)

    buffers = dict.fromkeys(r.value.buffer for r in (target, *reads) if r.value.buffer)
    size = value.layout.size
    work = route.Work("put", size, 1, tuple(buffers), size * target.dtype.itemsize)
    try:
        ran_on = recover.run(attempt, lambda: work, device)
    except DeviceError as error:
        name_line(error, user_frame())
        raise
    seconds = time.perf_counter() - started
    emit(Event("library", "put", ran_on, 1, size, work.written, seconds, start=started))
    return True


def _lies_apart(target: Read) -> bool:
    """Whether no two elements share memory."""
    layout: Layout = target.layout
    reach = target.dtype.itemsize
    for step, length in sorted(
        (abs(step), length)
        for step, length in zip(layout.strides, layout.shape, strict=True)
        if length > 1
    ):
        if step < reach:
            return False
        reach += step * (length - 1)
    return True
