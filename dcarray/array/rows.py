"""Rows of arrays on named devices, as loops over them meet them."""

from __future__ import annotations

from ..lazy.callers import user_place
from ..lazy.record import form_of, written_one
from ..lazy.rows import multiply, take
from ..ops.elementwise import CAST
from ..ops.spec import Signature
from .kept import number_for
from .state import ArrayState, showing

__all__ = ["multiplied", "taken"]


def multiplied(x: ArrayState, y: ArrayState) -> ArrayState | None:
    """``x @ y`` for two rows of floats, if their device does that wherever they begin;
    None for all else."""
    view, seen = x._view, y._view
    if view is None or seen is None or y._device is not x._device:
        return None
    shape = view[0].shape
    if len(shape) != 1 or seen[0].shape != shape:
        return None
    if view[1].char not in "fd" or seen[1] is not view[1]:
        return None
    if not shape[0]:
        return _zero(x)
    bound, other = x._binding, y._binding
    if bound is None or other is None or x._is_shared() or y._is_shared():
        return None
    first, second = bound._value, other._value
    if first is None or second is None:
        return None
    found = multiply(first, view, second, seen)
    return None if found is None else showing(type(x), found)


def _zero(x: ArrayState) -> ArrayState | None:
    """0, recorded on the device of an array, and of its dtype."""
    source = number_for(type(x), 0.0, x.dtype)
    if source is None:
        return None
    view, value = source._view, source._bind().value
    form = form_of(CAST, [view], Signature((x.dtype,), (x.dtype,)))
    return showing(type(x), written_one(form, (value,), x._device, 0, user_place()))


def taken(x: ArrayState, places: ArrayState) -> ArrayState | None:
    """``x[places]`` for two rows, if no place is wrong, likewise."""
    view, seen = x._view, places._view
    if view is None or seen is None or places._device is not x._device:
        return None
    if len(view[0].shape) != 1 or len(seen[0].shape) != 1 or 0 in seen[0].shape:
        return None
    bound, other = x._binding, places._binding
    if bound is None or other is None or x._is_shared() or places._is_shared():
        return None
    value, indices = bound._value, other._value
    if value is None or indices is None:
        return None
    found = take(value, view, indices, seen)
    return None if found is None else showing(type(x), found)
