"""Keys of arrays: what they ask for, in NumPy's terms."""

from __future__ import annotations

import operator
from typing import Any

import numpy as np

from ..backends.registry import Device
from ..ops.indexing import Slot
from .state import ArrayState, settled

__all__ = [
    "hosted",
    "is_basic",
    "is_simple",
    "normalised",
    "slotted",
    "with_numbers",
]

_ndarray = np.ndarray

INTEGERS = frozenset(np.dtype(code).type for code in np.typecodes["AllInteger"])
"""NumPy's types of integers."""


def normalised(key: Any, device: Device | None) -> tuple[Any, bool]:
    """The key in NumPy's terms, and whether it asks for a view.

    Index arrays stay on the device that picks, if one does; those of no dimensions
    come from anywhere.
    """
    kind = type(key)
    if kind is int or kind is slice or key is None or key is Ellipsis:
        return key, True
    if kind is tuple:
        # A tuple within a key is an index array, as a list is.
        items = [
            normalised(list(item) if isinstance(item, tuple) else item, device)
            for item in key
        ]
        return tuple([item for item, _ in items]), all([basic for _, basic in items])
    if isinstance(key, ArrayState):
        stays = device is not None and (key.ndim or key._device == device)
        host = key._settled() if stays else key._array()
        return (key if host is None else host), False
    if isinstance(key, list):
        return _unwrapped_list(key), False
    if isinstance(key, (bool, np.bool, np.ndarray)) or kind is str:
        return key, False
    try:
        return operator.index(key), True
    except TypeError:
        return key, False


def _unwrapped_list(key: list[Any]) -> list[Any]:
    return [
        item._array()
        if isinstance(item, ArrayState)
        else _unwrapped_list(list(item))
        if isinstance(item, (list, tuple))
        else item
        for item in key
    ]


def with_numbers(key: Any) -> Any:
    """A key with numbers for its index arrays of no dimensions."""
    if type(key) is tuple:
        return tuple([with_numbers(item) for item in key])
    if isinstance(key, (ArrayState, np.ndarray)) and (
        key.ndim == 0 and key.dtype.kind in "iu"
    ):
        return int(key._array() if isinstance(key, ArrayState) else key)
    return key


def slotted(key: Any, arrays: list[ArrayState]) -> Any:
    """A key with slots for arrays of ours, which are collected."""
    if type(key) is tuple:
        return tuple([slotted(item, arrays) for item in key])
    if not isinstance(key, ArrayState):
        return key
    arrays.append(key)
    return Slot(len(arrays) - 1)


def is_simple(key: Any) -> bool:
    """Whether a key has single integers, slices, new axes and an ellipsis only."""
    kind = type(key)
    if kind is tuple:
        for item in key:
            kind = type(item)
            if kind is int or kind is slice or item is None or item is Ellipsis:
                continue
            if kind not in INTEGERS:
                return False
        return True
    return (
        kind is int
        or kind is slice
        or key is None
        or key is Ellipsis
        or kind in INTEGERS
    )


def hosted(x: ArrayState, key: Any) -> Any:
    """A key with index arrays as NumPy takes it, if all of them are on the host and
    have the label of ``x``; else None."""
    if type(key) is tuple:
        items = list(key)
        for place, item in enumerate(items):
            if isinstance(item, ArrayState) or type(item) is _ndarray:
                items[place] = host = hosted(x, item)
                if host is None:
                    return None
            elif not is_simple(item) or type(item) is tuple:
                return None
        return tuple(items)
    if isinstance(key, ArrayState):
        index = key
        if index._device is not x._device:
            return None
        host = index._host
        return settled(index) if host is None else host
    return key if type(key) is _ndarray else None


def is_basic(key: Any) -> bool:
    """Whether a key has these, new axes and an ellipsis only."""
    for item in key if type(key) is tuple else (key,):
        kind = type(item)
        if kind is int or kind is slice or item is None or item is Ellipsis:
            continue
        return False
    return True
