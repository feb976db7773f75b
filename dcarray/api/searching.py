"""Searching."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..array import DeviceArray, whole
from ..array.fallback import on_host
from ..ops import indexing as picks
from .calling import served
from .coverage import native

__all__ = [
    "argmax",
    "argmin",
    "argwhere",
    "flatnonzero",
    "nonzero",
    "searchsorted",
]

_missing: Any = np._NoValue


@whole.function(np.argmax)
@native
def argmax(
    a: Any, axis: Any = None, out: Any = None, *, keepdims: Any = _missing
) -> Any:
    """Index of the first largest element along ``axis``, as `numpy.argmax`.

    Parameters
    ----------
    a : array_like
    axis : int, optional
        By default the index is one into the flattened array.
    out : array, optional
    keepdims : bool
    """
    if isinstance(a, DeviceArray):
        return a.argmax(axis, out, keepdims=keepdims is not _missing and keepdims)
    return on_host(DeviceArray, np.argmax, a, axis, out, keepdims=keepdims)


@whole.function(np.argmin)
@native
def argmin(
    a: Any, axis: Any = None, out: Any = None, *, keepdims: Any = _missing
) -> Any:
    """Index of the first smallest element along ``axis``, as `numpy.argmin`."""
    if isinstance(a, DeviceArray):
        return a.argmin(axis, out, keepdims=keepdims is not _missing and keepdims)
    return on_host(DeviceArray, np.argmin, a, axis, out, keepdims=keepdims)


@whole.function(np.nonzero)
@native
def nonzero(a: Any) -> Any:
    """Indices of the elements that are not zero, as `numpy.nonzero`."""
    if isinstance(a, DeviceArray):
        return a.nonzero()
    return on_host(DeviceArray, np.nonzero, a)


flatnonzero = served(picks.FLATNONZERO)
argwhere = served(picks.ARGWHERE)
searchsorted = served(picks.SEARCHSORTED)
