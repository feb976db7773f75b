"""Convolutions and their weights' gradients through `micro`: windows are read where
they lie, in blocks that stay in cache, edges filled with zeros."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from ..engine import data_address
from ..threads import available_threads, run_slices
from .columns import HostArray, Sizes, Tile, Window, Workspace, cut_tiles, scratch
from .linewise import FEW, JOBS
from .micro import Micro, micro
from .sides import Side, move, offsets

__all__ = [
    "convolve",
    "multiply",
    "packed_weights",
    "store_weights",
    "tiles_for",
    "weight_sums",
]

BLOCK = 256
"""Terms that are summed at once: as many rows of a panel stay in the nearest caches."""

CHAIN = 4096
"""Positions over which a weight's gradient is summed in its own dtype, block by block.
"""

REUSED = 400
"""Places of a tile from which the weights, read for each tile, cost little."""

LEAST = 1 << 21
"""Products of a piece."""


def tiles_for(dtype: np.dtype[Any], width: int, groups: int) -> Micro | None:
    """The machine code that suits so many channels of the result in each group, if any
    does: BLAS takes few of them in one group, but is slow with small matrices."""
    return None if width <= FEW and groups == 1 else micro(dtype, width)


def multiply(
    micro: Micro,
    x: HostArray,
    packed: HostArray,
    sums: HostArray,
    places: HostArray,
    terms: HostArray,
    shifts: HostArray,
    begun: bool = False,
) -> None:
    """Sums of products: of (panels, terms, lanes) to (panels, places, lanes); they are
    added to what is there if they have ``begun``."""
    panels, many = sums.shape[:2]
    skips = [offsets((panels,), one.strides[:1]) for one in (packed, sums)]
    operands = (x, packed, sums, places, terms, shifts, *skips)
    steps = packed.strides[1], sums.strides[1]
    numbers = (many, len(terms), panels, BLOCK, begun, *steps)
    words = np.array([*map(data_address, operands), *numbers], np.int64)
    micro.tiles(data_address(words))


def _panels(width: int, micro: Micro) -> int:
    return -(-width // micro.lanes)


def _shifts(groups: int, panels: int, step: int) -> HostArray:
    """Where each panel of some groups begins in x."""
    return np.repeat(np.arange(groups, dtype=np.int64) * step, panels)


# ---------------------------------------------------------------------------- forward
def convolve(
    micro: Micro,
    x: HostArray,
    w: HostArray,
    window: Window,
    y: HostArray,
    channels_last: bool,
) -> None:
    """Store a convolution in ``y``.

    Parameters
    ----------
    micro : Micro
    x, y : ndarray
        With the channels before the positions; of one dtype.
    w : ndarray
        (groups, channels of y, channels of x, \\*kernel)
    window : Window
    channels_last : bool
        How x lies in memory.
    """
    groups, width, per_group = w.shape[:3]
    per_panels = _panels(width, micro)
    packed = packed_weights(micro, w.astype(y.dtype, copy=False), channels_last)
    together = min(per_group, BLOCK // window.taps + 1)
    span = together * math.prod(window.stride) + micro.lanes
    threads = available_threads()
    wanted = JOBS * threads
    shares = wanted
    if groups == 1:
        count = x.shape[0] * math.prod(y.shape[2:])
        least = -(-4 * threads // per_panels)
        shares = min(wanted, max(count // REUSED, least))
    tiles = cut_tiles(x.shape[0], groups, y.shape[2:], span * y.itemsize, shares)
    pieces = min(wanted, 1 + y.size * math.prod(w.shape[2:]) // LEAST)
    whole = pieces if groups == 1 else 1
    parts = _parts(per_panels, -(-whole // len(tiles)))
    if len(parts) > 1:  # the edges of a tile are filled once
        places = tuple(map(range, y.shape[2:]))
        every = Tile(range(x.shape[0]), range(1), places)
        filled = Workspace(y.dtype, channels_last)
        x = filled.block(x, every, range(x.shape[1]), window)
        window = Window(
            window.kernel, window.stride, (0,) * len(places), window.dilation
        )
    jobs = [(tile, part) for tile in tiles for part in parts]
    idle: list[Workspace] = []

    def run(number: int) -> None:
        tile, part = jobs[number]
        workspace = idle.pop() if idle else Workspace(y.dtype, channels_last)
        some = tile.groups
        block = workspace.block(
            x, tile, range(some.start * per_group, some.stop * per_group), window
        )
        images, channel, *steps = block.strides
        places = offsets(
            (len(tile.images), *map(len, tile.positions)),
            (images, *_scaled(steps, window.stride)),
            micro.places,
        )
        terms = _terms(
            (per_group, *window.kernel),
            (channel, *_scaled(steps, window.dilation)),
            channels_last,
        )
        first = some.start * per_panels + part.start
        last = first + (len(some) - 1) * per_panels + len(part)
        own = packed[first:last]
        sums = workspace.array("sums", (len(own), len(places), micro.lanes))
        shifts = _shifts(len(some), len(part), per_group * channel)
        multiply(micro, block, own, sums, places, offsets(*terms), shifts)
        _spread(micro, sums, y, tile, part, width, per_panels)
        idle.append(workspace)

    run_slices(run, len(jobs), threads)


def _parts(panels: int, wanted: int) -> list[range]:
    """Panels of a group in so many parts, if there are as many."""
    count = min(panels, wanted)
    edges = [panels * k // count for k in range(count + 1)]
    return [range(a, b) for a, b in itertools.pairwise(edges)]


def _scaled(steps: Sequence[int], by: Sizes) -> Sizes:
    return tuple([step * n for step, n in zip(steps, by, strict=True)])


def _terms(lengths: Sizes, steps: Sizes, channels_last: bool) -> tuple[Sizes, Sizes]:
    """Channels and taps in the order in which they lie in memory."""
    if channels_last:
        return (*lengths[1:], lengths[0]), (*steps[1:], steps[0])
    return lengths, steps


def packed_weights(micro: Micro, w: HostArray, channels_last: bool) -> HostArray:
    """Weights as panels: (groups × panels, terms, lanes)."""
    groups, width = w.shape[:2]
    count, panels = math.prod(w.shape[2:]), _panels(width, micro)
    packed = scratch((groups * panels, count, micro.lanes), w.dtype)
    if width % micro.lanes:
        packed.fill(0)
    box = _terms(w.shape[2:], w.strides[2:], channels_last)

    threads = available_threads() if packed.size >= 1 << 17 else 1
    parts = _parts(panels, threads if groups == 1 else 1)
    jobs = [(group, part) for group in range(groups) for part in parts]

    def run(number: int) -> None:
        group, part = jobs[number]
        first, last = [group * panels + edge for edge in (part.start, part.stop)]
        own = w[group, part.start * micro.lanes : part.stop * micro.lanes]
        far = Side(own, w.strides[1], *box)
        move(micro.gather, micro, far, packed[first:last], len(own), micro.lanes)

    run_slices(run, len(jobs), threads)
    return packed


def _spread(
    micro: Micro,
    sums: HostArray,
    y: HostArray,
    tile: Tile,
    part: range,
    width: int,
    per_panels: int,
) -> None:
    """Store the sums of a tile."""
    own = y[
        tile.images.start : tile.images.stop,
        :,
        *[slice(p.start, p.stop) for p in tile.positions],
    ]
    lengths = (own.shape[0], *own.shape[2:])
    steps = (own.strides[0], *own.strides[2:])
    some = tile.groups
    if per_panels == 1:
        channels = own[:, some.start * width :]
        far = Side(channels, own.strides[1], lengths, steps)
        move(micro.scatter, micro, far, sums, len(some) * width, width)
        return
    begin = part.start * micro.lanes
    lanes = min(width, part.stop * micro.lanes) - begin
    for k, group in enumerate(some):
        channels = own[:, group * width + begin :]
        far = Side(channels, own.strides[1], lengths, steps)
        near = sums[k * len(part) : (k + 1) * len(part)]
        move(micro.scatter, micro, far, near, lanes, micro.lanes)


# ------------------------------------------------------------------- weights' gradient
def weight_sums(
    micro: Micro,
    x: HostArray,
    gradient: HostArray,
    channels: range,
    tiles: list[Tile],
    window: Window,
    workspace: Workspace,
) -> HostArray:
    """The weights' gradient over some tiles, which have the same groups.

    Parameters
    ----------
    micro : Micro
    x, gradient : ndarray
        With the channels before the positions; the gradient of these groups only.
    channels : range
        Those of x whose weights are asked for, as many of each group.
    tiles : list of Tile
    window : Window
    workspace : Workspace

    Returns
    -------
    ndarray
        (groups × panels, channels and taps, lanes); the sums of `CHAIN` positions are
        summed in float64.
    """
    groups = len(tiles[0].groups)
    per_group = len(channels) // groups
    width = gradient.shape[1] // groups
    panels = _panels(width, micro)
    rows = per_group * window.taps
    shape = (groups * panels, -(-rows // micro.places) * micro.places, micro.lanes)
    sums = scratch(shape, x.dtype)
    total: HostArray | None = None
    begun = 0
    for tile in tiles:
        block = workspace.block(x, tile, channels, window)
        images, channel, *steps = block.strides
        places = offsets(
            (per_group, *window.kernel),
            (channel, *_scaled(steps, window.dilation)),
            micro.places,
        )
        terms = offsets(
            (len(tile.images), *map(len, tile.positions)),
            (images, *_scaled(steps, window.stride)),
        )
        packed = workspace.array("packed", (groups * panels, len(terms), micro.lanes))
        if width % micro.lanes:
            packed.fill(0)
        _collect(micro, gradient, tile, packed, width, panels)
        shifts = _shifts(groups, panels, per_group * channel)
        if begun >= CHAIN:
            total = sums.astype(np.float64) if total is None else total + sums
            begun = 0
        multiply(micro, block, packed, sums, places, terms, shifts, begun > 0)
        begun += len(terms)
    return sums if total is None else total + sums


def _collect(
    micro: Micro,
    gradient: HostArray,
    tile: Tile,
    packed: HostArray,
    width: int,
    panels: int,
) -> None:
    """The gradient of a tile as panels."""
    own = gradient[
        tile.images.start : tile.images.stop,
        :,
        *[slice(p.start, p.stop) for p in tile.positions],
    ]
    lengths = (own.shape[0], *own.shape[2:])
    steps = (own.strides[0], *own.strides[2:])
    if panels == 1:
        far = Side(own, own.strides[1], lengths, steps)
        move(micro.gather, micro, far, packed, own.shape[1], width)
        return
    for k in range(len(tile.groups)):
        far = Side(own[:, k * width :], own.strides[1], lengths, steps)
        near = packed[k * panels : (k + 1) * panels]
        move(micro.gather, micro, far, near, width, micro.lanes)


def store_weights(
    micro: Micro, sums: list[HostArray], panels: range, w: HostArray
) -> bool:
    """Store some panels of a group of sums as `weight_sums` returns them, added in
    float64.  Whether none of them is NaN for certain.

    Parameters
    ----------
    micro : Micro
    sums : list of ndarray
    panels : range
    w : ndarray
        (groups, channels of the gradient, channels of x, \\*kernel)
    """
    total = sums[0][panels.start : panels.stop]
    if len(sums) > 1:
        total = total.astype(np.float64)
        with np.errstate(invalid="ignore"):
            for other in sums[1:]:
                total += other[panels.start : panels.stop]
    group, own = divmod(panels.start, _panels(w.shape[1], micro))
    begin = own * micro.lanes
    lanes = min(len(panels) * micro.lanes, w.shape[1] - begin)
    far = Side(w[group, begin:], w.strides[1], w.shape[2:], w.strides[2:])
    near = total.astype(w.dtype, copy=False)
    move(micro.scatter, micro, far, near, lanes, micro.lanes)
    flat = near.ravel()
    return not np.isnan(np.einsum("i,i->", flat, flat))
