"""A program on a device with grids: which kernel, and over how many work items."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from ...layout import Layout
from ...ops.kernels.mapping import map_kernel
from ...ops.kernels.reducing import accumulator, reduce_by_group, reduce_by_item
from ...ops.program import Program, Reduction
from .geometry import Axes, collapsed, is_wide

if TYPE_CHECKING:
    from .backend import GridBackend, GridView

__all__ = ["GridExecutable"]

Strides = tuple[int, ...]

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
            self._reduce(shape, inputs, scalars, outputs, reduced)
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
        offsets, rows = _elements(views)
        axes = collapsed(shape, rows, rows[len(inputs)])
        ndim = len(axes.lengths)
        if ndim <= 1 and all(row in ((1,), ()) for row in axes.strides):
            ndim = 0
        wide = is_wide(offsets, (axes,))
        kernel = map_kernel(self.program, ndim, wide)
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

    # --------------------------------------------------------------------- reductions
    def _reduce(
        self,
        shape: tuple[int, ...],
        inputs: Sequence[GridView],
        scalars: Sequence[Any],
        outputs: Sequence[GridView],
        target: GridView,
    ) -> None:
        backend, limits = self.backend, self.backend.limits
        views = [*inputs, *outputs]
        offsets, rows = _elements(views)
        (offset,), (result,) = _elements([target])
        final = target.layout.shape
        gone = [k for k, (n, m) in enumerate(zip(shape, final, strict=True)) if n != m]
        stay = [k for k in range(len(shape)) if k not in gone]
        reduced = _picked(shape, rows, gone)
        count = math.prod(final)
        if not count:
            return
        kept = _picked(shape, [*rows, result], stay)
        items = limits.items
        if count >= limits.units * items or reduced.size < 32:
            self._launch(views, target, scalars, kept, reduced, offsets, offset, 0)
            return
        parts = max(1, limits.units * WAVES // count)
        parts = min(parts, -(-reduced.size // (items * 8)))
        if parts == 1:
            self._launch(views, target, scalars, kept, reduced, offsets, offset, 1)
            return
        partial = accumulator(target.dtype)
        memory = backend.allocate(count * parts * partial.itemsize)
        scratch = backend.view(memory, Layout((count * parts,), (1,)), partial)
        # Results in the order of the kept axes, as far apart as there are parts.
        steps = _dense(kept.lengths, parts)
        first = Axes(kept.lengths, (*kept.strides[:-1], steps))
        self._launch(views, scratch, scalars, first, reduced, offsets, 0, parts)
        assert self.program.reduction is not None
        again = Program(
            (partial,), (), (), (), Reduction(self.program.reduction.op, 0, partial)
        )
        rest = Axes(kept.lengths, (steps, kept.strides[-1]))
        inner = Axes((parts,), ((1,),))
        GridExecutable(backend, again)._launch(
            [scratch], target, (), rest, inner, [0], offset, 1
        )

    def _launch(
        self,
        views: Sequence[GridView],
        target: GridView,
        scalars: Sequence[Any],
        kept: Axes,
        reduced: Axes,
        offsets: Sequence[int],
        offset: int,
        parts: int,
    ) -> None:
        """One launch; ``parts`` is 0 for results by work items."""
        items = self.backend.limits.items
        wide = is_wide([*offsets, offset], (kept, reduced))
        sizes = (len(kept.lengths), len(reduced.lengths), wide)
        dtype = target.dtype
        grid: tuple[int, ...]
        group: tuple[int, ...]
        if parts:
            kernel = reduce_by_group(self.program, *sizes, items, dtype)
            grid, group = (parts * items, kept.size), (items, 1)
        else:
            kernel = reduce_by_item(self.program, *sizes, dtype)
            groups = -(-kept.size // items)
            grid, group = (groups * items,), (items,)
        numbers = [kept.size, reduced.size, *offsets, offset]
        numbers += kept.lengths[1:]
        numbers += reduced.lengths[1:]
        for row in kept.strides[:-1]:
            numbers += row
        for row in reduced.strides:
            numbers += row
        numbers += kept.strides[-1]
        memories = [*[view.memory for view in views], target.memory]
        self.backend.run(kernel, grid, group, [*memories, *scalars, *numbers])


def _elements(views: Sequence[GridView]) -> tuple[list[int], list[Strides]]:
    found = [view.elements() for view in views]
    return [offset for offset, _ in found], [strides for _, strides in found]


def _picked(shape: Sequence[int], rows: Sequence[Strides], axes: Sequence[int]) -> Axes:
    """Some of the axes, collapsed; the first operand's strides give the order."""
    strides = [tuple([row[axis] for axis in axes]) for row in rows]
    order = strides[0] if strides else (0,) * len(axes)
    return collapsed([shape[axis] for axis in axes], strides, order)


def _dense(lengths: Sequence[int], step: int) -> Strides:
    strides = []
    for length in reversed(lengths):
        strides.append(step)
        step *= length
    return tuple(reversed(strides))
