"""Arrays made of values, of shapes and of other arrays."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..array import DeviceArray, made, whole
from ..backends.registry import Device
from .conversion import (
    chosen_device,
    convert,
    default_dtype,
    placed,
    unwrapped,
)
from .coverage import native, unbound
from .filling import alike, filled
from .hosted import minding_subclasses

__all__ = [
    "array",
    "asanyarray",
    "asarray",
    "asarray_chkfinite",
    "ascontiguousarray",
    "asfortranarray",
    "copy",
    "empty",
    "empty_like",
    "full",
    "full_like",
    "ones",
    "ones_like",
    "require",
    "zeros",
    "zeros_like",
]


# ------------------------------------------------------------- from other arrays
@unbound
@whole.function(np.array)
@native
def array(
    object: Any,
    dtype: Any = None,
    *,
    copy: bool | None = True,
    order: Any = "K",
    subok: bool = False,
    ndmin: int = 0,
    device: str | Device | None = None,
    like: Any = None,
    **options: Any,
) -> Any:
    """An array of the elements of ``object``.

    Parameters
    ----------
    object : array_like
        An array, a number, a nested list (of arrays too), or an array of another
        library.
    dtype : dtype, optional
    copy : bool or None
        True always copies, None where it must, False never: memory of other libraries
        is then shared, and a ``ValueError`` raised where a copy would be needed.
    order : {"K", "A", "C", "F"}
    subok : bool
        Keep subclasses of `numpy.ndarray` as they are.
    ndmin : int
        Least number of axes; new ones come first.
    device : str or Device, optional
    like : object
        Taken and ignored.
    **options
        Further options of `numpy.array`.

    Returns
    -------
    DeviceArray
    """
    return convert(object, dtype, order, copy, device, subok, ndmin, **options)


@unbound
@whole.function(np.asarray)
@native
def asarray(
    a: Any,
    dtype: Any = None,
    order: Any = None,
    *,
    device: str | Device | None = None,
    copy: bool | None = None,
    like: Any = None,
) -> Any:
    """An array of the elements of ``a``; ``a`` itself if it is one already.

    Memory of other libraries is copied, so that work on it can be deferred.

    Parameters
    ----------
    a : array_like
    dtype : dtype, optional
    order : {"K", "A", "C", "F"}, optional
    device : str or Device, optional
    copy : bool, optional
        True always copies; False never, and memory of other libraries is then shared.
    like : object
        Taken and ignored.

    Returns
    -------
    DeviceArray

    Raises
    ------
    ValueError
        ``copy=False`` where a copy would be needed.
    """
    return convert(a, dtype, order, copy, device)


@unbound
@whole.function(np.asanyarray)
@native
def asanyarray(
    a: Any,
    dtype: Any = None,
    order: Any = None,
    *,
    device: str | Device | None = None,
    copy: bool | None = None,
    like: Any = None,
) -> Any:
    """`asarray`, but subclasses of `numpy.ndarray` stay what they are."""
    return convert(a, dtype, order, copy, device, subok=True)


@unbound
@whole.function(np.ascontiguousarray)
@native
def ascontiguousarray(a: Any, dtype: Any = None, *, like: Any = None) -> Any:
    """An array in C order, with one axis at least."""
    return convert(a, dtype, "C", ndmin=1)


@native
def asfortranarray(a: Any, dtype: Any = None, *, like: Any = None) -> Any:
    """An array in Fortran order, with one axis at least."""
    return convert(a, dtype, "F", ndmin=1)


def asarray_chkfinite(a: Any, dtype: Any = None, order: Any = None) -> Any:
    """`asarray` of elements that must be finite.

    Raises
    ------
    ValueError
        There are infinities or NaNs.
    """
    result = convert(a, dtype, order)
    if (
        result.dtype.char in np.typecodes["AllFloat"]
        and not np.isfinite(result._array()).all()
    ):
        raise ValueError("array must not contain infs or NaNs")
    return result


def require(
    a: Any, dtype: Any = None, requirements: Any = None, *, like: Any = None
) -> Any:
    """An array of the host that meets requirements, as `numpy.require`."""
    host = a._array() if isinstance(a, DeviceArray) else a
    result = np.require(host, dtype, requirements)
    if result is host and isinstance(a, DeviceArray):
        return a
    return placed(np.array(result, order="K"))


@whole.function(np.copy)
@native
def copy(a: Any, order: Any = "K", subok: bool = False) -> Any:
    """A copy with memory of its own."""
    return convert(a, None, order, True, subok=subok)


# ---------------------------------------------------------------- of a given shape
@unbound
@whole.function(np.empty)
@native
def empty(
    shape: Any,
    dtype: Any = None,
    order: Any = "C",
    *,
    device: str | Device | None = None,
    like: Any = None,
) -> DeviceArray:
    """An array with no particular content.

    Parameters
    ----------
    shape : int or tuple of int
    dtype : dtype, optional
        The default is float64.
    order : {"C", "F"}
    device : str or Device, optional
    like : object
        Taken and ignored.
    """
    return filled(shape, None, dtype, order, device)


@unbound
@whole.function(np.zeros)
@native
def zeros(
    shape: Any,
    dtype: Any = None,
    order: Any = "C",
    *,
    device: str | Device | None = None,
    like: Any = None,
) -> DeviceArray:
    """An array of zeros; parameters as for `empty`."""
    return filled(shape, 0, dtype, order, device)


@whole.function(np.ones)
@native
def ones(
    shape: Any,
    dtype: Any = None,
    order: Any = "C",
    *,
    device: str | Device | None = None,
    like: Any = None,
) -> DeviceArray:
    """An array of ones; parameters as for `empty`."""
    return filled(shape, 1, dtype, order, device)


@whole.function(np.full)
@native
def full(
    shape: Any,
    fill_value: Any,
    dtype: Any = None,
    order: Any = "C",
    *,
    device: str | Device | None = None,
    like: Any = None,
) -> DeviceArray:
    """An array of one value.

    Parameters
    ----------
    shape : int or tuple of int
    fill_value : array_like
        A number, or an array that broadcasts to ``shape``.
    dtype : dtype, optional
        The default is that of ``fill_value``.
    order : {"C", "F"}
    device : str or Device, optional
    like : object
        Taken and ignored.
    """
    if device is None and isinstance(fill_value, DeviceArray):
        device = fill_value._device
    target = chosen_device(device)
    if target.kind in ("auto", "cpu"):
        host = np.full(unwrapped(shape), unwrapped(fill_value), dtype, order)
        return DeviceArray._of_host(host, target)
    kind = type(fill_value)
    if order == "C" and (kind is int or kind is float):
        wanted = default_dtype(kind, target) if dtype is None else dtype
        name = made.name_of(shape, wanted, target)
        if name is not None:
            found = made.filled(DeviceArray, name, fill_value)
            if found is not None:
                return found  # type: ignore[no-any-return]
    value = convert(fill_value, device=target)
    wanted = value.dtype if dtype is None else dtype
    result = filled(shape, None, wanted, order, target)
    result[...] = value
    return result


# ------------------------------------------------------------ like another array
@whole.function(np.empty_like)
@minding_subclasses(np.empty_like)
@native
def empty_like(
    prototype: Any,
    /,
    dtype: Any = None,
    order: Any = "K",
    subok: bool = True,
    shape: Any = None,
    *,
    device: str | Device | None = None,
) -> Any:
    """An array with the shape and dtype of another, and no particular content.

    Parameters
    ----------
    prototype : array_like
    dtype : dtype, optional
    order : {"K", "A", "C", "F"}
        The order of the elements in memory.
    subok : bool
        Taken and ignored.
    shape : int or tuple of int, optional
        Another shape.
    device : str or Device, optional
        Another device.
    """
    return alike(prototype, None, dtype, order, shape, device)


@whole.function(np.zeros_like)
@minding_subclasses(np.zeros_like)
@native
def zeros_like(
    a: Any,
    dtype: Any = None,
    order: Any = "K",
    subok: bool = True,
    shape: Any = None,
    *,
    device: str | Device | None = None,
) -> Any:
    """Zeros in the shape and dtype of another array; parameters as for `empty_like`."""
    return alike(a, 0, dtype, order, shape, device)


@whole.function(np.ones_like)
@minding_subclasses(np.ones_like)
@native
def ones_like(
    a: Any,
    dtype: Any = None,
    order: Any = "K",
    subok: bool = True,
    shape: Any = None,
    *,
    device: str | Device | None = None,
) -> Any:
    """Ones in the shape and dtype of another array; parameters as for `empty_like`."""
    return alike(a, 1, dtype, order, shape, device)


@whole.function(np.full_like)
@minding_subclasses(np.full_like)
@native
def full_like(
    a: Any,
    fill_value: Any,
    dtype: Any = None,
    order: Any = "K",
    subok: bool = True,
    shape: Any = None,
    *,
    device: str | Device | None = None,
) -> Any:
    """One value in the shape and dtype of another array; see `empty_like`."""
    return alike(a, fill_value, dtype, order, shape, device)
