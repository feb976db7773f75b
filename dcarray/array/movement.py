"""Views: transposes, reshapes and their kin, also of values that are pending."""

from __future__ import annotations

import weakref
from collections.abc import Callable, Sequence
from operator import attrgetter
from typing import Any

import numpy as np

from ..backends.registry import Device
from ..dtypes import DType
from ..layout import copied_strides, dense_strides, is_contiguous, iteration_order
from ..lazy.record import record
from ..ops.elementwise import CAST
from ..ops.spec import Signature
from . import calls
from .state import ArrayState, HostArray

__all__ = ["copied", "empty_along", "moved", "part", "raveled", "reshaped"]


def moved(x: ArrayState, function: Callable[[HostArray], HostArray]) -> Any:
    """A view of NumPy's, ``lambda a: a.transpose(axes)``; nothing runs.

    ``function`` must return a view and read no element.
    """
    host = x._host
    if host is not None:
        return x._host_sibling(function(host))
    read = x._read()
    layout, dtype = read.layout.apply(read.dtype, function)
    return x._sibling(layout, dtype)


MOST = 1 << 12

_parts: dict[tuple[Any, str], Any] = {}
"""By how complex numbers lie, and the name of the part."""


def part(x: ArrayState, name: str) -> Any:
    """A view of complex numbers' parts, "real" or "imag"."""
    shown = x._view
    found = _parts.get((shown, name))
    if x._host is not None or found is None:
        view = moved(x, attrgetter(name))
        if x._host is None:
            if len(_parts) > MOST:
                _parts.clear()
            _parts[shown, name] = view._view
        return view
    return x._seen(found)


def reshaped(
    x: ArrayState, shape: Any, order: Any = "C", copy: bool | None = None
) -> Any:
    """A view where the strides allow one, else a copy (NumPy's rule)."""
    host = x._host
    if isinstance(copy, str):
        raise ValueError(
            "strings are not allowed for 'copy' keyword. Use True/False/None instead."
        )
    if host is None and copy is not True:
        try:
            return moved(x, lambda a: np.reshape(a, shape, order=order, copy=False))
        except ValueError:
            pass  # no view: NumPy says below what is wrong, or copies
    if host is None and x._device.kind not in ("auto", "cpu"):
        return _reshaped_on_device(x, shape, order, copy)
    host = x._array()
    result = np.reshape(host, shape, order=order, copy=copy)
    if copy is not True and (not host.size or np.may_share_memory(result, host)):
        return x._host_sibling(result)
    return type(x)._of_host(result, x._device)


def _reshaped_on_device(
    x: ArrayState, shape: Any, order: Any, copy: bool | None
) -> Any:
    probe = np.empty(x.shape, np.bool)
    if copy is False:
        np.reshape(probe[..., ::-1].T, shape, order=order)
        raise ValueError("Unable to avoid creating a copy while reshaping.")
    order = _meant(x, order)
    axes = tuple(range(x.ndim))
    turned = axes[::-1] if order == "F" else axes
    dense = copied(moved(x, lambda a: a.transpose(turned)), "C")
    dense = moved(dense, lambda a: a.transpose(turned))
    return moved(dense, lambda a: np.reshape(a, shape, order=order, copy=False))


def raveled(x: ArrayState, order: Any = "C") -> Any:
    """The elements in one row without gaps, on a named device.

    It is a view where they lie like that already.
    """
    if order == "K":
        slowest_first = iteration_order(x.shape, [x.strides])
        x = moved(x, lambda a: a.transpose(slowest_first))
        order = "C"
    result = reshaped(x, -1, order)
    return result if result.flags.c_contiguous else copied(result)


def _meant(x: ArrayState, order: Any) -> Any:
    """The order that "A" stands for."""
    if isinstance(order, str):
        order = order.upper()
    if order != "A":
        return order
    lies = [is_contiguous(x.shape, x.strides, x.dtype.itemsize, o) for o in ("C", "F")]
    return "F" if lies == [False, True] else "C"


def empty_along(
    cls: type[ArrayState],
    shape: Sequence[int],
    slowest_first: Sequence[int],
    dtype: DType,
    device: Device,
) -> Any:
    """Memory with no particular content on a named device, without gaps, its axes
    in this order; it is nobody's view."""
    made = cls._empty(tuple([shape[axis] for axis in slowest_first]), dtype, device)
    if tuple(slowest_first) == tuple(range(len(shape))):
        return made
    back = np.argsort(slowest_first)
    result = moved(made, lambda a: a.transpose(back))
    result._binding._root = weakref.ref(result)
    return result


def copied(x: ArrayState, order: Any = "C") -> Any:
    """A copy with memory of its own."""
    cls = type(x)
    host = x._host
    order = _meant(x, order)
    if host is None and calls.can_record(x):
        if _keeps(x, order):
            return calls.cast(cls, x, x.dtype)
        if x._device.is_named:
            return calls.cast(cls, x, x.dtype, order=order)
    if host is None and x._device.is_named:
        axes = range(x.ndim)
        slowest_first = axes[::-1] if order == "F" else axes
        target = empty_along(cls, x.shape, slowest_first, x.dtype, x._device)
        # No array shows the value: it is computed straight into the target.
        same = Signature((x.dtype,), (x.dtype,))
        (value,) = record(CAST, (x._read(),), x._device, signature=same)
        calls.write(target, value)
        return target
    return cls._of_host(x._array().copy(order), x._device)


def _keeps(x: ArrayState, order: Any) -> bool:
    """Whether NumPy's new array in this order has the strides of a recorded copy."""
    if order == "K" or x.ndim < 2:
        return True
    kept = copied_strides(x._layout, x.dtype.itemsize, x.dtype.itemsize)
    return kept == dense_strides(x.shape, x.dtype.itemsize, order)
