"""Arrays of several axes: how the elements of a kernel's arguments are found.

A parameter of the IR is a pointer to elements in a row.  A `View` is what the source of
a kernel calls an array: a shape, strides and an offset over such a parameter, which are
parameters themselves or, where they are known, numbers.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from . import infer, nodes
from .source import Source

__all__ = [
    "FLAG",
    "FOUND",
    "Items",
    "Site",
    "View",
    "least",
    "minus",
    "plus",
    "rounds",
    "sliced",
    "times",
]

INT = np.dtype(np.int64)

FLAG = nodes.Array("dc_flag", np.dtype(np.int32), writable=True)
FOUND = nodes.Array("dc_found", INT, writable=True)
"""Where a kernel that checks its indices says what it found: number of the site plus 1,
and the index with the length of the axis."""


@dataclass(frozen=True, slots=True, eq=False)
class View:
    """An array as the source sees it.

    Attributes
    ----------
    label : str
        What the source calls it.
    array : Array
        The elements.
    shape, strides : tuple
        Lengths, and elements to step along each axis: scalars or Python ints.
    offset : scalar or int
        The first element.
    axes : tuple of int
        What the axes are called in messages, if they are not all of the array's.
    """

    label: str
    array: nodes.Array
    shape: tuple[Any, ...]
    strides: tuple[Any, ...]
    offset: Any = 0
    axes: tuple[int, ...] = ()

    def axis(self, place: int) -> int:
        """The array's own axis at a place."""
        return self.axes[place] if self.axes else place

    @property
    def size(self) -> Any:
        """Number of elements."""
        found: Any = 1
        for length in self.shape:
            found = times(found, length)
        return found


@dataclass(frozen=True, slots=True, eq=False)
class Items:
    """What a loop runs over: so many things, and which one is at a place.

    ``known`` ones stand in the source one by one: the loop over them is unrolled.
    """

    length: Any
    at: Callable[[Any], Any]
    known: bool = False


@dataclass(frozen=True, slots=True)
class Site:
    """An index that is checked: where it stands, and what it is an index of."""

    source: Source
    node: ast.AST
    label: str
    axis: int


def plus(x: Any, y: Any) -> Any:
    """``x + y`` of scalars and Python ints."""
    if isinstance(x, int) and isinstance(y, int):
        return x + y
    if isinstance(x, int) and x == 0:
        return y
    return x if isinstance(y, int) and y == 0 else infer.apply("add", x, y)


def minus(x: Any, y: Any) -> Any:
    """``x - y`` of scalars and Python ints."""
    if isinstance(x, int) and isinstance(y, int):
        return x - y
    return infer.apply("subtract", x, y)


def times(x: Any, y: Any) -> Any:
    """``x * y`` of scalars and Python ints."""
    if isinstance(x, int) and isinstance(y, int):
        return x * y
    for one, other in ((x, y), (y, x)):
        if isinstance(one, int) and one in (0, 1):
            return other if one else 0
    return infer.apply("multiply", x, y)


def least(x: Any, y: Any) -> Any:
    """The less of two scalars or Python ints."""
    if isinstance(x, int) and isinstance(y, int):
        return min(x, y)
    return infer.select(infer.apply("less", x, y), x, y, weak=True)


def most(x: Any, y: Any) -> Any:
    """The greater of two scalars or Python ints."""
    if isinstance(x, int) and isinstance(y, int):
        return max(x, y)
    return infer.select(infer.apply("greater", x, y), x, y, weak=True)


def rounds(start: Any, stop: Any, step: int) -> Any:
    """How many numbers ``range(start, stop, step)`` has."""
    way = minus(stop, start) if step > 0 else minus(start, stop)
    size = abs(step)
    way = most(way, 0) if size == 1 else most(plus(way, size - 1), 0)
    if size == 1:
        return way
    if isinstance(way, int):
        return way // size
    return infer.apply("truncate_divide", way, size)


def sliced(view: View, axis: int, given: Sequence[Any], step: int) -> View:
    """A view with a slice of one axis, as NumPy has it.

    Parameters
    ----------
    view : View
    axis : int
    given : sequence of two
        Start and stop: integers, or None where they are not given.
    step : int
        Not 0.
    """
    length = view.shape[axis]
    first, last = (0, length) if step > 0 else (plus(length, -1), -1)
    start = first if given[0] is None else _end(given[0], length, step)
    stop = last if given[1] is None else _end(given[1], length, step)
    stride = view.strides[axis]
    return replace(
        view,
        shape=_with(view.shape, axis, rounds(start, stop, step)),
        strides=_with(view.strides, axis, times(stride, step)),
        offset=plus(view.offset, times(start, stride)),
    )


def _end(given: Any, length: Any, step: int) -> Any:
    """An end of a slice: from the end if it is negative, and not beyond the array."""
    if isinstance(given, int):
        if given >= 0:
            return least(given, length if step > 0 else plus(length, -1))
        return most(plus(length, given), 0 if step > 0 else -1)
    behind = infer.apply("less", given, 0)
    found = infer.select(behind, plus(given, length), given)
    low, high = (0, length) if step > 0 else (-1, plus(length, -1))
    return least(most(found, low), high)


def _with(items: tuple[Any, ...], place: int, item: Any) -> tuple[Any, ...]:
    return (*items[:place], item, *items[place + 1 :])
