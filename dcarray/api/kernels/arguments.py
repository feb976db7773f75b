"""The arguments of a launch: what their types are, and where they lie."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import cache
from typing import Any, TypeAlias

import numpy as np

from ...array import DeviceArray
from ...array.operands import device_of
from ...array.state import is_writeable
from ...backends.registry import (
    AUTO,
    Device,
    backend_for,
    device_of as device_named,
)
from ...config import current
from ...errors import UnsupportedError
from ...kernel.language import is_extension
from ...kernel.specialise import ArrayOf, Operand
from ...lazy import execute

__all__ = ["HostArray", "bound", "flat", "operands", "settle"]

HostArray: TypeAlias = np.ndarray[Any, Any]

INT = np.dtype(np.int64)


def operands(
    name: str, arguments: Sequence[Any], device: Device
) -> tuple[list[Any], list[Operand]]:
    """Arguments as arrays and NumPy scalars, and their types.

    Arrays without axes are numbers.  A Python int is an int64; a Python float has the
    widest floating-point dtype among the arrays, if there is none that of the device.

    Raises
    ------
    TypeError
        Something else than arrays and numbers.
    UnsupportedError
        An array of a dtype that no kernel computes with.
    """
    given: list[Any] = []
    for place, item in enumerate(arguments):
        if isinstance(item, (DeviceArray, np.ndarray)):
            if item.ndim == 0:
                item = item._array() if isinstance(item, DeviceArray) else item
                item = item[()]
        elif not isinstance(item, (bool, int, float, complex, np.generic)):
            got = type(item).__name__
            raise TypeError(
                f"{name}: argument {place + 1} is a {got}; a kernel takes arrays and "
                "numbers, and by keyword what is known when it is compiled"
            )
        given.append(item)
    for item in given:
        dtype = getattr(item, "dtype", None)
        if dtype is not None and not _is_known(dtype):
            raise UnsupportedError(f"{name}: no kernel computes with {dtype}")
    types: list[Operand] = []
    for place, item in enumerate(given):
        if isinstance(item, DeviceArray):
            types.append(_array_type(item, device))
        elif isinstance(item, np.ndarray):
            plain = item.flags.c_contiguous and item.dtype.isnative
            types.append(ArrayOf(item.dtype.newbyteorder("="), item.ndim, plain))
        else:
            weak = type(item) is int
            if not isinstance(item, np.generic):
                item = _number(item, given, device)
            given[place] = item
            types.append(int if weak else item.dtype)
    return given, types


@cache
def _is_known(dtype: np.dtype[Any]) -> bool:
    if dtype.kind in "fc" and dtype.itemsize > (8 if dtype.kind == "f" else 16):
        return False
    return dtype.kind in "biufc" or is_extension(dtype)


def _number(item: Any, given: Sequence[Any], device: Device) -> Any:
    """A number of Python among these arguments as NumPy's."""
    if isinstance(item, bool):
        return np.bool_(item)
    if isinstance(item, int):
        return np.int64(item)
    arrays = [x for x in given if isinstance(x, (DeviceArray, np.ndarray))]
    real = _widest(tuple([x.dtype for x in arrays if x.dtype.kind in "fc"]))
    elsewhere = real == np.float64 and device.kind not in ("auto", "cpu")
    if elsewhere and real not in backend_for(str(device)).supported:
        real = np.dtype(np.float32)
    if isinstance(item, float):
        return real.type(item)
    return np.result_type(real, np.complex64).type(item)


@cache
def _widest(floats: tuple[np.dtype[Any], ...]) -> np.dtype[Any]:
    """The dtype of a Python float where arrays have these."""
    if not floats:
        return np.dtype(np.float64)
    return np.empty(0, np.result_type(np.float32, *floats)).real.dtype


@cache
def _array_of(dtype: np.dtype[Any], ndim: int, contiguous: bool) -> ArrayOf:
    return ArrayOf(dtype, ndim, contiguous)


def _array_type(x: DeviceArray, device: Device) -> ArrayOf:
    host = x._host
    if host is not None and device.kind in ("auto", "cpu"):
        return _array_of(x.dtype, host.ndim, host.flags.c_contiguous)
    layout = x._layout
    if layout.plain:
        return _array_of(x.dtype, len(layout.shape), True)
    dense = math.prod(layout.shape) * x.dtype.itemsize
    strides = []
    for length in layout.shape:
        dense //= max(length, 1)
        strides.append(dense)
    contiguous = layout.offset == 0 and all(
        n == 1 or stride == wanted
        for n, stride, wanted in zip(layout.shape, layout.strides, strides)
    )
    return ArrayOf(x.dtype, x.ndim, contiguous)


def bound(name: str, arguments: Sequence[Any]) -> Device:
    """The device of a launch: that of its arrays, the default one for NumPy's.

    Raises
    ------
    DeviceMismatchError
        Arrays on two named devices.
    """
    if any(isinstance(x, DeviceArray) for x in arguments):
        return device_of(arguments, name)
    return device_named(None, current().device) if arguments else AUTO


def settle(name: str, arguments: Sequence[Any], written: Sequence[int]) -> None:
    """Run what arguments wait for, and what wants to read those that are written to.

    Raises
    ------
    ValueError
        An array that is written to is read-only.
    """
    for place, item in enumerate(arguments):
        is_ours = isinstance(item, DeviceArray)
        if place in written:
            free = is_writeable(item) if is_ours else item.flags.writeable
            if not free:
                raise ValueError(f"{name}: argument {place + 1} is read-only")
            if is_ours:
                item._before_write()
        elif is_ours and item._is_pending():
            execute.evaluate((item._read().value,))


def flat(array: HostArray) -> tuple[HostArray, int, tuple[int, ...]] | None:
    """The elements that lie where an array does, in the order of memory; then offset
    and strides of the array among them.  None if they are no whole elements."""
    size = array.itemsize
    if array.flags.c_contiguous and array.flags.aligned and array.dtype.isnative:
        strides = tuple([stride // size for stride in array.strides])
        return array.reshape(-1), 0, strides
    if not array.flags.aligned or not array.dtype.isnative or not array.size:
        return None
    if any(stride % size for stride in array.strides):
        return None
    strides = tuple([stride // size for stride in array.strides])
    corner = array[tuple([slice(-1, None) if s < 0 else slice(1) for s in strides])]
    reach = [(n - 1) * s for n, s in zip(array.shape, strides)]
    span = sum(map(abs, reach)) + 1
    row = np.lib.stride_tricks.as_strided(
        corner.reshape(-1) if corner.ndim == 1 else corner[(0,) * (corner.ndim - 1)],
        (span,),
        (size,),
    )
    return row, -sum(r for r in reach if r < 0), strides
