"""Squares that are transposed where they lie."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ....ops.kernels.gathering import carrier
from ....ops.kernels.squares import squares_kernel, tile_side
from ..views import GridView
from .work import Work

if TYPE_CHECKING:
    from ..backend import GridBackend

__all__ = ["turn_squares"]


def turn_squares(backend: GridBackend, x: GridView) -> None:
    """Transpose the last two of three axes, in the array itself."""
    work = Work(backend)
    count, length, _ = x.shape
    dtype = carrier(x.dtype)
    side = tile_side(dtype)
    items = max(side, 1 << (work.items.bit_length() - 1))
    tiles = -(-length // side)
    offset, strides = x.elements()
    kernel = squares_kernel(dtype, items)
    numbers = (count, tiles, offset, length, *strides)
    work.run_groups(kernel, (tiles * tiles, count), x, *numbers, items=items)
