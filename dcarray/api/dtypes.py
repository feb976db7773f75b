"""Dtypes are NumPy's own; the questions asked of them also take `DeviceArray`s."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..array import DeviceArray
from ..backends.registry import Device
from ..config import current
from .conversion import as_array, chosen_device
from .coverage import native
from .hosted import minding_subclasses

__all__ = [
    "astype",
    "can_cast",
    "FloatingLimits",
    "common_type",
    "finfo",
    "iinfo",
    "isdtype",
    "issubdtype",
    "min_scalar_type",
    "mintypecode",
    "promote_types",
    "result_type",
    "typename",
]


def _dtype(x: Any) -> Any:
    return x.dtype if isinstance(x, DeviceArray) else x


@minding_subclasses(np.astype)
@native
def astype(
    x: Any,
    dtype: Any,
    /,
    *,
    copy: bool = True,
    device: str | Device | None = None,
) -> Any:
    """The elements in another dtype.

    Parameters
    ----------
    x : array
    dtype : dtype
    copy : bool
        Whether to copy also where nothing changes.
    device : str or Device, optional
        Where the result is to be.

    Returns
    -------
    DeviceArray
    """
    if not isinstance(x, (DeviceArray, np.ndarray, np.generic)):
        raise TypeError(f"Input should be a NumPy array. It is of type {type(x)}.")
    where = None if device is None else chosen_device(device)
    return as_array(x).astype(dtype, copy=copy, device=where)


@native
def can_cast(from_: Any, to: Any, casting: Any = "safe") -> bool:
    """Whether a dtype, or an array's, converts to another under a rule."""
    return bool(np.can_cast(_dtype(from_), _dtype(to), casting))


@native
def result_type(*arrays_and_dtypes: Any) -> np.dtype[Any]:
    """The common dtype of arrays, dtypes and Python numbers."""
    return np.result_type(*[_dtype(x) for x in arrays_and_dtypes])


@native
def common_type(*arrays: Any) -> Any:
    """The common floating-point type of arrays."""
    return np.common_type(*[np.empty(0, as_array(x).dtype) for x in arrays])


@native
def min_scalar_type(a: Any) -> np.dtype[Any]:
    """The smallest dtype that holds a number; an array's dtype."""
    if isinstance(a, DeviceArray):
        return np.min_scalar_type(a._array()) if not a.ndim else a.dtype
    return np.min_scalar_type(a)


@native
def isdtype(dtype: Any, kind: Any) -> bool:
    """Whether a dtype is of a kind, as `numpy.isdtype`."""
    return np.isdtype(dtype, kind)


def _limits(kind: Any) -> Any:
    dtype = _dtype(kind)
    return dtype.dtype if isinstance(dtype, np.ndarray) else dtype


class _Limits(type):
    """Instances are NumPy's own."""

    def __instancecheck__(cls, instance: object) -> bool:
        theirs = cls.__mro__[1]
        if isinstance(instance, FloatingLimits):
            return theirs is np.finfo
        return isinstance(instance, theirs)


class FloatingLimits:
    """Limits of a floating-point dtype with Python's numbers, as the standard asks;
    everything else as in `numpy.finfo`."""

    def __init__(self, limits: np.finfo[Any]) -> None:
        self._limits = limits
        self.bits = int(limits.bits)
        self.dtype = limits.dtype
        self.eps = float(limits.eps)
        self.max = float(limits.max)
        self.min = float(limits.min)
        self.smallest_normal = float(limits.smallest_normal)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._limits, name)

    def __repr__(self) -> str:
        return repr(self._limits)

    def __str__(self) -> str:
        return str(self._limits)


class finfo(np.finfo, metaclass=_Limits):
    """Limits of a floating-point dtype, as `numpy.finfo`; takes arrays too.

    ``eps``, ``max``, ``min`` and ``smallest_normal`` are Python numbers, or NumPy
    scalars where the setting ``scalars`` says so.
    """

    def __new__(cls, dtype: Any) -> Any:
        limits: Any = np.finfo(_limits(dtype))
        if current().scalars == "numpy" or limits.dtype.itemsize > 8:
            return limits
        return FloatingLimits(limits)


class iinfo(np.iinfo, metaclass=_Limits):
    """Limits of an integer dtype, as `numpy.iinfo`; takes arrays too."""

    def __new__(cls, int_type: Any) -> Any:
        return np.iinfo(_limits(int_type))


issubdtype = np.issubdtype
mintypecode = np.mintypecode
promote_types = np.promote_types
typename = np.typename
