"""Convolutions through `micro`: windows are read where
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
    "panels_of",
    "scaled",
    "shifts_of",
    "tiles_for",
]

BLOCK = 256
"""Terms that are summed at once: as many rows of a panel stay in the nearest caches."""

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


def panels_of(width: int, micro: Micro) -> int:
    return -(-width // micro.lanes)


def shifts_of(groups: int, panels: int, step: int) -> HostArray:
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
    per_panels = panels_of(width, micro)
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
            (images, *scaled(steps, window.stride)),
            micro.places,
        )
        terms = _terms(
            (per_group, *window.kernel),
            (channel, *scaled(steps, window.dilation)),
            channels_last,
        )
        first = some.start * per_panels + part.start
        last = first + (len(some) - 1) * per_panels + len(part)
        own = packed[first:last]
        sums = workspace.array("sums", (len(own), len(places), micro.lanes))
        shifts = shifts_of(len(some), len(part), per_group * channel)
        multiply(micro, block, own, sums, places, offsets(*terms), shifts)
        _spread(micro, sums, y, tile, part, width, per_panels)
        idle.append(workspace)

    run_slices(run, len(jobs), threads)


def _parts(panels: int, wanted: int) -> list[range]:
    """Panels of a group in so many parts, if there are as many."""
    count = min(panels, wanted)
    edges = [panels * k // count for k in range(count + 1)]
    return [range(a, b) for a, b in itertools.pairwise(edges)]


def scaled(steps: Sequence[int], by: Sizes) -> Sizes:
    return tuple([step * n for step, n in zip(steps, by, strict=True)])


def _terms(lengths: Sizes, steps: Sizes, channels_last: bool) -> tuple[Sizes, Sizes]:
    """Channels and taps in the order in which they lie in memory."""
    if channels_last:
        return (*lengths[1:], lengths[0]), (*steps[1:], steps[0])
    return lengths, steps


def packed_weights(micro: Micro, w: HostArray, channels_last: bool) -> HostArray:
    """Weights as panels: (groups × panels, terms, lanes)."""
    groups, width = w.shape[:2]
    count, panels = math.prod(w.shape[2:]), panels_of(width, micro)
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
