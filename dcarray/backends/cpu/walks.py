"""The walk of a reduction inside a kernel, and how it is shared out."""

from __future__ import annotations

import math
from array import array
from collections.abc import Sequence
from typing import Any

import numpy as np

from ...config import current
from ...render.llvm_elementary import ELEMENTARY
from .execute import Executable
from .geometry import Geometry, geometry_of
from .threads import cut

__all__ = [
    "all_done",
    "as_walked",
    "extended",
    "has_long_body",
    "is_dense",
    "last_joined",
    "slices_of",
    "walk_of",
]

HostArray = np.ndarray[Any, Any]
Shape = tuple[int, ...]

NEAR = 1 << 18
"""Bytes that stay in the cache of a core."""

QUICK = 16
"""How much more work of short operations on them is done in the same time."""

_ELEMENTARY = {name for name, _ in ELEMENTARY}


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
    if _is_quick(executable, walk, operations):
        threads = 1
    pieces = cut(groups, math.prod(walk.shape), operations, threads)
    return array("q", [0, *(piece.stop * each for piece in pieces)])


def _is_quick(executable: Executable, walk: Geometry, operations: int) -> bool:
    """Whether threads do not pay yet: short operations on little memory that is read
    again and again take a fraction of the time of others."""
    if math.prod(walk.shape) * operations >= QUICK * current().thread_work:
        return False
    nbytes = 0
    for row, dtype in zip(walk.strides, executable.program.leaves, strict=False):
        lengths = [n for n, step in zip(walk.shape, row, strict=True) if step]
        nbytes += math.prod(lengths) * dtype.itemsize
    return nbytes <= NEAR and not has_long_body(executable)


def has_long_body(executable: Executable) -> bool:
    """Whether something is computed that takes many operations."""
    ops = [node.op for node in executable.program.nodes]
    return any(op.fast is not None or op.name in _ELEMENTARY for op in ops)


def all_done(reached: Sequence[int], slices: array[int]) -> bool:
    return all(a == b for a, b in zip(reached, slices[1:], strict=True))
