"""Keys of NumPy's indexing, as a view and places in it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..views import GridView
from .work import HostArray, Work

__all__ = ["Selection", "selected"]


@dataclass(frozen=True, slots=True)
class Selection:
    """Elements that a key selects.

    Attributes
    ----------
    view : GridView
        The array as broadcast over the shape of the selection; the axes that are
        indexed by arrays have a stride of 0 here.
    places : GridView
        How many elements behind those of ``view`` the selected ones lie.
    distinct : bool
        Whether no element is selected twice.
    """

    view: GridView
    places: GridView
    distinct: bool


def selected(work: Work, x: GridView, key: Any) -> Selection:
    """What ``x[key]`` selects, where at least one item of the key is an array.

    Raises
    ------
    IndexError
        As NumPy's.
    """
    items, distinct = _items(x.shape, key)
    view = x.through(lambda a: a[tuple([_basic(item) for item in items])])
    found = [(axis, item) for axis, item in enumerate(items) if _is_array(item)]
    arrays = _broadcast([item for _, item in found])
    middle = arrays[0].shape
    axes = [axis for axis, _ in found]
    places = np.zeros(middle, np.int64)
    _, strides = view.elements()
    for axis, indices in zip(axes, arrays, strict=True):
        length = view.shape[axis]
        checked = _checked(indices, axis, length)
        places += checked * strides[axis]
    together = axes == list(range(axes[0], axes[0] + len(axes)))
    front = axes[0] if together else 0
    rest = tuple([n for axis, n in enumerate(view.shape) if axis not in axes])
    shape = rest[:front] + middle + rest[front:]
    if 0 in shape:
        empty = work.new(shape, x.dtype)
        return Selection(empty, empty, True)
    inside = (*[0 if axis in axes else slice(None) for axis in range(view.ndim)], ...)
    own = rest[:front] + (1,) * len(middle) + rest[front:]
    whole = view.through(lambda a: np.broadcast_to(a[inside].reshape(own), shape))
    width = middle + (1,) * (len(rest) - front)
    uploaded = work.put(places)
    spread = uploaded.through(lambda a: np.broadcast_to(a.reshape(width), shape))
    if not distinct:
        flat = places.reshape(-1)
        distinct = bool((flat[1:] > flat[:-1]).all())
    return Selection(whole, spread, distinct)


def _items(shape: tuple[int, ...], key: Any) -> tuple[list[Any], bool]:
    """The items of a key, one for each axis of the view that `_basic` makes, and
    whether arrays of bools are all that selects."""
    given = list(key) if isinstance(key, tuple) else [key]
    items: list[Any] = []
    axis = 0
    used = sum([_axes_of(item) for item in given])
    if used > len(shape):
        raise IndexError(
            f"too many indices for array: array is {len(shape)}-dimensional, "
            f"but {used} were indexed"
        )
    if not any([item is Ellipsis for item in given]):
        given.append(Ellipsis)
    masks = 0
    indexed = 0
    for item in given:
        if item is Ellipsis:
            items += [slice(None)] * (len(shape) - used)
            axis += len(shape) - used
        elif item is None or isinstance(item, slice):
            items.append(item)
            axis += item is not None
        else:
            array = _as_indices(item)
            indexed += 1
            if array.dtype.kind != "b":
                items.append(array)
                axis += 1
                continue
            masks += 1
            _check_mask(array, shape, axis)
            if array.ndim:
                items += array.nonzero()
            else:
                items.append(_Fresh(np.zeros(int(array), np.int64)))
            axis += array.ndim
    return items, masks == indexed == 1


class _Fresh:
    """Indices along a new axis of length 1: what a single bool means."""

    def __init__(self, indices: HostArray) -> None:
        self.indices = indices


def _axes_of(item: Any) -> int:
    """Number of axes that an item of a key uses."""
    if item is None or item is Ellipsis:
        return 0
    if isinstance(item, slice):
        return 1
    array = np.asarray(item)
    return array.ndim if array.dtype.kind == "b" else 1


def _as_indices(item: Any) -> HostArray:
    array = np.asarray(item)
    if not array.size and array.dtype.kind == "f" and not isinstance(item, np.ndarray):
        return array.astype(np.intp)
    if array.dtype.kind not in "biu":
        raise IndexError("arrays used as indices must be of integer (or boolean) type")
    return array


def _check_mask(mask: HostArray, shape: tuple[int, ...], axis: int) -> None:
    for place, length in enumerate(mask.shape):
        if shape[axis + place] != length:
            raise IndexError(
                f"boolean index did not match indexed array along axis {axis + place}; "
                f"size of axis is {shape[axis + place]} but size of corresponding "
                f"boolean axis is {length}"
            )


def _is_array(item: Any) -> bool:
    return isinstance(item, (np.ndarray, _Fresh))


def _basic(item: Any) -> Any:
    """An item of the key that makes the view of which arrays then select."""
    if isinstance(item, _Fresh):
        return None
    return slice(None) if isinstance(item, np.ndarray) else item


def _broadcast(found: Sequence[Any]) -> list[HostArray]:
    arrays = [item.indices if isinstance(item, _Fresh) else item for item in found]
    try:
        return list(np.broadcast_arrays(*arrays))
    except ValueError:
        shapes = " ".join([str(array.shape) for array in arrays])
        raise IndexError(
            "shape mismatch: indexing arrays could not be broadcast together with "
            f"shapes {shapes}"
        ) from None


def _checked(indices: HostArray, axis: int, length: int) -> HostArray:
    """Indices that count from the front."""
    signed = indices.astype(np.int64)
    outside = (signed < -length) | (signed >= length)
    if outside.any():
        index = signed[outside].flat[0]
        raise IndexError(
            f"index {index} is out of bounds for axis {axis} with size {length}"
        )
    return np.where(signed < 0, signed + length, signed)
