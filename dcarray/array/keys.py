"""Keys of arrays: what they ask for, in NumPy's terms."""

from __future__ import annotations

import operator
from typing import Any

import numpy as np

from ..backends.registry import Device
from ..ops.indexing import Slot
from .state import ArrayState

__all__ = ["normalised", "slotted", "with_numbers"]


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
