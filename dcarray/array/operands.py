"""What goes into an operation, and what comes out of NumPy."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeVar

import numpy as np

from ..backends.registry import AUTO, Device, common_device
from ..config import limits
from .state import NUMBERS, ArrayState, of_host

__all__ = ["as_host", "as_operand", "device_of", "spreads", "wrap"]

_ndarray, _generic, _asarray = np.ndarray, np.generic, np.asarray

Array = TypeVar("Array", bound=ArrayState)


def wrap(cls: type[Array], result: Any, device: Device = AUTO) -> Any:
    """What NumPy returned, as arrays: memory that nobody else knows.

    Tuples and lists are wrapped item by item; what is no array stays.
    """
    kind = type(result)
    if kind is _ndarray:
        if result.ndim == 0 and limits().numbers:
            return result[()]
    elif isinstance(result, _generic):
        if limits().numbers:
            return result
        result = _asarray(result)
    else:
        return _wrapped(cls, result, device)
    if device.is_named:
        return cls._of_host(result, device)
    return of_host(cls, result, device)


def _wrapped(cls: type[Array], result: Any, device: Device) -> Any:
    """The same of what is neither an array nor an element."""
    kind = type(result)
    if kind is tuple:
        return tuple([wrap(cls, item, device) for item in result])
    if kind is list:
        return [wrap(cls, item, device) for item in result]
    return result


def as_operand(x: Any) -> Any:
    """An `ArrayState`, a number, or a NumPy array made of anything else."""
    if isinstance(x, (ArrayState, *NUMBERS, np.ndarray, np.generic)):
        return x
    return np.asarray(unwrapped(x))


def unwrapped(x: Any, lists: dict[int, list[Any]] | None = None) -> Any:
    """Arguments with NumPy arrays in the place of `DeviceArray`s.

    ``lists`` has the lists that were met by their identity: one that contains itself
    is for NumPy to refuse.
    """
    if isinstance(x, ArrayState):
        return x._array()
    if type(x) is tuple:
        return tuple([unwrapped(item, lists) for item in x])
    if type(x) is not list:
        return x
    lists = {} if lists is None else lists
    made = lists.get(id(x))
    if made is None:
        made = lists[id(x)] = []
        made.extend([unwrapped(item, lists) for item in x])
    return made


def device_of(operands: Sequence[Any], name: str) -> Device:
    """The label of a result of these operands."""
    return common_device(
        [x._device for x in operands if isinstance(x, ArrayState)], name
    )


def as_host(x: Any) -> Any:
    return x._array() if isinstance(x, ArrayState) else x


def spreads(operands: Sequence[Any], limit: int) -> bool:
    """Whether small arrays make a large result, as a row and a column do.

    Each of them has fewer elements than ``limit``; numbers among them change nothing.
    """
    common: tuple[int, ...] | None = None
    changed = False
    for x in operands:
        shape = getattr(x, "shape", None)
        if shape is None:
            continue
        if common is None:
            common = shape
        elif shape != common:
            common = _broadcast(common, shape)
            if common is None:  # NumPy says it in its own words
                return False
            changed = True
    if not changed or common is None:
        return False
    count = 1
    for length in common:
        count *= length
    return count >= limit


def _broadcast(a: tuple[int, ...], b: tuple[int, ...]) -> tuple[int, ...] | None:
    """The shape that two shapes have in common; None if there is none."""
    if len(a) < len(b):
        a, b = b, a
    lengths = list(a)
    place = len(a) - len(b)
    for length in b:
        other = lengths[place]
        if other == 1:
            lengths[place] = length
        elif length != other and length != 1:
            return None
        place += 1
    return tuple(lengths)
