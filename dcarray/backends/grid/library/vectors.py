"""Norms, cross products, powers of matrices, shifted axes."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np

from ....errors import UnsupportedError
from ....ops.elementwise import (
    ABSOLUTE,
    MULTIPLY,
    NOT_EQUAL,
    POWER,
    SQRT,
    SQUARE,
    SUBTRACT,
)
from ....ops.reduction import MAX, MIN, SUM
from ..views import GridView
from .contraction import product
from .picking import take
from .work import Work, normalized_axis

__all__ = ["TABLE"]

FLOAT64 = np.dtype(np.float64)


# ------------------------------------------------------------------------------- norms
def _magnitudes(work: Work, x: Any) -> GridView:
    x = work.put(x)
    if x.dtype.kind not in "fc":
        x = work.cast(x, FLOAT64)
    return work.map(ABSOLUTE, x)


def _normed(work: Work, x: GridView, axes: Sequence[int], order: Any) -> GridView:
    """The norm of vectors that lie along axes, which stay with length 1."""
    size = x.dtype
    if order in (np.inf, -np.inf):
        if not x.size:
            shape = [1 if axis in axes else n for axis, n in enumerate(x.shape)]
            count = math.prod(shape)
            if count and order < 0:
                raise ValueError("zero-size array has no smallest element")
            return work.full(count, 0, size).through(lambda a: a.reshape(shape))
        return work.reduce(MAX if order > 0 else MIN, axes, x)
    if order == 0:
        return work.reduce(SUM, axes, x, 0, before=NOT_EQUAL, dtype=size)
    if order == 1:
        return work.reduce(SUM, axes, x)
    if order == 2:
        found = work.reduce(SUM, axes, x, before=SQUARE)
        return work.map(SQRT, found, out=found)
    if isinstance(order, str):
        raise ValueError(f"Invalid norm order {order!r} for vectors")
    power = size.type(order)
    found = work.reduce(SUM, axes, work.map(POWER, x, power))
    return work.map(POWER, found, size.type(1 / order), dtype=size)


def _without_axes(x: GridView, axes: Sequence[int], keepdims: Any) -> GridView:
    if keepdims:
        return x
    kept = tuple([n for axis, n in enumerate(x.shape) if axis not in axes])
    return x.through(lambda a: a.reshape(kept))


def _vector_norm(
    work: Work, x: Any, *, axis: Any = None, keepdims: Any = False, ord: Any = 2
) -> GridView:
    """`numpy.linalg.vector_norm`."""
    size = _magnitudes(work, x)
    axes = _axes_of(size, axis)
    return _without_axes(_normed(work, size, axes, ord), axes, keepdims)


def _axes_of(x: GridView, axis: Any) -> tuple[int, ...]:
    if axis is None:
        return tuple(range(x.ndim))
    return tuple(np.lib.array_utils.normalize_axis_tuple(axis, x.ndim))


def _matrix_norm(
    work: Work, x: Any, *, keepdims: Any = False, ord: Any = "fro"
) -> GridView:
    """`numpy.linalg.matrix_norm`, without those that take singular values."""
    size = _magnitudes(work, x)
    return _of_matrices(work, size, (size.ndim - 2, size.ndim - 1), keepdims, ord)


def _of_matrices(
    work: Work, x: GridView, axes: Sequence[int], keepdims: Any, order: Any
) -> GridView:
    rows, columns = axes
    if order in ("fro", "f", None):
        found = _normed(work, x, axes, 2)
    elif order in (1, -1, np.inf, -np.inf):
        first, second = (rows, columns) if abs(order) == 1 else (columns, rows)
        sums = work.reduce(SUM, (first,), x)
        found = _normed(work, sums, (second,), np.copysign(np.inf, order))
    else:
        raise UnsupportedError(f"a norm of matrices of order {order!r}")
    return _without_axes(found, axes, keepdims)


def _norm(
    work: Work, x: Any, *, ord: Any = None, axis: Any = None, keepdims: Any = False
) -> GridView:
    """`numpy.linalg.norm`."""
    size = _magnitudes(work, x)
    axes = _axes_of(size, axis)
    if axis is not None and len(axes) > 2:
        raise ValueError("Improper number of dimensions to norm.")
    if (ord is None and axis is None) or len(axes) == 1:
        found = _normed(work, size, axes, 2 if ord is None else ord)
        return _without_axes(found, axes, keepdims)
    if len(axes) != 2:
        raise ValueError("Improper number of dimensions to norm.")
    return _of_matrices(work, size, axes, keepdims, ord)


# ---------------------------------------------------------------------------- products
def _cross(
    work: Work,
    x: Any,
    y: Any,
    *,
    axisa: int = -1,
    axisb: int = -1,
    axisc: int = -1,
    axis: Any = None,
) -> GridView:
    """`numpy.cross` of vectors with three elements."""
    if axis is not None:
        axisa = axisb = axisc = axis
    first = _last(work.put(x), axisa)
    second = _last(work.put(y), axisb)
    if first.shape[-1] != 3 or second.shape[-1] != 3:
        raise UnsupportedError("cross products of vectors without three elements")
    turned, twice = work.put(np.array([1, 2, 0])), work.put(np.array([2, 0, 1]))
    found = work.map(
        SUBTRACT,
        work.map(MULTIPLY, _picked(work, first, turned), _picked(work, second, twice)),
        work.map(MULTIPLY, _picked(work, first, twice), _picked(work, second, turned)),
    )
    target = normalized_axis(axisc, found.ndim)
    return found.through(lambda a: np.moveaxis(a, -1, target))


def _last(x: GridView, axis: int) -> GridView:
    place = normalized_axis(axis, x.ndim)
    return x.through(lambda a: np.moveaxis(a, place, -1))


def _picked(work: Work, x: GridView, places: GridView) -> GridView:
    return take(work, x, places, x.ndim - 1)


def _matrix_power(work: Work, x: Any, n: int) -> GridView:
    """`numpy.linalg.matrix_power` of no negative exponent."""
    x = work.put(x)
    if x.ndim < 2 or x.shape[-1] != x.shape[-2]:
        raise np.linalg.LinAlgError("Last 2 dimensions of the array must be square")
    if n < 0:
        raise UnsupportedError("a negative power of a matrix")
    if n == 0:
        one = work.put(np.eye(x.shape[-1], dtype=x.dtype))
        return work.copy(one.through(lambda a: np.broadcast_to(a, x.shape)))
    found: GridView | None = None
    while n:
        if n & 1:
            found = x if found is None else product(work, found, x)
        n >>= 1
        if n:
            x = product(work, x, x)
    assert found is not None
    return work.copy(found)


# ------------------------------------------------------------------------------ shifts
def _shift(sign: int, work: Work, x: Any, *, axes: Any = None) -> GridView:
    """`numpy.fft.fftshift`, or its inverse for a negative sign."""
    x = work.put(x)
    found = work.copy(x)
    for axis in _axes_of(x, axes):
        length = x.shape[axis]
        order = np.roll(np.arange(length), sign * (length // 2))
        found = take(work, found, work.put(order), axis)
    return found


TABLE: dict[str, Callable[..., Any]] = {
    "linalg.vector_norm": _vector_norm,
    "linalg.matrix_norm": _matrix_norm,
    "linalg.norm": _norm,
    "cross": _cross,
    "linalg.cross": _cross,
    "linalg.matrix_power": _matrix_power,
    "fft.fftshift": partial(_shift, 1),
    "fft.ifftshift": partial(_shift, -1),
}
"""Functions by the name of their rows."""
