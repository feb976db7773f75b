"""What indexing on devices does once: how parts of arrays lie, numbers to be stored."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ..backends.registry import when_removed
from ..dtypes import is_recordable
from ..lazy.graph import View
from .state import ArrayState

__all__ = ["number_of", "sliced"]

HostArray = np.ndarray[Any, Any]

MOST_PARTS, MOST_NUMBERS = 1 << 14, 256

_parts: dict[tuple[Any, ...], View] = {}
"""By how the array lies, and the key."""

_numbers: dict[tuple[Any, ...], ArrayState] = {}


def sliced(
    x: ArrayState, key: Any, made: Callable[[ArrayState, Any], ArrayState]
) -> ArrayState:
    """``made(x, key)``, a view, for a key of Python's integers and slices."""
    name: list[Any] = [x._view]
    for item in key if type(key) is tuple else (key,):
        if type(item) is slice:
            bounds = (item.start, item.stop, item.step)
            for bound in bounds:
                if bound is not None and type(bound) is not int:
                    return made(x, key)
            name.append(bounds)
        else:
            name.append(item)
    place = tuple(name)
    shown = _parts.get(place)
    if shown is not None:
        return x._seen(shown)
    view = made(x, key)
    if view._view is not None and x._view is not None:
        if len(_parts) > MOST_PARTS:
            _parts.clear()
        _parts[place] = view._view
    return view


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


when_removed(lambda device: _numbers.clear())
