"""Keys of NumPy's indexing, as a view and places in it.

Index arrays of a key lie on the host or on the device, where they stay.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np

from ....layout import Layout, broadcast_strides, iteration_order
from ....ops.elementwise import ADD, MULTIPLY
from ....ops.kernels.gathering import coordinate_kernel
from ..views import GridView
from .places import positions, resolved
from .work import INT64, HostArray, Work

__all__ = ["Selection", "selected", "shown"]


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
    order : list of int or None
        The axes of the selection from the slowest to the fastest in the memory that
        NumPy gives it, where that is not C order.
    """

    view: GridView
    places: GridView
    distinct: bool
    order: list[int] | None = None


def _check_number(items: Sequence[Any]) -> None:
    """NumPy's limits of index arrays."""
    fancy = sum([_width(item) for item in items if isinstance(item, _KINDS)])
    whole = any([item is None or isinstance(item, slice) for item in items])
    if fancy > 63 and not whole:
        raise IndexError(
            "when no subspace is given, the number of index arrays cannot be above 63, "
            f"but {fancy} index arrays found"
        )


class _Fresh:
    """Indices along a new axis of length 1: what a single bool means."""

    def __init__(self, indices: HostArray) -> None:
        self.indices = indices
        self.shape = indices.shape


class _Chosen:
    """The true elements of a mask on the device, along as many axes as it has."""

    def __init__(self, mask: GridView, found: GridView) -> None:
        self.mask = mask
        self.found = found
        self.shape = found.shape


_Indices: TypeAlias = HostArray | GridView | _Fresh | _Chosen

_KINDS = (np.ndarray, GridView, _Fresh, _Chosen)


def selected(work: Work, x: GridView, key: Any) -> Selection:
    """What ``x[key]`` selects, where at least one item of the key is an array.

    Raises
    ------
    IndexError
        As NumPy's.
    """
    items, distinct = _items(work, x.shape, key)
    _check_number(items)
    basic: list[Any] = []
    found: list[tuple[int, _Indices]] = []
    gap = 0
    for item in items:
        if item is Ellipsis:
            gap = len(basic)
        elif isinstance(item, _KINDS):
            found.append((len(basic), item))
            if isinstance(item, _Chosen):
                basic += [slice(None)] * item.mask.ndim
            else:
                basic.append(None if isinstance(item, _Fresh) else slice(None))
        else:
            basic.append(item)
    view = x.through(lambda a: a[tuple(basic)])
    axes = [axis + k for axis, item in found for k in range(_width(item))]
    middle = _broadcast([item.shape for _, item in found])
    together = axes == list(range(axes[0], axes[0] + len(axes)))
    together = together and not axes[0] < gap <= axes[-1]
    front = axes[0] if together else 0
    rest = tuple([n for axis, n in enumerate(view.shape) if axis not in axes])
    shape = rest[:front] + middle + rest[front:]
    # Where no index is left, NumPy looks at none.
    if 0 not in middle:
        places, sorted_ = _places(work, view, found)
    if 0 in shape:
        empty = work.new(shape, x.dtype)
        return Selection(empty, empty, True)
    inside = (*[0 if axis in axes else slice(None) for axis in range(view.ndim)], ...)
    own = rest[:front] + (1,) * len(middle) + rest[front:]
    whole = view.through(lambda a: np.broadcast_to(a[inside].reshape(own), shape))
    aligned = (1,) * (len(middle) - places.ndim) + places.shape
    width = aligned + (1,) * (len(rest) - front)
    spread = places.through(lambda a: np.broadcast_to(a.reshape(width), shape))
    # NumPy has another order yet where whole axes remain: they come last in memory.
    order = None if rest else _order(middle, [item for _, item in found])
    return Selection(whole, spread, distinct or sorted_, order)


def _order(shape: tuple[int, ...], found: Sequence[_Indices]) -> list[int] | None:
    """The axes of index arrays as NumPy steps through them, unless that is C order."""
    if len(shape) < 2:
        return None
    rows = []
    for item in found:
        if isinstance(item, GridView):
            layout = item.layout
        elif isinstance(item, np.ndarray):
            layout = Layout.of(item, 0)
        else:
            continue
        rows.append(broadcast_strides(layout, shape))
    order = iteration_order(shape, rows)
    return None if order == list(range(len(shape))) else order


def _places(
    work: Work, view: GridView, found: Sequence[tuple[int, _Indices]]
) -> tuple[GridView, bool]:
    """Where the selected elements lie, and whether one is known to be selected but
    once.  The shape may have yet to be broadcast."""
    _, strides = view.elements()
    sums: list[GridView] = []
    known: Any = None
    for axis, item in found:
        if isinstance(item, _Chosen):
            width = item.mask.ndim
            sums.append(_chosen(work, item, strides[axis : axis + width]))
        elif isinstance(item, GridView):
            length = view.shape[axis]
            if item.size and not length:
                raise IndexError(f"index out of bounds for axis {axis} with size 0")
            sums.append(resolved(work, item, axis, length, strides[axis]))
        else:
            indices = item.indices if isinstance(item, _Fresh) else item
            moved = _checked(indices, axis, view.shape[axis]) * strides[axis]
            known = moved if known is None else known + moved
    distinct = False
    if not sums:
        flat = known.reshape(-1)
        distinct = bool((flat[1:] > flat[:-1]).all())
    if known is not None and (not sums or known.any()):
        sums.append(work.put(np.asarray(known, np.int64)))
    total = sums[0]
    for other in sums[1:]:
        total = work.map(ADD, total, other)
    return total, distinct


def _chosen(work: Work, item: _Chosen, strides: Sequence[int]) -> GridView:
    """Places of the true elements of a mask."""
    shape, found = item.mask.shape, item.found
    last = strides[-1]
    if not found.size:
        return found
    if all(
        length == 1 or stride == last * math.prod(shape[axis + 1 :])
        for axis, (length, stride) in enumerate(zip(shape, strides, strict=True))
    ):
        return found if last == 1 else work.map(MULTIPLY, found, np.int64(last))
    total: GridView | None = None
    for axis, (length, stride) in enumerate(zip(shape, strides, strict=True)):
        if length == 1:
            continue
        along = work.new(found.shape, INT64)
        numbers = (found.size, math.prod(shape[axis + 1 :]), length)
        work.run(coordinate_kernel(), found.size, found, along, *numbers)
        moved = work.map(MULTIPLY, along, np.int64(stride))
        total = moved if total is None else work.map(ADD, total, moved)
    assert total is not None
    return total


def _items(work: Work, shape: tuple[int, ...], key: Any) -> tuple[list[Any], bool]:
    """The items of a key, and whether arrays of bools are all that selects."""
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
            # One that stands for no axis still lies between two arrays.
            missing = len(shape) - used
            items += [slice(None)] * missing if missing else [Ellipsis]
            axis += missing
        elif item is None or isinstance(item, slice):
            items.append(item)
            axis += item is not None
        else:
            array = _as_indices(work, item)
            indexed += 1
            if array.dtype.kind != "b":
                items.append(array)
                axis += 1
                continue
            masks += 1
            _check_mask(array.shape, shape, axis)
            if isinstance(array, GridView):
                items.append(_Chosen(array, positions(work, array)))
            elif array.ndim:
                items += array.nonzero()
            else:
                items.append(_Fresh(np.zeros(int(array), np.int64)))
            axis += array.ndim
    return items, masks == indexed == 1


def _width(item: _Indices) -> int:
    """Number of axes of the view that an item indexes."""
    return item.mask.ndim if isinstance(item, _Chosen) else 1


def _axes_of(item: Any) -> int:
    """Number of axes that an item of a key uses."""
    if item is None or item is Ellipsis:
        return 0
    if isinstance(item, slice):
        return 1
    array = item if isinstance(item, GridView) else np.asarray(item)
    return array.ndim if array.dtype.kind == "b" else 1


def _as_indices(work: Work, item: Any) -> HostArray | GridView:
    if isinstance(item, GridView):
        # A single bool says how long an axis is, which the host must know.
        if item.dtype.kind == "b" and not item.ndim:
            return work.read(item)
        array: HostArray | GridView = item
    else:
        array = np.asarray(item)
        if not array.size and array.dtype.kind == "f" and array is not item:
            return array.astype(np.intp)
    if array.dtype.kind not in "biu":
        raise IndexError("arrays used as indices must be of integer (or boolean) type")
    return array


def _check_mask(mask: tuple[int, ...], shape: tuple[int, ...], axis: int) -> None:
    for place, length in enumerate(mask):
        # An axis of length 0 selects nothing, of an axis of any length.
        if length and shape[axis + place] != length:
            raise IndexError(
                f"boolean index did not match indexed array along axis {axis + place}; "
                f"size of axis is {shape[axis + place]} but size of corresponding "
                f"boolean axis is {length}"
            )


def _broadcast(shapes: Sequence[tuple[int, ...]]) -> tuple[int, ...]:
    try:
        return np.broadcast_shapes(*shapes)
    except ValueError:
        listed = " ".join(map(shown, shapes))
        raise IndexError(
            "shape mismatch: indexing arrays could not be broadcast together with "
            f"shapes {listed}"
        ) from None


def shown(shape: tuple[int, ...]) -> str:
    """A shape as NumPy's messages show it."""
    return str(shape).replace(" ", "")


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
