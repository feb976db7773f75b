"""Elements picked and placed by indices and masks."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ..array import DeviceArray, calls, whole
from ..array.fallback import on_host
from ..backends.registry import AUTO
from ..config import current
from ..ops import indexing as picks
from ..ops.elementwise import WHERE
from .calling import call_row, named_device
from .conversion import as_array, hosts_of, placed, unwrapped
from .coverage import fallback, native
from .hosted import hosted, minding_subclasses
from .repetition import resize

__all__ = [
    "choose",
    "compress",
    "diag_indices",
    "diag_indices_from",
    "extract",
    "fill_diagonal",
    "ix_",
    "place",
    "put",
    "put_along_axis",
    "putmask",
    "ravel_multi_index",
    "select",
    "take",
    "take_along_axis",
    "tril_indices",
    "tril_indices_from",
    "triu_indices",
    "triu_indices_from",
    "unravel_index",
    "where",
]

_missing: Any = np._NoValue


# ---------------------------------------------------------------------------- picking
@whole.function(np.take)
@minding_subclasses(np.take)
@native
def take(
    a: Any, indices: Any, axis: Any = None, out: Any = None, mode: Any = "raise"
) -> Any:
    """The elements at some places along an axis.

    Parameters
    ----------
    a : array_like
    indices : array_like of int
    axis : int, optional
        None picks from the flattened array.
    out : array, optional
        Where the result goes.
    mode : {"raise", "wrap", "clip"}
        What to do with an index that is out of bounds.
    """
    return as_array(a).take(indices, axis, out, mode)


@whole.function(np.take_along_axis)
@native
def take_along_axis(arr: Any, indices: Any, axis: Any = -1) -> Any:
    """For each place along the other axes, elements by indices of its own.

    Parameters
    ----------
    arr : array_like
    indices : array_like of int
        Broadcasts against ``arr`` along the other axes.
    axis : int or None
        None picks from the flattened array.
    """
    x, places = as_array(arr), as_array(indices)
    if axis is None:
        x, axis = x.ravel(), 0
    return calls.library(
        DeviceArray, picks.TAKE_ALONG_AXIS, (x, places), axis=unwrapped(axis)
    )


@hosted(np.choose)
def choose(a: Any, choices: Any, out: Any = None, mode: Any = "raise") -> Any:
    """Elements of the array that an index array names at each place.

    Parameters
    ----------
    a : array_like of int
    choices : sequence of array_like
    out : array, optional
        Where the result goes.
    mode : {"raise", "wrap", "clip"}
        What to do with an index that is out of bounds.
    """
    return call_row(picks.CHOOSE, (as_array(a), *choices), out, "unsafe", mode=mode)


@hosted(np.compress)
def compress(condition: Any, a: Any, axis: Any = None, out: Any = None) -> Any:
    """The elements along an axis where a condition is true."""
    mask, x, axis = as_array(condition), as_array(a), unwrapped(axis)
    if out is not None:  # NumPy says whether it takes such numbers
        np.compress([], np.empty(0, x.dtype), 0, np.empty(0, out.dtype))
    return call_row(picks.COMPRESS, (mask, x), out, "unsafe", axis=axis)


@hosted(np.extract)
def extract(condition: Any, arr: Any) -> Any:
    """The elements where a condition is true, in one axis."""
    return call_row(picks.EXTRACT, (as_array(condition), as_array(arr)))


@native
def select(condlist: Any, choicelist: Any, default: Any = 0) -> Any:
    """At each place, the choice of the first condition that is true.

    Parameters
    ----------
    condlist : sequence of array of bool
    choicelist : sequence of array_like
        As many.
    default : array_like
        Where no condition is true.
    """
    if named_device((condlist, choicelist, default), {}) is AUTO:
        return on_host(DeviceArray, np.select, condlist, choicelist, default)
    if len(condlist) != len(choicelist):
        raise ValueError("list of cases must be same length as list of conditions")
    if not condlist:
        raise ValueError("select with an empty condition list is not possible")
    found = [calls.as_operand(x) for x in (*choicelist, default)]
    dtype = np.result_type(*[_example(x) for x in found])
    result: Any = found[-1]
    pairs = zip(condlist, found[:-1], strict=True)
    for condition, choice in reversed(list(pairs)):
        result = calls.elementwise(
            DeviceArray, WHERE, (as_array(condition), choice, result)
        )
    return result if result.dtype == dtype else result.astype(dtype)


def _example(x: Any) -> Any:
    return x.dtype if hasattr(x, "dtype") else x


# ---------------------------------------------------------------------------- placing
@native
def put_along_axis(arr: Any, indices: Any, values: Any, axis: Any) -> None:
    """Store values at the places that `take_along_axis` would pick."""
    if named_device((arr, indices, values), {}) is AUTO:
        on_host(DeviceArray, np.put_along_axis, arr, indices, values, axis)
        return
    x, places, given = as_array(arr), as_array(indices), as_array(values)
    if axis is None and places.ndim != 1:
        raise ValueError("when axis=None, `indices` must have a single dimension.")
    arr[...] = calls.library(
        DeviceArray,
        picks.PUT_ALONG_AXIS,
        (x, places, given.astype(x.dtype)),
        axis=axis,
    )


@native
def put(a: Any, ind: Any, v: Any, mode: Any = "raise") -> None:
    """Store values at places of the flattened array; they repeat if there are fewer.

    Parameters
    ----------
    a : array
    ind : array_like of int
    v : array_like
    mode : {"raise", "wrap", "clip"}
        What to do with an index that is out of bounds.
    """
    if named_device((a, ind, v), {}) is AUTO:
        on_host(DeviceArray, np.put, a, ind, v, mode)
        return
    a.put(as_array(ind), as_array(v), mode)


def _must_fit(function: Any, a: Any, values: Any) -> None:
    """Let NumPy say, on arrays without elements, whether it stores such values."""
    if isinstance(values, DeviceArray):
        values = np.empty(0, values.dtype)
    function(np.empty(0, a.dtype), np.empty(0, bool), values)


@native
def putmask(a: Any, mask: Any, values: Any) -> None:
    """Store values where a mask is true; short ``values`` repeat over all places."""
    if named_device((a, mask, values), {}) is AUTO:
        on_host(DeviceArray, np.putmask, a, mask, values)
        return
    _must_fit(np.putmask, a, values)
    given, where = as_array(values).ravel(), as_array(mask).astype(bool)
    if where.size != a.size:
        raise ValueError("putmask: mask and data must be the same size")
    if not given.size:
        return
    spread = given.reshape(()) if given.size == 1 else resize(given, a.shape)
    operands = (where.reshape(a.shape), spread.astype(a.dtype), a)
    a[...] = calls.elementwise(DeviceArray, WHERE, operands)


@native
def place(arr: Any, mask: Any, vals: Any) -> None:
    """Store the next value wherever a mask is true; they repeat if there are fewer."""
    if named_device((arr, mask, vals), {}) is AUTO:
        on_host(DeviceArray, np.place, arr, mask, vals)
        return
    mask, given = as_array(mask), as_array(vals)
    if mask.size != arr.size:
        raise ValueError("place: mask and data must be the same size")
    _must_fit(np.place, arr, vals)
    places = calls.library(DeviceArray, picks.FLATNONZERO, (mask,))
    if places.size and not given.size:
        raise ValueError("Cannot insert from an empty array!")
    arr.put(places, given)


@native
def fill_diagonal(a: Any, val: Any, wrap: bool = False) -> None:
    """Store values on the main diagonal; parameters as in `numpy.fill_diagonal`."""
    if named_device((a, val), {}) is AUTO:
        on_host(DeviceArray, np.fill_diagonal, a, val, wrap)
        return
    probe = np.zeros(a.shape, bool)
    np.fill_diagonal(probe, True, wrap)
    put(a, np.flatnonzero(probe), val)


# ---------------------------------------------------------------------------- indices
def _grids(found: Any) -> tuple[Any, ...]:
    return tuple([placed(np.array(item)) for item in found])


@native
def diag_indices(n: Any, ndim: Any = 2) -> tuple[Any, ...]:
    """Indices of the main diagonal of an array with ``ndim`` axes of length ``n``."""
    return _grids(np.diag_indices(unwrapped(n), unwrapped(ndim)))


@native
def diag_indices_from(arr: Any) -> tuple[Any, ...]:
    """Indices of the main diagonal of an array."""
    return _grids(np.diag_indices_from(np.broadcast_to(False, as_array(arr).shape)))


@native
def tril_indices(n: Any, k: Any = 0, m: Any = None) -> tuple[Any, ...]:
    """Indices of the lower triangle of an ``(n, m)`` matrix."""
    return _grids(np.tril_indices(unwrapped(n), unwrapped(k), unwrapped(m)))


@native
def triu_indices(n: Any, k: Any = 0, m: Any = None) -> tuple[Any, ...]:
    """Indices of the upper triangle of an ``(n, m)`` matrix."""
    return _grids(np.triu_indices(unwrapped(n), unwrapped(k), unwrapped(m)))


def _matrix_shape(arr: Any) -> tuple[int, ...]:
    shape = as_array(arr).shape
    if len(shape) != 2:
        raise ValueError("input array must be 2-d")
    return shape


@native
def tril_indices_from(arr: Any, k: Any = 0) -> tuple[Any, ...]:
    """Indices of the lower triangle of a matrix."""
    rows, columns = _matrix_shape(arr)
    return tril_indices(rows, k, columns)


@native
def triu_indices_from(arr: Any, k: Any = 0) -> tuple[Any, ...]:
    """Indices of the upper triangle of a matrix."""
    rows, columns = _matrix_shape(arr)
    return triu_indices(rows, k, columns)


ix_ = fallback(np.ix_)


@hosted(np.unravel_index)
def unravel_index(indices: Any, shape: Any, order: Any = "C") -> Any:
    """The indices along each axis of flat ones, as `numpy.unravel_index`.

    Parameters
    ----------
    indices : array_like of int
    shape : tuple of int
    order : {"C", "F"}
        Which axis is the fastest: the last or the first one.
    """
    rest = _checked_indices(indices)
    np.unravel_index(np.empty(0, np.intp), shape, order)  # says what is wrong
    lengths = (shape,) if np.ndim(shape) == 0 else tuple(shape)
    count = math.prod(lengths)
    if rest.size and not bool(((rest >= 0) & (rest < count)).all()):
        raise ValueError(f"index is out of bounds for array with size {count}")
    found = []
    reverse = order in ("F", "f")
    for length in lengths if reverse else lengths[::-1]:
        found.append(rest % length)
        rest = rest // length
    return tuple(found if reverse else found[::-1])


@hosted(np.ravel_multi_index)
def ravel_multi_index(
    multi_index: Any, dims: Any, mode: Any = "raise", order: Any = "C"
) -> Any:
    """The flat indices of those along each axis, as `numpy.ravel_multi_index`.

    Parameters
    ----------
    multi_index : sequence of array_like of int
        One for each axis.
    dims : tuple of int
        Lengths of the axes.
    mode : str or tuple of str
        What is done with indices that are out of bounds: "raise", "wrap" or "clip".
    order : {"C", "F"}
        Which axis is the fastest: the last or the first one.
    """
    lengths = (dims,) if np.ndim(dims) == 0 else tuple(dims)
    modes = (mode,) * len(lengths) if isinstance(mode, str) else tuple(mode)
    parts = [_checked_indices(x) for x in multi_index]
    if len(parts) != len(lengths):
        raise ValueError(
            f"parameter multi_index must be a sequence of length {len(lengths)}"
        )
    empty = (np.empty(0, np.intp),) * len(parts)
    np.ravel_multi_index(empty, dims, mode, order)  # says what is wrong
    found: Any = 0
    triples = list(zip(parts, lengths, modes, strict=True))
    for index, length, how in triples[::-1] if order in ("F", "f") else triples:
        if index.size and not length:
            raise ValueError("cannot unravel if shape has zero entries (is empty).")
        if how == "wrap":
            index = index % length
        elif how == "clip":
            index = index.clip(0, length - 1)
        elif index.size and not bool(((index >= 0) & (index < length)).all()):
            raise ValueError("invalid entry in coordinates array")
        found = found * length + index
    return found


def _checked_indices(x: Any) -> Any:
    """Integers, as indices are."""
    found = as_array(x)
    if found.dtype.kind not in "biu":
        raise TypeError("only int indices permitted")
    return found.astype(np.intp)


@whole.function(np.where)
@native
def where(condition: Any, x: Any = _missing, y: Any = _missing, /) -> Any:
    """Elements of ``x`` where a condition is true, of ``y`` elsewhere.

    Parameters
    ----------
    condition : array_like of bool
    x, y : array_like
        Without them, the indices of true elements are returned, as by `nonzero`.

    Returns
    -------
    DeviceArray, or tuple of DeviceArray
    """
    if x is _missing and y is _missing:
        return as_array(condition).nonzero()
    if x is _missing or y is _missing:
        raise ValueError("either both or neither of x and y should be given")
    hosts = hosts_of((condition, x, y))
    if hosts is not None and max(map(np.size, hosts)) < current().eager_below:
        return calls.wrap(DeviceArray, np.where(*hosts))
    return calls.elementwise(DeviceArray, WHERE, (condition, x, y))
