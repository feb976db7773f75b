"""Arrays put together and taken apart."""

from __future__ import annotations

import itertools
import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np

from ..array import DeviceArray, whole
from ..array.fallback import on_host
from ..array.movement import empty_along
from ..backends.registry import AUTO, Device
from .calling import named_device
from .conversion import as_array, hosts_of, unwrapped
from .coverage import native
from .hosted import hosted, minding_subclasses
from .manipulation import (
    atleast_1d,
    atleast_2d,
    atleast_3d,
    broadcast_to,
    expand_dims,
    moveaxis,
)
from .placing import on_device

__all__ = [
    "append",
    "array_split",
    "block",
    "column_stack",
    "concat",
    "concatenate",
    "delete",
    "dsplit",
    "dstack",
    "hsplit",
    "hstack",
    "insert",
    "row_stack",
    "split",
    "stack",
    "unstack",
    "vsplit",
    "vstack",
]

MOST = int(np.iinfo(np.intc).max)
"""Arrays that NumPy joins."""


def _items(arrays: Any) -> list[Any]:
    if isinstance(arrays, DeviceArray):
        return [arrays[index] for index in range(arrays.shape[0])]
    return list(arrays)


# ---------------------------------------------------------------------------- joining
@whole.function(np.concatenate)
@native
def concatenate(
    arrays: Any,
    /,
    axis: Any = 0,
    out: Any = None,
    *,
    dtype: Any = None,
    casting: Any = "same_kind",
) -> Any:
    """Arrays one after the other along an axis that they have.

    Parameters
    ----------
    arrays : sequence of array_like
        Their shapes differ along ``axis`` at most.
    axis : int or None
        None flattens the arrays first.
    out : array, optional
        Where the result goes.
    dtype : dtype, optional
        The default is the common dtype.
    casting : str
        Which conversions are allowed.

    Returns
    -------
    DeviceArray
    """
    if type(arrays) in (list, tuple) and len(arrays) > MOST:
        raise ValueError(
            f"concatenate() only supports up to {MOST} arrays but got {len(arrays)}."
        )
    if out is None and type(arrays) in (list, tuple):
        # The short way, for arrays of the host.
        hosts = hosts_of(arrays)
        if hosts is not None:
            result = np.concatenate(hosts, axis, dtype=dtype, casting=casting)
            return DeviceArray._of_host(result)
    device = named_device((arrays,), {"out": out})
    if device is AUTO:
        return on_host(
            DeviceArray,
            np.concatenate,
            arrays,
            axis,
            out=out,
            dtype=dtype,
            casting=casting,
        )
    return _concatenated(_items(arrays), axis, out, dtype, casting, device)


def _concatenated(
    arrays: Sequence[Any],
    axis: Any,
    out: Any,
    dtype: Any,
    casting: Any,
    device: Device,
) -> Any:
    pieces = [as_array(x) for x in arrays]
    if axis is None:
        pieces, axis = [x.ravel() for x in pieces], 0
    # NumPy checks the axis, the numbers of axes and the dtypes, on arrays without
    # elements.
    probes = [np.empty((0,) * x.ndim, x.dtype) for x in pieces]
    if out is not None and dtype is not None:
        np.concatenate(probes, axis, out=probes[0], dtype=dtype)  # says what is wrong
    found = np.concatenate(probes, axis, dtype=dtype, casting=casting).dtype
    for x in pieces:
        if out is not None and not np.can_cast(x.dtype, out.dtype, casting):
            raise TypeError(
                f"Cannot cast array data from {x.dtype!r} to {out.dtype!r} according "
                f"to the rule '{casting}'"
            )
    axis = np.lib.array_utils.normalize_axis_index(axis, pieces[0].ndim)
    first = pieces[0].shape
    for index, x in enumerate(pieces):
        for place, (wanted, length) in enumerate(zip(first, x.shape, strict=True)):
            if wanted != length and place != axis:
                raise ValueError(
                    "all the input array dimensions except for the concatenation axis "
                    f"must match exactly, but along dimension {place}, the array at "
                    f"index 0 has size {wanted} and the array at index {index} has "
                    f"size {length}"
                )
    lengths = [x.shape[axis] for x in pieces]
    shape = (*first[:axis], sum(lengths), *first[axis + 1 :])
    if out is None:
        axes = _slowest_first(pieces)
        result = empty_along(DeviceArray, shape, axes, found, device)
    elif out.shape == shape:
        result = out
    else:
        raise ValueError("Output array is the wrong shape")
    start = 0
    for x, length in zip(pieces, lengths, strict=True):
        if x.size:
            place = (slice(None),) * axis + (slice(start, start + length),)
            result[place] = x
        start += length
    return result


def _slowest_first(pieces: Sequence[Any]) -> list[int]:
    """Axes in the order in which they lie in memory when NumPy joins arrays.

    This is NumPy's rule for new arrays (``PyArray_CreateMultiSortedStridePerm``): it
    sorts as `layout.iteration_order` does, but from the slowest axis on.
    """
    parts = [(x.shape, x.strides) for x in pieces]
    axes: list[int] = []
    for axis in range(pieces[0].ndim):
        target = len(axes)
        for position in range(target - 1, -1, -1):
            other = axes[position]
            slower = [
                abs(strides[axis]) > abs(strides[other])
                for shape, strides in parts
                if shape[axis] != 1 and shape[other] != 1
            ]
            if slower and not all(slower):
                break
            if slower:
                target = position
        axes.insert(target, axis)
    return axes


concat = concatenate


@hosted(np.stack)
def stack(
    arrays: Any,
    axis: Any = 0,
    out: Any = None,
    *,
    dtype: Any = None,
    casting: Any = "same_kind",
) -> Any:
    """Arrays of one shape along a new axis; parameters as for `concatenate`."""
    given = [as_array(x) for x in _items(arrays)]
    if len({x.shape for x in given}) > 1:
        raise ValueError("all input arrays must have the same shape")
    grown = [expand_dims(x, axis) for x in given]
    place = np.lib.array_utils.normalize_axis_index(axis, grown[0].ndim)
    return concatenate(grown, place, out, dtype=dtype, casting=casting)


@hosted(np.vstack)
def vstack(tup: Any, *, dtype: Any = None, casting: Any = "same_kind") -> Any:
    """Arrays below each other: along the first axis, vectors as rows."""
    rows = [atleast_2d(x) for x in _items(tup)]
    return concatenate(rows, 0, dtype=dtype, casting=casting)


@hosted(getattr(np, "row_stack", np.vstack))
def row_stack(tup: Any, *, dtype: Any = None, casting: Any = "same_kind") -> Any:
    """`vstack`, by a name that NumPy will drop."""
    warnings.warn(
        "`row_stack` alias is deprecated. Use `np.vstack` directly.",
        DeprecationWarning,
        stacklevel=3,
    )
    return vstack(tup, dtype=dtype, casting=casting)


@hosted(np.hstack)
def hstack(tup: Any, *, dtype: Any = None, casting: Any = "same_kind") -> Any:
    """Arrays side by side: along the second axis, or the first of vectors."""
    given = [atleast_1d(x) for x in _items(tup)]
    axis = 0 if given and given[0].ndim == 1 else 1
    return concatenate(given, axis, dtype=dtype, casting=casting)


@hosted(np.dstack)
def dstack(tup: Any) -> Any:
    """Arrays behind each other: along the third axis."""
    return concatenate([atleast_3d(x) for x in _items(tup)], 2)


@hosted(np.column_stack)
def column_stack(tup: Any) -> Any:
    """Vectors as the columns of a matrix."""
    columns = [as_array(x) for x in _items(tup)]
    return concatenate([x[:, None] if x.ndim == 1 else x for x in columns], 1)


@native
def block(arrays: Any) -> Any:
    """An array of nested lists of blocks.

    Parameters
    ----------
    arrays : nested list of array_like
        The innermost lists are joined along the last axis, the next along the one
        before it, and so on.
    """
    depth, device = _depth(arrays)
    if device is AUTO:
        return on_host(DeviceArray, np.block, arrays)
    joined = _block(arrays, depth, max(depth, _most_axes(arrays)))
    return joined if depth else joined.copy()


def _depth(arrays: Any) -> tuple[int, Device]:
    if not isinstance(arrays, list):
        return 0, named_device((arrays,), {})
    found = [_depth(item) for item in arrays]
    named = [device for _, device in found if device is not AUTO]
    return 1 + max([n for n, _ in found], default=0), named[0] if named else AUTO


def _most_axes(arrays: Any) -> int:
    if isinstance(arrays, list):
        return max(map(_most_axes, arrays))
    return as_array(arrays).ndim


def _block(arrays: Any, depth: int, ndim: int) -> Any:
    if depth == 0:
        x = as_array(arrays)
        return x[(None,) * (ndim - x.ndim)] if x.ndim < ndim else x
    parts = [_block(item, depth - 1, ndim) for item in arrays]
    return concatenate(parts, ndim - depth)


@hosted(np.append)
def append(arr: Any, values: Any, axis: Any = None) -> Any:
    """A copy with ``values`` at the end; flattened if ``axis`` is None."""
    x, more = as_array(arr), as_array(values)
    if axis is None:
        return concatenate((x.ravel(), more.ravel()))
    return concatenate((x, more), axis)


@hosted(np.delete)
def delete(arr: Any, obj: Any, axis: Any = None) -> Any:
    """A copy without the elements that an index picks along an axis."""
    x = as_array(arr)
    if axis is None:
        x, axis = x.ravel(), 0
    axis = np.lib.array_utils.normalize_axis_index(axis, x.ndim)
    if x.flags.fnc and isinstance(obj, (int, slice)):
        return delete(x.T, obj, x.ndim - 1 - axis).T
    kept = np.delete(np.arange(x.shape[axis]), unwrapped(obj))
    return x[(slice(None),) * axis + (kept,)]


@hosted(np.insert)
def insert(arr: Any, obj: Any, values: Any, axis: Any = None) -> Any:
    """A copy with values before the elements that an index picks along an axis.

    Parameters
    ----------
    arr : array_like
    obj : int, slice or sequence of int or bool
        Before what.
    values : array_like
        What; it broadcasts, and gets the dtype of ``arr``.
    axis : int, optional
        The flattened array, if it is None.
    """
    device = named_device((arr, obj, values), {})
    x, more = on_device(arr, device), on_device(values, device)
    if axis is None:
        x, axis = x.ravel(), 0
    axis = np.lib.array_utils.normalize_axis_index(axis, x.ndim)
    places = unwrapped(obj)
    length = x.shape[axis]
    shape = list(x.shape)
    shape[axis] = np.insert(np.zeros(length), places, 0).size - length
    if shape[axis] == 1:
        more = more[(None,) * max(x.ndim - more.ndim, 0)]
        if not isinstance(places, slice) and not np.ndim(places):
            more = more.transpose((*range(1, axis + 1), 0, *range(axis + 1, more.ndim)))
        shape[axis] = more.shape[axis]
    more = broadcast_to(more, tuple(shape)).astype(x.dtype)
    behind = np.arange(length, length + shape[axis])
    order = np.insert(np.arange(length), places, behind)
    return concatenate((x, more), axis)[(slice(None),) * axis + (order,)]


# --------------------------------------------------------------------------- splitting
def _pieces(x: Any, sections: Any, axis: int, equal: bool) -> list[Any]:
    array = as_array(x)
    # NumPy cuts a stand-in of that length: the views are cut at the same places.
    cut: Any = np.split if equal else np.array_split
    stand_in = np.broadcast_to(np.False_, array.shape[axis])
    parts = cut(stand_in, unwrapped(sections))
    ends = itertools.accumulate([part.size for part in parts])
    before = (slice(None),) * (axis % array.ndim)
    if not np.iterable(unwrapped(sections)):
        return [
            array[(*before, slice(end - part.size, end))]
            for part, end in zip(parts, ends, strict=True)
        ]
    bounds = [0, *unwrapped(sections), array.shape[axis]]
    return [array[(*before, slice(a, b))] for a, b in itertools.pairwise(bounds)]


@whole.function(np.split)
@minding_subclasses(np.split)
@native
def split(ary: Any, indices_or_sections: Any, axis: Any = 0) -> Any:
    """Views of equal parts, or of the parts between indices.

    Raises
    ------
    ValueError
        The axis has no such number of equal parts.
    """
    return _pieces(ary, indices_or_sections, axis, equal=True)


@whole.function(np.array_split)
@minding_subclasses(np.array_split)
@native
def array_split(ary: Any, indices_or_sections: Any, axis: Any = 0) -> Any:
    """Views of parts, the first ones longer by one where they cannot be equal."""
    return _pieces(ary, indices_or_sections, axis, equal=False)


@minding_subclasses(np.hsplit)
@native
def hsplit(ary: Any, indices_or_sections: Any) -> Any:
    """`split` along the second axis, or the first of vectors."""
    ndim = as_array(ary).ndim
    if ndim == 0:
        raise ValueError("hsplit only works on arrays of 1 or more dimensions")
    return split(ary, indices_or_sections, 1 if ndim > 1 else 0)


@minding_subclasses(np.vsplit)
@native
def vsplit(ary: Any, indices_or_sections: Any) -> Any:
    """`split` along the first axis."""
    if as_array(ary).ndim < 2:
        raise ValueError("vsplit only works on arrays of 2 or more dimensions")
    return split(ary, indices_or_sections, 0)


@minding_subclasses(np.dsplit)
@native
def dsplit(ary: Any, indices_or_sections: Any) -> Any:
    """`split` along the third axis."""
    if as_array(ary).ndim < 3:
        raise ValueError("dsplit only works on arrays of 3 or more dimensions")
    return split(ary, indices_or_sections, 2)


@native
def unstack(x: Any, /, *, axis: Any = 0) -> tuple[Any, ...]:
    """Views of the parts along an axis, without that axis."""
    array = as_array(x)
    if not array.ndim:
        raise ValueError("Input array must be at least 1-d.")
    first = moveaxis(array, axis, 0)
    return tuple([first[index, ...] for index in range(first.shape[0])])
