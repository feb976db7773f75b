"""Weighted means, covariances and correlations.

On a named device they are made of operations that fuse; on the host NumPy does them.
"""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

from ..array import DeviceArray
from . import calling
from .conversion import as_array, default_dtype
from .hosted import hosted
from .joining import concatenate
from .manipulation import broadcast_to
from .placing import on_device

__all__ = ["average", "corrcoef", "cov"]

_missing: Any = np._NoValue


@hosted(np.average)
def average(
    a: Any,
    axis: Any = None,
    weights: Any = None,
    returned: bool = False,
    *,
    keepdims: Any = _missing,
) -> Any:
    """The weighted mean along ``axis``, as `numpy.average`.

    Parameters
    ----------
    a : array_like
    axis : int or tuple of int, optional
    weights : array_like, optional
        Of the shape of ``a``, or of its lengths along ``axis``.
    returned : bool
        Whether to return the sums of the weights, too.
    keepdims : bool
    """
    given = [weights] if weights is not None else []
    device = calling.named_device((a, *given), {})
    a = on_device(a, device)
    axes = axis
    if axis is not None:
        axes = np.lib.array_utils.normalize_axis_tuple(axis, a.ndim, argname="axis")
    kept = False if keepdims is _missing else keepdims
    if weights is None:
        mean = a.mean(axes, keepdims=kept)
        total = mean.dtype.type(a.size / max(mean.size, 1))
    else:
        wide = default_dtype(np.float64, device) if a.dtype.kind in "biu" else a.dtype
        w = _aligned(a, on_device(weights, a._device), axes)
        dtype = default_dtype(np.result_type(a.dtype, w.dtype, wide), device)
        total = w.sum(axes, dtype, keepdims=kept)
        if bool((total == 0).any()):
            raise ZeroDivisionError("Weights sum to zero, can't be normalized")
        weighted = a.astype(dtype) * w.astype(dtype)
        mean = weighted.sum(axes, dtype, keepdims=kept) / total
    if not returned:
        return calling.presented(mean)
    if np.shape(total) != mean.shape:
        total = broadcast_to(on_device(total, a._device), mean.shape)
    return calling.presented(mean), calling.presented(total.copy())


def _aligned(a: DeviceArray, w: DeviceArray, axes: Any) -> DeviceArray:
    """Weights in the shape of the array, or one that broadcasts to it."""
    if w.shape == a.shape:
        return w
    if axes is None:
        raise TypeError("Axis must be specified when shapes of a and weights differ.")
    if w.shape != tuple([a.shape[one] for one in axes]):
        raise ValueError(
            "Shape of weights must be consistent with shape of a along specified axis."
        )
    w = w.transpose(tuple(np.argsort(axes)))
    shape = [n if one in axes else 1 for one, n in enumerate(a.shape)]
    return broadcast_to(w.reshape(shape), a.shape)  # type: ignore[no-any-return]


@hosted(np.cov)
def cov(
    m: Any,
    y: Any = None,
    rowvar: bool = True,
    bias: bool = False,
    ddof: Any = None,
    fweights: Any = None,
    aweights: Any = None,
    *,
    dtype: Any = None,
) -> Any:
    """The covariances of variables, as `numpy.cov`.

    Parameters
    ----------
    m : array_like
        A variable a row, an observation a column.
    y : array_like, optional
        Further variables.
    rowvar : bool
        False: a variable is a column.
    bias : bool
        Whether to divide by the number of observations.
    ddof : int, optional
        What is taken off that number instead of 1.
    fweights : array_like of int, optional
        How often an observation was made.
    aweights : array_like, optional
        How much an observation counts.
    dtype : dtype, optional
    """
    if ddof is not None and ddof != int(ddof):
        raise ValueError("ddof must be integer")
    given = [one for one in (m, y, fweights, aweights) if one is not None]
    device = calling.named_device(given, {})
    m = on_device(m, device)
    if m.ndim > 2:
        raise ValueError("m has more than 2 dimensions")
    other = None if y is None else on_device(y, m._device)
    if other is not None and other.ndim > 2:
        raise ValueError("y has more than 2 dimensions")
    double = default_dtype(np.float64, device)
    asked = dtype
    if dtype is None:
        dtypes = [m.dtype] if other is None else [m.dtype, other.dtype]
        dtype = default_dtype(np.result_type(*dtypes, double), device)
    x = _variables(m, rowvar, dtype)
    if not x.shape[0]:
        return DeviceArray._empty((0, 0), np.dtype(double), device)
    if other is not None:
        # One row stays one, as in NumPy.
        alone = other.ndim == 2 and other.shape[0] == 1
        more = _variables(other, rowvar or alone, dtype)
        x = concatenate([x, more], axis=0)
    if asked is not None:
        np.cov(np.zeros((1, 2)), dtype=asked)  # says what is wrong
    if ddof is None:
        ddof = 0 if bias else 1
    w = _weights(fweights, aweights, x)
    if w is None:
        mean, total = x.mean(1), x.shape[1]
        freedom: Any = total - ddof
    else:
        w = w.astype(double)
        sums = w.sum()
        mean, total = (x * w).sum(1) / sums, float(sums)
        freedom = total - ddof
        if ddof and aweights is not None:
            squares = (w * on_device(aweights, x._device)).sum()
            freedom = total - ddof * float(squares) / total
    if freedom <= 0:
        warnings.warn("Degrees of freedom <= 0 for slice", RuntimeWarning, stacklevel=3)
        freedom = 0.0
    apart = x - mean[:, None]
    weighted = apart if w is None else apart * w
    found = apart @ weighted.T.conj()
    scale = np.divide(1, freedom) if freedom else np.inf
    return calling.presented((found * found.real.dtype.type(scale)).squeeze())


def _variables(x: DeviceArray, rowvar: bool, dtype: Any) -> Any:
    """Variables as rows."""
    found = x.reshape((1, -1)) if x.ndim < 2 else x
    turned = not rowvar and x.ndim == 2
    return (found.T if turned else found).astype(dtype)


def _weights(fweights: Any, aweights: Any, x: DeviceArray) -> Any:
    """The weight of each observation, or None."""
    found: Any = None
    for name, given in (("fweights", fweights), ("aweights", aweights)):
        if given is None:
            continue
        w = on_device(given, x._device)
        whole = name == "aweights" or w.dtype.kind in "iu"
        if not whole and not bool((w == w.round()).all()):
            raise TypeError("fweights must be integer")
        if w.ndim > 1:
            raise RuntimeError(f"cannot handle multidimensional {name}")
        if w.shape[0] != x.shape[1]:
            raise RuntimeError(f"incompatible numbers of samples and {name}")
        if bool((w < 0).any()):
            raise ValueError(f"{name} cannot be negative")
        found = w if found is None else found * w
    return found


@hosted(np.corrcoef)
def corrcoef(x: Any, y: Any = None, rowvar: bool = True, *, dtype: Any = None) -> Any:
    """The correlations of variables, as `numpy.corrcoef`; parameters as for `cov`."""
    c = as_array(cov(x, y, rowvar, dtype=dtype))
    if not c.ndim:
        return calling.presented(c / c)
    spread = c.diagonal().real ** 0.5
    found = c / spread[:, None] / spread[None, :]
    if found.dtype.kind != "c":
        return found.clip(-1, 1)
    return found.real.clip(-1, 1) + 1j * found.imag.clip(-1, 1)
