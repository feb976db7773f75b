"""Elements picked and placed by indices and masks."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from ....ops.elementwise import CAST, NOT_EQUAL
from ....ops.indexing import filled
from ....ops.kernels.gathering import coordinate_kernel
from ....ops.reduction import SUM
from ..views import GridView
from .keys import selected, shown
from .places import chosen, gather, positions, resolved, scatter, turns
from .work import INT64, INTP, HostArray, Work, normalized_axis, reduced_axes

if TYPE_CHECKING:
    from ..backend import GridBackend

__all__ = ["TABLE", "put_at", "take"]


# ------------------------------------------------------------------------------- keys
def _get(work: Work, x: Any, *arrays: GridView, key: Any) -> GridView:
    """``x[key]`` as a copy."""
    x = work.put(x)
    key = filled(key, arrays)
    if isinstance(key, tuple) and len(key) == 1:
        (key,) = key
    if (
        isinstance(key, GridView)
        and key.dtype.kind == "b"
        and key.shape == x.shape != ()
    ):
        return chosen(work, x, key)
    found = selected(work, x, key)
    if found.order is None:
        return gather(work, found.view, found.places)
    order = found.order
    view, places = [
        x.through(lambda a: a.transpose(order)) for x in (found.view, found.places)
    ]
    back = [order.index(axis) for axis in range(len(order))]
    return gather(work, view, places).through(lambda a: a.transpose(back))


def _put(work: Work, x: Any, value: Any, *arrays: GridView, key: Any) -> GridView:
    """``x`` with ``x[key] = value`` done."""
    changed = work.copy(work.put(x))
    _put_into(work, changed, work.put(value), *arrays, key=key)
    return changed


def put_at(
    backend: GridBackend, x: GridView, value: GridView, *arrays: GridView, key: Any
) -> None:
    """``x[key] = value``, in the array itself."""
    work = Work(backend)
    if value.memory is x.memory:
        value = work.copy(value)
    _put_into(work, x, value, *arrays, key=key)


def _put_into(
    work: Work, x: GridView, value: GridView, *arrays: GridView, key: Any
) -> None:
    value = work.cast(value, x.dtype)
    found = selected(work, x, filled(key, arrays))
    shape = found.view.shape
    while value.ndim > len(shape) and value.shape[0] == 1:
        value = value.through(lambda a: a[0, ...])
    given = value.shape
    try:
        spread = value.through(lambda a: np.broadcast_to(a, shape))
    except ValueError:
        raise ValueError(
            f"shape mismatch: value array of shape {shown(given)} could not be "
            f"broadcast to indexing result of shape {shown(shape)}"
        ) from None
    _, high = x.layout.span(x.dtype.itemsize)
    scatter(
        work,
        spread,
        found.places,
        found.view,
        high // x.dtype.itemsize,
        found.distinct,
    )


# --------------------------------------------------------------------------- one axis
def _take(
    work: Work,
    x: Any,
    indices: Any,
    *,
    axis: Any = None,
    mode: str = "raise",
) -> GridView:
    """`numpy.take`."""
    x = work.put(x)
    if axis is None:
        x, axis = work.reshaped(x, (-1,)), 0
    elif not x.ndim:
        x = work.reshaped(x, (1,))
    return take(work, x, _indices(work, indices), normalized_axis(axis, x.ndim), mode)


def take(
    work: Work, x: GridView, indices: GridView, axis: int, mode: str = "raise"
) -> GridView:
    """Elements by their indices along an axis, whose place the axes of the indices
    take."""
    front, rest = x.shape[:axis], x.shape[axis + 1 :]
    shape = front + indices.shape + rest
    _, strides = x.elements()
    places = resolved(work, indices, axis, x.shape[axis], strides[axis], mode)
    if 0 in shape:
        return work.new(shape, x.dtype)
    own = front + (1,) * indices.ndim + rest
    width = indices.shape + (1,) * len(rest)
    first: Any = (slice(None),) * axis + (0, ...)
    view = x.through(lambda a: np.broadcast_to(a[first].reshape(own), shape))
    spread = places.through(lambda a: np.broadcast_to(a.reshape(width), shape))
    return gather(work, view, spread)


def _indices(work: Work, indices: Any) -> GridView:
    if isinstance(indices, GridView):
        return indices
    host = np.asarray(indices)
    if not host.size and not isinstance(indices, np.ndarray):
        host = host.astype(np.intp)
    return work.put(host)


def _along(
    work: Work, x: GridView, indices: GridView, axis: int
) -> tuple[GridView, GridView]:
    """The array seen without an axis, and places along that axis, of one shape."""
    if indices.dtype.kind not in "iu":
        raise IndexError("`indices` must be an integer array")
    if x.ndim != indices.ndim:
        raise ValueError("`indices` and `arr` must have the same number of dimensions")
    _, strides = x.elements()
    places = resolved(work, indices, axis, x.shape[axis], strides[axis])
    own = (*x.shape[:axis], 1, *x.shape[axis + 1 :])
    try:
        shape = np.broadcast_shapes(own, indices.shape)
    except ValueError:
        raise IndexError(
            "shape mismatch: indexing arrays could not be broadcast together with "
            f"shapes {own} {indices.shape}"
        ) from None
    if 0 in shape:
        empty = work.new(shape, x.dtype)
        return empty, empty
    first = (slice(None),) * axis + (slice(0, 1),)
    view = x.through(lambda a: np.broadcast_to(a[first], shape))
    return view, places.through(lambda a: np.broadcast_to(a, shape))


def _take_along_axis(work: Work, x: Any, indices: Any, axis: Any = -1) -> GridView:
    """`numpy.take_along_axis`."""
    x, indices = work.put(x), work.put(indices)
    if axis is None:
        x, axis = work.reshaped(x, (-1,)), 0
    view, places = _along(work, x, indices, normalized_axis(axis, x.ndim))
    return gather(work, view, places)


def _put_along_axis(
    work: Work, x: Any, indices: Any, values: Any, *, axis: Any
) -> GridView:
    """``x`` after `numpy.put_along_axis`."""
    changed = work.copy(work.put(x))
    whole = changed
    if axis is None:
        changed, axis = work.reshaped(changed, (-1,)), 0
    axis = normalized_axis(axis, changed.ndim)
    view, places = _along(work, changed, work.put(indices), axis)
    given = work.cast(work.put(values), changed.dtype)
    spread = given.through(lambda a: np.broadcast_to(a, view.shape))
    scatter(work, spread, places, view, whole.size)
    return whole


def _put_flat(
    work: Work, x: Any, indices: Any, values: Any, *, mode: Any = "raise"
) -> GridView:
    """``x`` after `numpy.put`."""
    changed = work.copy(work.put(x))
    flat = work.reshaped(changed, (-1,))
    places = work.reshaped(_indices(work, indices), (-1,))
    given = work.cast(work.reshaped(work.put(values), (-1,)), changed.dtype)
    if not places.size or not given.size:
        return changed
    places = resolved(work, places, 0, flat.size, 1, mode)
    given = take(work, given, turns(work, places.shape, given.size), 0)
    first = flat.through(lambda a: np.broadcast_to(a[:1], places.shape))
    scatter(work, given, places, first, changed.size)
    return changed


# ------------------------------------------------------------------------------ masks
def _truth(work: Work, x: Any) -> GridView:
    x = work.put(x)
    return x if x.dtype.kind == "b" else work.map(NOT_EQUAL, x, 0)


def _flatnonzero(work: Work, x: Any) -> GridView:
    """`numpy.flatnonzero`."""
    return work.cast(positions(work, _truth(work, x)), INTP)


def _nonzero(work: Work, x: Any) -> tuple[GridView, ...]:
    """`numpy.nonzero`."""
    mask = _truth(work, x)
    if not mask.ndim:
        raise ValueError(
            "Calling nonzero on 0d arrays is not allowed. Use np.atleast_1d(scalar)"
            ".nonzero() instead."
        )
    flat = positions(work, mask)
    found = []
    for axis, length in enumerate(mask.shape):
        target = work.new(flat.shape, INT64)
        if flat.size:
            numbers = (flat.size, math.prod(mask.shape[axis + 1 :]), length)
            work.run(coordinate_kernel(), flat.size, flat, target, *numbers)
        found.append(target)
    return tuple(found)


def _argwhere(work: Work, x: Any) -> GridView:
    """`numpy.argwhere`."""
    mask = _truth(work, x)
    if not mask.ndim:
        mask = work.reshaped(mask, (1,))
        return _argwhere(work, mask).through(lambda a: a[:, :0])
    indices = _nonzero(work, mask)
    out = work.new((indices[0].size, mask.ndim), INT64)
    for axis, found in enumerate(indices):
        column = partial(_column, axis)
        work.map(CAST, found, dtype=INT64, out=out.through(column))
    return out


def _column(axis: int, a: HostArray) -> HostArray:
    return a[:, axis]


def _count_nonzero(
    work: Work, x: Any, *, axis: Any = None, keepdims: Any = False
) -> GridView:
    """`numpy.count_nonzero`."""
    x = work.put(x)
    if axis is None:
        axes = tuple(range(x.ndim))
    else:
        axes = reduced_axes(axis, x.ndim)
    found = work.reduce(SUM, axes, x, 0, before=NOT_EQUAL, dtype=INTP)
    if keepdims:
        return found
    kept = tuple([n for place, n in enumerate(x.shape) if place not in axes])
    return found.through(lambda a: a.reshape(kept))


def _compress(work: Work, condition: Any, x: Any, *, axis: Any = None) -> GridView:
    """`numpy.compress`."""
    x, mask = work.put(x), _truth(work, condition)
    if mask.ndim != 1:
        raise ValueError("condition must be a 1-d array")
    if axis is None or (not x.ndim and axis in (0, -1)):
        x, axis = work.reshaped(x, (-1,)), 0
    places = positions(work, mask)
    return take(work, x, places, normalized_axis(axis, x.ndim))


def _extract(work: Work, condition: Any, x: Any) -> GridView:
    """`numpy.extract`."""
    flat, mask = work.reshaped(work.put(x), (-1,)), _truth(work, condition)
    if mask.size == flat.size:
        return chosen(work, flat, mask)
    return take(work, flat, positions(work, mask), 0)


TABLE: dict[str, Callable[..., Any]] = {
    "get": _get,
    "put": _put,
    "put_flat": _put_flat,
    "take": _take,
    "take_along_axis": _take_along_axis,
    "put_along_axis": _put_along_axis,
    "nonzero": _nonzero,
    "flatnonzero": _flatnonzero,
    "argwhere": _argwhere,
    "count_nonzero": _count_nonzero,
    "compress": _compress,
    "extract": _extract,
}
"""Functions by the name of their rows."""
