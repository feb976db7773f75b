"""Convolutions of few channels in a group, and their weights' gradients, through
`lines`: vectors of positions, without columns."""

from __future__ import annotations

import functools
import math
from typing import Any, TypeAlias

import numpy as np

from ..engine import data_address
from ..threads import available_threads, run_slices
from .columns import HostArray, Sizes, Tile, Window, Workspace, cut_tiles
from .lines import SPOTS, Lines, lines

__all__ = ["line_convolve", "line_weights", "lines_for"]

FEW = 4
"""Most channels of a result in a group."""

TERMS = 512
"""Most terms of a sum, which is made in one go."""

Axes: TypeAlias = tuple[Sizes, ...]
"""Distances along each axis of a box."""


def lines_for(
    dtype: np.dtype[Any], width: int, terms: int, size: Sizes, step: int
) -> Lines | None:
    """The machine code that suits a convolution, if any does.

    Parameters
    ----------
    dtype : dtype
    width : int
        Channels of the result in a group.
    terms : int
        Channels of the operand in a group × taps.
    size : tuple of int
        Positions of the result.
    step : int
        Bytes between positions along the last axis of the operand.
    """
    if width > FEW or terms > TERMS or not size or step != dtype.itemsize:
        return None
    found = lines(dtype, _outs(width))
    return None if found is None or size[-1] < found.length else found


def _outs(width: int) -> int:
    return 2 - width % 2


@functools.lru_cache(512)
def _box(axes: Axes, multiple: int = 1) -> HostArray:
    """Distances of all elements of a box, the last axis fastest; the last one repeated
    until there are a multiple of some number."""
    found = np.zeros(1, np.int64)
    for steps in axes:
        found = np.add.outer(found, np.array(steps, np.int64)).ravel()
    missing = -len(found) % multiple
    return np.concatenate([found, np.repeat(found[-1:], missing)])


def _steps(length: int, step: int) -> Sizes:
    return tuple(range(0, length * step, step)) if step else (0,) * length


def _starts(length: int, vector: int, item: int) -> Sizes:
    """Where vectors of a row begin, in bytes; the last one ends with it."""
    last = length - vector
    return tuple([item * min(k, last) for k in range(0, length, vector)])


@functools.lru_cache(64)
def _masks(rows: int, length: int, vector: int, item: int) -> HostArray:
    """Ones for the elements of those vectors that no vector before them has."""
    row = np.zeros((-(-length // vector), vector), f"i{item}")
    row[:-1] = -1
    row[-1, -length % vector :] = -1
    return np.tile(row, (rows, 1))


class _Block:
    """What the windows of a tile see, with places side by side along the last axis.

    A stride along that axis leaves phases, each of them a row of its own.
    """

    def __init__(
        self,
        x: HostArray,
        tile: Tile,
        channels: range,
        window: Window,
        workspace: Workspace,
    ) -> None:
        part = workspace.block(x, tile, channels, window)
        item, stride, dilation = part.itemsize, window.stride[-1], window.dilation[-1]
        reached = _steps(window.kernel[-1], dilation)
        if stride > 1:
            length = -(-part.shape[-1] // stride)
            shape = (*part.shape[:-1], stride, length)
            phases = workspace.array("phases", shape)
            for phase in range(stride):
                own = part[..., phase::stride]
                phases[..., phase, : own.shape[-1]] = own
            reached = tuple([t % stride * length + t // stride for t in reached])
            part = phases[..., 0, :]
        self.array = part
        images, self.channel, *steps = part.strides
        self.taps: Axes = (
            *map(_steps, window.kernel[:-1], _times(steps, window.dilation)),
            tuple([item * t for t in reached]),
        )
        self.places: Axes = (
            _steps(len(tile.images), images),
            *map(_steps, map(len, tile.positions[:-1]), _times(steps, window.stride)),
        )


def _times(steps: list[int], by: Sizes) -> list[int]:
    return [step * n for step, n in zip(steps, by)]


def _shifts(count: int, repeated: int, step: int) -> HostArray:
    return np.repeat(np.arange(count, dtype=np.int64) * step, repeated)


def _call(function: Any, tables: list[HostArray], numbers: list[int]) -> None:
    words = np.array([*map(data_address, tables), *numbers], np.int64)
    function(data_address(words))


# ---------------------------------------------------------------------------- forward
def line_convolve(
    code: Lines, x: HostArray, w: HostArray, window: Window, y: HostArray
) -> None:
    """Store a convolution in ``y``.

    Parameters
    ----------
    code : Lines
        As `lines_for` finds it.
    x, y : ndarray
        With the channels before the positions; of one dtype.
    w : ndarray
        (groups, channels of y, channels of x, \\*kernel)
    window : Window
    """
    groups, width, per_group = w.shape[:3]
    outs = _outs(width)
    item, each = y.itemsize, width // outs
    packed = w.astype(y.dtype, copy=False).reshape(groups * each, outs, -1)
    packed = np.ascontiguousarray(packed.swapaxes(1, 2))
    span = per_group * math.prod(window.stride) + width
    row = span * item * y.shape[-1]
    tiles = cut_tiles(x.shape[0], groups, (*y.shape[2:-1], 1), row)
    idle: list[Workspace] = []

    def run(number: int) -> None:
        tile = _whole_rows(tiles[number], y.shape[-1])
        workspace = idle.pop() if idle else Workspace(y.dtype, channels_last=False)
        some = tile.groups
        channels = range(some.start * per_group, some.stop * per_group)
        block = _Block(x, tile, channels, window, workspace)
        target = _of_tile(y, tile, width)
        direct = target.strides[-1] == item
        made = target if direct else workspace.array("result", target.shape)
        images, channel, *steps = made.strides
        starts = _starts(y.shape[-1], code.length, item)
        targets = _box(
            (
                _steps(len(tile.images), images),
                *map(_steps, made.shape[2:-1], steps),
                starts,
            ),
            SPOTS,
        )
        terms = _box((_steps(per_group, block.channel), *block.taps))
        operands = [
            *(block.array, packed[some.start * each : some.stop * each], made),
            *(_box((*block.places, starts), SPOTS), targets, terms),
            _shifts(len(some), each, per_group * block.channel),
            _shifts(len(some) * each, 1, outs * channel),
        ]
        panels = len(some) * each
        _call(code.sums, operands, [len(targets), len(terms), panels, channel])
        if not direct:
            np.copyto(target, made)
        idle.append(workspace)

    run_slices(run, len(tiles), available_threads())


def _whole_rows(tile: Tile, length: int) -> Tile:
    return Tile(tile.images, tile.groups, (*tile.positions[:-1], range(length)))


def _of_tile(y: HostArray, tile: Tile, width: int) -> HostArray:
    return y[
        tile.images.start : tile.images.stop,
        tile.groups.start * width : tile.groups.stop * width,
        *[slice(p.start, p.stop) for p in tile.positions],
    ]


# ------------------------------------------------------------------- weights' gradient
def line_weights(
    code: Lines, x: HostArray, gradient: HostArray, window: Window, groups: int
) -> HostArray:
    """The weights' gradient: (groups × channels of the gradient, channels of x, taps),
    float64; the rows of a tile are summed in the dtype."""
    per_group, width = x.shape[1] // groups, gradient.shape[1] // groups
    outs, item = _outs(width), x.itemsize
    each, length = width // outs, gradient.shape[-1]
    count = per_group * window.taps
    rows = -(-count // SPOTS) * SPOTS
    span = per_group * math.prod(window.stride) + width
    size = (*gradient.shape[2:-1], 1)
    tiles = cut_tiles(x.shape[0], groups, size, span * item * length)
    found: list[HostArray | None] = [None] * len(tiles)
    idle: list[Workspace] = []

    def run(number: int) -> None:
        tile = _whole_rows(tiles[number], length)
        workspace = idle.pop() if idle else Workspace(x.dtype, channels_last=False)
        some = tile.groups
        channels = range(some.start * per_group, some.stop * per_group)
        block = _Block(x, tile, channels, window, workspace)
        own = _of_tile(gradient, tile, width)
        images, channel, *steps = own.strides
        starts = _starts(length, code.length, item)
        panels = len(some) * each
        sums = np.empty((panels, rows, outs))
        places = _box((*block.places, starts))
        operands = [
            *(block.array, own, sums),
            _box((_steps(per_group, block.channel), *block.taps), SPOTS),
            places,
            _box(
                (
                    _steps(len(tile.images), images),
                    *map(_steps, own.shape[2:-1], steps),
                    starts,
                )
            ),
            _masks(len(places) // len(starts), length, code.length, item),
            _shifts(len(some), each, per_group * block.channel),
            _shifts(panels, 1, outs * channel),
        ]
        _call(code.dots, operands, [rows, len(places), panels, channel])
        found[number] = sums
        idle.append(workspace)

    run_slices(run, len(tiles), available_threads())
    total = np.zeros((groups * each, rows, outs))
    for tile, sums in zip(tiles, found):
        assert sums is not None
        total[tile.groups.start * each : tile.groups.stop * each] += sums
    shape = (groups * width, per_group, window.taps)
    return total[:, :count].swapaxes(1, 2).reshape(shape)
