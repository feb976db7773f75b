"""How a group walks over memory: which axes are left, in which order, and how far.

Axes of length 1 are dropped, the others ordered as NumPy would order them, walked
forwards, and joined where every operand lets them be joined.  The last axis is the
inner one; blocks never cross it.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

import numpy as np

__all__ = ["Geometry", "geometry_of", "view_through"]

HostArray = np.ndarray[Any, Any]
Shape = tuple[int, ...]
Strides = tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Geometry:
    """A walk over operands of one shape.

    Attributes
    ----------
    shape : tuple of int
        Lengths of the axes that are left, at least one; the inner axis comes last.
    strides : tuple of tuple of int
        For each operand, in bytes.
    offsets : tuple of int
        For each operand the byte offset of the first element visited.
    reduced : tuple of bool
        For each axis whether it is reduced.
    axes : tuple of int
        The original axes in walking order.
    flips : tuple of bool
        Whether each of them is walked backwards.
    """

    shape: Shape
    strides: tuple[Strides, ...]
    offsets: Shape
    reduced: tuple[bool, ...]
    axes: tuple[int, ...]
    flips: tuple[bool, ...]

    @property
    def inner(self) -> int:
        """Length of the inner axis."""
        return self.shape[-1]

    def without_last(self, count: int) -> Geometry:
        """The same walk without its last operands."""
        return replace(
            self, strides=self.strides[:-count], offsets=self.offsets[:-count]
        )


@lru_cache(4096)
def geometry_of(
    shape: Shape,
    strides: tuple[Strides, ...],
    ranking: Strides,
    reduced: tuple[bool, ...] = (),
) -> Geometry:
    """The walk over operands.

    Parameters
    ----------
    shape : tuple of int
    strides : tuple of tuple of int
        Of each operand.
    ranking : tuple of int
        The strides by which the axes are ordered, slowest first.
    reduced : tuple of bool
        For each axis whether it is reduced; such axes are not joined with others.
    """
    reduced = reduced or (False,) * len(shape)
    axes = [axis for axis, length in enumerate(shape) if length != 1]
    axes.sort(key=lambda axis: -abs(ranking[axis]))
    flips = []
    offsets = [0] * len(strides)
    rows: list[list[int]] = [[] for _ in strides]
    for axis in axes:
        steps = [row[axis] for row in strides]
        flip = max(steps, default=0) <= 0 and min(steps, default=0) < 0
        flips.append(flip)
        for number, step in enumerate(steps):
            if flip:
                offsets[number] += step * (shape[axis] - 1)
                step = -step
            rows[number].append(step)
    lengths = [shape[axis] for axis in axes]
    marks = [reduced[axis] for axis in axes]
    place = len(axes) - 2
    while place >= 0:
        inner = place + 1
        if marks[place] == marks[inner] and all(
            row[place] == row[inner] * lengths[inner] for row in rows
        ):
            lengths[place : inner + 1] = [lengths[place] * lengths[inner]]
            del marks[inner]
            for row in rows:
                del row[place]
        place -= 1
    if not lengths:
        lengths, marks = [1], [False]
        rows = [[0] for _ in strides]
    return Geometry(
        tuple(lengths),
        tuple(tuple(row) for row in rows),
        tuple(offsets),
        tuple(marks),
        tuple(axes),
        tuple(flips),
    )


def view_through(geometry: Geometry, array: HostArray) -> HostArray:
    """``array`` as the walk sees it: a view with the shape of the geometry."""
    dropped = [axis for axis, length in enumerate(array.shape) if length == 1]
    view = array.transpose(*dropped, *geometry.axes)
    view = view[(0,) * len(dropped) + (...,)]
    if True in geometry.flips:
        view = view[tuple(slice(None, None, -1 if f else 1) for f in geometry.flips)]
    return view.reshape(geometry.shape, copy=False)
