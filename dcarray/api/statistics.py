"""Statistics: reductions, scans and what is built on them.

Whole-array methods do the work; this file gives them NumPy's signatures with the
standard's keywords.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..array import DeviceArray, whole
from ..array.fallback import on_host
from ..backends.registry import AUTO
from ..ops import indexing as picks, statistics as rows
from . import calling
from .calling import served
from .coverage import native

__all__ = [
    "all",
    "amax",
    "amin",
    "any",
    "cumprod",
    "cumsum",
    "cumulative_prod",
    "cumulative_sum",
    "max",
    "mean",
    "median",
    "min",
    "percentile",
    "prod",
    "ptp",
    "quantile",
    "std",
    "sum",
    "var",
]

_missing: Any = np._NoValue


# ------------------------------------------------------------------------ reductions
@native
def sum(
    a: Any,
    axis: Any = None,
    dtype: Any = None,
    out: Any = None,
    keepdims: Any = _missing,
    initial: Any = _missing,
    where: Any = _missing,
) -> Any:
    """Sum of the elements over ``axis``, as `numpy.sum`.

    Parameters
    ----------
    a : array_like
    axis : int or tuple of int, optional
        All axes by default.
    dtype : dtype, optional
        In which to add; integers narrower than the default one are added in that.
    out : array, optional
        Where the result goes.
    keepdims : bool
        Keep the summed axes, with length one.
    initial : number, optional
        Where to start.
    where : array of bool, optional
        Which elements count.
    """
    if isinstance(a, DeviceArray):
        held = [a]
        del a  # see `fused.is_temporary`
        keep = keepdims is not _missing and keepdims
        if initial is _missing and where is _missing:
            return held.pop().sum(axis, dtype, out, keep)
        return held.pop().sum(axis, dtype, out, keep, initial, where)
    return on_host(DeviceArray, np.sum, a, axis, dtype, out, keepdims, initial, where)


@native
def prod(
    a: Any,
    axis: Any = None,
    dtype: Any = None,
    out: Any = None,
    keepdims: Any = _missing,
    initial: Any = _missing,
    where: Any = _missing,
) -> Any:
    """Product of the elements over ``axis``, as `numpy.prod`."""
    if isinstance(a, DeviceArray):
        held = [a]
        del a  # see `fused.is_temporary`
        keep = keepdims is not _missing and keepdims
        if initial is _missing and where is _missing:
            return held.pop().prod(axis, dtype, out, keep)
        return held.pop().prod(axis, dtype, out, keep, initial, where)
    return on_host(DeviceArray, np.prod, a, axis, dtype, out, keepdims, initial, where)


@native
def max(
    a: Any,
    axis: Any = None,
    out: Any = None,
    keepdims: Any = _missing,
    initial: Any = _missing,
    where: Any = _missing,
) -> Any:
    """Largest element along ``axis``; a NaN among them wins.  As `numpy.max`."""
    if isinstance(a, DeviceArray):
        held = [a]
        del a  # see `fused.is_temporary`
        keep = keepdims is not _missing and keepdims
        if initial is _missing and where is _missing:
            return held.pop().max(axis, out, keep)
        return held.pop().max(axis, out, keep, initial, where)
    return on_host(DeviceArray, np.max, a, axis, out, keepdims, initial, where)


@native
def min(
    a: Any,
    axis: Any = None,
    out: Any = None,
    keepdims: Any = _missing,
    initial: Any = _missing,
    where: Any = _missing,
) -> Any:
    """Smallest element along ``axis``; a NaN among them wins.  As `numpy.min`."""
    if isinstance(a, DeviceArray):
        held = [a]
        del a  # see `fused.is_temporary`
        keep = keepdims is not _missing and keepdims
        if initial is _missing and where is _missing:
            return held.pop().min(axis, out, keep)
        return held.pop().min(axis, out, keep, initial, where)
    return on_host(DeviceArray, np.min, a, axis, out, keepdims, initial, where)


amax = max
amin = min


@native
def any(
    a: Any,
    axis: Any = None,
    out: Any = None,
    keepdims: Any = _missing,
    *,
    where: Any = _missing,
) -> Any:
    """Whether an element along ``axis`` is true, as `numpy.any`."""
    if isinstance(a, DeviceArray):
        held = [a]
        del a  # see `fused.is_temporary`
        keep = keepdims is not _missing and keepdims
        if out is None and where is _missing:
            return held.pop().any(axis, keepdims=keep)
        return held.pop().any(axis, out, keep, where=where)
    return on_host(DeviceArray, np.any, a, axis, out, keepdims, where=where)


@native
def all(
    a: Any,
    axis: Any = None,
    out: Any = None,
    keepdims: Any = _missing,
    *,
    where: Any = _missing,
) -> Any:
    """Whether all elements along ``axis`` are true, as `numpy.all`."""
    if isinstance(a, DeviceArray):
        held = [a]
        del a  # see `fused.is_temporary`
        keep = keepdims is not _missing and keepdims
        if out is None and where is _missing:
            return held.pop().all(axis, keepdims=keep)
        return held.pop().all(axis, out, keep, where=where)
    return on_host(DeviceArray, np.all, a, axis, out, keepdims, where=where)


@native
def mean(
    a: Any,
    axis: Any = None,
    dtype: Any = None,
    out: Any = None,
    keepdims: Any = _missing,
    *,
    where: Any = _missing,
) -> Any:
    """Arithmetic mean along ``axis``, as `numpy.mean`."""
    if isinstance(a, DeviceArray):
        held = [a]
        del a  # see `fused.is_temporary`
        keep = keepdims is not _missing and keepdims
        if where is _missing:
            return held.pop().mean(axis, dtype, out, keep)
        return held.pop().mean(axis, dtype, out, keep, where=where)
    return on_host(DeviceArray, np.mean, a, axis, dtype, out, keepdims, where=where)


@whole.function(np.var)
@native
def var(
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
    """Variance along ``axis``, as `numpy.var`.

    Parameters
    ----------
    a : array_like
    axis : int or tuple of int, optional
    dtype : dtype, optional
    out : array, optional
    ddof, correction : float
        What is taken off the number of elements before dividing by it: NumPy's name
        and the standard's.
    keepdims : bool
    where : array of bool, optional
    mean : array, optional
        The mean, with the reduced axes kept, where it is known already.
    """
    if isinstance(a, DeviceArray):
        ddof = calling.correction_of(ddof, correction)
        return a.var(axis, dtype, out, ddof, keepdims, where=where, mean=mean)
    options = {"where": where, "mean": mean, "correction": correction}
    return on_host(DeviceArray, np.var, a, axis, dtype, out, ddof, keepdims, **options)


@whole.function(np.std)
@native
def std(
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
    """Standard deviation along ``axis``, as `numpy.std`; parameters as for `var`."""
    if isinstance(a, DeviceArray):
        ddof = calling.correction_of(ddof, correction)
        return a.std(axis, dtype, out, ddof, keepdims, where=where, mean=mean)
    options = {"where": where, "mean": mean, "correction": correction}
    return on_host(DeviceArray, np.std, a, axis, dtype, out, ddof, keepdims, **options)


@whole.function(np.ptp)
@native
def ptp(a: Any, axis: Any = None, out: Any = None, keepdims: Any = _missing) -> Any:
    """Largest less smallest element along ``axis``, as `numpy.ptp`."""
    if calling.named_device((a,), {}) is AUTO:
        return on_host(DeviceArray, np.ptp, a, axis, out, keepdims)
    range_ = a.max(axis, None, keepdims) - a.min(axis, None, keepdims)
    return calling.stored_in(out, range_)


# ----------------------------------------------------------------------------- scans
@whole.function(np.cumsum)
@native
def cumsum(a: Any, axis: Any = None, dtype: Any = None, out: Any = None) -> Any:
    """Running sums along ``axis``, as `numpy.cumsum`."""
    if isinstance(a, DeviceArray):
        return a.cumsum(axis, dtype, out)
    return on_host(DeviceArray, np.cumsum, a, axis, dtype, out)


@whole.function(np.cumprod)
@native
def cumprod(a: Any, axis: Any = None, dtype: Any = None, out: Any = None) -> Any:
    """Running products along ``axis``, as `numpy.cumprod`."""
    if isinstance(a, DeviceArray):
        return a.cumprod(axis, dtype, out)
    return on_host(DeviceArray, np.cumprod, a, axis, dtype, out)


@native
def cumulative_sum(
    x: Any,
    /,
    *,
    axis: Any = None,
    dtype: Any = None,
    out: Any = None,
    include_initial: bool = False,
) -> Any:
    """Running sums along ``axis``, as `numpy.cumulative_sum`.

    Parameters
    ----------
    x : array_like
    axis : int, optional
        Needed where there is more than one.
    dtype : dtype, optional
    out : array, optional
    include_initial : bool
        Begin with the sum of nothing; the result is longer by one.
    """
    if calling.named_device((x,), {}) is AUTO:
        options = {"axis": axis, "dtype": dtype, "out": out}
        return on_host(
            DeviceArray,
            np.cumulative_sum,
            x,
            include_initial=include_initial,
            **options,
        )
    axis, dtype = _only_axis(x, axis), _loop_dtype(dtype, out)
    return _begun_with(0, x.cumsum(axis, dtype), axis, out, include_initial)


@native
def cumulative_prod(
    x: Any,
    /,
    *,
    axis: Any = None,
    dtype: Any = None,
    out: Any = None,
    include_initial: bool = False,
) -> Any:
    """Running products along ``axis``; parameters as for `cumulative_sum`."""
    if calling.named_device((x,), {}) is AUTO:
        options = {"axis": axis, "dtype": dtype, "out": out}
        return on_host(
            DeviceArray,
            np.cumulative_prod,
            x,
            include_initial=include_initial,
            **options,
        )
    axis, dtype = _only_axis(x, axis), _loop_dtype(dtype, out)
    return _begun_with(1, x.cumprod(axis, dtype), axis, out, include_initial)


def _only_axis(x: DeviceArray, axis: Any) -> Any:
    if axis is None and x.ndim > 1:
        raise ValueError(
            "For arrays which have more than one dimension ``axis`` argument is "
            "required."
        )
    return 0 if axis is None else axis


def _loop_dtype(dtype: Any, out: Any) -> Any:
    """What NumPy adds up in: that of ``out``, whatever it can hold."""
    return out.dtype if dtype is None and out is not None else dtype


def _begun_with(
    initial: int, result: DeviceArray, axis: int, out: Any, include: bool
) -> Any:
    if include:
        shape = list(result.shape)
        shape[axis] = 1
        first = DeviceArray._empty(tuple(shape), result.dtype, result._device)
        first.fill(initial)
        result = calling.call_row(picks.CONCATENATE, (first, result), axis=axis)
    return calling.stored_in(out, result)


# ------------------------------------------------------------------- order and moments
median = served(rows.MEDIAN)
percentile = served(rows.PERCENTILE, fills=True)
quantile = served(rows.QUANTILE, fills=True)
