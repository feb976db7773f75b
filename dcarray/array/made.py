"""New arrays on named devices: what one of a shape and a dtype takes is found once.

Memory is taken from the pool, and what a call gives again is a copy, recorded, of what
lies on the device already.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ..backends.buffer import device_buffer
from ..backends.gate import gate
from ..backends.registry import Device, backend_for, when_removed
from ..backends.starting import allocator_of
from ..errors import DeviceError
from ..lazy.execute import evaluate
from ..lazy.graph import View, value_of
from .kept import copied, number_for
from .state import ArrayState, showing

__all__ = [
    "again",
    "empty",
    "filled",
    "keep",
    "keep_empty",
    "name_of",
    "new",
    "standing",
]

MOST = 1 << 12
"""Shapes that are remembered."""

ROOM, LARGEST = 1 << 25, 1 << 20
"""Bytes that all rows of numbers may take which are kept, and one of them."""


class Empty:
    """Memory of a device for arrays of one kind.

    Attributes
    ----------
    device : Device
    view : View
        How they lie.
    nbytes : int
    allocator : Allocator
    """

    __slots__ = ("allocator", "device", "nbytes", "view")

    def __init__(self, device: Device, view: View) -> None:
        self.device = device
        self.view = view
        self.nbytes = view[0].size * view[1].itemsize
        self.allocator = allocator_of(backend_for(device.label))


_empty: dict[tuple[Any, ...], Empty] = {}
_called: dict[tuple[Any, ...], ArrayState | None] = {}
"""What calls gave; None for those that came once."""

_taken = 0
"""Bytes of what calls gave."""


def name_of(shape: Any, dtype: Any, device: Device) -> tuple[Any, ...] | None:
    """A name for new arrays; None where NumPy has to say what the arguments mean."""
    if type(shape) is tuple:
        for length in shape:
            if type(length) is not int:
                return None
    elif type(shape) is not int:
        return None
    if dtype is None or type(dtype) is type:
        return (shape, dtype, device.label)
    if isinstance(dtype, np.dtype) and not dtype.metadata and dtype.names is None:
        return (shape, dtype, dtype.num, device.label)
    return None


def empty(cls: type[ArrayState], name: tuple[Any, ...]) -> Any:
    """An array with no particular content; None where there was none of this name, or
    where room has to be made for it."""
    found = _empty.get(name)
    if found is None:
        return None
    device = found.device
    _gate.enter()
    try:
        memory = found.allocator.allocate(found.nbytes)
    except DeviceError:
        return None
    finally:
        _gate.leave()
    buffer = device_buffer(device.label, memory, found.nbytes)
    return showing(cls, value_of(found.view, device, None, 0, buffer))


def keep_empty(name: tuple[Any, ...], x: ArrayState) -> None:
    """Know from now on how arrays of a name lie: like one that shows all of its
    memory."""
    value = x._bind().value
    if x._view is value.view and value.buffer is not None:
        view = value.view
        if view[0].size * view[1].itemsize == value.buffer.nbytes:
            if len(_empty) >= MOST:
                _empty.clear()
            _empty[name] = Empty(x._device, view)


def new(
    cls: type[ArrayState], shape: tuple[int, ...], dtype: Any, device: Device
) -> Any:
    """Memory with no particular content, in C order, on a named device."""
    name = name_of(shape, dtype, device)
    found = None if name is None else empty(cls, name)
    if found is None:
        found = cls._empty(shape, dtype, device)
        if name is not None:
            keep_empty(name, found)
    return found


def filled(cls: type[ArrayState], name: tuple[Any, ...], number: Any) -> Any:
    """An array of one number; None as for `empty`, and for numbers that the dtype does
    not hold as they are."""
    lies = _empty.get(name)
    if lies is None or number_for(cls, number, lies.view[1]) is None:
        return None
    made = empty(cls, name)
    if made is not None:
        made[...] = number
    return made


# ------------------------------------------------------------------- calls that recur
def again(name: tuple[Any, ...]) -> Any:
    """A copy, recorded, of what a call gave before; None where it has to be made."""
    found = _called.get(name)
    return None if found is None else copied(found)


def keep(name: tuple[Any, ...], x: Any) -> Any:
    """Keep what a call gave, if it came before, and give a copy of it, or the array."""
    if not isinstance(x, ArrayState) or not x._device.is_named:
        return x
    if name in _called:
        return copied(x) if _kept(name, x) else x
    if len(_called) >= MOST:
        _forget("")
    _called[name] = None
    return x


def standing(name: tuple[Any, ...], make: Callable[[], ArrayState]) -> Any:
    """What a call gives, to be read alone: it is kept from the first one on."""
    found = _called.get(name)
    if found is None:
        found = make()
        _kept(name, found)
    return found


def _kept(name: tuple[Any, ...], x: ArrayState) -> bool:
    """Keep an array that nobody else has, if it is small."""
    global _taken
    value = x._bind().value
    nbytes = value.layout.size * value.dtype.itemsize
    if x._view is not value.view or not 0 < nbytes <= LARGEST or not x.ndim:
        return False
    evaluate((value,))
    if _taken + nbytes > ROOM:
        _forget("")
    _taken += nbytes
    _called[name] = x
    return True


def _forget(device: str) -> None:
    global _taken
    _empty.clear()
    _called.clear()
    _taken = 0


when_removed(_forget)

_gate = gate
