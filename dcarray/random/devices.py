"""Drawing on devices: NumPy's methods, the same numbers, made where they are wanted.

A function returns None where a call is left to the host.
"""

from __future__ import annotations

import math
import operator
from typing import Any

import numpy as np

from ..api.conversion import as_array, default_dtype
from ..api.elementwise import exp, isfinite, signbit
from ..api.indexing import take
from ..array import DeviceArray
from ..array.state import check_dtype
from ..backends.registry import Device
from ..ops.random import DRAW, EXPONENTIAL, NORMAL
from ..ops.spec import Op
from .bounded import bounded
from .streams import Stream

__all__ = [
    "Place",
    "choice",
    "exponential",
    "integers",
    "lognormal",
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


def standard_normal(
    place: Place, size: Any = None, dtype: Any = None, out: Any = None
) -> Any:
    """`numpy.random.Generator.standard_normal`."""
    if size is None or out is not None or _is_strange(dtype):
        return None
    return _floats(place, _shape(size), _dtype(dtype, place.device), NORMAL)


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


# -------------------------------------------------------------- numbers with parameters
def _is_number(x: Any) -> bool:
    return isinstance(x, (int, float, np.integer, np.floating))


def _common_shape(place: Place, size: Any, *given: Any) -> tuple[int, ...] | None:
    """The shape of a result whose parameters are numbers, or arrays on the device."""
    shapes = []
    for x in given:
        if isinstance(x, DeviceArray) and x._device is place.device:
            if x.dtype.kind not in "iuf":
                return None
            shapes.append(x.shape)
        elif not _is_number(x):
            return None
    common = np.broadcast_shapes(*shapes)
    if size is None:
        return common if shapes else None
    shape = _shape(size)
    # NumPy says so, where parameters do not fit into the size.
    return shape if np.broadcast_shapes(shape, common) == shape else None


def _cast(x: Any, dtype: np.dtype[Any]) -> Any:
    return x.astype(dtype) if isinstance(x, DeviceArray) else dtype.type(x)


def _shifted(place: Place, size: Any, loc: Any, scale: Any, row: Op) -> Any:
    """``loc + scale * numbers``; without ``loc`` if that is None."""
    given = (scale,) if loc is None else (loc, scale)
    shape = _common_shape(place, size, *given)
    if shape is None:
        return None
    dtype = _dtype(None, place.device)
    found = _cast(scale, dtype) * _floats(place, shape, dtype, row)
    return found if loc is None else _cast(loc, dtype) + found


def _is_scale(scale: Any) -> bool:
    """Whether NumPy takes it; otherwise NumPy says what is wrong."""
    if isinstance(scale, DeviceArray):
        real = scale.dtype.kind in "iuf"
        return real and not bool(signbit(scale.astype(np.float32)).any())
    return _is_number(scale) and not np.signbit(scale)


def uniform(place: Place, low: Any = 0.0, high: Any = 1.0, size: Any = None) -> Any:
    """`numpy.random.Generator.uniform`."""
    if _common_shape(place, size, low, high) is None:
        return None
    dtype = _dtype(None, place.device)
    with np.errstate(over="ignore", invalid="ignore"):
        low = _cast(low, dtype)
        width = _cast(high, dtype) - low
    if not bool(as_array(isfinite(width)).all()):
        return None  # NumPy says what is wrong
    return _shifted(place, size, low, width, DRAW)


def normal(place: Place, loc: Any = 0.0, scale: Any = 1.0, size: Any = None) -> Any:
    """`numpy.random.Generator.normal`."""
    return _shifted(place, size, loc, scale, NORMAL) if _is_scale(scale) else None


def lognormal(place: Place, mean: Any = 0.0, sigma: Any = 1.0, size: Any = None) -> Any:
    """`numpy.random.Generator.lognormal`."""
    found = normal(place, mean, sigma, size)
    return None if found is None else exp(found)


def exponential(place: Place, scale: Any = 1.0, size: Any = None) -> Any:
    """`numpy.random.Generator.exponential`."""
    return _shifted(place, size, None, scale, EXPONENTIAL) if _is_scale(scale) else None


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
    if size is None or not all([isinstance(end, (int, np.integer)) for end in ends]):
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


def choice(
    place: Place,
    a: Any,
    size: Any = None,
    replace: bool = True,
    p: Any = None,
    axis: int = 0,
    shuffle: bool = True,
) -> Any:
    """`numpy.random.Generator.choice`, of all alike and with replacement."""
    if size is None or p is not None or not replace:
        return None
    if isinstance(a, (int, np.integer)):
        return integers(place, 0, a, size) if a > 0 else None
    if not isinstance(a, DeviceArray) or a._device is not place.device or not a.ndim:
        return None
    axis = np.lib.array_utils.normalize_axis_index(axis, a.ndim)
    if not a.shape[axis]:
        return None
    return take(a, integers(place, 0, a.shape[axis], size), axis)
