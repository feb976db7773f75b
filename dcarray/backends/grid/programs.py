"""A program on a device with grids: which kernel, and over how many work items."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from ...ops.kernels.mapping import map_kernel
from ...ops.kernels.turning import SIDE, turning_kernel
from ...ops.program import Program
from .geometry import Axes, collapsed, elements, is_wide, turned_leaves
from .reductions import reduce

if TYPE_CHECKING:
    from .backend import GridBackend, GridView

__all__ = ["GridExecutable"]

PER_ITEM = 4
"""Elements of a map that a work item takes before more groups are started."""

MOST_GROUPS = 32768
"""Groups along the third axis of a grid."""

WAVES = 8
"""Groups for each unit of the device, so that it is never idle."""


class GridExecutable:
    """A program, made ready for a device.

    Parameters
    ----------
    backend : GridBackend
    program : Program
    """

    def __init__(self, backend: GridBackend, program: Program) -> None:
        self.backend = backend
        self.program = program

    def run(
        self,
        shape: tuple[int, ...],
        inputs: Sequence[GridView],
        scalars: Sequence[Any],
        outputs: Sequence[GridView],
        reduced: GridView | None,
    ) -> None:
        """Run over ``shape``; see `Backend.launch`."""
        if reduced is not None:
            reduce(self.backend, self.program, shape, inputs, scalars, outputs, reduced)
        elif 0 not in shape and outputs:
            self._map(shape, inputs, scalars, outputs)

    # --------------------------------------------------------------------------- maps
    def _map(
        self,
        shape: tuple[int, ...],
        inputs: Sequence[GridView],
        scalars: Sequence[Any],
        outputs: Sequence[GridView],
    ) -> None:
        views = [*inputs, *outputs]
        offsets, rows = elements(views)
        axes = collapsed(shape, rows, rows[len(inputs)])
        ndim = len(axes.lengths)
        limits = self.backend.limits
        if limits.coalesces and limits.items >= SIDE:
            turn = turned_leaves(axes, len(inputs))
            if turn is not None:
                self._turn(axes, turn, offsets, views, scalars)
                return
        if ndim <= 1 and all(row in ((1,), ()) for row in axes.strides):
            ndim = 0
        wide = is_wide(offsets, (axes,))
        kernel = map_kernel(self.program, ndim, wide, self.backend.limits.ahead)
        numbers = [axes.size, *offsets]
        if ndim:
            numbers += axes.lengths[1:]
            for row in axes.strides:
                numbers += row
        items = self.backend.limits.items
        wanted = -(-axes.size // (items * PER_ITEM))
        most = self.backend.limits.units * WAVES
        groups = max(1, min(-(-axes.size // items), max(wanted, most)))
        memories = [view.memory for view in views]
        arguments = [*memories, *scalars, *numbers]
        self.backend.run(kernel, (groups * items,), (items,), arguments)

    def _turn(
        self,
        axes: Axes,
        turn: tuple[int, tuple[bool, ...]],
        offsets: Sequence[int],
        views: Sequence[GridView],
        scalars: Sequence[Any],
    ) -> None:
        """A map by squares; see `turning_kernel`."""
        axis, turned = turn
        last = len(axes.lengths) - 1
        order = [*(k for k in range(last) if k != axis), axis, last]
        lengths = [axes.lengths[k] for k in order]
        wide = is_wide(offsets, (axes,))
        rows = min(SIDE, self.backend.limits.items // SIDE)
        kernel = turning_kernel(self.program, len(order), wide, turned, rows)
        batches = math.prod(lengths[:-2])
        numbers = [batches, *offsets, *lengths]
        for row in axes.strides:
            numbers += [row[k] for k in order]
        across, down = (-(-length // SIDE) for length in (lengths[-1], lengths[-2]))
        grid = (across * rows * SIDE, down, min(batches, MOST_GROUPS))
        memories = [view.memory for view in views]
        arguments = [*memories, *scalars, *numbers]
        self.backend.run(kernel, grid, (rows * SIDE, 1, 1), arguments)
