"""Reductions by functions that have no row of their own, on named devices: halves of an
axis are combined until one element is left."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from ..array import DeviceArray

__all__ = ["FOLDABLE", "folded"]

FOLDABLE = frozenset(
    {
        *(np.bitwise_and, np.bitwise_or, np.bitwise_xor, np.logical_xor),
        *(np.fmax, np.fmin, np.gcd, np.lcm),
        *(np.hypot, np.logaddexp, np.logaddexp2),
    }
)
"""Functions for which the order of elements and of pairs does not matter."""


def folded(
    function: Callable[..., Any],
    ufunc: np.ufunc,
    x: DeviceArray,
    axis: Any,
    keepdims: bool,
) -> Any:
    """The combination of all elements along axes.

    Parameters
    ----------
    function : callable
        The public function, of two arrays.
    ufunc : numpy.ufunc
        NumPy's.
    x : DeviceArray
    axis : int, tuple of int or None
    keepdims : bool

    Raises
    ------
    ValueError
        No elements, and no identity.
    """
    every = tuple(range(x.ndim))
    axes = every
    if axis is not None and (x.ndim or axis not in (0, -1)):
        axes = np.lib.array_utils.normalize_axis_tuple(axis, x.ndim)
    rest = [one for one in every if one not in axes]
    length = math.prod([x.shape[one] for one in axes])
    shape = tuple([x.shape[one] for one in rest])
    dtype = ufunc.resolve_dtypes((x.dtype, x.dtype, None))[2]
    moved = x.transpose((*rest, *axes)).reshape((*shape, length)).astype(dtype)
    if not length and ufunc.identity is None:
        raise ValueError(
            f"zero-size array to reduction operation {ufunc.__name__} which has no "
            "identity"
        )
    if length:
        found = _halved(function, moved)
    else:
        found = DeviceArray._empty(shape, dtype, x._device)
        found.fill(ufunc.identity)
    if keepdims:
        shape = tuple([1 if one in axes else x.shape[one] for one in every])
    return found.reshape(shape)


def _halved(function: Callable[..., Any], x: Any) -> Any:
    """The combination of the elements along the last axis."""
    over = []
    while (length := x.shape[-1]) > 1:
        half = length // 2
        if length % 2:
            over.append(x[..., -1])
        x = function(x[..., :half], x[..., half : 2 * half])
    found = x[..., 0]
    for one in over:
        found = function(found, one)
    return found
