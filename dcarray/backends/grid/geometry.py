"""Axes of operands, brought into the fewest that say the same."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from ...errors import UnsupportedError
from ...layout import Layout

__all__ = [
    "Axes",
    "Strides",
    "collapsed",
    "counted",
    "elements",
    "is_wide",
    "room_before",
    "runs",
    "turned_leaves",
]

Strides = tuple[int, ...]


class Axes:
    """Lengths and, for each operand, strides in elements, slowest axis first."""

    __slots__ = ("lengths", "size", "strides")

    def __init__(self, lengths: tuple[int, ...], strides: tuple[Strides, ...]) -> None:
        self.lengths = lengths
        self.strides = strides
        self.size = math.prod(lengths)


def collapsed(
    lengths: Sequence[int], strides: Sequence[Strides], order: Sequence[int]
) -> Axes:
    """The same elements over fewer axes.

    Axes of length 1 are gone, the others are sorted by the strides in ``order``, and
    neighbours that all operands step through evenly are one.
    """
    axes = [axis for axis, length in enumerate(lengths) if length != 1]
    if not axes:
        return Axes((), ((),) * len(strides))
    if len(axes) == 1:
        axis = axes[0]
        return Axes((lengths[axis],), tuple([(row[axis],) for row in strides]))
    axes = [axis for _, axis in sorted([(-abs(order[axis]), axis) for axis in axes])]
    joined: list[tuple[int, list[int]]] = []
    for axis in axes:
        steps = [row[axis] for row in strides]
        if joined:
            length, before = joined[-1]
            if all(
                [b == s * lengths[axis] for b, s in zip(before, steps, strict=True)]
            ):
                joined[-1] = (length * lengths[axis], steps)
                continue
        joined.append((lengths[axis], steps))
    return Axes(
        tuple([length for length, _ in joined]),
        tuple(zip(*[steps for _, steps in joined], strict=True)),
    )


ROOM = (1 << 31) - (1 << 26)
"""Places that indices of 32 bits reach, with room for one more step of a whole grid."""


def room_before(shape: Sequence[int], row: Strides) -> int:
    """The offset of an operand from which on its indices need 64 bits."""
    reach = 0
    for axis in range(len(shape)):
        reach += (shape[axis] - 1) * abs(row[axis])
    return ROOM - reach


def is_wide(offsets: Sequence[int], axes: Sequence[Axes]) -> bool:
    """Whether indices need 64 bits."""
    room = ROOM
    for one in axes:
        if one.size >= room:
            return True
    for place in range(len(offsets)):
        reach = abs(offsets[place])
        for one in axes:
            lengths, strides = one.lengths, one.strides
            if place < len(strides):
                row = strides[place]
                for axis in range(len(lengths)):
                    reach += (lengths[axis] - 1) * abs(row[axis])
        if reach >= room:
            return True
    return False


def elements(views: Sequence[Any]) -> tuple[list[int], list[Strides]]:
    """Offsets and strides of `GridView`s, counted in elements."""
    return counted([(view.layout, view.dtype) for view in views])


def counted(
    places: Sequence[tuple[Layout, np.dtype[Any]]],
) -> tuple[list[int], list[Strides]]:
    """The same of layouts and dtypes.

    Raises
    ------
    UnsupportedError
        They are no whole numbers of elements.
    """
    offsets: list[int] = []
    rows: list[Strides] = []
    for layout, dtype in places:
        size = dtype.itemsize
        begin, strides = layout.offset, layout.strides
        rest = begin % size
        row: list[int] = []
        for stride in strides:
            rest |= stride % size
            row.append(stride // size)
        if rest:
            raise UnsupportedError(
                f"{dtype} at offset {begin} with strides {strides}: a device takes "
                "whole elements"
            )
        offsets.append(begin // size)
        rows.append(tuple(row))
    return offsets, rows


LONG = 16
"""Length of both axes from which it pays to read an operand by squares."""


MOST_RUN = 8
"""Elements that an item takes at once at most."""


def turned_leaves(axes: Axes, leaves: int) -> tuple[int, tuple[bool, ...]] | None:
    """The axis along which some of the leaves lie, other than the last one, and which
    of them do; None if there are none."""
    last = len(axes.lengths) - 1
    if last < 1 or axes.lengths[last] < LONG:
        return None
    found: int | None = None
    turned = []
    for row in axes.strides[:leaves]:
        steps = [(abs(step), k) for k, step in enumerate(row) if step]
        axis = min(steps)[1] if steps and row[last] else last
        own = axis != last and axes.lengths[axis] >= LONG and found in (None, axis)
        turned.append(own)
        if own:
            found = axis
    return None if found is None else (found, tuple(turned))


def runs(axes: Axes, offsets: Sequence[int], sizes: Sequence[int], nbytes: int) -> int:
    """How many elements lie side by side in all operands, so that they can be read at
    once; 1 if none do.

    Parameters
    ----------
    axes : Axes
        Their last operand is one that is written.
    offsets : sequence of int
    sizes : sequence of int
        Bytes of an element of each operand.
    nbytes : int
        Bytes that can be read at once, from a whole number of them on.
    """
    if not axes.lengths:
        return 1
    for row in axes.strides:
        if row[-1] not in (0, 1):
            return 1
    dense = [k for k, row in enumerate(axes.strides) if row[-1]]
    if not dense:
        return 1
    found = min(nbytes // max([sizes[k] for k in dense]), MOST_RUN)
    last = axes.lengths[-1]
    if found <= 1 or last < found or (len(axes.lengths) > 1 and last % found):
        return 1
    for k in dense:
        if offsets[k] % found or any([n % found for n in axes.strides[k][:-1]]):
            return 1
    return found
