"""Questions about arrays, printing, and NumPy's helpers for programs."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..array import DeviceArray
from ..array.fallback import on_host
from ..array.made import again, keep
from ..array.state import HostArray
from ..backends.registry import Device
from ..layout import phantom
from .conversion import as_array, chosen_device, placed, unwrapped
from .coverage import native
from .patterns import axis_of, grid, pays

__all__ = [
    "array2string",
    "array_repr",
    "array_str",
    "c_",
    "iscomplexobj",
    "isfortran",
    "isrealobj",
    "isscalar",
    "may_share_memory",
    "mgrid",
    "ndim",
    "ogrid",
    "r_",
    "shape",
    "shares_memory",
    "size",
]


_missing: Any = np._NoValue


# --------------------------------------------------------------------------- questions
@native
def ndim(a: Any) -> int:
    """Number of axes."""
    return int(a.ndim) if hasattr(a, "ndim") else as_array(a).ndim


@native
def shape(a: Any) -> tuple[int, ...]:
    """Lengths of the axes."""
    return tuple(a.shape) if hasattr(a, "shape") else as_array(a).shape


@native
def size(a: Any, axis: Any = None) -> int:
    """Number of elements, of all or along axes."""
    lengths = shape(a)
    probe = np.broadcast_to(False, lengths)
    return int(np.size(probe, axis))


@native
def isscalar(element: Any) -> bool:
    """Whether it is a number, a string or a NumPy scalar."""
    return np.isscalar(element)


@native
def iscomplexobj(x: Any) -> bool:
    """Whether its dtype is complex."""
    dtype = x.dtype if hasattr(x, "dtype") else as_array(x).dtype
    return issubclass(getattr(dtype, "type", object), np.complexfloating)


@native
def isrealobj(x: Any) -> bool:
    """Whether its dtype is not complex."""
    return not iscomplexobj(x)


@native
def isfortran(a: Any) -> bool:
    """Whether the elements are in Fortran order and not in C order."""
    return bool(np.isfortran(_probe(as_array(a))))


def _probe(x: DeviceArray) -> HostArray:
    """The same shape, strides and place in memory, not to be read."""
    return x._host if x._host is not None else phantom(x._layout, x.dtype)


def _memory(function: Any, a: Any, b: Any, arguments: Any) -> bool:
    if not isinstance(a, DeviceArray) or not isinstance(b, DeviceArray):
        return bool(on_host(DeviceArray, function, a, b, *arguments))
    x, y = a._host, b._host
    if x is None or y is None:
        if a._binding is not None and a._binding is b._binding:
            x, y = phantom(a._layout, a.dtype), phantom(b._layout, b.dtype)
        elif a._device.kind not in ("auto", "cpu") or a._device != b._device:
            return False
        else:
            x, y = a._array(), b._array()
    return bool(function(x, y, *arguments))


@native
def shares_memory(a: Any, b: Any, /, max_work: Any = -1) -> bool:
    """Whether two arrays have an element in common."""
    return _memory(np.shares_memory, a, b, (max_work,))


@native
def may_share_memory(a: Any, b: Any, /, max_work: Any = 0) -> bool:
    """Whether the memory of two arrays may overlap, judged by its bounds."""
    return _memory(np.may_share_memory, a, b, (max_work,))


# ---------------------------------------------------------------------------- printing
@native
def array2string(a: Any, *arguments: Any, **keywords: Any) -> str:
    """The elements as text; options as for `numpy.array2string`."""
    return np.array2string(as_array(a)._array(), *arguments, **keywords)


@native
def array_repr(
    arr: Any,
    max_line_width: Any = None,
    precision: Any = None,
    suppress_small: Any = None,
) -> str:
    """The text of ``repr(arr)``, with options of its own."""
    host = arr._array() if isinstance(arr, DeviceArray) else arr
    return np.array_repr(host, max_line_width, precision, suppress_small)


@native
def array_str(
    a: Any,
    max_line_width: Any = None,
    precision: Any = None,
    suppress_small: Any = None,
) -> str:
    """The text of ``str(a)``, with options of its own."""
    host = a._array() if isinstance(a, DeviceArray) else a
    return np.array_str(host, max_line_width, precision, suppress_small)


# ------------------------------------------------------------------------ index tricks
class _Grid:
    """An object of NumPy that makes arrays when it is indexed."""

    def __init__(self, made: Any) -> None:
        self._made = made
        self.__doc__ = made.__doc__

    def __getitem__(self, key: Any) -> Any:
        result = self._made[_plain_slices(key)]
        if type(result) in (list, tuple):
            return type(result)([placed(item) for item in result])
        return placed(result) if type(result) is np.ndarray else result

    def __len__(self) -> int:
        return 0


def _plain_slices(key: Any) -> Any:
    if type(key) is tuple:
        return tuple([_plain_slices(item) for item in key])
    if type(key) is slice:
        return slice(unwrapped(key.start), unwrapped(key.stop), unwrapped(key.step))
    return unwrapped(key)


class _Dense(_Grid):
    """`numpy.mgrid`, which a named device makes by itself where it is large."""

    def __getitem__(self, key: Any) -> Any:
        target = chosen_device(None)
        plain = _plain_slices(key)
        if target.is_named and type(plain) is tuple and len(plain) > 1:
            axes = [axis for axis in map(axis_of, plain) if axis is not None]
            if len(axes) == len(plain):
                name = (_Dense, *axes, target.label)
                found = again(name)
                if found is None:
                    found = keep(name, self._dense(plain, axes, target))
                return found
        return super().__getitem__(plain)

    def _dense(self, plain: Any, axes: list[Any], target: Device) -> Any:
        """The grid of small integers along some axes."""
        if pays([len(axes), *[axis[0] for axis in axes]], np.int64, target):
            return grid(axes, np.dtype(np.int64), target)
        return super().__getitem__(plain)


mgrid = _Dense(np.mgrid)
ogrid = _Grid(np.ogrid)
r_ = _Grid(np.r_)
c_ = _Grid(np.c_)
