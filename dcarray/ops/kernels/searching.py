"""Kernels that find the place of the largest or smallest element along rows.

A row is given by strides: element ``k`` of row ``r`` lies ``r // inner`` outer steps,
``k`` steps along the row and ``r % inner`` inner steps behind the offset.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np

from ...kernel import nodes
from ...kernel.grid import (
    barrier,
    global_id,
    global_size,
    group_count,
    group_id,
    local_id,
    shared,
)
from ...kernel.language import Scalar, truncate_divide, truncate_remainder
from ...kernel.parse import parse
from ...kernel.rewrite import simplify
from ...kernel.verify import verify
from ..spec import Op
from .parts import INT64
from .reducing import accumulator

__all__ = ["array", "built", "place_by_group", "place_by_item", "place_of_parts"]

DType = np.dtype[Any]


def array(dtype: DType, writable: bool = False) -> nodes.Array:
    """An array among the operands of `built`."""
    return nodes.Array("array", dtype, writable)


def built(
    function: Callable[..., Any], *operands: nodes.Array, numbers: int
) -> nodes.Kernel:
    """A kernel of the library: its arrays, then ``numbers`` integers."""
    return simplify(verify(parse(function, [*operands, *[INT64] * numbers])))


@cache
def place_by_item(op: Op, dtype: DType) -> nodes.Kernel:
    """Each work item searches rows of its own.

    Parameters are the array, the places, and: rows, their length, ``inner``, the
    offset, and strides outer, along the row, inner.
    """
    combine: Any = op.body
    number = accumulator(dtype).type

    def place_by_item(
        x: Scalar,
        out: Scalar,
        rows: Scalar,
        length: Scalar,
        inner: Scalar,
        offset: Scalar,
        outer_step: Scalar,
        step: Scalar,
        inner_step: Scalar,
    ) -> None:
        for row in range(global_id(0), rows, global_size(0)):
            base = offset + truncate_divide(row, inner) * outer_step
            base = base + truncate_remainder(row, inner) * inner_step
            best = number(x[base])
            place = 0
            for k in range(1, length):
                best, place = combine(best, place, number(x[base + k * step]), k)
            out[row] = place

    return built(place_by_item, array(dtype), array(INT64, True), numbers=7)


@cache
def place_by_group(op: Op, dtype: DType, items: int) -> nodes.Kernel:
    """Each group searches one part of a row: groups along axis 0 are the parts.

    Parameters are the array, the best elements and their places (a row of both for
    each row, as long as there are parts), the numbers as for `place_by_item`, and the
    length of a part.
    """
    combine: Any = op.body
    partial = accumulator(dtype)
    number = partial.type
    halves = tuple([1 << k for k in reversed(range(items.bit_length() - 1))])

    def place_by_group(
        x: Scalar,
        values: Scalar,
        places: Scalar,
        rows: Scalar,
        length: Scalar,
        inner: Scalar,
        offset: Scalar,
        outer_step: Scalar,
        step: Scalar,
        inner_step: Scalar,
        part: Scalar,
    ) -> None:
        best_of = shared(partial, items)
        place_of = shared(np.int64, items)
        lane = local_id(0)
        first = group_id(0) * part
        stop = min(first + part, length)
        for row in range(group_id(1), rows, group_count(1)):
            base = offset + truncate_divide(row, inner) * outer_step
            base = base + truncate_remainder(row, inner) * inner_step
            best = number(x[base + first * step])
            place = first
            for k in range(first + lane, stop, items):
                best, place = combine(best, place, number(x[base + k * step]), k)
            best_of[lane] = best
            place_of[lane] = place
            barrier()
            for half in halves:
                if lane < half:
                    best, place = combine(
                        best, place, best_of[lane + half], place_of[lane + half]
                    )
                    best_of[lane] = best
                    place_of[lane] = place
                barrier()
            if lane == 0:
                values[row * group_count(0) + group_id(0)] = best
                places[row * group_count(0) + group_id(0)] = place
            barrier()

    return built(
        place_by_group,
        array(dtype),
        array(partial, True),
        array(INT64, True),
        numbers=8,
    )


@cache
def place_of_parts(op: Op, dtype: DType) -> nodes.Kernel:
    """The places of rows from those of their parts.

    Parameters are the best elements, their places, the result, the number of rows and
    that of parts.
    """
    combine: Any = op.body

    def place_of_parts(
        values: Scalar, places: Scalar, out: Scalar, rows: Scalar, parts: Scalar
    ) -> None:
        for row in range(global_id(0), rows, global_size(0)):
            best = values[row * parts]
            place = places[row * parts]
            for k in range(row * parts + 1, (row + 1) * parts):
                best, place = combine(best, place, values[k], places[k])
            out[row] = place

    return built(
        place_of_parts, array(dtype), array(INT64), array(INT64, True), numbers=2
    )
