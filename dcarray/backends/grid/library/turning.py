"""Squares that are transposed where they lie."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ....ops.kernels.gathering import carrier
from ....ops.kernels.squares import squares_kernel, tile_side
from ..views import GridView
from .work import Work

__all__ = ["TABLE"]


def _turn_squares(work: Work, x: GridView) -> GridView:
    """Transpose the last two of three axes, in the array itself."""
    count, length, _ = x.shape
    dtype = carrier(x.dtype)
    side = tile_side(dtype)
    items = max(side, 1 << (work.items.bit_length() - 1))
    tiles = -(-length // side)
    offset, strides = x.elements()
    kernel = squares_kernel(dtype, items)
    numbers = (count, tiles, offset, length, *strides)
    work.run_groups(kernel, (tiles * tiles, count), x, *numbers, items=items)
    return x


TABLE: dict[str, Callable[..., Any]] = {"turn_squares": _turn_squares}
"""Functions by the name of their rows."""
