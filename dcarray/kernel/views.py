"""Arrays of several axes: how the elements of a kernel's arguments are found.

A parameter of the IR is a pointer to elements in a row.  A `View` is what the source of
a kernel calls an array: a shape, strides and an offset over such a parameter, which are
parameters themselves or, where they are known, numbers.
"""

from __future__ import annotations

import ast
from dataclasses import dataclass
from typing import Any

import numpy as np

from . import infer, nodes
from .source import Source

__all__ = ["FLAG", "FOUND", "Site", "View", "minus", "plus", "times"]

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
    """

    label: str
    array: nodes.Array
    shape: tuple[Any, ...]
    strides: tuple[Any, ...]
    offset: Any = 0

    @property
    def size(self) -> Any:
        """Number of elements."""
        found: Any = 1
        for length in self.shape:
            found = times(found, length)
        return found


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
