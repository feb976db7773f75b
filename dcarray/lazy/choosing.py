"""Elements where a mask is true, on devices that choose by themselves: whose backends
are `backends.base.Selecting`."""

from __future__ import annotations

from typing import Any

from ..backends.buffer import device_buffer
from ..backends.gate import gate
from ..backends.registry import backend_for
from ..errors import DeviceError, UnsupportedError
from ..layout import Layout
from ..profile import collectors, count
from .execute import evaluate
from .graph import State, Value, View, value_of
from .noting import notes

__all__ = ["choose"]

_STORED = State.STORED

_gate = gate


def choose(x: Value, mask: Value, shown: View) -> Value | None:
    """What ``x[mask]`` is, where both are all of their C-contiguous arrays, of one
    shape and on one named device; runs now.

    ``shown`` is how the array lies.  None where the device has nothing of its own for
    it, where somebody watches, and where it failed: then the usual way says so.

    The mask runs first: with it all that it is made of and that is to be stored.
    """
    device = x.device
    backend: Any = backend_for(device.label)
    select = getattr(backend, "select", None)
    if select is None or collectors or notes() is not None:
        return None
    if mask.state != _STORED:
        evaluate((mask,))
    if x.state != _STORED:
        evaluate((x,))
    layout, dtype = shown
    chosen, source = mask.buffer, x.buffer
    assert chosen is not None and source is not None
    _gate.enter()
    try:
        found = select(
            chosen.read_on(backend),
            source.read_on(backend),
            layout.size,
            dtype.itemsize,
            0,
        )
    except (DeviceError, UnsupportedError):
        return None
    finally:
        _gate.leave()
    if found is None:
        return None
    memory, size = found
    count("library")
    plain = Layout.plain_for((size,), dtype.itemsize)
    buffer = device_buffer(device.label, memory, memory.nbytes)
    return value_of(View.of(plain, dtype), device, None, 0, buffer)
