"""Sorting, and searching in what is sorted."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from ....errors import UnsupportedError
from ....ops.elementwise import MULTIPLY
from ....ops.kernels.sorting import (
    EACH,
    PARTS,
    block_kernel,
    key_dtype,
    key_kernel,
    merge_kernel,
    rank_kernel,
    search_kernel,
)
from ..views import GridView
from .places import gather, turns
from .work import INT32, INT64, INTP, DType, Rows, Work, normalized_axis, rows_of

__all__ = ["TABLE", "check_places", "order_of", "picked", "search"]

SHORT = 64
"""Elements up to which ranks in a row are counted."""


# -------------------------------------------------------------------------- the order
def order_of(
    work: Work, rows: Rows, descending: bool = False, before: GridView | None = None
) -> GridView:
    """The places of the elements of each row in their order, a row for each.

    Parameters
    ----------
    work : Work
    rows : Rows
    descending : bool
    before : GridView, optional
        An order that decides where elements are equal; that of the array if None.
    """
    if rows.length >= 1 << 31:
        raise UnsupportedError(f"{rows.length} elements to sort in a row")
    if before is None:
        order = turns(work, (rows.count, rows.length), rows.length, INT32)
    else:
        order = before
    if not order.size:
        return order
    for number, part in enumerate(PARTS[rows.view.dtype.kind == "c"]):
        keys = _keys(work, rows, part, descending)
        if number or before is not None:
            keys = _reordered(work, keys, order)
        order = _sorted(work, keys, order)
    return order


def _keys(work: Work, rows: Rows, part: str = "", descending: bool = False) -> GridView:
    dtype = rows.view.dtype
    keys = work.new((rows.count, rows.length), key_dtype(dtype))
    kernel = key_kernel(dtype, part, descending)
    sizes = (rows.count, rows.length, rows.inner, *rows.numbers())
    if keys.size:
        work.run(kernel, keys.size, rows.view, keys, *sizes)
    return keys


def _reordered(work: Work, x: GridView, order: GridView) -> GridView:
    """Rows, each in its order."""
    places = work.cast(order, INT64)
    return gather(work, x.through(lambda a: np.broadcast_to(a[:, :1], x.shape)), places)


def _sorted(work: Work, keys: GridView, order: GridView) -> GridView:
    """The order of rows of keys."""
    length = keys.shape[1]
    known = work.backend.places_in_order(keys)
    if known is not None:
        places = known.through(lambda a: a.reshape(keys.shape))
        view = order.through(lambda a: np.broadcast_to(a[:, :1], a.shape))
        return gather(work, view, work.cast(places, INT64))
    to_keys, to_order = work.new(keys.shape, keys.dtype), work.new(order.shape, INT32)
    if length <= SHORT:
        kernel = rank_kernel(keys.dtype)
        work.run(kernel, keys.size, keys, order, to_keys, to_order, keys.size, length)
        return to_order
    blocks = -(-length // work.items)
    count = blocks * keys.shape[0]
    kernel = block_kernel(keys.dtype, work.items)
    arrays = (keys, order, to_keys, to_order)
    work.run_groups(kernel, (min(count, 1 << 16), 1), *arrays, count, length, blocks)
    spare = (keys, work.new(order.shape, INT32))
    found = (to_keys, to_order)
    width = work.items
    kernel = merge_kernel(keys.dtype)
    turns = keys.shape[0] * -(-length // EACH)
    while width < length:
        work.run(kernel, turns, *found, *spare, turns, length, width)
        found, spare = spare, found
        width *= 2
    return found[1]


def _along(
    work: Work, x: GridView, axis: Any, descending: bool
) -> tuple[GridView, GridView, int]:
    """An array, the order along an axis in its shape, and that axis."""
    if axis is None:
        x, axis = work.reshaped(x, (-1,)), 0
    axis = normalized_axis(axis, x.ndim)
    rows = rows_of(work, x, axis)
    order = order_of(work, rows, descending)
    shape = (*x.shape[:axis], *x.shape[axis + 1 :], x.shape[axis])
    moved = order.through(lambda a: np.moveaxis(a.reshape(shape), -1, axis))
    return x, moved, axis


def _argsort(
    work: Work, x: Any, *, axis: Any = -1, descending: Any = False, **others: Any
) -> GridView:
    """`numpy.argsort`, stable whatever the kind."""
    x = work.put(x)
    if not x.ndim:
        # One place or none, by NumPy's version.
        shape = np.argsort(np.zeros(()), axis=axis).shape
        return work.full(1, 0, INTP).through(lambda a: a.reshape(shape))
    _, order, _ = _along(work, x, axis, bool(descending))
    return work.cast(order, INTP)


def _sort(
    work: Work, x: Any, *, axis: Any = -1, descending: Any = False, **others: Any
) -> GridView:
    """`numpy.sort`, stable whatever the kind."""
    x, order, axis = _along(work, work.put(x), axis, bool(descending))
    _, strides = x.elements()
    places = work.map(MULTIPLY, order, np.int64(strides[axis]))
    if not x.size:
        return work.new(x.shape, x.dtype)
    first = (slice(None),) * axis + (slice(0, 1),)
    view = x.through(lambda a: np.broadcast_to(a[first], a.shape))
    return gather(work, view, places)


def _lexsort(work: Work, *keys: Any, axis: Any = -1) -> GridView:
    """`numpy.lexsort`."""
    order: GridView | None = None
    arrays = [work.put(key) for key in keys]
    if len({x.shape for x in arrays}) > 1:
        raise ValueError("all keys need to be the same shape")
    shape = arrays[0].shape
    if not shape and axis in (0, -1):
        return work.full(1, 0, INTP).through(lambda a: a.reshape(()))
    axis = normalized_axis(axis, len(shape))
    for x in arrays:
        order = order_of(work, rows_of(work, x, axis), before=order)
    assert order is not None
    moved = (*shape[:axis], *shape[axis + 1 :], shape[axis])
    found = order.through(lambda a: np.moveaxis(a.reshape(moved), -1, axis))
    return work.cast(found, INTP)


def check_places(x: GridView, kth: Any, axis: Any) -> None:
    """Raise NumPy's error for places of a partition that are not there."""
    if axis is not None:
        axis = normalized_axis(axis, x.ndim)
    length = x.size if axis is None else x.shape[axis]
    np.empty(length, np.bool).partition(kth)


def _partition(
    row: Callable[..., GridView],
    work: Work,
    x: Any,
    *,
    kth: Any,
    axis: Any = -1,
    **others: Any,
) -> GridView:
    """`numpy.partition`, or the places: what is sorted is partitioned."""
    x = work.put(x)
    if not x.ndim and row is _argsort:
        x = x.through(lambda a: a[None])  # NumPy takes a number for a vector here
    check_places(x, work.read(kth) if isinstance(kth, GridView) else kth, axis)
    return row(work, x, axis=axis)


# --------------------------------------------------------------------------- searching
def picked(work: Work, flat: GridView, places: GridView) -> GridView:
    """Elements of a C-contiguous axis, by places that are known to be inside."""
    view = flat.through(lambda a: np.broadcast_to(a[:1].reshape(()), places.shape))
    return gather(work, view, work.cast(places, INT64))


def search(
    work: Work, ordered: GridView, values: GridView, side: str, dtype: DType
) -> GridView:
    """Where values belong in an ordered axis, both compared as ``dtype``."""
    if dtype.kind == "c":
        raise UnsupportedError("searching among complex numbers")
    out = work.new(values.shape, INTP)
    if not values.size:
        return out
    if not ordered.size:
        return work.full(values.size, 0, INTP).through(lambda a: a.reshape(out.shape))
    keys = _keys(work, rows_of(work, work.cast(ordered, dtype), 0))
    flat = work.reshaped(work.cast(values, dtype), (-1,))
    wanted = _keys(work, rows_of(work, flat, 0))
    kernel = search_kernel(keys.dtype, side == "right")
    work.run(kernel, out.size, keys, wanted, out, keys.size, out.size)
    return out


def _searchsorted(
    work: Work, x: Any, v: Any, side: str = "left", sorter: Any = None
) -> GridView:
    """`numpy.searchsorted`."""
    x, v = work.put(x), work.put(v)
    if x.ndim != 1:
        raise ValueError("object too deep for desired array")
    if side not in ("left", "right"):
        raise ValueError(f"search side must be 'left' or 'right' (got {side!r})")
    if sorter is not None:
        order = work.put(sorter)
        if order.dtype.kind not in "iu":
            raise TypeError("sorter must only contain integers")
        if order.ndim != 1:
            raise TypeError("could not parse sorter argument")
        if order.size != x.size:
            raise ValueError("sorter.size must equal a.size")
        x = picked(work, work.dense(x), order)
    return search(work, x, v, side, np.promote_types(x.dtype, v.dtype))


TABLE: dict[str, Callable[..., Any]] = {
    "sort": _sort,
    "argsort": _argsort,
    "partition": partial(_partition, _sort),
    "argpartition": partial(_partition, _argsort),
    "lexsort": _lexsort,
    "searchsorted": _searchsorted,
}
"""Functions by the name of their rows; what is sorted is partitioned."""
