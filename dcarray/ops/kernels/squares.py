"""A kernel that transposes squares where they lie, without a second array.

A group takes two tiles that are each other's mirror image into shared memory and writes
each in the place of the other.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np

from ...kernel import nodes
from ...kernel.grid import barrier, group_count, group_id, local_id, shared
from ...kernel.language import Scalar, truncate_divide, truncate_remainder
from .searching import array, built

__all__ = ["squares_kernel", "tile_side"]

DType = np.dtype[Any]


def tile_side(dtype: DType) -> int:
    """Elements of a tile's side: two tiles are at most 17 KB."""
    return 32 if dtype.itemsize <= 8 else 16


@cache
def squares_kernel(dtype: DType, items: int) -> nodes.Kernel:
    """Groups of ``items`` along axis 0 are pairs of tiles, those along axis 1 squares.

    Parameters are the array, and: squares, tiles along a side, the offset, the length
    of a side, and strides from square to square, down a column and along a row.
    """
    side = tile_side(dtype)
    pitch = side + 1  # the elements of a column lie in different banks
    rows = max(1, min(side, items // side))

    def squares(
        a: Scalar,
        count: Scalar,
        tiles: Scalar,
        offset: Scalar,
        length: Scalar,
        batch: Scalar,
        down: Scalar,
        along: Scalar,
    ) -> None:
        one = shared(dtype, side * pitch)
        other = shared(dtype, side * pitch)
        item = local_id(0)
        x = truncate_remainder(item, side)
        y = truncate_divide(item, side)
        top = truncate_divide(group_id(0), tiles) * side
        left = truncate_remainder(group_id(0), tiles) * side
        if left <= top:
            for square in range(group_id(1), count, group_count(1)):
                start = offset + square * batch
                for k in range(0, side, rows):
                    r = y + k
                    if r < side and top + r < length and left + x < length:
                        at = start + (top + r) * down + (left + x) * along
                        one[r * pitch + x] = a[at]
                    if r < side and left + r < length and top + x < length:
                        at = start + (left + r) * down + (top + x) * along
                        other[r * pitch + x] = a[at]
                barrier()
                for k in range(0, side, rows):
                    r = y + k
                    if r < side and top + r < length and left + x < length:
                        at = start + (top + r) * down + (left + x) * along
                        a[at] = other[x * pitch + r]
                    if r < side and left + r < length and top + x < length:
                        at = start + (left + r) * down + (top + x) * along
                        a[at] = one[x * pitch + r]
                barrier()

    return built(squares, array(dtype, True), numbers=7)
