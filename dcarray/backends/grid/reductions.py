"""Reductions on a device with grids: how the work is laid out."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from ...layout import Layout
from ...ops.kernels.reducing import Tile, accumulator, reduce_by_group, reduce_by_item
from ...ops.program import Program, Reduction
from .geometry import Axes, Strides, collapsed, elements, is_wide

if TYPE_CHECKING:
    from .backend import GridBackend, GridView, Limits

__all__ = ["reduce"]

SHORT = 16
"""Elements up to which one work item reduces alone."""

EACH = 8
"""Elements that a work item takes at least before a result is cut into parts."""

WAVES = 16
"""Groups for each unit of the device, so that it is never idle."""

AHEAD = 4
"""Elements that an item reads ahead, for each one that it does in a map: a reduction
stores nothing, and has more time to wait for loads."""

ABREAST = 32
"""Results side by side that are read together."""


def reduce(
    backend: GridBackend,
    program: Program,
    shape: tuple[int, ...],
    inputs: Sequence[GridView],
    scalars: Sequence[Any],
    outputs: Sequence[GridView],
    target: GridView,
) -> None:
    """Run a program that ends in a reduction; see `Backend.launch`."""
    views = [*inputs, *outputs]
    offsets, rows = elements(views)
    (offset,), (result,) = elements([target])
    final = target.layout.shape
    gone = [k for k, (n, m) in enumerate(zip(shape, final, strict=True)) if n != m]
    stay = [k for k in range(len(shape)) if k not in gone]
    reduced = _picked(shape, rows, gone)
    count = math.prod(final)
    if not count:
        return
    kept = _picked(shape, [*rows, result], stay)
    limits = backend.limits
    if reduced.size <= SHORT:
        run = _Launch(backend, program, views, scalars, reduced, offsets)
        run(target, kept, offset, None, 1)
        return
    tile = _tile(kept, reduced, limits)
    groups = -(-count // tile.width)
    parts = max(1, limits.units * WAVES // groups)
    parts = min(parts, -(-reduced.size // (tile.height * EACH)))
    run = _Launch(backend, program, views, scalars, reduced, offsets)
    if parts == 1:
        run(target, kept, offset, tile, 1)
        return
    partial = accumulator(target.dtype)
    memory = backend.allocate(count * parts * partial.itemsize)
    scratch = backend.view(memory, Layout((count * parts,), (1,)), partial)
    # Results in the order of the kept axes, as far apart as there are parts.
    steps = _dense(kept.lengths, parts)
    run(scratch, Axes(kept.lengths, (*kept.strides[:-1], steps)), 0, tile, parts)
    assert program.reduction is not None
    last = Reduction(program.reduction.op, 0, partial)
    again = Program((partial,), (), (), (), last)
    inner = Axes((parts,), ((1,),))
    run = _Launch(backend, again, [scratch], (), inner, [0])
    tile = _tile(kept, inner, limits)
    run(target, Axes(kept.lengths, (steps, kept.strides[-1])), offset, tile, 1)


class _Launch:
    """What launches of one program have in common."""

    def __init__(
        self,
        backend: GridBackend,
        program: Program,
        views: Sequence[GridView],
        scalars: Sequence[Any],
        reduced: Axes,
        offsets: Sequence[int],
    ) -> None:
        self.backend = backend
        self.program = program
        self.views = views
        self.scalars = scalars
        self.reduced = reduced
        self.offsets = offsets

    def __call__(
        self, target: GridView, kept: Axes, offset: int, tile: Tile | None, parts: int
    ) -> None:
        """Reduce into ``target``; by work items where there is no tile."""
        reduced = self.reduced
        wide = is_wide([*self.offsets, offset], (kept, reduced))
        sizes = (len(kept.lengths), len(reduced.lengths), wide)
        grid: tuple[int, ...]
        group: tuple[int, ...]
        if tile is None:
            kernel = reduce_by_item(self.program, *sizes, target.dtype)
            items = self.backend.limits.items
            grid, group = (-(-kept.size // items) * items,), (items,)
        else:
            kernel = reduce_by_group(self.program, *sizes, tile, target.dtype)
            grid = (parts * tile.items, -(-kept.size // tile.width))
            group = (tile.items, 1)
        numbers = [kept.size, reduced.size, *self.offsets, offset]
        numbers += kept.lengths[1:]
        numbers += reduced.lengths[1:]
        for row in kept.strides[:-1]:
            numbers += row
        for row in reduced.strides:
            numbers += row
        numbers += kept.strides[-1]
        memories = [*[view.memory for view in self.views], target.memory]
        self.backend.run(kernel, grid, group, [*memories, *self.scalars, *numbers])


def _tile(kept: Axes, reduced: Axes, limits: Limits) -> Tile:
    """A layout of a group in which neighbours read neighbours in memory."""
    items = limits.items
    ahead = AHEAD * limits.ahead if limits.ahead > 1 else 1
    fast = _fastest(reduced)
    if kept.lengths and _fastest(kept) < fast:
        width = min(ABREAST, items)
        return Tile(width, items // width, False, ahead)
    height = min(items, 1 << (reduced.size - 1).bit_length())
    return Tile(items // height, height, True, ahead)


def _fastest(axes: Axes) -> int:
    """The smallest stride of the first operand."""
    steps = axes.strides[0] if axes.strides else ()
    return min([abs(stride) for stride in steps], default=0)


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
