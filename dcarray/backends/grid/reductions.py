"""Reductions on a device with grids: how the work is laid out."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ...layout import Layout
from ...ops.kernels.reducing import Tile, accumulator, reduce_by_group, reduce_by_item
from ...ops.program import Program, Reduction
from ..base import Start
from ..starting import InParts
from .geometry import Axes, Strides, collapsed, counted, is_wide
from .launch import Launch
from .tuning import Choice

if TYPE_CHECKING:
    from .backend import GridBackend

__all__ = ["Parts", "in_parts", "reduction"]

SHORT = 16
"""Elements up to which one work item reduces alone."""

EACH = 8
"""Elements that a work item takes at least before a result is cut into parts."""

ABREAST = 32
"""Results side by side that are read together."""


def reduction(
    backend: GridBackend,
    program: Program,
    shape: tuple[int, ...],
    places: Sequence[tuple[Layout, np.dtype[Any]]],
) -> Start:
    """What runs a program that ends in a reduction, on operands that lie like these.

    The last one is the result.
    """
    return in_parts(backend, program, shape, places).on(backend)


class Parts:
    """One or two launches: the second one goes on with what the first one left in
    memory in between.

    Parameters
    ----------
    first : Launch
    last : Launch, optional
    nbytes : int
        Of the memory in between.
    """

    __slots__ = ("first", "last", "nbytes")

    def __init__(
        self, first: Launch, last: Launch | None = None, nbytes: int = 0
    ) -> None:
        self.first = first
        self.last = last
        self.nbytes = nbytes

    def on(self, backend: GridBackend) -> Start:
        """See `Launch.on`."""
        start = self.first.on(backend)
        if self.last is None:
            return start
        return InParts(backend, self.nbytes, start, self.last.on(backend))

    def once(
        self,
        backend: GridBackend,
        memories: list[Any],
        scalars: Sequence[Any],
        offsets: list[int] | None = None,
    ) -> None:
        """See `Launch.once`."""
        if self.last is None:
            self.first.once(backend, memories, scalars, offsets)
            return
        between = backend.allocate(self.nbytes)
        self.first.once(backend, [*memories[:-1], between], scalars, offsets)
        self.last.once(backend, [between, memories[-1]], ())


def in_parts(
    backend: GridBackend,
    program: Program,
    shape: tuple[int, ...],
    places: Sequence[tuple[Layout, np.dtype[Any]]],
) -> Parts:
    """The launches of a program that ends in a reduction; see `reduction`."""
    offsets, rows = counted(places)
    offset, result = offsets.pop(), rows.pop()
    layout, dtype = places[-1]
    final = layout.shape
    gone = [k for k, (n, m) in enumerate(zip(shape, final, strict=True)) if n != m]
    stay = [k for k in range(len(shape)) if k not in gone]
    reduced = _picked(shape, rows, gone)
    kept = _picked(shape, [*rows, result], stay)
    choice = backend.layouts["reduce"]
    items = choice.items
    offsets.append(offset)
    if reduced.size <= SHORT:
        return Parts(_launch(program, items, kept, reduced, offsets, dtype, None, 1))
    tile = _tile(kept, reduced, choice)
    groups = -(-kept.size // tile.width)
    parts = max(1, backend.limits.units * choice.waves // groups)
    parts = min(parts, -(-reduced.size // (tile.height * EACH)))
    if parts == 1:
        return Parts(_launch(program, items, kept, reduced, offsets, dtype, tile, 1))
    partial = accumulator(dtype)
    # Results in the order of the kept axes, as far apart as there are parts.
    steps = _dense(kept.lengths, parts)
    first = Axes(kept.lengths, (*kept.strides[:-1], steps))
    offsets[-1] = 0
    begin = _launch(program, items, first, reduced, offsets, partial, tile, parts)
    assert program.reduction is not None
    again = Program((partial,), (), (), (), Reduction(program.reduction.op, 0, partial))
    rest = Axes(kept.lengths, (steps, kept.strides[-1]))
    inner = Axes((parts,), ((1,),))
    tile = _tile(rest, inner, choice)
    last = _launch(again, items, rest, inner, [0, offset], dtype, tile, 1)
    return Parts(begin, last, kept.size * parts * partial.itemsize)


def _launch(
    program: Program,
    items: int,
    kept: Axes,
    reduced: Axes,
    offsets: Sequence[int],
    dtype: np.dtype[Any],
    tile: Tile | None,
    parts: int,
) -> Launch:
    """One launch into results of a dtype; by work items where there is no tile."""
    wide = is_wide(offsets, (kept, reduced))
    sizes = (len(kept.lengths), len(reduced.lengths), wide)
    grid: tuple[int, ...]
    group: tuple[int, ...]
    if tile is None:
        kernel = reduce_by_item(program, *sizes, dtype)
        grid, group = (-(-kept.size // items) * items,), (items,)
    else:
        kernel = reduce_by_group(program, *sizes, tile, dtype)
        grid = (-(-kept.size // tile.width) * tile.items, parts)
        group = (tile.items, 1)
    numbers = [kept.size, reduced.size, *offsets]
    numbers += kept.lengths[1:]
    numbers += reduced.lengths[1:]
    for row in kept.strides[:-1]:
        numbers += row
    for row in reduced.strides:
        numbers += row
    numbers += kept.strides[-1]
    return Launch(kernel, grid, group, numbers, 2)


def _tile(kept: Axes, reduced: Axes, layout: Choice) -> Tile:
    """A layout of a group in which neighbours read neighbours in memory."""
    items, ahead = layout.items, layout.ahead
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
