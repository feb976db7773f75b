"""The same elements under another shape: views, wherever NumPy gives views."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ..array import whole
from ..array.movement import moved, turned
from ..array.state import HostArray, is_foreign
from ..layout import broadcast_shapes as common_shape
from .conversion import as_array, locked, unwrapped
from .coverage import native
from .hosted import minding_subclasses

__all__ = [
    "atleast_1d",
    "atleast_2d",
    "atleast_3d",
    "broadcast_arrays",
    "broadcast_shapes",
    "broadcast_to",
    "diagonal",
    "expand_dims",
    "flip",
    "fliplr",
    "flipud",
    "matrix_transpose",
    "moveaxis",
    "permute_dims",
    "ravel",
    "reshape",
    "rollaxis",
    "rot90",
    "squeeze",
    "swapaxes",
    "transpose",
]


def _view(x: Any, function: Callable[[HostArray], HostArray], *name: Any) -> Any:
    """A view, see `moved`."""
    return moved(as_array(x), function, *name)


# ------------------------------------------------------------------------------ shape
@whole.function(np.reshape)
@minding_subclasses(np.reshape)
@native
def reshape(
    a: Any, /, shape: Any, order: Any = "C", *, copy: bool | None = None
) -> Any:
    """The elements in another shape; a view where the strides allow one.

    Parameters
    ----------
    a : array_like
    shape : int or tuple of int
        One length may be -1: it follows from the others.
    order : {"C", "F", "A"}
        The order in which the elements are read and placed.
    copy : bool, optional
        True always copies; False raises a ``ValueError`` where no view is possible.

    Returns
    -------
    DeviceArray
    """
    plain = unwrapped(shape)
    if is_foreign(plain):
        plain = plain.tolist()
    return as_array(a).reshape(plain, order=order, copy=copy)


@whole.function(np.ravel)
@minding_subclasses(np.ravel)
@native
def ravel(a: Any, order: Any = "C") -> Any:
    """The elements in one axis; a view where the strides allow one."""
    return as_array(a).ravel(order)


@whole.function(np.expand_dims)
@minding_subclasses(np.expand_dims)
@native
def expand_dims(a: Any, axis: Any = 0) -> Any:
    """A view with new axes of length 1.

    Parameters
    ----------
    a : array_like
    axis : int or tuple of int
        Where the new axes are in the result.
    """
    places = unwrapped(axis)
    return _view(a, lambda array: np.expand_dims(array, places), "expanded", places)


@whole.function(np.squeeze)
@minding_subclasses(np.squeeze)
@native
def squeeze(a: Any, axis: Any = None) -> Any:
    """A view without axes of length 1: all of them, or those of ``axis``."""
    return as_array(a).squeeze(unwrapped(axis))


def _at_least(
    ndim: int, arrays: Sequence[Any], function: Callable[[HostArray], Any]
) -> Any:
    given = [as_array(x) for x in arrays]
    found = tuple([x if x.ndim >= ndim else moved(x, function) for x in given])
    return found[0] if len(found) == 1 else found


@whole.function(np.atleast_1d)
@minding_subclasses(np.atleast_1d)
@native
def atleast_1d(*arys: Any) -> Any:
    """Views with one axis at least."""
    return _at_least(1, arys, np.atleast_1d)


@whole.function(np.atleast_2d)
@minding_subclasses(np.atleast_2d)
@native
def atleast_2d(*arys: Any) -> Any:
    """Views with two axes at least; new ones come first."""
    return _at_least(2, arys, np.atleast_2d)


@minding_subclasses(np.atleast_3d)
@native
def atleast_3d(*arys: Any) -> Any:
    """Views with three axes at least; a vector becomes ``(1, n, 1)``."""
    return _at_least(3, arys, np.atleast_3d)


# ------------------------------------------------------------------------------- axes
@whole.function(np.transpose)
@minding_subclasses(np.transpose)
@native
def transpose(a: Any, axes: Any = None) -> Any:
    """A view with the axes in reverse, or in the given order."""
    order = unwrapped(axes)
    return turned(as_array(a), order)


@whole.function(np.permute_dims)
@minding_subclasses(np.permute_dims)
@native
def permute_dims(a: Any, axes: Any = None) -> Any:
    """A view with the axes in another order, see `transpose`."""
    return transpose(a, axes)


@whole.function(np.matrix_transpose)
@native
def matrix_transpose(x: Any, /) -> Any:
    """A view with the last two axes swapped.

    Raises
    ------
    ValueError
        Fewer than two axes.
    """
    return _view(x, np.matrix_transpose, "mT")


@whole.function(np.moveaxis)
@minding_subclasses(np.moveaxis)
@native
def moveaxis(a: Any, source: Any, destination: Any) -> Any:
    """A view with axes moved to other places; the rest keep their order."""
    places = unwrapped(source), unwrapped(destination)
    return _view(a, lambda array: np.moveaxis(array, *places), "moved", *places)


@whole.function(np.rollaxis)
@minding_subclasses(np.rollaxis)
@native
def rollaxis(a: Any, axis: Any, start: Any = 0) -> Any:
    """A view with an axis moved before another one."""
    return _view(a, lambda array: np.rollaxis(array, axis, start))


@whole.function(np.swapaxes)
@minding_subclasses(np.swapaxes)
@native
def swapaxes(a: Any, axis1: Any, axis2: Any) -> Any:
    """A view with two axes swapped."""
    return as_array(a).swapaxes(axis1, axis2)


@whole.function(np.diagonal)
@minding_subclasses(np.diagonal)
@native
def diagonal(a: Any, offset: Any = 0, axis1: Any = 0, axis2: Any = 1) -> Any:
    """A read-only view of a diagonal, which becomes the last axis.

    Parameters
    ----------
    a : array_like
    offset : int
        Which diagonal: above the main one if positive.
    axis1, axis2 : int
        Axes of the matrices.
    """
    places = offset, axis1, axis2
    return locked(_view(a, lambda x: np.diagonal(x, *places), "diagonal", *places))


# -------------------------------------------------------------------------- direction
@whole.function(np.flip)
@minding_subclasses(np.flip)
@native
def flip(m: Any, axis: Any = None) -> Any:
    """A view with the elements in reverse along all axes, or those of ``axis``."""
    places = unwrapped(axis)
    return _view(m, lambda array: _flipped(array, places), "flipped", places)


def _flipped(x: HostArray, places: Any) -> HostArray:
    every = range(x.ndim) if places is None else places
    axes = np.lib.array_utils.normalize_axis_tuple(every, x.ndim)
    backwards = slice(None, None, -1)
    index = [backwards if place in axes else slice(None) for place in range(x.ndim)]
    # The ellipsis makes a view of an array without axes too.
    found: HostArray = x[(*index, ...)]
    return found


@whole.function(np.fliplr)
@minding_subclasses(np.fliplr)
@native
def fliplr(m: Any) -> Any:
    """A view with the second axis in reverse."""
    return _view(m, np.fliplr, "flipped left")


@whole.function(np.flipud)
@minding_subclasses(np.flipud)
@native
def flipud(m: Any) -> Any:
    """A view with the first axis in reverse."""
    return _view(m, np.flipud, "flipped up")


@whole.function(np.rot90)
@minding_subclasses(np.rot90)
@native
def rot90(m: Any, k: Any = 1, axes: Any = (0, 1)) -> Any:
    """A view turned by 90 degrees ``k`` times, from the first axis to the second."""
    return _view(m, lambda array: np.rot90(array, k, axes))


# ----------------------------------------------------------------------- broadcasting
@whole.function(np.broadcast_to)
@native
def broadcast_to(array: Any, shape: Any, subok: bool = False) -> Any:
    """A read-only view in a larger shape.

    Raises
    ------
    ValueError
        The array does not broadcast to ``shape``.
    """
    plain = unwrapped(shape)
    return locked(_view(array, lambda a: np.broadcast_to(a, plain), "spread", plain))


@native
def broadcast_arrays(*args: Any, subok: bool = False) -> tuple[Any, ...]:
    """Views of all arrays in their common shape.

    Returns
    -------
    tuple of DeviceArray
        Those that had to grow are read-only.
    """
    arrays = [as_array(x) for x in args]
    shape = common_shape([x.shape for x in arrays])
    return tuple([x if x.shape == shape else broadcast_to(x, shape) for x in arrays])


@native
def broadcast_shapes(*args: Any) -> tuple[int, ...]:
    """The common shape of shapes.

    Raises
    ------
    ValueError
        They do not broadcast.
    """
    return np.broadcast_shapes(*[unwrapped(shape) for shape in args])
