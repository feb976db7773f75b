"""Convolutions of few channels in a group, and their weights' gradients, through
`lines`: vectors of positions, without columns."""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np

from ..engine import data_address
from ..threads import available_threads, run_slices
from .columns import HostArray, Sizes, Tile, Window, Workspace, cut_tiles
from .lines import Lines, lines

__all__ = [
    "FEW",
    "JOBS",
    "WEIGHTS",
    "line_convolve",
    "line_weights",
    "lines_for",
]

FEW = 4
"""Channels of a result in a group up to which a panel of `micro` is too empty."""

JOBS = 8
"""Pieces of a result for each thread that there are at least, if they are worth it.
How a result is cut changes no bit of it."""

TERMS = 4096
"""Most terms of a sum: it goes through as many lines of the block."""

WEIGHTS = 512
"""Most weights of a channel of the result whose gradient is made at once."""

ALONE = 4
"""How much larger tiles of groups of one channel are: its lines are not read again
after those of another one, and each tile takes some Python."""

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
    return lines(dtype, _outs(width), size[-1])


def _outs(width: int) -> int:
    return 3 if width == 3 else 2 - width % 2


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


def _masks(rows: int, length: int, vector: int, item: int) -> HostArray:
    """Ones for the elements of those vectors that no vector before them has."""
    row = np.zeros((-(-length // vector), vector), f"i{item}")
    row[:-1] = -1
    row[-1, -length % vector :] = -1
    return np.tile(row, (rows, 1))


def _block(
    x: HostArray, tile: Tile, channels: range, window: Window, workspace: Workspace
) -> HostArray:
    """What the windows of a tile see, with places side by side along the last axis.

    A stride along that axis leaves phases, each of them a row of its own: the block
    that is returned is then the first of them.
    """
    part = workspace.block(x, tile, channels, window)
    stride = window.stride[-1]
    if stride == 1:
        return part
    shape = (*part.shape[:-1], stride, -(-part.shape[-1] // stride))
    phases = workspace.array("phases", shape)
    for phase in range(stride):
        own = part[..., phase::stride]
        phases[..., phase, : own.shape[-1]] = own
    return phases[..., 0, :]


@dataclass(frozen=True, slots=True)
class _Tables:
    """Distances for all tiles of one shape; ``addresses`` are those of ``arrays``."""

    arrays: tuple[HostArray, ...]
    addresses: tuple[int, ...]
    counts: tuple[int, ...]

    @classmethod
    def of(cls, *arrays: HostArray) -> _Tables:
        addresses = tuple(map(data_address, arrays))
        return cls(arrays, addresses, tuple(map(len, arrays)))


@dataclass(frozen=True, slots=True)
class _Form:
    """What the tables of a tile depend on."""

    window: Window
    shape: Sizes
    """Groups, images and positions of the tile."""
    channels: tuple[int, int]
    """Of the operand and of the result, in a group."""
    vector: int
    multiple: int
    """Of what is worked on at once."""
    block: Sizes
    """Strides of the block, and its length along the last axis."""
    result: Sizes
    """Strides of the result."""

    def spots(self) -> tuple[Axes, Axes, Sizes]:
        """Where vectors lie in the block and in the result, and taps along the last
        axis in the block."""
        images, _, *steps = self.block[:-1]
        item, stride = steps[-1], self.window.stride[-1]
        reached = _steps(self.window.kernel[-1], self.window.dilation[-1])
        if stride > 1:
            length = self.block[-1]
            reached = tuple([t % stride * length + t // stride for t in reached])
        starts = _starts(self.shape[-1], self.vector, item)
        rows = self.shape[2:-1]
        places = map(_steps, rows, _times(steps, self.window.stride))
        targets = map(_steps, rows, self.result[2:])
        count = self.shape[1]
        return (
            (_steps(count, images), *places, starts),
            (_steps(count, self.result[0]), *targets, starts),
            tuple([item * t for t in reached]),
        )

    def taps(self, last: Sizes) -> Axes:
        """Where channels of the operand and taps lie in the block."""
        _, channel, *steps = self.block[:-1]
        kernel = self.window.kernel[:-1]
        taps = map(_steps, kernel, _times(steps, self.window.dilation))
        return (_steps(self.channels[0], channel), *taps, last)

    def shifts(self) -> tuple[HostArray, HostArray]:
        """Where panels begin, in the block and in the result."""
        groups, (per_group, width) = self.shape[0], self.channels
        outs = _outs(width)
        own = np.repeat(np.arange(groups) * per_group * self.block[1], width // outs)
        return own, np.arange(len(own)) * outs * self.result[1]


def _form(
    code: Lines,
    window: Window,
    tile: Tile,
    channels: tuple[int, int],
    block: HostArray,
    result: HostArray,
) -> _Form:
    shape = (len(tile.groups), len(tile.images), *map(len, tile.positions))
    strides = (*block.strides, block.shape[-1])
    length, multiple = code.length, code.spots
    return _Form(window, shape, channels, length, multiple, strides, result.strides)


@functools.lru_cache(256)
def _of_sums(form: _Form) -> _Tables:
    """Places, targets, terms and shifts, as `sums_text` takes them."""
    places, targets, last = form.spots()
    found = [_box(places, form.multiple), _box(targets, form.multiple)]
    found.append(_box(form.taps(last)))
    return _Tables.of(*found, *form.shifts())


@functools.lru_cache(256)
def _of_dots(form: _Form) -> _Tables:
    """Rows, places, targets, masks and shifts, as `dots_text` takes them."""
    places, targets, last = form.spots()
    found = [_box(form.taps(last), form.multiple), _box(places), _box(targets)]
    item, length = form.block[-2], form.shape[-1]
    masks = _masks(len(found[1]) // len(places[-1]), length, form.vector, item)
    return _Tables.of(*found, masks, *form.shifts())


def _times(steps: Sequence[int], by: Sizes) -> list[int]:
    return [step * n for step, n in zip(steps, by)]


def _call(
    function: Any, operands: tuple[HostArray, ...], tables: _Tables, *numbers: int
) -> None:
    words = [*map(data_address, operands), *tables.addresses, *numbers]
    array = np.array(words, np.int64)
    function(data_address(array))


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
    threads = available_threads()
    size = (*y.shape[2:-1], 1)
    larger = ALONE if per_group == 1 else 1
    wanted = JOBS * threads
    tiles = cut_tiles(x.shape[0], groups, size, row, wanted, fewest=1, larger=larger)
    idle: list[Workspace] = []

    def run(number: int) -> None:
        tile = _whole_rows(tiles[number], y.shape[-1])
        workspace = idle.pop() if idle else Workspace(y.dtype, channels_last=False)
        some = tile.groups
        channels = range(some.start * per_group, some.stop * per_group)
        block = _block(x, tile, channels, window, workspace)
        target = _of_tile(y, tile, width)
        direct = target.strides[-1] == item
        made = target if direct else workspace.array("result", target.shape)
        tables = _of_sums(_form(code, window, tile, (per_group, width), block, made))
        many, _, terms, panels, _ = tables.counts
        operands = block, packed[some.start * each :], made
        _call(code.sums, operands, tables, many, terms, panels, made.strides[1])
        if not direct:
            np.copyto(target, made)
        idle.append(workspace)

    run_slices(run, len(tiles), threads)


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
    terms = per_group * window.taps
    rows = -(-terms // code.spots) * code.spots
    span = per_group * math.prod(window.stride) + width
    size = (*gradient.shape[2:-1], 1)
    larger = ALONE if per_group == 1 else 1
    tiles = cut_tiles(x.shape[0], groups, size, span * item * length, larger=larger)
    found: list[HostArray | None] = [None] * len(tiles)
    idle: list[Workspace] = []

    def run(number: int) -> None:
        tile = _whole_rows(tiles[number], length)
        workspace = idle.pop() if idle else Workspace(x.dtype, channels_last=False)
        some = tile.groups
        channels = range(some.start * per_group, some.stop * per_group)
        block = _block(x, tile, channels, window, workspace)
        own = _of_tile(gradient, tile, width)
        sums = np.empty((len(some) * each, rows, outs))
        tables = _of_dots(_form(code, window, tile, (per_group, width), block, own))
        many, count, _, _, panels, _ = tables.counts
        operands = block, own, sums
        _call(code.dots, operands, tables, many, count, panels, own.strides[1])
        found[number] = sums
        idle.append(workspace)

    run_slices(run, len(tiles), available_threads())
    total = np.zeros((groups * each, rows, outs))
    for tile, sums in zip(tiles, found):
        assert sums is not None
        total[tile.groups.start * each : tile.groups.stop * each] += sums
    shape = (groups * width, per_group, window.taps)
    return total[:, :terms].swapaxes(1, 2).reshape(shape)
