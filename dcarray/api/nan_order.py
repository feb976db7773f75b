"""Medians and quantiles that leave NaN out.

On a named device they are made of a sort, which puts NaN last, and of two elements of
each row; on the host NumPy does them.
"""

from __future__ import annotations

import math
import warnings
from typing import Any

import numpy as np

from ..array import DeviceArray
from ..array.fallback import call_numpy
from . import calling
from .conversion import as_array
from .elementwise import floor
from .hosted import hosted
from .indexing import take_along_axis, where
from .joining import stack
from .nan_statistics import nanmean
from .sorting import sort
from .statistics import median, percentile, quantile

__all__ = ["nanmedian", "nanpercentile", "nanquantile"]

_missing: Any = np._NoValue


@hosted(np.nanmedian, plainly=True)  # as `median` has it
def nanmedian(
    a: Any,
    axis: Any = None,
    out: Any = None,
    overwrite_input: bool = False,
    keepdims: Any = _missing,
) -> Any:
    """Median along ``axis`` of what is no NaN, as `numpy.nanmedian`.

    Parameters
    ----------
    a : array_like
    axis : int or tuple of int, optional
    out : array, optional
    overwrite_input : bool
        Whether ``a`` may be changed; it is not.
    keepdims : bool
    """
    a = as_array(a)
    kept = False if keepdims is _missing else keepdims
    if not a.size:
        return nanmean(a, axis, None, out, kept)
    if a.dtype.kind not in "fc":
        return median(a, axis, out, False, kept)
    rows, shape = _rows(a, axis, kept)
    below = (rows.counts - 1) // 2, rows.counts // 2
    low, high = (rows.at(place) for place in below)
    found = (low + high) * low.dtype.type(0.5) if rows.length > 1 else low
    found = where(low == high, low, found)  # also where both are infinite
    found = rows.finished(found, axis is not None, 4)
    return calling.stored_in(out, found.reshape(shape))


@hosted(np.nanquantile, plainly=True)  # as `quantile` has it
def nanquantile(
    a: Any,
    q: Any,
    axis: Any = None,
    out: Any = None,
    overwrite_input: bool = False,
    method: str = "linear",
    keepdims: Any = _missing,
    *,
    weights: Any = None,
) -> Any:
    """Quantiles along ``axis`` of what is no NaN, as `numpy.nanquantile`.

    Parameters
    ----------
    a : array_like
    q : array_like
        From 0 to 1.
    axis : int or tuple of int, optional
    out : array, optional
    overwrite_input : bool
        Whether ``a`` may be changed; it is not.
    method : str
        How to go between two elements; all but "linear" is left to the host.
    keepdims : bool
    weights : array_like, optional
        What elements count; left to the host.
    """
    return _by_method(
        *(np.nanquantile, quantile, 1),
        *(a, q, axis, out, method, keepdims, weights),
    )


@hosted(np.nanpercentile, plainly=True)  # as `percentile` has it
def nanpercentile(
    a: Any,
    q: Any,
    axis: Any = None,
    out: Any = None,
    overwrite_input: bool = False,
    method: str = "linear",
    keepdims: Any = _missing,
    *,
    weights: Any = None,
) -> Any:
    """Percentiles along ``axis`` of what is no NaN, as `numpy.nanpercentile`;
    parameters as for `nanquantile`, with ``q`` from 0 to 100."""
    return _by_method(
        *(np.nanpercentile, percentile, 100),
        *(a, q, axis, out, method, keepdims, weights),
    )


def _by_method(
    function: Any,
    usual: Any,
    whole: int,
    a: Any,
    q: Any,
    axis: Any,
    out: Any,
    method: str,
    keepdims: Any,
    weights: Any,
) -> Any:
    """NumPy's ``function``, or where no element can be NaN, ``usual``; ``whole`` is the
    ``q`` of the largest element."""
    a = as_array(a)
    if method != "linear" or weights is not None:
        return call_numpy(
            DeviceArray,
            function,
            *(a, q, axis, out),
            method=method,
            keepdims=keepdims,
            weights=weights,
        )
    kept = False if keepdims is _missing else keepdims
    if not a.size:
        return nanmean(a, axis, None, out, kept)
    if a.dtype.kind != "f":
        return usual(a, q, axis, out, False, method, kept)
    return _quantiles(a, q, whole, axis, out, kept)


class _Rows:
    """An array with the axes that are summed up sorted, as the last one.

    Attributes
    ----------
    sorted : DeviceArray
    counts : DeviceArray
        How many elements of each row are no NaN.
    length : int
        Of a row.
    """

    def __init__(self, rows: Any) -> None:
        self.sorted = sort(rows, axis=-1)
        self.length = rows.shape[-1]
        self.counts = (rows == rows).sum(-1, keepdims=True)

    def at(self, places: Any) -> Any:
        """The element at a place of each row."""
        inside = places.clip(0, self.length - 1)
        return take_along_axis(self.sorted, inside, axis=-1)

    def finished(self, found: Any, one_by_one: bool, level: int) -> Any:
        """A result; rows that are nothing but NaN give NaN, and a warning, or one
        each, of the caller so many levels above."""
        nothing = self.counts == 0
        count = int(nothing.sum())
        for _ in range(count if one_by_one else min(count, 1)):
            warnings.warn("All-NaN slice encountered", RuntimeWarning, level)
        if count:
            found = where(nothing, found.dtype.type(np.nan), found)
        return found


def _rows(a: DeviceArray, axis: Any, keepdims: Any) -> tuple[_Rows, tuple[int, ...]]:
    """The rows of an array, and the shape of a result."""
    every = tuple(range(a.ndim))
    axes = every
    if axis is not None:
        axes = np.lib.array_utils.normalize_axis_tuple(axis, a.ndim)
    rest = [one for one in every if one not in axes]
    length = math.prod([a.shape[one] for one in axes])
    moved = a.transpose((*rest, *axes))
    rows = moved.reshape((*[a.shape[one] for one in rest], length))
    if keepdims:
        shape = tuple([1 if one in axes else a.shape[one] for one in every])
    else:
        shape = tuple([a.shape[one] for one in rest])
    return _Rows(rows), shape


def _quantiles(
    a: DeviceArray, q: Any, scale: float, axis: Any, out: Any, keepdims: Any
) -> Any:
    """Quantiles by linear interpolation."""
    shares = np.asarray(q._array() if isinstance(q, DeviceArray) else q) / scale
    if not ((shares >= 0) & (shares <= 1)).all():
        raise ValueError(
            "Quantiles must be in the range [0, 1]"
            if scale == 1
            else "Percentiles must be in the range [0, 100]"
        )
    if shares.ndim > 2:
        raise ValueError("q must be a scalar or 1d")
    rows, shape = _rows(a, axis, keepdims)
    dtype = a.dtype
    if type(q) not in (int, float):
        dtype = np.result_type(dtype, shares.dtype)
    parts = [_at_share(rows, float(share), dtype) for share in shares.flat]
    if not shares.ndim:
        found = rows.finished(parts[0], axis is not None, 6)
        return calling.stored_in(out, found.reshape(shape))
    if not parts:
        return DeviceArray._empty((*shares.shape, *shape), dtype, a._device)
    found = rows.finished(stack(parts), axis is not None, 6)
    return calling.stored_in(out, found.reshape((*shares.shape, *shape)))


def _at_share(rows: _Rows, share: float, dtype: Any) -> Any:
    """The element at a share of each row, interpolated from the nearer side."""
    place = (rows.counts - 1).clip(0, None).astype(dtype) * dtype.type(share)
    below = floor(place)
    rest = place - below
    index = below.astype(np.intp)
    low, high = rows.at(index), rows.at((index + 1).clip(None, rows.counts - 1))
    step = high - low
    found = where(rest < 0.5, low + step * rest, high - step * (1 - rest))
    return found.astype(dtype)
