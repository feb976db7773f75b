"""Elements at places that index arrays hold, on a device."""

from __future__ import annotations

from typing import Any

from ..config import current
from ..lazy import execute
from ..lazy.elements import extent
from ..ops.indexing import GET, TAKE
from . import calls
from .keys import slotted
from .rows import taken
from .state import ArrayState

__all__ = ["gathered"]


def _lies_within(x: ArrayState, key: ArrayState) -> bool:
    """Whether an index array is known to have places of the first axis alone."""
    shown = key._view
    if (
        shown is None
        or key._device is not x._device
        or not x.ndim
        or shown[1].kind not in "iu"
        or not (len(shown[0].shape) == 1 or shown[0].plain)
        or not key.ndim
        or not key.size
    ):
        return False
    read = key._read()
    execute.evaluate((read.value,))
    found = extent(read)
    return found is not None and -x.shape[0] <= found[0] and found[1] < x.shape[0]


def gathered(x: ArrayState, key: Any) -> Any:
    """``x[key]`` for a key with index arrays."""
    if isinstance(key, ArrayState) and x._device.is_named and _lies_within(x, key):
        # Where no index is wrong, the host need not wait for the device to say so.
        found = taken(x, key)
        if found is None:
            found = calls.library(type(x), TAKE, (x, key), axis=0, mode="wrap")
        return found
    arrays: list[ArrayState] = []
    slots = slotted(key, arrays)
    found = calls.library(type(x), GET, (x, *arrays), key=slots)
    items = key if type(key) is tuple else (key,)
    is_element = not found.ndim and not any([item is Ellipsis for item in items])
    if is_element and current().scalars == "numpy" and isinstance(found, ArrayState):
        return found._array()[()]
    return found
