"""New arrays of a shape, or like another one: without content, or of one value."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ..array import DeviceArray, made
from ..array.movement import empty_along
from ..array.state import check_dtype, is_foreign
from ..backends.registry import Device
from ..layout import phantom
from .conversion import as_array, chosen_device, default_dtype, unwrapped

__all__ = ["alike", "filled"]


def _shape(shape: Any) -> tuple[int, ...]:
    plain = unwrapped(shape)
    if plain is None:
        return tuple(np.empty(unwrapped(shape)).shape)  # or NumPy says what is wrong
    if is_foreign(plain):
        plain = plain.tolist()
    if isinstance(plain, (list, tuple)):
        return tuple([_length(length) for length in plain])
    return (_length(plain),)


def _length(length: Any) -> int:
    try:
        return int(length.__index__())
    except AttributeError:
        raise TypeError(
            f"'{type(length).__name__}' object cannot be interpreted as an integer"
        ) from None


def filled(
    shape: Any, value: Any, dtype: Any, order: Any, device: str | Device | None
) -> DeviceArray:
    """An array of one value; ``value`` None leaves the memory as it is."""
    target = chosen_device(device)
    name = None
    if target.is_named and order == "C":
        name = made.name_of(shape, dtype, target)
    if name is not None:
        if value is None:
            found = made.empty(DeviceArray, name)
        else:
            found = made.filled(DeviceArray, name, value)
        if found is not None:
            return found  # type: ignore[no-any-return]
    if dtype is None:
        dtype = default_dtype(float, target)
    if target.kind in ("auto", "cpu"):
        if value is None or value == 0:
            maker: Any = np.empty if value is None else np.zeros
            return DeviceArray._of_host(maker(unwrapped(shape), dtype, order), target)
        host = np.empty(unwrapped(shape), dtype, order)
        np.copyto(host, value, casting="unsafe")
        return DeviceArray._of_host(host, target)
    wanted = np.dtype(dtype)
    check_dtype(wanted, target)
    lengths = _shape(shape)
    if any(length < 0 for length in lengths):
        raise ValueError("negative dimensions are not allowed")
    if math.prod(lengths) * wanted.itemsize >= 2**63:
        raise MemoryError(f"Unable to allocate an array with shape {lengths}")
    fortran = order in ("F", "f")
    axes = range(len(lengths))
    slowest_first = axes[::-1] if fortran else axes
    result: DeviceArray = empty_along(
        DeviceArray, lengths, slowest_first, wanted, target
    )
    if name is not None:
        made.keep_empty(name, result)
    if value is not None:
        result[...] = value
    return result


def alike(
    prototype: Any,
    value: Any,
    dtype: Any,
    order: Any,
    shape: Any,
    device: str | Device | None,
) -> Any:
    """The same in the shape of another array; parameters as for `numpy.full_like`."""
    x = as_array(prototype)
    target = x._device if device is None else chosen_device(device)
    name = None
    if target.is_named and x._host is None and shape is None and type(order) is str:
        name = made.name_of((), dtype, target)
    if name is not None:
        name = (*name, x._view, order)
        if value is None:
            found = made.empty(DeviceArray, name)
        else:
            found = made.filled(DeviceArray, name, value)
        if found is not None:
            return found
    wanted = x.dtype if dtype is None else np.dtype(dtype)
    probe = np.empty_like(_probe(x), wanted, order, shape=unwrapped(shape))
    if target.kind in ("auto", "cpu"):
        if value is not None:
            np.copyto(probe, unwrapped(value), casting="unsafe")
        return DeviceArray._of_host(probe, target)
    axes = sorted(range(probe.ndim), key=lambda axis: -probe.strides[axis])
    result = empty_along(DeviceArray, probe.shape, axes, wanted, target)
    if name is not None:
        made.keep_empty(name, result)
    if value is not None:
        result[...] = value
    return result


def _probe(x: DeviceArray) -> Any:
    """An array of NumPy with the same shape and strides, not to be read."""
    return x._host if x._host is not None else phantom(x._layout, x.dtype)
