"""Views with strides of the caller's choice."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..api.coverage import native
from ..array import DeviceArray
from ..array.fallback import on_host
from ..array.movement import moved

__all__ = ["as_strided", "sliding_window_view"]


@native
def as_strided(
    x: Any,
    shape: Any = None,
    strides: Any = None,
    subok: bool = False,
    writeable: bool = True,
) -> Any:
    """A view with the given shape and strides, as `numpy.lib.stride_tricks.as_strided`.

    Nothing checks that it stays inside the memory of ``x``.

    Parameters
    ----------
    x : array_like
    shape, strides : sequence of int, optional
        Those of ``x`` by default; strides are in bytes.
    subok : bool
        Taken and ignored for a `DeviceArray`.
    writeable : bool
        Whether elements can be assigned through the view.
    """
    function = np.lib.stride_tricks.as_strided
    if not isinstance(x, DeviceArray):
        return on_host(DeviceArray, function, x, shape, strides, subok, writeable)
    view = moved(x, lambda a: function(a, shape, strides, writeable=writeable))
    return view if writeable else _locked(view)


@native
def sliding_window_view(
    x: Any,
    window_shape: Any,
    axis: Any = None,
    *,
    subok: bool = False,
    writeable: bool = False,
) -> Any:
    """All windows of a shape, as a view with further axes; see
    `numpy.lib.stride_tricks.sliding_window_view`."""
    function = np.lib.stride_tricks.sliding_window_view
    if not isinstance(x, DeviceArray):
        return on_host(DeviceArray, function, x, window_shape, axis, subok=subok)
    view = moved(x, lambda a: function(a, window_shape, axis, writeable=writeable))
    return view if writeable else _locked(view)


def _locked(view: DeviceArray) -> DeviceArray:
    view._locked = True
    return view
