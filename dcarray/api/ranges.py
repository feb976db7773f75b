"""Ranges, grids and matrices with a pattern."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..array import DeviceArray, calls, whole
from ..array.movement import moved
from ..backends.registry import AUTO, Device, common_device
from ..dtypes import is_recordable
from ..ops.elementwise import WHERE
from .conversion import (
    as_array,
    chosen_device,
    default_dtype,
    locked,
    placed,
    unwrapped,
)
from .coverage import native
from .manipulation import broadcast_to
from .patterns import MOST, at_or_below, counts, grid, on_diagonal, pays
from .recurring import recurring

__all__ = [
    "arange",
    "diag",
    "diagflat",
    "eye",
    "fromfunction",
    "geomspace",
    "identity",
    "indices",
    "linspace",
    "logspace",
    "meshgrid",
    "tri",
    "tril",
    "triu",
]

_missing: Any = np._NoValue
_numpy: Any = np


def _device(device: str | Device | None, *operands: Any) -> Device:
    """``device=``, or the common device of the arrays among the arguments."""
    if device is None:
        found = [x._device for x in operands if isinstance(x, DeviceArray)]
        common = common_device(found, "range") if found else AUTO
        if common is not AUTO:
            return common
    return chosen_device(device)


@whole.function(np.arange)
@native
@recurring
def arange(
    start: Any = _missing,
    stop: Any = None,
    step: Any = 1,
    dtype: Any = None,
    *,
    device: str | Device | None = None,
    like: Any = None,
) -> DeviceArray:
    """Evenly spaced values from ``start`` up to, but without, ``stop``.

    Parameters
    ----------
    start : number
        The only number given is ``stop``, and ``start`` is 0.
    stop : number, optional
    step : number
    dtype : dtype, optional
        The default is that of the numbers.
    device : str or Device, optional
    like : object
        Taken and ignored.

    Returns
    -------
    DeviceArray
    """
    target = _device(device, start, stop, step)
    given = [start, stop] if start is not _missing else [stop]
    if start is _missing and stop is None:
        raise TypeError("arange() requires stop to be specified.")
    if start is not _missing and stop is None:
        given = [start] if step == 1 and type(step) is int else [0, start]
    if len(given) == 2:
        given.append(step)
    elif start is _missing:
        given = [0, stop, step]
    given = [unwrapped(x) for x in given]
    if dtype is None and target.is_named and all([type(x) is int for x in given]):
        first, last, step = given if len(given) == 3 else (0, given[0], 1)
        is_small = max(abs(first), abs(last), abs(step)) < MOST
        number = len(range(first, last, step)) if step and is_small else 0
        if pays((number,), np.int64, target):
            return counts(first, step, number, target)
    host = np.arange(*given, dtype=dtype)
    if dtype is None:
        host = host.astype(default_dtype(host.dtype, target), copy=False)
    return placed(host, target)


def _spaced(result: Any, device: Device, dtype: Any) -> Any:
    if type(result) is tuple:
        return _spaced(result[0], device, dtype), result[1]
    if dtype is None:
        result = result.astype(default_dtype(result.dtype, device), copy=False)
    return placed(result, device)


@whole.function(np.linspace)
@native
@recurring
def linspace(
    start: Any,
    stop: Any,
    num: Any = 50,
    endpoint: bool = True,
    retstep: bool = False,
    dtype: Any = None,
    axis: Any = 0,
    *,
    device: str | Device | None = None,
) -> Any:
    """``num`` evenly spaced values from ``start`` to ``stop``.

    Parameters
    ----------
    start, stop : array_like
    num : int
    endpoint : bool
        Whether ``stop`` is the last value, or the one after it.
    retstep : bool
        Whether to return the step too.
    dtype : dtype, optional
    axis : int
        Where the new axis goes if ``start`` and ``stop`` are arrays.
    device : str or Device, optional

    Returns
    -------
    DeviceArray, or tuple of DeviceArray and number
    """
    result = _numpy.linspace(
        unwrapped(start),
        unwrapped(stop),
        unwrapped(num),
        endpoint,
        retstep,
        dtype,
        axis,
    )
    return _spaced(result, _device(device, start, stop), dtype)


@native
@recurring
def logspace(
    start: Any,
    stop: Any,
    num: Any = 50,
    endpoint: bool = True,
    base: Any = 10.0,
    dtype: Any = None,
    axis: Any = 0,
    *,
    device: str | Device | None = None,
) -> Any:
    """``base`` to the power of evenly spaced exponents; see `linspace`."""
    result = np.logspace(
        unwrapped(start),
        unwrapped(stop),
        unwrapped(num),
        endpoint,
        unwrapped(base),
        dtype,
        axis,
    )
    return _spaced(result, _device(device, start, stop, base), dtype)


@native
@recurring
def geomspace(
    start: Any,
    stop: Any,
    num: Any = 50,
    endpoint: bool = True,
    dtype: Any = None,
    axis: Any = 0,
    *,
    device: str | Device | None = None,
) -> Any:
    """Values from ``start`` to ``stop`` with a constant ratio; see `linspace`."""
    result = np.geomspace(
        unwrapped(start), unwrapped(stop), unwrapped(num), endpoint, dtype, axis
    )
    return _spaced(result, _device(device, start, stop), dtype)


@whole.function(np.eye)
@native
@recurring
def eye(
    N: Any,
    M: Any = None,
    k: Any = 0,
    dtype: Any = float,
    order: Any = "C",
    *,
    device: str | Device | None = None,
    like: Any = None,
) -> DeviceArray:
    """A matrix with ones on a diagonal and zeros elsewhere.

    Parameters
    ----------
    N, M : int
        Rows and columns; a square matrix if ``M`` is None.
    k : int
        Which diagonal: above the main one if positive.
    dtype : dtype
    order : {"C", "F"}
    device : str or Device, optional
    like : object
        Taken and ignored.
    """
    target = chosen_device(device)
    rows, columns, shift = unwrapped(N), unwrapped(M), unwrapped(k)
    wanted = default_dtype(float, target) if dtype in (None, float) else dtype
    sides = (rows, rows if columns is None else columns)
    if type(shift) is int and order in ("C", "F") and pays(sides, wanted, target):
        if order == "F":
            turned = on_diagonal(*sides[::-1], -shift, np.dtype(wanted), target)
            made: DeviceArray = turned.T
            return made
        return on_diagonal(*sides, shift, np.dtype(wanted), target)
    return placed(np.eye(rows, columns, shift, wanted, order), target)


@whole.function(np.identity)
@native
def identity(
    n: Any,
    dtype: Any = None,
    *,
    device: str | Device | None = None,
    like: Any = None,
) -> DeviceArray:
    """A square matrix with ones on its main diagonal."""
    return eye(n, dtype=dtype, device=device)


@whole.function(np.tri)
@native
@recurring
def tri(
    N: Any,
    M: Any = None,
    k: Any = 0,
    dtype: Any = float,
    *,
    device: str | Device | None = None,
    like: Any = None,
) -> DeviceArray:
    """Ones at and below a diagonal, zeros above it; parameters as for `eye`."""
    target = chosen_device(device)
    wanted = default_dtype(float, target) if dtype in (None, float) else dtype
    rows, columns, shift = unwrapped(N), unwrapped(M), unwrapped(k)
    sides = (rows, rows if columns is None else columns)
    if type(shift) is int and pays(sides, wanted, target):
        mask: DeviceArray = at_or_below(*sides, shift, target)
        return calls.cast(DeviceArray, mask, np.dtype(wanted))
    return placed(np.tri(rows, columns, shift, wanted), target)


def _part(m: Any, k: Any, lower: bool) -> Any:
    x = as_array(m)
    if not is_recordable(x.dtype):
        function = np.tril if lower else np.triu
        return placed(np.array(function(x._array(), k)), x._device)
    rows, columns = x.shape[-2:] if x.ndim > 1 else x.shape * 2
    shift, zero = k if lower else k - 1, x.dtype.type(0)
    if x._device.kind not in ("auto", "cpu") and type(shift) is int:
        keep = at_or_below(rows, columns, shift, x._device)
    else:
        mask = _numpy.tri(rows, columns, shift, dtype=bool)
        keep = placed(mask, x._device if x._device.is_named else "auto")
    chosen = (keep, x, zero) if lower else (keep, zero, x)
    return calls.elementwise(DeviceArray, WHERE, chosen)


@whole.function(np.tril)
@native
def tril(m: Any, k: Any = 0) -> Any:
    """The lower triangle of matrices, with zeros above it.

    Parameters
    ----------
    m : array_like
        The last two axes are matrices.
    k : int
        The diagonal up to which elements are kept: above the main one if positive.
    """
    return _part(m, unwrapped(k), lower=True)


@whole.function(np.triu)
@native
def triu(m: Any, k: Any = 0) -> Any:
    """The upper triangle of matrices, with zeros below it; see `tril`."""
    return _part(m, unwrapped(k), lower=False)


@whole.function(np.diag)
@native
def diag(v: Any, k: Any = 0) -> Any:
    """The diagonal of a matrix, or a matrix with a given diagonal.

    Parameters
    ----------
    v : array_like
        A matrix, or a vector.
    k : int
        Which diagonal: above the main one if positive.

    Returns
    -------
    DeviceArray
        A read-only view of a matrix's diagonal; a new matrix for a vector.
    """
    x = as_array(v)
    shift = int(unwrapped(k))
    if x.ndim == 2:
        return locked(x.diagonal(shift))
    if x.ndim != 1:
        raise ValueError("Input must be 1- or 2-d.")
    return _with_diagonal(x, shift)


def _with_diagonal(x: DeviceArray, shift: int) -> DeviceArray:
    n = x.size + abs(shift)
    if x._device.kind in ("auto", "cpu"):
        return placed(np.diag(x._array(), shift), x._device)
    result = DeviceArray._empty((n, n), x.dtype, x._device)
    result[...] = 0
    first = shift if shift >= 0 else -shift * n
    if x.size:
        moved(result, lambda a: a.reshape(-1)[first :: n + 1][: x.size])[...] = x
    return result


@native
def diagflat(v: Any, k: Any = 0) -> Any:
    """A matrix whose diagonal has the elements of ``v``, flattened."""
    return _with_diagonal(as_array(v).ravel(), int(unwrapped(k)))


@native
def meshgrid(
    *xi: Any, copy: bool = True, sparse: bool = False, indexing: Any = "xy"
) -> tuple[Any, ...]:
    """Coordinate matrices from coordinate vectors.

    Parameters
    ----------
    *xi : array_like
        Vectors.
    copy : bool
        Whether the results have memory of their own, or are views.
    sparse : bool
        Whether to leave the results as they are before they are broadcast.
    indexing : {"xy", "ij"}
        Whether the first axis belongs to the second vector, or to the first.

    Returns
    -------
    tuple of DeviceArray
    """
    if indexing not in ("xy", "ij"):
        raise ValueError("Valid values for `indexing` are 'xy' and 'ij'.")
    given = [as_array(x) for x in xi]
    ndim = len(given)
    found = [
        x.reshape((1,) * axis + (-1,) + (1,) * (ndim - axis - 1))
        for axis, x in enumerate(given)
    ]
    if indexing == "xy" and ndim > 1:
        found = [x.swapaxes(0, 1) for x in found]
    if not sparse:
        shape = tuple([x.size for x in given])
        if indexing == "xy" and ndim > 1:
            shape = (shape[1], shape[0], *shape[2:])
        found = [broadcast_to(x, shape) for x in found]
    return tuple([x.copy() for x in found]) if copy else tuple(found)


@native
@recurring
def indices(
    dimensions: Any,
    dtype: Any = int,
    sparse: bool = False,
    *,
    device: str | Device | None = None,
) -> Any:
    """The index of each place along each axis, as `numpy.indices`."""
    target = chosen_device(device)
    wanted = default_dtype(float, target) if dtype is float else dtype
    lengths = unwrapped(dimensions)
    axes = [(length, 0, 1) for length in lengths] if type(lengths) is tuple else []
    if not sparse and axes and pays((len(axes), *lengths), wanted, target):
        return grid(axes, np.dtype(wanted), target)
    found = _numpy.indices(tuple(unwrapped(dimensions)), wanted, sparse)
    if sparse:
        return tuple([placed(np.array(item), target) for item in found])
    return placed(found, target)


def fromfunction(
    function: Any,
    shape: Any,
    *,
    dtype: Any = float,
    device: str | Device | None = None,
    like: Any = None,
    **kwargs: Any,
) -> Any:
    """What ``function`` gives for arrays of the indices along each axis."""
    return function(*indices(shape, dtype, device=device), **kwargs)
