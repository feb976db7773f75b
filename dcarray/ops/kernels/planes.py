"""Maxima and sums over windows for a few fast cores, plane by plane.

The rows that a row of windows meets become one, element by element, which is vector
code; then its elements become windows.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np

from ...kernel import nodes
from ...kernel.grid import global_id
from ...kernel.language import Scalar
from .searching import array, built

__all__ = ["plane_kernel"]


def _joined(x: Scalar, y: Scalar, largest: Scalar) -> Scalar:
    """What two elements of a window come to; NaN is the largest one."""
    if largest:
        return y if y > x or y != y else x
    return x + y


@cache
def plane_kernel(dtype: np.dtype[Any], largest: bool) -> nodes.Kernel:
    """The largest elements of windows, or their sums.

    Parameters are the elements, the result, a row for each group, and: how many planes
    there are and a group has; rows and columns of a plane, and of the result; of a
    window the rows, their distance, the step from one window to the next and the rows
    before a plane; the same along columns; and the length of a row with padding.
    """
    nothing = float("-inf") if largest else 0.0
    number = dtype.type

    def pool(
        x: Scalar,
        out: Scalar,
        joined: Scalar,
        planes: Scalar,
        each: Scalar,
        height: Scalar,
        width: Scalar,
        rows: Scalar,
        columns: Scalar,
        high: Scalar,
        high_gap: Scalar,
        high_step: Scalar,
        above: Scalar,
        wide: Scalar,
        wide_gap: Scalar,
        wide_step: Scalar,
        left: Scalar,
        padded: Scalar,
    ) -> None:
        own = global_id(0) * padded
        start = global_id(0) * each
        for i in range(own, own + padded):
            joined[i] = number(nothing)
        for plane in range(start, min(start + each, planes)):
            for row in range(rows):
                for i in range(own + left, own + left + width):
                    joined[i] = number(nothing)
                for k in range(high):
                    line = row * high_step - above + k * high_gap
                    if line >= 0 and line < height:
                        base = (plane * height + line) * width
                        for i in range(width):
                            place = own + left + i
                            joined[place] = _joined(joined[place], x[base + i], largest)
                target = (plane * rows + row) * columns
                for i in range(columns):
                    first = own + i * wide_step
                    found = joined[first]
                    for k in range(1, wide):
                        found = _joined(found, joined[first + k * wide_gap], largest)
                    out[target + i] = found

    return built(pool, array(dtype), array(dtype, True), array(dtype, True), numbers=15)
