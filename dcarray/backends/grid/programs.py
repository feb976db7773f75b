"""A program on a device with grids: which kernel, and over how many work items."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from ...ops.kernels.mapping import map_kernel
from ...ops.program import Program
from .geometry import collapsed, elements, is_wide
from .reductions import reduce

if TYPE_CHECKING:
    from .backend import GridBackend, GridView

__all__ = ["GridExecutable"]

PER_ITEM = 4
"""Elements of a map that a work item takes before more groups are started."""

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
