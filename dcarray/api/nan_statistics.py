"""Statistics that leave NaN out.

On a named device they are made of operations that fuse; on the host NumPy does them.
"""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

from ..array import DeviceArray, calls
from ..config import config
from ..ops import elementwise as ops
from . import calling
from .hosted import hosted

__all__ = [
    "nanargmax",
    "nanargmin",
    "nancumprod",
    "nancumsum",
    "nanmax",
    "nanmean",
    "nanmin",
    "nanprod",
    "nanstd",
    "nansum",
    "nanvar",
]

_missing: Any = np._NoValue


def _apply(op: Any, *operands: Any) -> Any:
    with config(scalars="array"):
        return calls.elementwise(DeviceArray, op, operands)


def _has_nan(a: DeviceArray) -> bool:
    """Whether the dtype has NaN at all."""
    return a.dtype.kind in "fc"


def _filled(a: DeviceArray, value: float) -> Any:
    """``a`` with ``value`` in the place of NaN."""
    if not _has_nan(a):
        return a
    return _apply(ops.WHERE, _apply(ops.ISNAN, a), a.dtype.type(value), a)


def _flag(keepdims: Any) -> Any:
    return False if keepdims is _missing else keepdims


# ---------------------------------------------------------------------------- extremes
@hosted(np.nanmin)
def nanmin(
    a: Any,
    axis: Any = None,
    out: Any = None,
    keepdims: Any = _missing,
    initial: Any = _missing,
    where: Any = _missing,
) -> Any:
    """Smallest element along ``axis`` that is no NaN, as `numpy.nanmin`."""
    _need_elements(np.fmin, a, axis, initial)
    found = _filled(a, np.inf).min(axis, None, _flag(keepdims), initial, where)
    return _extreme("fmin", a, found, axis, out, keepdims)


@hosted(np.nanmax)
def nanmax(
    a: Any,
    axis: Any = None,
    out: Any = None,
    keepdims: Any = _missing,
    initial: Any = _missing,
    where: Any = _missing,
) -> Any:
    """Largest element along ``axis`` that is no NaN, as `numpy.nanmax`."""
    _need_elements(np.fmax, a, axis, initial)
    found = _filled(a, -np.inf).max(axis, None, _flag(keepdims), initial, where)
    return _extreme("fmax", a, found, axis, out, keepdims)


def _need_elements(ufunc: np.ufunc, a: DeviceArray, axis: Any, initial: Any) -> None:
    """What NumPy says of rows without any element."""
    if not a.size and initial is _missing:
        ufunc.reduce(np.empty(a.shape, a.dtype), axis)


def _extreme(
    name: str, a: DeviceArray, found: Any, axis: Any, out: Any, keepdims: Any
) -> Any:
    """NaN, with a warning, where there was nothing else."""
    if _has_nan(a):
        nothing = _apply(ops.ISNAN, a).all(axis, None, _flag(keepdims))
        if nothing.any():
            warnings.warn("All-NaN slice encountered", RuntimeWarning, stacklevel=4)
            found = _apply(ops.WHERE, nothing, a.dtype.type(np.nan), found)
    if out is not None and out.shape != np.shape(found):
        raise ValueError(
            f"output parameter for reduction operation {name} has shape {out.shape}, "
            f"the result has {np.shape(found)}"
        )
    return calling.stored_in(out, found)


@hosted(np.nanargmin)
def nanargmin(
    a: Any, axis: Any = None, out: Any = None, *, keepdims: Any = _missing
) -> Any:
    """Index of the first smallest element that is no NaN, as `numpy.nanargmin`."""
    _need_numbers(a, axis)
    return _filled(a, np.inf).argmin(axis, out, keepdims=_flag(keepdims))


@hosted(np.nanargmax)
def nanargmax(
    a: Any, axis: Any = None, out: Any = None, *, keepdims: Any = _missing
) -> Any:
    """Index of the first largest element that is no NaN, as `numpy.nanargmax`."""
    _need_numbers(a, axis)
    return _filled(a, -np.inf).argmax(axis, out, keepdims=_flag(keepdims))


def _need_numbers(a: DeviceArray, axis: Any) -> None:
    if _has_nan(a) and a.size and _apply(ops.ISNAN, a).all(axis).any():
        raise ValueError("All-NaN slice encountered")


# -------------------------------------------------------------------------------- sums
@hosted(np.nansum)
def nansum(
    a: Any,
    axis: Any = None,
    dtype: Any = None,
    out: Any = None,
    keepdims: Any = _missing,
    initial: Any = _missing,
    where: Any = _missing,
) -> Any:
    """Sum along ``axis``, NaN counting as 0, as `numpy.nansum`."""
    return _filled(a, 0).sum(axis, dtype, out, keepdims, initial, where)


@hosted(np.nanprod)
def nanprod(
    a: Any,
    axis: Any = None,
    dtype: Any = None,
    out: Any = None,
    keepdims: Any = _missing,
    initial: Any = _missing,
    where: Any = _missing,
) -> Any:
    """Product along ``axis``, NaN counting as 1, as `numpy.nanprod`."""
    return _filled(a, 1).prod(axis, dtype, out, keepdims, initial, where)


@hosted(np.nancumsum)
def nancumsum(a: Any, axis: Any = None, dtype: Any = None, out: Any = None) -> Any:
    """Running sums along ``axis``, NaN counting as 0, as `numpy.nancumsum`."""
    return _filled(a, 0).cumsum(axis, dtype, out)


@hosted(np.nancumprod)
def nancumprod(a: Any, axis: Any = None, dtype: Any = None, out: Any = None) -> Any:
    """Running products along ``axis``, NaN counting as 1, as `numpy.nancumprod`."""
    return _filled(a, 1).cumprod(axis, dtype, out)


# ----------------------------------------------------------------------------- moments
@hosted(np.nanmean)
def nanmean(
    a: Any,
    axis: Any = None,
    dtype: Any = None,
    out: Any = None,
    keepdims: Any = _missing,
    *,
    where: Any = _missing,
) -> Any:
    """Mean along ``axis`` of what is no NaN, as `numpy.nanmean`."""
    if not _has_nan(a):
        return a.mean(axis, dtype, out, keepdims, where=where)
    with config(scalars="array"):
        total = _filled(a, 0).sum(axis, dtype, None, keepdims, where=where)
    result = _apply(ops.DIVIDE, total, _count(a, total, axis, keepdims, where))
    if _apply(ops.ISNAN, result).any():
        warnings.warn("Mean of empty slice", RuntimeWarning, stacklevel=3)
    return calling.stored_in(out, result)


def _count(a: DeviceArray, like: Any, axis: Any, keepdims: Any, where: Any) -> Any:
    """Number of elements that are no NaN, as a number of the result's dtype."""
    present = _apply(ops.LOGICAL_NOT, _apply(ops.ISNAN, a))
    with config(scalars="array"):
        counted = present.sum(axis, np.intp, None, keepdims, where=where)
    return counted.astype(like.real.dtype)


@hosted(np.nanvar)
def nanvar(
    a: Any,
    axis: Any = None,
    dtype: Any = None,
    out: Any = None,
    ddof: float = 0,
    keepdims: Any = _missing,
    *,
    where: Any = _missing,
    mean: Any = _missing,
    correction: Any = _missing,
) -> Any:
    """Variance along ``axis`` of what is no NaN, as `numpy.nanvar`."""
    ddof = calling.correction_of(ddof, correction)
    if not _has_nan(a):
        return a.var(axis, dtype, out, ddof, keepdims, where=where, mean=mean)
    return calling.stored_in(
        out, _variance(a, axis, dtype, ddof, keepdims, where, mean)
    )


@hosted(np.nanstd)
def nanstd(
    a: Any,
    axis: Any = None,
    dtype: Any = None,
    out: Any = None,
    ddof: float = 0,
    keepdims: Any = _missing,
    *,
    where: Any = _missing,
    mean: Any = _missing,
    correction: Any = _missing,
) -> Any:
    """Standard deviation along ``axis`` of what is no NaN, as `numpy.nanstd`."""
    ddof = calling.correction_of(ddof, correction)
    if not _has_nan(a):
        return a.std(axis, dtype, out, ddof, keepdims, where=where, mean=mean)
    variance = _variance(a, axis, dtype, ddof, keepdims, where, mean)
    return calling.stored_in(out, _apply(ops.SQRT, variance))


def _variance(
    a: DeviceArray,
    axis: Any,
    dtype: Any,
    ddof: float,
    keepdims: Any,
    where: Any,
    mean: Any,
) -> Any:
    filled = _filled(a, 0)
    if mean is _missing:
        with config(scalars="array"):
            total = filled.sum(axis, dtype, None, True, where=where)
        mean = _apply(ops.DIVIDE, total, _count(a, total, axis, True, where))
    apart = _apply(ops.SUBTRACT, a, mean)
    # What is infinite less itself counts; only what is missing does not.
    apart = _apply(ops.WHERE, _apply(ops.ISNAN, a), apart.dtype.type(0), apart)
    if apart.dtype.kind == "c":
        squares = _apply(ops.MULTIPLY, apart, _apply(ops.CONJUGATE, apart)).real
    else:
        squares = _apply(ops.SQUARE, apart)
    with config(scalars="array"):
        total = squares.sum(axis, dtype, None, keepdims, where=where)
    freedom = _apply(ops.SUBTRACT, _count(a, total, axis, keepdims, where), ddof)
    too_few = _apply(ops.LESS_EQUAL, freedom, 0)
    if too_few.any():
        warnings.warn(
            "Degrees of freedom <= 0 for slice.", RuntimeWarning, stacklevel=4
        )
        freedom = _apply(ops.WHERE, too_few, total.dtype.type(np.nan), freedom)
    return _apply(ops.DIVIDE, total, freedom)
