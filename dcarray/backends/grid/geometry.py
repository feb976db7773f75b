"""Axes of operands, brought into the fewest that say the same."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

__all__ = ["Axes", "Strides", "collapsed", "elements", "is_wide"]

Strides = tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Axes:
    """Lengths and, for each operand, strides in elements, slowest axis first."""

    lengths: tuple[int, ...]
    strides: tuple[Strides, ...]

    @property
    def size(self) -> int:
        """Number of elements."""
        return math.prod(self.lengths)


def collapsed(
    lengths: Sequence[int], strides: Sequence[Strides], order: Sequence[int]
) -> Axes:
    """The same elements over fewer axes.

    Axes of length 1 are gone, the others are sorted by the strides in ``order``, and
    neighbours that all operands step through evenly are one.
    """
    axes = [axis for axis, length in enumerate(lengths) if length != 1]
    axes.sort(key=lambda axis: -abs(order[axis]))
    joined: list[tuple[int, list[int]]] = []
    for axis in axes:
        steps = [row[axis] for row in strides]
        if joined:
            length, before = joined[-1]
            if all(b == s * lengths[axis] for b, s in zip(before, steps, strict=True)):
                joined[-1] = (length * lengths[axis], steps)
                continue
        joined.append((lengths[axis], steps))
    return Axes(
        tuple([length for length, _ in joined]),
        tuple(zip(*[steps for _, steps in joined], strict=True))
        if joined
        else ((),) * len(strides),
    )


def is_wide(offsets: Sequence[int], axes: Sequence[Axes]) -> bool:
    """Whether indices need 64 bits: with room for one more step of a whole grid."""
    room = (1 << 31) - (1 << 26)
    if any(one.size >= room for one in axes):
        return True
    for place, offset in enumerate(offsets):
        reach = abs(offset)
        for one in axes:
            if place < len(one.strides):
                steps = zip(one.lengths, one.strides[place], strict=True)
                reach += sum([(n - 1) * abs(stride) for n, stride in steps])
        if reach >= room:
            return True
    return False


def elements(views: Sequence[Any]) -> tuple[list[int], list[Strides]]:
    """Offsets and strides of `GridView`s, counted in elements."""
    found = [view.elements() for view in views]
    return [offset for offset, _ in found], [strides for _, strides in found]
