"""The walk of a reduction inside a kernel, and how it is shared out."""

from __future__ import annotations

import math
from array import array
from collections.abc import Sequence
from typing import Any

import numpy as np

from .execute import Executable
from .geometry import Geometry, geometry_of
from .threads import cut

__all__ = [
    "all_done",
    "as_walked",
    "extended",
    "is_dense",
    "last_joined",
    "slices_of",
    "walk_of",
]

HostArray = np.ndarray[Any, Any]
Shape = tuple[int, ...]


def walk_of(
    shape: Shape,
    strides: tuple[Shape, ...],
    kept: Shape,
    target: Shape,
    order: Shape,
) -> Geometry | None:
    """The walk over the leaves, in the order of the array that NumPy would make.

    ``kept`` and ``target`` are shape and strides of the result.
    """
    marks = tuple([a != b for a, b in zip(shape, kept, strict=True)])
    row = tuple([0 if m else s for m, s in zip(marks, target, strict=True)])
    geometry = geometry_of(shape, (*strides, order, row), order, marks)
    if any(geometry.flips) or min(geometry.strides[-2]) <= 0:
        return None
    return geometry.without_last(2)


def as_walked(walk: Geometry, target: HostArray) -> HostArray:
    """The result as the walk sees it, with length 1 along reduced axes."""
    kept = [1 if m else n for n, m in zip(walk.shape, walk.reduced, strict=True)]
    dropped = [axis for axis in range(target.ndim) if axis not in walk.axes]
    view = target.transpose(*dropped, *walk.axes)
    return view.reshape(kept, copy=False)


def is_dense(walk: Geometry, target: HostArray) -> bool:
    """Whether the walk comes to the elements of the result as they lie."""
    return as_walked(walk, target).flags.c_contiguous


def extended(walk: Geometry, shape: Shape, rows: list[Shape], last: Shape) -> Geometry:
    """A walk of this shape over the leaves and the result."""
    strides = (*rows, last)
    none = (0,) * len(strides)
    return Geometry(shape, strides, none, (False,) * len(shape), (), ())


def last_joined(walk: Geometry) -> tuple[Shape, list[Shape]] | None:
    """The last two axes as one, if all leaves allow it."""
    if len(walk.shape) < 2:
        return None
    length = walk.shape[-1]
    if any(row[-2] != length * row[-1] for row in walk.strides):
        return None
    shape = (*walk.shape[:-2], walk.shape[-2] * length)
    return shape, [(*row[:-2], row[-1]) for row in walk.strides]


def slices_of(
    executable: Executable, walk: Geometry, groups: int, each: int, threads: int
) -> array[int]:
    """``groups`` times ``each`` blocks, split so that a group stays on one thread."""
    operations = len(executable.program.nodes) + 1
    pieces = cut(groups, math.prod(walk.shape), operations, threads)
    return array("q", [0, *(piece.stop * each for piece in pieces)])


def all_done(reached: Sequence[int], slices: array[int]) -> bool:
    return all(a == b for a, b in zip(reached, slices[1:], strict=True))
