"""Products of two rows and elements of one, on devices that do such work wherever the
rows begin: whose backends are `backends.base.Lining`.

A loop over the rows of a matrix meets another place at each step: nothing is kept for
it, and little is worked out.
"""

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

__all__ = ["multiply", "take"]

_STORED = State.STORED

_gate = gate


def multiply(x: Value, shown: View, y: Value, seen: View) -> Value | None:
    """The sum of the products of two rows of one length and dtype, on one named device;
    runs now.

    None where the device has nothing of its own for it, where somebody watches, and
    where it failed: then the usual way says so.
    """
    backend: Any = backend_for(x.device.label)
    dot = getattr(backend, "dot", None)
    if dot is None or collectors or notes() is not None:
        return None
    (layout, dtype), (other, _) = shown, seen
    size = dtype.itemsize
    begin, step = layout.offset, layout.strides[0]
    first, stride = other.offset, other.strides[0]
    if begin % size or step % size or first % size or stride % size:
        return None
    lies = (begin // size, step // size, first // size, stride // size)
    return _done(backend, dot, x, y, dtype, layout.shape[0], lies, ())


def take(x: Value, shown: View, places: Value, seen: View) -> Value | None:
    """Elements of a row at places that are known to be in it, or one length before, on
    one named device; runs now, or gives None as `multiply` does."""
    backend: Any = backend_for(x.device.label)
    pick = getattr(backend, "pick", None)
    if pick is None or collectors or notes() is not None:
        return None
    (layout, dtype), (other, kind) = shown, seen
    begin, rest = divmod(layout.offset, dtype.itemsize)
    first, more = divmod(other.offset, kind.itemsize)
    if rest or more or layout.strides[0] != dtype.itemsize:
        return None
    if other.strides[0] != kind.itemsize:
        return None
    lies = (layout.shape[0], begin, first)
    return _done(backend, pick, x, places, (dtype, kind), other.shape[0], lies, None)


def _done(
    backend: Any,
    work: Any,
    x: Value,
    y: Value,
    kinds: Any,
    number: int,
    lies: tuple[int, ...],
    shape: Any,
) -> Value | None:
    """What a backend makes of two values, as a value of a shape, or of so many."""
    if x.state != _STORED or y.state != _STORED:
        evaluate((x, y))
    one, other = x.buffer, y.buffer
    assert one is not None and other is not None
    _gate.enter()
    try:
        memory = work(one.read_on(backend), other.read_on(backend), kinds, number, lies)
    except (DeviceError, UnsupportedError):
        return None
    finally:
        _gate.leave()
    if memory is None:
        return None
    count("library")
    dtype = kinds if shape == () else kinds[0]
    plain = Layout.plain_for((number,) if shape is None else shape, dtype.itemsize)
    buffer = device_buffer(backend.device, memory, memory.nbytes)
    return value_of(View.of(plain, dtype), x.device, None, 0, buffer)
