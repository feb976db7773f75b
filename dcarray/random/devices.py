"""Drawing on devices: NumPy's methods, the same numbers, made where they are wanted.

A function returns None where a call is left to the host.
"""

from __future__ import annotations

import math
import operator
from typing import Any

import numpy as np

from ..api.conversion import default_dtype
from ..array import DeviceArray
from ..array.state import check_dtype
from ..backends.registry import Device
from ..ops.random import DRAW, EXPONENTIAL, NORMAL
from ..ops.spec import Op
from .bounded import bounded
from .streams import Stream

__all__ = [
    "Place",
    "exponential",
    "integers",
    "normal",
    "random",
    "standard_exponential",
    "standard_normal",
    "uniform",
]

DOUBLE = np.dtype(np.float64)


class Place:
    """Where a call draws: the stream of a bit generator, on a device.

    Used as a context, in which nobody else draws.

    Parameters
    ----------
    bits : BitGenerator
    device : Device
    """

    def __init__(self, bits: Any, device: Device) -> None:
        self.bits = bits
        self.device = device

    def __enter__(self) -> Stream:
        self.bits.lock.acquire()
        self.stream = Stream(self.bits)
        return self.stream

    def __exit__(self, kind: Any, *rest: Any) -> None:
        try:
            if kind is None:
                self.bits.state = self.stream.state()
        finally:
            self.bits.lock.release()


def _shape(size: Any) -> tuple[int, ...]:
    try:
        return (operator.index(size),)
    except TypeError:
        return tuple([operator.index(length) for length in size])


def _dtype(dtype: Any, device: Device) -> np.dtype[Any]:
    """The dtype of floats: the device's default one, if the caller names none."""
    wanted = default_dtype(DOUBLE, device) if dtype is None else np.dtype(dtype)
    check_dtype(wanted, device)
    return wanted


def _floats(
    place: Place, shape: tuple[int, ...], dtype: np.dtype[Any], row: Op = DRAW
) -> DeviceArray:
    count = math.prod(shape)
    with place as stream:
        if row is DRAW:
            found = stream.draw(place.device, count, dtype)
        else:
            found = stream.shaped(row, place.device, count, dtype)
    shaped: DeviceArray = found.reshape(shape)
    return shaped


def random(place: Place, size: Any = None, dtype: Any = None, out: Any = None) -> Any:
    """`numpy.random.Generator.random`."""
    if size is None or out is not None or _is_strange(dtype):
        return None
    return _floats(place, _shape(size), _dtype(dtype, place.device))


def _is_strange(dtype: Any) -> bool:
    """Whether NumPy has something to say about it."""
    return dtype is not None and np.dtype(dtype) not in (DOUBLE, np.float32)


def uniform(place: Place, low: Any = 0.0, high: Any = 1.0, size: Any = None) -> Any:
    """`numpy.random.Generator.uniform`."""
    if size is None or not (_is_number(low) and _is_number(high)):
        return None
    width = float(high) - float(low)
    if not math.isfinite(width):
        return None  # NumPy says what is wrong
    dtype = _dtype(None, place.device)
    found = _floats(place, _shape(size), dtype)
    return dtype.type(low) + dtype.type(width) * found


def standard_normal(
    place: Place, size: Any = None, dtype: Any = None, out: Any = None
) -> Any:
    """`numpy.random.Generator.standard_normal`."""
    if size is None or out is not None or _is_strange(dtype):
        return None
    return _floats(place, _shape(size), _dtype(dtype, place.device), NORMAL)


def normal(place: Place, loc: Any = 0.0, scale: Any = 1.0, size: Any = None) -> Any:
    """`numpy.random.Generator.normal`."""
    if size is None or not (_is_number(loc) and _is_number(scale)):
        return None
    if not scale >= 0 or np.signbit(scale):
        return None  # NumPy says what is wrong
    dtype = _dtype(None, place.device)
    found = _floats(place, _shape(size), dtype, NORMAL)
    return dtype.type(loc) + dtype.type(scale) * found


def standard_exponential(
    place: Place,
    size: Any = None,
    dtype: Any = None,
    method: str = "zig",
    out: Any = None,
) -> Any:
    """`numpy.random.Generator.standard_exponential`."""
    if size is None or out is not None or method != "zig" or _is_strange(dtype):
        return None
    return _floats(place, _shape(size), _dtype(dtype, place.device), EXPONENTIAL)


def exponential(place: Place, scale: Any = 1.0, size: Any = None) -> Any:
    """`numpy.random.Generator.exponential`."""
    if size is None or not _is_number(scale) or not scale >= 0 or np.signbit(scale):
        return None
    dtype = _dtype(None, place.device)
    return dtype.type(scale) * _floats(place, _shape(size), dtype, EXPONENTIAL)


def _is_number(x: Any) -> bool:
    return isinstance(x, (int, float, np.integer, np.floating))


def integers(
    place: Place,
    low: Any,
    high: Any = None,
    size: Any = None,
    dtype: Any = np.int64,
    endpoint: bool = False,
) -> Any:
    """`numpy.random.Generator.integers`."""
    ends = [low] if high is None else [low, high]
    if size is None or not all([_is_number(end) for end in ends]):
        return None
    # NumPy says what is wrong, if anything is.
    sample = np.random.Generator(np.random.PCG64(0))
    wanted = sample.integers(low, high, 1, dtype, endpoint).dtype
    check_dtype(wanted, place.device)
    first, last = (0, int(low)) if high is None else (int(low), int(high))
    width = last - first - (not endpoint)
    shape = _shape(size)
    with place as stream:
        found = bounded(
            stream, place.device, math.prod(shape), first, width, np.dtype(wanted)
        )
    return found.reshape(shape)
