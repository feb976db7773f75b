"""Products of two rows and elements of one, on devices that do such work wherever the
rows begin: whose backends are `backends.base.Lining`.

A loop over the rows of a matrix meets another place at each step: nothing is kept for
it, and little is worked out.
"""

from __future__ import annotations

from typing import Any

from .. import native
from ..backends.buffer import Buffer, device_buffer
from ..backends.gate import gate
from ..backends.registry import backend_for
from ..backends.residents import moment
from ..dtypes import DType
from ..errors import DeviceError, UnsupportedError
from ..layout import Layout
from ..profile import collectors, counters
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
    return _done(backend, dot, x, y, dtype, layout.shape[0], lies, _plain(-1, dtype))


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
    lies, number = (layout.shape[0], begin, first), other.shape[0]
    view = _plain(number, dtype)
    return _done(backend, pick, x, places, (dtype, kind), number, lies, view)


def _done(
    backend: Any,
    work: Any,
    x: Value,
    y: Value,
    kinds: Any,
    number: int,
    lies: tuple[int, ...],
    view: View,
) -> Value | None:
    """What a backend makes of two values, and how it lies."""
    if x.state != _STORED or y.state != _STORED:
        evaluate((x, y))
    one, other = x.buffer, y.buffer
    assert one is not None and other is not None
    _gate.enter()
    try:
        first, second = _memory(one, backend), _memory(other, backend)
        memory = work(first, second, kinds, number, lies)
    except (DeviceError, UnsupportedError):
        return None
    finally:
        _gate.leave()
    if memory is None:
        return None
    native.count(counters, "library")
    buffer = device_buffer(backend.device, memory, memory.nbytes)
    return value_of(view, x.device, None, 0, buffer)


def _memory(buffer: Buffer, backend: Any) -> Any:
    """A buffer's memory on a device."""
    copies, valid, label = buffer._copies, buffer._valid, backend.device
    if copies is not None and valid is not None and label in valid:
        # Whoever holds it keeps it, also when the buffer gives it up.
        memory = copies.get(label)
        if memory is not None:
            buffer.last_used = moment()
            return memory
    return buffer.read_on(backend)


def _plain(length: int, dtype: DType) -> View:
    """How so many elements lie without gaps; one alone has no axes for a length of
    -1."""
    name = (length, dtype, dtype.num)
    found = _views.get(name)
    if found is None:
        if len(_views) >= MOST:
            _views.clear()
        shape = () if length < 0 else (length,)
        found = _views[name] = View.of(Layout.plain_for(shape, dtype.itemsize), dtype)
    return found


MOST = 1 << 12

_views: dict[tuple[Any, ...], View] = {}
