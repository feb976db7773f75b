"""Programs on CUDA: those of the grid, but for copies that have texts of our own."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from ...ops.elementwise import CAST
from ...ops.program import Program
from ..base import Start
from ..grid.geometry import collapsed, counted
from ..grid.programs import GridExecutable, Place
from .kernels import halving
from .raw import Raw, signature

if TYPE_CHECKING:
    from .backend import CudaBackend

__all__ = ["CudaExecutable"]

LEAST = 1 << 16
"""Elements from which on the text is worth it."""

_HALVE = signature("halve", "rwqqqqqqqq")


class CudaExecutable(GridExecutable):
    """A program on a CUDA device; see `GridExecutable`."""

    backend: CudaBackend

    def _own(self, shape: tuple[int, ...], places: Sequence[Place]) -> Start | None:
        if not _is_copy(self.program):
            return None
        return _halving(self.backend.raw, shape, *places)


def _is_copy(program: Program) -> bool:
    if len(program.nodes) != 1 or len(program.leaves) != 1 or program.outputs != (1,):
        return False
    (node,) = program.nodes
    return node.op == CAST and node.dtypes == program.leaves


def _halving(raw: Raw, shape: tuple[int, ...], x: Place, out: Place) -> Start | None:
    """A copy of every other element of rows; None for other copies."""
    size = x[1].itemsize
    if size not in halving.SIZES or not LEAST <= math.prod(shape) < 1 << 31:
        return None
    (offset, begin), rows = counted((x, out))
    axes = collapsed(shape, rows, rows[1])
    if not 1 <= len(axes.lengths) <= 2:
        return None
    *outer, length = axes.lengths
    (*far, step), (*apart, one) = axes.strides
    if step != 2 or one != 1:
        return None
    count, x_step, out_step = (outer + far + apart) or (1, 0, 0)
    if outer and x_step <= 0:  # the last row has to be the last one in memory as well
        return None
    odd = offset % 2
    if any([n % 4 for n in (offset - odd, begin, x_step, out_step)]):
        return None
    across = -(-length // 4)
    numbers: tuple[Any, ...] = (count * across, across, length, x_step, out_step)
    numbers = (*numbers, offset - odd, begin, odd)
    groups = -(-count * across // (halving.THREADS * halving.FOURS))
    text = halving.halving_text(size)
    start: Start = raw.start(text, _HALVE, (groups,), halving.THREADS, *numbers)
    return start
