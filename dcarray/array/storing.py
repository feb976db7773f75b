"""``x[key] = value`` on the host, for a pending value: it is computed where it goes."""

from __future__ import annotations

from typing import Any

from ..lazy.execute import write
from ..lazy.graph import Read
from ..lazy.updating import store
from .kept import part_of
from .state import ArrayState, known

__all__ = ["stored_on_host"]


def stored_on_host(x: ArrayState, key: Any, value: ArrayState) -> bool:
    """Store a value by a key of Python's integers and slices; whether that was done.

    Where it is not, nothing has happened: `indexing` finds another way, or what is
    wrong.
    """
    other = value._binding
    if other is None or value._device is not x._device:
        return False
    source = other._value
    if source is None or source.expr is None or value._view is not source.view:
        return False
    target = known(x)
    if target.expr is not None or other is x._binding or x._is_shared():
        return False
    shown = part_of(x, key)
    layout, dtype = shown
    if layout.shape != source.layout.shape or dtype is not source.dtype:
        return False
    if store(target, shown, source):
        return True
    write(Read(target, layout, dtype), Read(source, source.layout, source.dtype))
    return True
