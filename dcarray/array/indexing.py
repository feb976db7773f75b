"""Reading and writing through an index."""

from __future__ import annotations

from typing import Any

import numpy as np

from .. import native
from ..backends.registry import Device, common_device
from ..config import config, current
from ..dtypes import is_recordable
from ..layout import Layout, broadcast_shapes, broadcast_strides
from ..lazy import execute, placing, route, squares
from ..lazy.graph import Read
from ..lazy.record import record
from ..ops.elementwise import CAST, NEGATIVE, WHERE
from ..ops.indexing import ADD_AT, GET, PUT
from ..ops.spec import Signature
from . import calls
from .immediate import SCALARS
from .kept import basic_view, copied, number_of, sliced
from .keys import hosted, is_basic, is_simple, normalised, slotted, with_numbers
from .library import oracle
from .masks import masked
from .operands import wrap
from .state import (
    ArrayState,
    host_sibling,
    is_foreign,
    is_writeable,
    settled,
    writable,
)
from .storing import stored_on_host
from .updating import assigned

__all__ = ["add_at", "get_item", "set_item"]


_ndarray = np.ndarray

LARGE = 1 << 16
"""Elements from which the host has other ways through masks than NumPy's."""


def get_item(x: ArrayState, key: Any) -> Any:
    """``x[key]``: a view for slices and integers, a copy for index arrays."""
    host = x._host
    if host is None:
        host = settled(x)
    if host is not None:
        if not is_simple(key):
            if host.size < LARGE:
                found = hosted(x, key)
                if found is not None:
                    return wrap(type(x), host[found], x._device)
        else:
            result = host[key]
            if type(result) is _ndarray:
                return host_sibling(x, result)
            return wrap(type(x), result, x._device)
    if isinstance(key, ArrayState) and x._device.is_named:
        chosen = masked(x, key)
        if chosen is not None:
            return chosen
    if host is None and x._device.kind not in _ON_HOST and is_basic(key):
        view = sliced(x, key)
        shown = view._view
        assert shown is not None
        if shown[0].shape or Ellipsis in (key if type(key) is tuple else (key,)):
            return view
        return _element(x, view)
    if isinstance(key, tuple):
        key = tuple(key)  # of a subclass, too
    device = _common_device(x, key, "__getitem__")
    named = device.kind not in _ON_HOST
    # What is on a device only is picked there.
    there = named or (host is None and is_recordable(x.dtype))
    key, basic = normalised(key, device if there else None)
    if not basic and there:
        if named and device != x._device:
            x = x.to_device(device)  # type: ignore[attr-defined]
        return _gather(x, key)
    if basic and host is None:
        view = basic_view(x, key)
        if (
            view.size < current().eager_below
            and x._device.kind in ("auto", "cpu")
            and not _is_far(x)
        ):
            # Small work is done at once, and needs the elements: the whole value runs.
            x._array()
            return get_item(x, key)
        if view.ndim or Ellipsis in (key if type(key) is tuple else (key,)):
            return view
        return _element(x, view)
    host = x._array()
    large = not basic and host.size >= LARGE
    result = oracle(GET)(host, key=key) if large else host[key]
    cls = type(x)
    # Fields of records are views too.
    shows = basic or (x.dtype.names and np.may_share_memory(result, host))
    if shows and type(result) is np.ndarray:
        return host_sibling(x, result)
    return calls.wrap(cls, result, device)


_ON_HOST = ("auto", "cpu")
"""Kinds of devices whose memory is the host's, or may be."""


def _common_device(x: ArrayState, key: Any, name: str) -> Device:
    """The device of an array and of the index arrays in a key.

    An index of no dimensions is a number, wherever it is.
    """
    found = [x._device]
    stack = [key]
    while stack:
        item = stack.pop()
        if isinstance(item, ArrayState):
            if item.ndim or item.dtype.kind not in "iu":
                found.append(item._device)
        elif type(item) in (tuple, list):
            stack.extend(item)
    return x._device if len(found) == 1 else common_device(found, name)


def _element(x: ArrayState, view: ArrayState) -> Any:
    """One element, as a copy: later writes do not change it."""
    if x._device.kind in ("auto", "cpu"):
        if route.far_home(view._bind().value) is not None:
            view = copied(view)
        return calls.wrap(type(x), view._array()[()], x._device)
    if current().scalars == "numpy":
        return view._array()[()]
    return copied(view)


def _is_far(x: ArrayState) -> bool:
    """Whether a device alone has an ``auto`` array, which should stay there.  Runs
    what is pending."""
    if len(route.auto_devices) < 2:
        return False
    value = x._bind().value
    execute.evaluate((value,))
    return route.far_home(value) is not None


def _gather(x: ArrayState, key: Any) -> Any:
    arrays: list[ArrayState] = []
    slots = slotted(key, arrays)
    found = calls.library(type(x), GET, (x, *arrays), key=slots)
    items = key if type(key) is tuple else (key,)
    is_element = not found.ndim and not any([item is Ellipsis for item in items])
    if is_element and current().scalars == "numpy" and isinstance(found, ArrayState):
        return found._array()[()]
    return found


# ----------------------------------------------------------------------------- writing
def set_item(x: ArrayState, key: Any, value: Any) -> None:
    """``x[key] = value``."""
    host = x._host
    if host is None:
        if is_basic(key) and not x._locked:
            if x._device.is_named:
                if assigned(x, key, value):
                    return
            elif _is_far(x):
                if is_foreign(value) and is_recordable(value.dtype):
                    value = type(x)._of_host(value.copy())
                if isinstance(value, ArrayState):
                    value._read()  # known to the graph: it is going there
                if assigned(x, key, value):
                    return
    else:
        # The short way: NumPy on the memory that is there.
        simple = is_simple(key)
        place = key if simple else None
        if not simple and host.size < LARGE:
            place = hosted(x, key)
        if simple or place is not None:
            kind = type(value)
            if kind is int or kind is float or kind is _ndarray or kind in SCALARS:
                writable(x)[place] = value
                return
            if isinstance(value, ArrayState):
                other = value
                stored = other._host
                if other._device is not x._device:
                    stored = None
                elif stored is None:
                    stored = settled(other)  # the result of a reduction, say
                if stored is not None:
                    # Looking for the same memory takes as long as copying 4096 items.
                    same = simple and (
                        stored.size > 4096 and other._binding is x._binding
                    )
                    if not same or not _is_same_memory(host[place], stored):
                        writable(x)[place] = stored
                    return
                if simple and stored_on_host(x, key, other):
                    return
    if not is_writeable(x):
        raise ValueError("assignment destination is read-only")
    if isinstance(key, tuple):
        key = tuple(key)
    _common_device(x, key, "__setitem__")
    named = x._device.kind not in ("auto", "cpu")
    key, basic = normalised(with_numbers(key), x._device if named else None)
    if named:
        _set_on_device(x, key, basic, value)
        return
    if (
        basic
        and isinstance(value, ArrayState)
        and value._host is None
        and (value._device is x._device or value._device.kind in ("auto", "cpu"))
        and not x._is_shared()
    ):
        view = x if key is Ellipsis else _view_to_write(x, key)
        if _is_itself(view, value) or _store(view, value):
            return
    if isinstance(value, ArrayState):
        common_device((x._device, value._device), "__setitem__")
        value = value._array()
    elif isinstance(value, (list, tuple)):
        value = calls.as_operand(value) if _has_arrays(value) else value
    target = writable(x)
    if basic or target.size < LARGE:
        target[key] = value
    else:
        from ..backends.cpu.wholes.selecting import put  # only who uses it pays for it

        put(target, key, value)


def _is_itself(view: ArrayState, value: ArrayState) -> bool:
    """Whether a view is to be stored in itself, as Python does after ``a[1:] += b``."""
    return value._binding is view._binding and value._read()[1:] == view._read()[1:]


def _is_same_memory(a: Any, b: np.ndarray[Any, Any]) -> bool:
    """The same of NumPy arrays."""
    return (
        type(a) is np.ndarray
        and a.shape == b.shape
        and a.strides == b.strides
        and a.dtype == b.dtype
        and native.address(a) == native.address(b)
    )


def _has_arrays(value: Any) -> bool:
    if isinstance(value, (list, tuple)):
        return any(_has_arrays(item) for item in value)
    return isinstance(value, ArrayState)


def _view_to_write(x: ArrayState, key: Any) -> ArrayState:
    execute.evaluate((x._bind().value,))
    return basic_view(x, key)


def _store(view: ArrayState, value: ArrayState) -> bool:
    """Store a pending value without a temporary; whether that was possible."""
    if value.shape != view.shape:
        try:
            common = broadcast_shapes((value.shape, view.shape))
        except ValueError:
            return False  # NumPy says what is wrong
        if common != view.shape:
            return False
    if value.dtype.kind == "c" and view.dtype.kind != "c":
        return False  # NumPy warns
    _put(view, value)
    return True


def _put(view: ArrayState, value: ArrayState) -> None:
    """Store all of a value, or what is seen of it."""
    read = value._read()
    source = read.value
    if read.layout == source.layout and read.dtype == source.dtype:
        calls.write(view, source)
    else:
        _assign(view, value)


def _assign(view: ArrayState, value: ArrayState) -> None:
    """Store through a conversion node, which also broadcasts."""
    (recorded,) = record(
        CAST,
        (value._read(),),
        view._device,
        signature=Signature((value.dtype,), (view.dtype,)),
    )
    calls.write(view, recorded)


def _turned(view: ArrayState, value: ArrayState) -> bool:
    """Whether the value was the view itself with two axes exchanged, and is stored
    without a second array."""
    if view._binding is not value._binding or view._is_shared():
        return False
    target = view._read()
    layout = squares.squares_of(target, value._read())
    return layout is not None and squares.turn(target, layout, view._device)


def _placed(x: ArrayState, value: Any, arrays: list[ArrayState], key: Any) -> bool:
    """Whether a value was stored by a key with index arrays, without a second array."""
    if x._is_shared():
        return False
    reads = [array._read() for array in arrays]
    return placing.place(x._read(), value._read(), reads, key, x._device)


def _show_instead(x: ArrayState, changed: ArrayState) -> bool:
    """Let an array and its views show another's elements, without a copy; whether that
    is possible: the array is all of its memory, which nobody outside has."""
    old, new = x._read(), changed._read()
    whole = old.layout == old.value.layout == new.value.layout == new.layout
    same = old.dtype == old.value.dtype == new.value.dtype == new.dtype
    if not whole or not same or x._is_shared():
        return False
    if not old.layout.plain and old.layout.size:
        return False
    x._bind().rebind(new.value)
    return True


def _set_where(x: ArrayState, key: Any, value: ArrayState) -> bool:
    """``x[mask] = number`` as a choice between the two; whether the key is such a mask.

    Where the mask is true need not be known for it.
    """
    if type(key) is not np.ndarray and not isinstance(key, ArrayState):
        return False
    lengths = key.shape
    if key.dtype.kind != "b" or value.ndim or lengths != x.shape[: len(lengths)]:
        return False
    cls = type(x)
    if not isinstance(key, ArrayState):
        key = cls._of_host(key.copy(), x._device)
    inner = (slice(None),) * len(lengths) + (None,) * (x.ndim - len(lengths))
    if value.dtype != x.dtype:
        value = calls.cast(cls, value, x.dtype)
    with config(scalars="array"):
        chosen = calls.elementwise(cls, WHERE, (basic_view(key, inner), value, x))
    _assign(x, chosen)
    return True


def add_at(x: ArrayState, key: Any, value: Any, negative: bool) -> bool:
    """``numpy.add.at``, or that of ``subtract``, on a named device; whether the device
    does it.

    Keys without arrays, and values that NumPy converts or refuses, are not.
    """
    if x.dtype.kind not in "iufc" or not x.ndim or not is_writeable(x):
        return False
    cls = type(x)
    if np.result_type(x.dtype, value if np.isscalar(value) else value.dtype) != x.dtype:
        return False
    device = _common_device(x, key, "at")
    key, basic = normalised(with_numbers(key), x._device)
    if basic or device != x._device:
        return False
    if not isinstance(value, ArrayState):
        value = cls._of_host(np.array(value, x.dtype))
    common_device((x._device, value._device), "at")
    if negative:
        with config(scalars="array"):
            value = calls.elementwise(cls, NEGATIVE, (calls.cast(cls, value, x.dtype),))
    arrays: list[ArrayState] = []
    slots = slotted(key, arrays)
    changed = calls.library(cls, ADD_AT, (x, value, *arrays), key=slots)
    if not _show_instead(x, changed):
        _assign(x, changed)
    return True


def _set_on_device(x: ArrayState, key: Any, basic: bool, value: Any) -> None:
    cls = type(x)
    if not isinstance(value, ArrayState):
        host = np.asarray(value)
        if host.dtype != x.dtype:
            host = host.astype(x.dtype)
        value = cls._of_host(np.array(host)) if host.ndim else number_of(cls, host)
    else:
        calls.warn_of_parts(value.dtype, x.dtype)
    common_device((x._device, value._device), "__setitem__")
    if not basic:
        if not _set_where(x, key, value):
            arrays: list[ArrayState] = []
            slots = slotted(key, arrays)
            if not _placed(x, value, arrays, slots):
                changed = calls.library(cls, PUT, (x, value, *arrays), key=slots)
                if not _show_instead(x, changed):
                    _assign(x, changed)
        return
    view = basic_view(x, key)
    if _is_itself(view, value):
        return
    shape = value.shape
    while len(shape) > len(view.shape) and shape[0] == 1:
        shape = shape[1:]
    common = broadcast_shapes((shape, view.shape))
    if common != view.shape:
        raise ValueError(
            f"could not broadcast input array from shape {value.shape} into shape "
            f"{view.shape}"
        )
    if shape != value.shape:
        value = basic_view(value, (0,) * (value.ndim - len(shape)))
    if view.shape == value.shape:
        if not _turned(view, value):
            _put(view, value)
        return
    read = value._read()
    spread = Layout(
        view.shape, broadcast_strides(read.layout, view.shape), read.layout.offset
    )
    (recorded,) = record(
        CAST,
        (Read(read.value, spread, read.dtype),),
        view._device,
        signature=Signature((value.dtype,), (view.dtype,)),
    )
    calls.write(view, recorded)
