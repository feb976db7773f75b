"""Unique elements and membership."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from ....errors import UnsupportedError
from ....ops.elementwise import CAST, EQUAL, LOGICAL_NOT, MINIMUM, NOT_EQUAL, SUBTRACT
from ....ops.kernels.sorting import edges_kernel, member_kernel
from ....ops.reduction import ANY, CUMULATIVE_SUM, MAX, MIN
from ..views import GridView
from .joining import joined
from .ordering import order_of, picked, search
from .picking import take
from .places import positions, scatter, turns
from .scans import scan
from .work import BOOL, INT32, INT64, INTP, Work, normalized_axis, rows_of

__all__ = ["TABLE"]


class _Ordered:
    """The elements of an array in their order, and where new ones begin."""

    def __init__(self, work: Work, x: GridView, equal_nan: bool) -> None:
        self.work = work
        self.shape = x.shape
        flat = work.reshaped(x, (-1,))
        order = order_of(work, rows_of(work, flat, 0))
        self.order = order.through(lambda a: a.reshape(-1))
        self.elements = picked(work, flat, self.order) if x.size else flat
        self.mask = work.new(flat.shape, BOOL)
        if x.size:
            kernel = edges_kernel(x.dtype, equal_nan)
            work.run(kernel, x.size, self.elements, self.mask, x.size)
        self.firsts = positions(work, self.mask)

    def values(self) -> GridView:
        return self._picked(self.elements)

    def indices(self) -> GridView:
        """Where each value is first."""
        return self.work.cast(self._picked(self.order), INTP)

    def _picked(self, x: GridView) -> GridView:
        return picked(self.work, x, self.firsts) if x.size else x

    def inverse(self) -> GridView:
        """Which value each element of the array has."""
        work = self.work
        out = work.new(self.mask.shape, INTP)
        if out.size:
            sums = scan(work, CUMULATIVE_SUM, self.mask, 0, INT32)
            numbers = work.map(SUBTRACT, sums, 1, dtype=INTP)
            places = work.cast(self.order, INT64)
            first = out.through(lambda a: np.broadcast_to(a[:1], a.shape))
            scatter(work, numbers, places, first, out.size, distinct=True)
        return out.through(lambda a: a.reshape(self.shape))

    def counts(self) -> GridView:
        """How many elements have each value."""
        work, firsts = self.work, self.firsts
        out = work.new(firsts.shape, INTP)
        if out.size:
            ahead, behind = (
                firsts.through(lambda a: a[1:]),
                firsts.through(lambda a: a[:-1]),
            )
            if ahead.size:
                work.map(SUBTRACT, ahead, behind, out=out.through(lambda a: a[:-1]))
            last = firsts.through(lambda a: a[-1:])
            end = out.through(lambda a: a[-1:])
            work.map(SUBTRACT, self.mask.size, last, out=end)
        return out


class _Slices(_Ordered):
    """The slices along an axis in their order, and where new ones begin."""

    def __init__(self, work: Work, x: GridView, axis: int) -> None:
        self.work = work
        self.axis = axis
        rows = x.through(lambda a: np.moveaxis(a, axis, 0))
        count, *self.rest = rows.shape
        self.shape = (count,)
        width = math.prod(self.rest)
        table = work.reshaped(rows, (count, width))
        order = turns(work, (1, count), max(1, count), INT32)
        if count:
            for column in reversed(range(width)):
                key = table.through(lambda a: a[:, column])  # noqa: B023
                order = order_of(work, rows_of(work, key, 0), before=order)
        self.order = order.through(lambda a: a.reshape(-1))
        self.elements = take(work, table, work.cast(self.order, INT64), 0)
        self.mask = work.full(count, 0, BOOL) if count else work.new((0,), BOOL)
        if count:
            one = work.full(1, 1, BOOL)
            work.map(CAST, one, dtype=BOOL, out=self.mask.through(lambda a: a[:1]))
        if count > 1 and width:
            ahead, behind = (
                self.elements.through(lambda a: a[1:]),
                self.elements.through(lambda a: a[:-1]),
            )
            differ = work.reduce(ANY, (1,), ahead, behind, before=NOT_EQUAL)
            differ = differ.through(lambda a: a[:, 0])
            work.map(CAST, differ, dtype=BOOL, out=self.mask.through(lambda a: a[1:]))
        self.firsts = positions(work, self.mask)

    def values(self) -> GridView:
        found = take(self.work, self.elements, self.firsts, 0)
        shape = (found.shape[0], *self.rest)
        return found.through(lambda a: np.moveaxis(a.reshape(shape), 0, self.axis))


def _unique(
    work: Work,
    x: Any,
    *,
    return_index: bool = False,
    return_inverse: bool = False,
    return_counts: bool = False,
    axis: Any = None,
    equal_nan: bool = True,
    **_: Any,
) -> Any:
    """`numpy.unique`."""
    x = work.put(x)
    found: _Ordered
    if axis is None:
        found = _Ordered(work, x, equal_nan)
    else:
        axis = normalized_axis(axis, x.ndim)
        if x.ndim > 1:
            found = _Slices(work, x, axis)
        else:
            found = _Ordered(work, x, equal_nan)
    if not return_index and not return_inverse and not return_counts:
        return found.values()
    results = [found.values()]
    if return_index:
        results.append(found.indices())
    if return_inverse:
        results.append(found.inverse())
    if return_counts:
        results.append(found.counts())
    return tuple(results)


def _unique_all(work: Work, x: Any) -> Any:
    """`numpy.unique_all`."""
    return _unique(
        work,
        x,
        return_index=True,
        return_inverse=True,
        return_counts=True,
        equal_nan=False,
    )


def _unique_counts(work: Work, x: Any) -> Any:
    """`numpy.unique_counts`."""
    return _unique(work, x, return_counts=True, equal_nan=False)


def _unique_inverse(work: Work, x: Any) -> Any:
    """`numpy.unique_inverse`."""
    return _unique(work, x, return_inverse=True, equal_nan=False)


def _unique_values(work: Work, x: Any) -> Any:
    """`numpy.unique_values`."""
    return _unique(work, x, equal_nan=False)


# -------------------------------------------------------------------------- membership
def _isin(
    work: Work,
    x: Any,
    among: Any,
    *,
    assume_unique: bool = False,
    invert: bool = False,
    kind: Any = None,
) -> GridView:
    """`numpy.isin`."""
    if kind not in (None, "sort", "table"):
        raise ValueError(f"Invalid kind: {kind!r}. Please use None, 'sort' or 'table'.")
    x, among = work.put(x), work.put(among)
    if kind == "table":
        _check_table(work, x, among)
    found = _member(work, x, among)
    if invert:
        work.map(LOGICAL_NOT, found, out=found)
    return found


def _check_table(work: Work, x: GridView, among: GridView) -> None:
    """What NumPy's table cannot hold; a device has none, and the same limits."""
    if x.dtype.kind not in "biu" or among.dtype.kind not in "biu":
        raise ValueError(
            "The 'table' method is only supported for boolean or integer arrays. "
            "Please select 'sort' or None for kind."
        )
    if among.dtype == BOOL or not among.size:
        return
    flat = work.reshaped(among, (-1,))
    low, high = (int(work.read(work.reduce(op, (0,), flat))[0]) for op in (MIN, MAX))
    if high - low > np.iinfo(among.dtype).max:
        raise RuntimeError(
            "You have specified kind='table', but the range of values in `ar2` or "
            "`ar1` exceed the maximum integer of the datatype. Please set `kind` to "
            "None or 'sort'."
        )


def _member(work: Work, x: GridView, among: GridView) -> GridView:
    out = work.new(x.shape, BOOL)
    if not x.size:
        return out
    if not among.size:
        return work.full(x.size, 0, BOOL).through(lambda a: a.reshape(x.shape))
    dtype = np.promote_types(x.dtype, among.dtype)
    x = work.dense(work.cast(x, dtype))
    among = work.reshaped(work.cast(among, dtype), (-1,))
    if dtype.kind == "c":
        x, among = _aligned(work, x), _aligned(work, among)
        sizes = (x.size, among.size)
        work.run(member_kernel(dtype), x.size, x, among, out, *sizes)
        return out
    order = order_of(work, rows_of(work, among, 0)).through(lambda a: a.reshape(-1))
    ordered = picked(work, among, order)
    places = search(work, ordered, x, "left", dtype)
    inside = work.map(MINIMUM, places, among.size - 1)
    return work.map(EQUAL, picked(work, ordered, inside), x, out=out)


def _aligned(work: Work, x: GridView) -> GridView:
    """At the start of its memory."""
    return work.copy(x) if x.layout.offset else x


def _without(work: Work, x: GridView, other: GridView, keep: bool) -> GridView:
    """The elements of an axis that are, or are not, among others."""
    mask = _isin(work, x, other, invert=not keep)
    chosen = positions(work, mask)
    return picked(work, x, chosen) if chosen.size else work.new((0,), x.dtype)


def _union1d(work: Work, x: Any, y: Any) -> GridView:
    """`numpy.union1d`."""
    parts = [work.reshaped(work.put(item), (-1,)) for item in (x, y)]
    found: GridView = _unique(work, joined(work, parts, 0))
    return found


def _setdiff1d(work: Work, x: Any, y: Any, assume_unique: Any = False) -> GridView:
    """`numpy.setdiff1d`."""
    x = work.put(x)
    x = work.reshaped(x, (-1,)) if assume_unique else _unique(work, x)
    return _without(work, work.dense(x), work.put(y), keep=False)


def _intersect1d(
    work: Work, x: Any, y: Any, *, assume_unique: Any = False, return_indices: Any = ()
) -> GridView:
    """`numpy.intersect1d`."""
    if return_indices:
        raise UnsupportedError("intersect1d with indices")
    x, y = work.put(x), work.put(y)
    dtype = np.promote_types(x.dtype, y.dtype)
    both = _unique(work, work.cast(x, dtype))
    return _without(work, both, y, keep=True)


def _setxor1d(work: Work, x: Any, y: Any, assume_unique: Any = False) -> GridView:
    """`numpy.setxor1d`."""
    parts = [work.reshaped(work.put(item), (-1,)) for item in (x, y)]
    if not assume_unique:
        parts = [_unique(work, part) for part in parts]
    both = joined(work, parts, 0)
    if not both.size:
        return both
    found = _Ordered(work, both, False)
    alone = positions(work, work.map(EQUAL, found.counts(), 1))
    return (
        picked(work, found.values(), alone)
        if alone.size
        else work.new((0,), both.dtype)
    )


TABLE: dict[str, Callable[..., Any]] = {
    "unique": _unique,
    "unique_all": _unique_all,
    "unique_counts": _unique_counts,
    "unique_inverse": _unique_inverse,
    "unique_values": _unique_values,
    "isin": _isin,
    "union1d": _union1d,
    "intersect1d": _intersect1d,
    "setdiff1d": _setdiff1d,
    "setxor1d": _setxor1d,
}
"""Functions by the name of their rows."""
