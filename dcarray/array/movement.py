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
from .kept import copied_densely
from .made import new
from .state import ArrayState, HostArray

__all__ = [
    "copied",
    "empty_along",
    "known",
    "moved",
    "often",
    "part",
    "raveled",
    "reshaped",
    "turned",
]


def moved(x: ArrayState, function: Callable[[HostArray], HostArray], *name: Any) -> Any:
    """A view of NumPy's, ``lambda a: a.transpose(axes)``; nothing runs.

    ``function`` must return a view and read no element.  A ``name`` that says all of
    it, of strings, integers and tuples of these, has it found again.
    """
    host = x._host
    if host is not None:
        return x._host_sibling(function(host))
    if name and _is_plain(name):
        key = (x._view, *name)
        shown = _known.get(key)
        if not shown:
            if len(_known) > MOST:
                _known.clear()
            view = moved(x, function)
            shown = _known[key] = view._view
        return x._seen(shown)
    read = x._read()
    layout, dtype = read.layout.apply(read.dtype, function)
    return x._sibling(layout, dtype)


MOST = 1 << 12

_known: dict[tuple[Any, ...], Any] = {}
"""By how arrays lie, and the name of a view of theirs; False where there is none."""


def known(
    x: ArrayState, name: tuple[Any, ...], function: Callable[[HostArray], HostArray]
) -> Any:
    """`moved`, with a name that says all of the function: what it comes to is found
    again for arrays that lie alike.

    Raises
    ------
    ValueError
        The function gives no view.
    """
    if x._host is not None:
        return moved(x, function)
    key = (x._view, *name)
    found = _known.get(key)
    if found is None:
        if len(_known) > MOST:
            _known.clear()
        try:
            view = moved(x, function)
        except ValueError:
            _known[key] = False
            raise
        _known[key] = view._view
        return view
    if found is False:
        raise ValueError("there is no such view")
    return x._seen(found)


def part(x: ArrayState, name: str) -> Any:
    """A view of complex numbers' parts, "real" or "imag"."""
    return known(x, (name,), attrgetter(name))


def _are_integers(numbers: Any) -> bool:
    """Whether a tuple has Python's integers alone: True equals 1, and is none."""
    return type(numbers) is tuple and all([type(one) is int for one in numbers])


def _is_plain(name: tuple[Any, ...]) -> bool:
    """Whether a name can be a part of a key."""
    for item in name:
        kind = type(item)
        if kind is tuple:
            if not _is_plain(item):
                return False
        elif kind is not int and kind is not str and item is not None:
            return False
    return True


def turned(x: ArrayState, axes: Any) -> Any:
    """The axes in another order, as `numpy.transpose`."""
    return moved(x, lambda a: np.transpose(a, axes), "turned", axes)


def often(x: Any, repeats: Any, axis: Any = None) -> Any:
    """Each element so often, one after the other, as `numpy.repeat`: a copy that is
    recorded.  None where that is a matter for the library: nothing is on a named
    device, there are no elements, or ``repeats`` is no number of Python's from 1 on."""
    if (
        not isinstance(x, ArrayState)
        or not x._device.is_named
        or type(repeats) is not int
        or not 0 < repeats <= MOST_TIMES
        or not x.size
        or not calls.can_record(x)
    ):
        return None
    if axis is None:
        x, axis = reshaped(x, (-1,)), 0
    elif type(axis) is not int or not -x.ndim <= axis < x.ndim:
        return None
    axis %= x.ndim
    before, length, after = x.shape[:axis], x.shape[axis], x.shape[axis + 1 :]
    shape = (*before, length * repeats, *after)
    if length == 1:
        return copied(_spread(x, shape), "C")
    apart = reshaped(x, (*before, length, 1, *after))
    whole = copied(_spread(apart, (*before, length, repeats, *after)), "C")
    result = reshaped(whole, shape)
    result._binding._root = weakref.ref(result)  # nobody's view
    return result


MOST_TIMES = 1 << 31
"""Beyond, NumPy has errors of its own."""


def _spread(x: ArrayState, shape: tuple[int, ...]) -> Any:
    return known(x, ("spread", shape), lambda a: np.broadcast_to(a, shape))


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

        def view(a: HostArray) -> HostArray:
            return np.reshape(a, shape, order=order, copy=False)

        try:
            if order == "C" and _are_integers(shape):
                return known(x, ("reshaped", shape), view)
            return moved(x, view)
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
    if copy is False:
        np.reshape(np.empty(x.shape, np.bool)[..., ::-1].T, shape, order=order)
        raise ValueError("Unable to avoid creating a copy while reshaping.")
    order = _meant(x, order)
    if order == "F":
        dense = turned(copied(turned(x, None), "C"), None)
    else:
        dense = copied(x, "C")
    return moved(
        dense,
        lambda a: np.reshape(a, shape, order=order, copy=False),
        *("reshaped", shape, order),
    )


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
    made = new(cls, tuple([shape[axis] for axis in slowest_first]), dtype, device)
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
        if order == "C" and x._device.is_named:
            return copied_densely(x)
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
