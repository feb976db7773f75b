"""Kernels that accumulate for a few fast cores, in the order of the elements.

Each group has one work item that goes through a piece of its own.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np

from ...kernel import nodes
from ...kernel.grid import global_id
from ...kernel.language import Scalar
from .searching import array, built

__all__ = ["AT_ONCE", "down_kernel", "piece_kernel", "rows_kernel"]

DType = np.dtype[Any]

AT_ONCE = 4
"""Rows that one work item accumulates at the same time: none waits for another."""


@cache
def down_kernel(dtype: DType, times: bool) -> nodes.Kernel:
    """Rows are added (or multiplied) to what the ones above came to.

    Parameters are the array, the result, and: how many planes there are, rows of each,
    columns of each, and columns that a group has.
    """

    def down(
        x: Scalar,
        out: Scalar,
        planes: Scalar,
        rows: Scalar,
        columns: Scalar,
        each: Scalar,
    ) -> None:
        start = global_id(0) * each
        stop = min(start + each, columns)
        for plane in range(planes):
            base = plane * rows * columns
            for j in range(start, stop):
                out[base + j] = x[base + j]
            for i in range(1, rows):
                row = base + i * columns
                above = row - columns
                for j in range(start, stop):
                    if times:
                        out[row + j] = out[above + j] * x[row + j]
                    else:
                        out[row + j] = out[above + j] + x[row + j]

    return built(down, array(dtype), array(dtype, True), numbers=4)


@cache
def rows_kernel(dtype: DType, times: bool) -> nodes.Kernel:
    """Each row for itself.

    Parameters are the array, the result, and: rows, their length, and how many of them
    a group has, a multiple of `AT_ONCE`.
    """

    def along(
        x: Scalar, out: Scalar, rows: Scalar, length: Scalar, each: Scalar
    ) -> None:
        start = global_id(0) * each
        stop = min(start + each, rows)
        whole = max(stop - start, 0) // AT_ONCE
        for k in range(whole):
            a = (start + k * AT_ONCE) * length
            b = a + length
            c = b + length
            d = c + length
            p = x[a]
            q = x[b]
            r = x[c]
            s = x[d]
            out[a] = p
            out[b] = q
            out[c] = r
            out[d] = s
            for j in range(1, length):
                p = p * x[a + j] if times else p + x[a + j]
                q = q * x[b + j] if times else q + x[b + j]
                r = r * x[c + j] if times else r + x[c + j]
                s = s * x[d + j] if times else s + x[d + j]
                out[a + j] = p
                out[b + j] = q
                out[c + j] = r
                out[d + j] = s
        for i in range(start + whole * AT_ONCE, stop):
            a = i * length
            p = x[a]
            out[a] = p
            for j in range(1, length):
                p = p * x[a + j] if times else p + x[a + j]
                out[a + j] = p

    return built(along, array(dtype), array(dtype, True), numbers=3)


@cache
def piece_kernel(dtype: DType, total: DType) -> nodes.Kernel:
    """Pieces of a run of integers, each from what the ones before come to.

    Parameters are the run, that for each group, the result, and: how many elements
    there are, and a group has.
    """
    number: Any = total.type

    def piece(
        x: Scalar, before: Scalar, out: Scalar, count: Scalar, each: Scalar
    ) -> None:
        group = global_id(0)
        start = group * each
        sum_ = before[group]
        for i in range(start, min(start + each, count)):
            sum_ = sum_ + number(x[i])
            out[i] = sum_

    return built(piece, array(dtype), array(total), array(total, True), numbers=2)
