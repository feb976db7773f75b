"""What indexing on devices does once: how parts of arrays lie, numbers to be stored."""

from __future__ import annotations

import operator
from typing import Any

import numpy as np

from ..backends.registry import when_removed
from ..dtypes import DType, is_recordable
from ..layout import Layout
from ..lazy.callers import user_place
from ..lazy.cutting import keep_within_bounds
from ..lazy.graph import Form, View
from ..lazy.record import form_of, written_one
from ..ops.elementwise import CAST
from ..ops.spec import Signature
from .state import ArrayState, showing

__all__ = [
    "basic_view",
    "copied",
    "copied_densely",
    "number_for",
    "number_of",
    "part_of",
    "sliced",
]

HostArray = np.ndarray[Any, Any]

MOST_PARTS, MOST_NUMBERS = 1 << 16, 256

_parts: dict[tuple[Any, ...], View] = {}
"""By how the array lies, and the key."""

_copies: dict[View, Form] = {}
_dense: dict[View, Form] = {}
"""What copying parts comes to, and copying them in C order."""

_numbers: dict[tuple[Any, ...], ArrayState] = {}
_given: dict[tuple[Any, ...], ArrayState] = {}


def sliced(x: ArrayState, key: Any) -> ArrayState:
    """A view of an array, for a key of Python's integers, slices and new axes."""
    return x._seen(part_of(x, key))


def part_of(x: ArrayState, key: Any) -> View:
    """How a part lies that Python's integers and slices choose."""
    place = _named(x, key)
    if place is None:
        key = _with_numbers(key)
        place = _named(x, key)
    if place is None or x._view is None:
        return _view_of(x, key)
    shown = _parts.get(place)
    if shown is None:
        shown = _view_of(x, key)
        if len(_parts) > MOST_PARTS:
            _parts.clear()
        _parts[place] = shown
    return shown


def _with_numbers(key: Any) -> Any:
    """A key whose slices have Python's integers for arrays without axes, which the
    host has to read."""
    if type(key) is tuple:
        return tuple([_with_numbers(item) for item in key])
    if type(key) is not slice:
        return key
    return slice(_number(key.start), _number(key.stop), _number(key.step))


def _number(end: Any) -> Any:
    given: Any = end
    is_number = isinstance(given, (ArrayState, np.integer))
    return operator.index(given) if is_number else given


def _view_of(x: ArrayState, key: Any) -> View:
    layout, dtype = x._read()[1:]
    part = _part(layout, key)
    view = basic_view(x, key) if part is None else x._sibling(part, dtype)
    assert view._view is not None
    return view._view


def _part(layout: Layout, key: Any) -> Layout | None:
    """How a part lies, by the rules of NumPy's; None where NumPy says what is wrong, or
    where nothing lies."""
    lengths, strides = list(layout.shape), list(layout.strides)
    offset, axis = layout.offset, 0
    for item in key if type(key) is tuple else (key,):
        if axis == len(lengths):
            return None
        length, step = lengths[axis], strides[axis]
        if type(item) is int and -length <= item < length:
            offset += step * (item if item >= 0 else item + length)
            del lengths[axis], strides[axis]
        elif type(item) is slice and item.step != 0:
            start, stop, stride = item.indices(length)
            offset += step * start
            lengths[axis] = len(range(start, stop, stride))
            strides[axis] = step * stride
            axis += 1
        else:
            return None
    return None if 0 in lengths else Layout(tuple(lengths), tuple(strides), offset)


def basic_view(x: ArrayState, key: Any) -> ArrayState:
    """A view of an array whose memory cannot be touched here."""
    items = key if type(key) is tuple else (key,)
    # The ellipsis keeps NumPy from reading an element where every axis has an integer.
    if Ellipsis not in items:
        items = (*items, Ellipsis)
    layout, dtype = x._read().layout.apply(x.dtype, lambda array: array[items])
    return x._sibling(layout, dtype)


def copied(view: ArrayState) -> ArrayState:
    """A copy of what a view shows, recorded."""
    shown = view._view
    assert shown is not None
    form = _copies.get(shown)
    if form is None:
        if len(_copies) > MOST_PARTS:
            _copies.clear()
        form = form_of(CAST, [shown], Signature((shown[1],), (shown[1],)))
        _copies[shown] = form
    source = view._bind().value
    place = user_place()
    return showing(type(view), written_one(form, (source,), view._device, 0, place))


def copied_densely(x: ArrayState) -> ArrayState:
    """The same in C order, of an array of any size."""
    shown = x._view
    assert shown is not None
    form = _dense.get(shown)
    if form is None:
        if len(_dense) > MOST_PARTS:
            _dense.clear()
        form = form_of(CAST, [shown], Signature((shown[1],), (shown[1],)), "C")
        _dense[shown] = form
    source = x._bind().value
    value = written_one(form, (source,), x._device, 0, user_place())
    keep_within_bounds(value)
    return showing(type(x), value)


def _named(x: ArrayState, key: Any) -> tuple[Any, ...] | None:
    """A part's name; None where its key has others' integers."""
    name: list[Any] = [x._view]
    if type(key) is not tuple:
        key = (key,)
    for item in key:
        if type(item) is slice:
            start, stop, step = item.start, item.stop, item.step
            if (
                (start is not None and type(start) is not int)
                or (stop is not None and type(stop) is not int)
                or (step is not None and type(step) is not int)
            ):
                return None
            name.append((start, stop, step))
        else:
            name.append(item)
    return tuple(name)


def number_for(cls: type[ArrayState], number: Any, dtype: DType) -> ArrayState | None:
    """A number that an array of a dtype is to hold, if it holds it as it is."""
    kind = type(number)
    if kind is not int and kind is not float and kind is not np.float64:
        return None
    name = (cls, kind, number or repr(number), dtype)  # -0.0 is not 0.0
    found = _given.get(name)
    if found is None:
        if not is_recordable(dtype):
            return None
        host = np.asarray(number)
        if host.dtype != dtype:
            if not _fits(number, dtype):
                return None  # NumPy may warn, or refuse
            host = host.astype(dtype)
        found = number_of(cls, host)
        found._read()
        if len(_given) > MOST_NUMBERS:
            _given.clear()
        _given[name] = found
    return found


def _fits(number: float, dtype: DType) -> bool:
    if dtype.kind in "fc":
        return dtype.itemsize >= 4 and -(2**24) <= number <= 2**24
    if dtype.kind not in "iu" or type(number) is not int:
        return False
    limits = np.iinfo(dtype)
    return bool(limits.min <= number <= limits.max)


def number_of(cls: type[ArrayState], host: HostArray) -> ArrayState:
    """A number as an array.  It is kept, and with it its copies on devices."""
    if not is_recordable(host.dtype):
        return cls._of_host(np.array(host))
    name = (cls, host.dtype.num, host.tobytes())
    found = _numbers.get(name)
    if found is None:
        if len(_numbers) > MOST_NUMBERS:
            _numbers.clear()
        found = _numbers[name] = cls._of_host(np.array(host))
    return found


def _forget(device: str) -> None:
    _numbers.clear()
    _given.clear()


when_removed(_forget)
