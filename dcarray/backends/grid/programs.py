"""A program on a device with grids: its launches, prepared once for each geometry."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ...ops.kernels.mapping import map_kernel
from ...ops.kernels.runs import runs_kernel
from ...ops.kernels.turning import SIDE, turning_kernel
from ...ops.program import Program
from ..base import Start
from .geometry import Axes, collapsed, elements, is_wide, runs, turned_leaves
from .launch import Launch, is_passed, lowered_number
from .reductions import reduction

if TYPE_CHECKING:
    from .backend import GridBackend
    from .views import GridView

__all__ = ["GridExecutable"]

PER_ITEM = 4
"""Elements of a map that a work item takes before more groups are started."""

LONG = 40
"""Operations of a program from which on it is not memory that it waits for."""

MOST_GROUPS = 32768
"""Groups along the third axis of a grid."""

MOST = 1 << 13
"""Geometries that are kept: loops over the rows of a matrix have one for each."""


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
        self._prepared: dict[Any, Start] = {}

    def run(
        self,
        shape: tuple[int, ...],
        inputs: Sequence[GridView],
        scalars: Sequence[Any],
        outputs: Sequence[GridView],
        reduced: GridView | None,
    ) -> None:
        """Run over ``shape``; see `Backend.launch`."""
        views = [*inputs, *outputs]
        if reduced is not None:
            views.append(reduced)
        start = self.prepare(shape, views, reduced)
        exact = [
            value if type(value) is dtype.type else dtype.type(value)
            for value, dtype in zip(scalars, self.program.scalars, strict=True)
        ]
        start([view.memory for view in views], exact)

    def prepare(
        self,
        shape: tuple[int, ...],
        views: Sequence[GridView],
        reduced: GridView | None,
    ) -> Start:
        """What runs it on operands that lie like ``views``, with scalars of the
        program's dtypes; the result of a reduction is the last one.  Kernels are
        built."""
        key: tuple[Any, ...] = (
            shape,
            tuple([(v.layout.offset, v.layout.strides) for v in views]),
        )
        if reduced is not None:
            key = (*key, reduced.layout.shape, reduced.dtype)
        start = self._prepared.get(key)
        if start is None:
            if len(self._prepared) > MOST:
                self._prepared.clear()
            start = self._prepared[key] = self._made(shape, views, reduced)
        return start

    def _made(
        self,
        shape: tuple[int, ...],
        views: Sequence[GridView],
        reduced: GridView | None,
    ) -> Start:
        start: Start
        if reduced is not None:
            if 0 in reduced.layout.shape:
                return _nothing
            start = reduction(self.backend, self.program, shape, views)
        elif 0 in shape or not views[len(self.program.leaves) :]:
            return _nothing
        else:
            start = self._map(shape, views)
        dtypes = self.program.scalars
        if all(map(is_passed, dtypes)):
            return start

        def lowered(memories: Sequence[Any], scalars: Sequence[Any]) -> None:
            given: list[np.generic] = []
            for value, dtype in zip(scalars, dtypes, strict=True):
                given.extend(lowered_number(value, dtype))
            start(memories, given)

        return lowered

    def _map(self, shape: tuple[int, ...], views: Sequence[GridView]) -> Start:
        backend, leaves = self.backend, len(self.program.leaves)
        offsets, rows = elements(views)
        axes = collapsed(shape, rows, rows[leaves])
        turn = None
        if backend.limits.coalesces and backend.limits.items >= SIDE:
            turn = turned_leaves(axes, leaves)
        run = 1
        if backend.limits.run > 1 and turn is None and len(self.program.nodes) <= LONG:
            sizes = [view.dtype.itemsize for view in views]
            run = runs(axes, offsets, sizes, backend.limits.run)
        if run > 1:
            launch = _by_runs(backend, self.program, axes, offsets, run)
        elif turn is None:
            launch = _in_order(backend, self.program, axes, offsets)
        else:
            items = backend.layouts["turn"].items
            launch = _by_squares(self.program, items, axes, offsets, *turn)
        return launch.on(backend)


def _nothing(memories: Sequence[Any], scalars: Sequence[Any]) -> None:
    """There are no elements."""


def _in_order(
    backend: GridBackend, program: Program, axes: Axes, offsets: Sequence[int]
) -> Launch:
    """A map in the order of its outputs; see `map_kernel`."""
    layout = backend.layouts["map"]
    ndim = len(axes.lengths)
    if ndim <= 1 and all(row in ((1,), ()) for row in axes.strides):
        ndim = 0
    kernel = map_kernel(program, ndim, is_wide(offsets, (axes,)), layout.ahead)
    numbers = [axes.size, *offsets]
    if ndim:
        numbers += axes.lengths[1:]
        for row in axes.strides:
            numbers += row
    items = layout.items
    wanted = -(-axes.size // (items * PER_ITEM))
    waves = backend.limits.units * layout.waves
    groups = max(1, min(-(-axes.size // items), max(wanted, waves)))
    return Launch.of(kernel, (groups * items,), (items,), numbers)


def _by_runs(
    backend: GridBackend, program: Program, axes: Axes, offsets: Sequence[int], run: int
) -> Launch:
    """A map in which items take runs; see `runs_kernel`."""
    *lengths, last = axes.lengths
    dense = tuple([bool(row[-1]) for row in axes.strides])
    units = [run if one else 1 for one in dense]
    ndim, wide = len(axes.lengths), is_wide(offsets, (axes,))
    kernel = runs_kernel(program, ndim, wide, run, dense)
    size = math.prod(lengths) * (last // run)
    numbers = [size, last % run]
    numbers += [offset // unit for offset, unit in zip(offsets, units, strict=True)]
    numbers += [*lengths[1:], last // run][: ndim - 1]
    for row, unit in zip(axes.strides, units, strict=True):
        numbers += [step // unit for step in row[:-1]]
    items = backend.layouts["map"].items
    return Launch.of(kernel, (-(-size // items) * items,), (items,), numbers)


def _by_squares(
    program: Program,
    items: int,
    axes: Axes,
    offsets: Sequence[int],
    axis: int,
    turned: tuple[bool, ...],
) -> Launch:
    """A map by squares; see `turning_kernel`."""
    last = len(axes.lengths) - 1
    order = [*(k for k in range(last) if k != axis), axis, last]
    lengths = [axes.lengths[k] for k in order]
    rows = min(SIDE, items // SIDE)
    wide = is_wide(offsets, (axes,))
    kernel = turning_kernel(program, len(order), wide, turned, rows)
    batches = math.prod(lengths[:-2])
    numbers = [batches, *offsets, *lengths]
    for row in axes.strides:
        numbers += [row[k] for k in order]
    across, down = (-(-length // SIDE) for length in (lengths[-1], lengths[-2]))
    grid = (across * rows * SIDE, down, min(batches, MOST_GROUPS))
    return Launch.of(kernel, grid, (rows * SIDE, 1, 1), numbers)
