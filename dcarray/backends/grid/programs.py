"""A program on a device with grids: its launches, prepared once for each geometry."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from ...layout import Layout
from ...ops.kernels.mapping import map_kernel
from ...ops.kernels.runs import runs_kernel
from ...ops.kernels.turning import SIDE, turning_kernel
from ...ops.program import Program
from ..base import Start
from .geometry import Axes, collapsed, counted, is_wide, runs, turned_leaves
from .launch import Launch, is_passed, lowered_number
from .reductions import Parts, in_parts, reduction
from .shifted import Shifted, lying, shifted_of

if TYPE_CHECKING:
    from .backend import GridBackend
    from .views import GridView

__all__ = ["GridExecutable", "Place"]

Place: TypeAlias = tuple[Layout, np.dtype[Any]]

PER_ITEM = 4
"""Elements of a map that a work item takes before more groups are started."""

LONG = 40
"""Operations of a program from which on it is not memory that it waits for."""

MOST_GROUPS = 32768
"""Groups along the third axis of a grid."""

MOST = 1 << 13
"""Geometries that are kept: loops over the rows of a matrix have one for each."""

MOST_SHIFTED = 256
"""The same of those that hold wherever the operands begin."""


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
        self._shifted: dict[Any, Shifted] = {}
        self._leaves = len(program.leaves)
        self._is_short = len(program.nodes) <= LONG
        self._passed = all(map(is_passed, program.scalars))

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
        places = [(view.layout, view.dtype) for view in views]
        if reduced is not None:
            if 0 in reduced.layout.shape:
                return _nothing
            start = reduction(self.backend, self.program, shape, places)
        elif 0 in shape or not views[self._leaves :]:
            return _nothing
        else:
            start = self._map(shape, places)
        if self._passed:
            return start

        def lowered(memories: Sequence[Any], scalars: Sequence[Any]) -> None:
            start(memories, self._lowered(scalars))

        return lowered

    def start(
        self,
        shape: tuple[int, ...],
        places: Sequence[Place],
        is_reduced: bool,
        memories: list[Any],
        scalars: Sequence[Any],
    ) -> None:
        """Do once what `prepare` gives: nothing is kept for operands that begin there.

        Parameters
        ----------
        shape : tuple of int
            Without a 0.
        places : sequence of (Layout, dtype)
            How all operands lie, as arrays of ``shape``; the result of a reduction is
            the last one.
        is_reduced : bool
            Whether there is such a result.
        memories : list
        scalars : sequence of NumPy scalars
        """
        if not self._passed:
            scalars = self._lowered(scalars)
        backend = self.backend
        key = lying(shape, places, is_reduced)
        shifted = self._shifted.get(key)
        if shifted is not None and shifted.once(backend, places, memories, scalars):
            return
        launch: Launch | Parts
        if is_reduced:
            launch = in_parts(backend, self.program, shape, places)
        else:
            own = self._own(shape, places)
            if own is not None:
                own(memories, scalars)
                return
            launch = self._laid_out(shape, places)
        launch.once(backend, memories, scalars)
        shifted = shifted_of(launch, shape, places, is_reduced)
        if shifted is not None:
            if len(self._shifted) >= MOST_SHIFTED:
                self._shifted.clear()
            self._shifted[key] = shifted

    def _lowered(self, scalars: Sequence[Any]) -> list[Any]:
        given: list[np.generic] = []
        for value, dtype in zip(scalars, self.program.scalars, strict=True):
            given.extend(lowered_number(value, dtype))
        return given

    def _own(self, shape: tuple[int, ...], places: Sequence[Place]) -> Start | None:
        """What runs it by a text of the device's own, if there is one."""
        return None

    def _map(self, shape: tuple[int, ...], places: Sequence[Place]) -> Start:
        own = self._own(shape, places)
        return self._laid_out(shape, places).on(self.backend) if own is None else own

    def _laid_out(self, shape: tuple[int, ...], places: Sequence[Place]) -> Launch:
        """The launch of a map."""
        backend, leaves = self.backend, self._leaves
        offsets, rows = counted(places)
        axes = collapsed(shape, rows, rows[leaves])
        turn = None
        limits = backend.limits
        if len(axes.lengths) > 1 and limits.coalesces and limits.items >= SIDE:
            turn = turned_leaves(axes, leaves)
        run = 1
        if limits.run > 1 and turn is None and self._is_short:
            sizes = [dtype.itemsize for _, dtype in places]
            run = runs(axes, offsets, sizes, limits.run)
        if run > 1:
            return _by_runs(backend, self.program, axes, offsets, run)
        if turn is None:
            return _in_order(backend, self.program, axes, offsets)
        items = backend.layouts["turn"].items
        return _by_squares(self.program, items, axes, offsets, *turn)


_WITHOUT_GAPS = ((1,), ())


def _nothing(memories: Sequence[Any], scalars: Sequence[Any]) -> None:
    """There are no elements."""


def _in_order(
    backend: GridBackend, program: Program, axes: Axes, offsets: Sequence[int]
) -> Launch:
    """A map in the order of its outputs; see `map_kernel`."""
    layout = backend.layouts["map"]
    ndim = len(axes.lengths)
    if ndim <= 1 and all([row in _WITHOUT_GAPS for row in axes.strides]):
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
    return Launch(kernel, (groups * items,), (items,), numbers, 1)


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
    grid = (-(-size // items) * items,)
    return Launch(kernel, grid, (items,), numbers, 2, tuple(units))


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
    return Launch(kernel, grid, (rows * SIDE, 1, 1), numbers, 1)
