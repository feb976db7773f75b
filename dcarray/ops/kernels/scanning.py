"""Kernels that combine all elements up to each one, along rows.

Rows are given as for `searching`; results are C-contiguous with the axes outer, along
the row, inner.
"""

from __future__ import annotations

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
from ..spec import Op
from .reducing import accumulator
from .searching import array, built

__all__ = ["scan_by_group", "scan_by_item", "scan_carried"]

DType = np.dtype[Any]


@cache
def scan_by_item(op: Op, source: DType, dtype: DType) -> nodes.Kernel:
    """Each work item goes along rows of its own.

    Parameters are the array, the result, and: rows, their length, ``inner``, the
    offset, and strides outer, along the row, inner.
    """
    combine: Any = op.body
    number, sum_of = dtype.type, accumulator(dtype).type

    def scan_by_item(
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
            outer = truncate_divide(row, inner)
            rest = truncate_remainder(row, inner)
            base = offset + outer * outer_step + rest * inner_step
            target = outer * length * inner + rest
            total = sum_of(number(x[base]))
            out[target] = number(total)
            for k in range(1, length):
                total = combine(total, sum_of(number(x[base + k * step])))
                out[target + k * inner] = number(total)

    return built(scan_by_item, array(source), array(dtype, True), numbers=7)


@cache
def scan_by_group(op: Op, source: DType, dtype: DType, items: int) -> nodes.Kernel:
    """Each group goes along one part of a row: groups along axis 0 are the parts.

    Parameters are the array, the result, the totals of the parts (a row of them for
    each row), the numbers as for `scan_by_item`, and the length of a part, which is a
    multiple of ``items``.
    """
    combine: Any = op.body
    partial = accumulator(dtype)
    number, sum_of = dtype.type, partial.type
    distances = tuple([1 << k for k in range(items.bit_length() - 1)])

    def scan_by_group(
        x: Scalar,
        out: Scalar,
        totals: Scalar,
        rows: Scalar,
        length: Scalar,
        inner: Scalar,
        offset: Scalar,
        outer_step: Scalar,
        step: Scalar,
        inner_step: Scalar,
        part: Scalar,
    ) -> None:
        tile = shared(partial, items)
        lane = local_id(0)
        first = group_id(0) * part
        stop = min(first + part, length)
        for row in range(group_id(1), rows, group_count(1)):
            outer = truncate_divide(row, inner)
            rest = truncate_remainder(row, inner)
            base = offset + outer * outer_step + rest * inner_step
            target = outer * length * inner + rest
            carried = sum_of(number(x[base + first * step]))
            for start in range(first, stop, items):
                # What lies behind the end is never used: only the last part has it.
                k = min(start + lane, length - 1)
                total = sum_of(number(x[base + k * step]))
                tile[lane] = total
                barrier()
                for distance in distances:
                    if lane >= distance:
                        total = combine(tile[lane - distance], total)
                    barrier()
                    tile[lane] = total
                    barrier()
                last = tile[items - 1]
                if start > first:
                    total = combine(carried, total)
                    last = combine(carried, last)
                carried = last
                if start + lane < stop:
                    out[target + k * inner] = number(total)
                barrier()
            if lane == 0:
                totals[row * group_count(0) + group_id(0)] = carried

    return built(
        scan_by_group,
        array(source),
        array(dtype, True),
        array(partial, True),
        numbers=8,
    )


@cache
def scan_carried(op: Op, dtype: DType) -> nodes.Kernel:
    """Take the total of all parts before it into each element.

    Parameters are the totals up to the end of each part, the result, and: rows, their
    length, ``inner``, the length of a part, the number of parts.
    """
    combine: Any = op.body
    partial = accumulator(dtype)
    number, sum_of = dtype.type, partial.type

    def scan_carried(
        totals: Scalar,
        out: Scalar,
        rows: Scalar,
        length: Scalar,
        inner: Scalar,
        part: Scalar,
        parts: Scalar,
    ) -> None:
        for flat in range(global_id(0), rows * length, global_size(0)):
            above = truncate_divide(flat, inner)
            outer = truncate_divide(above, length)
            k = truncate_remainder(above, length)
            row = outer * inner + truncate_remainder(flat, inner)
            if k >= part:
                before = totals[row * parts + truncate_divide(k, part) - 1]
                out[flat] = number(combine(before, sum_of(out[flat])))

    return built(scan_carried, array(partial), array(dtype, True), numbers=5)
