"""Weights' gradients through `micro`: x is read as `direct` reads it, against the
gradient, which is laid out in panels piece by piece."""

from __future__ import annotations

import math

import numpy as np

from ..engine import data_address
from .columns import HostArray, Tile, Window, Workspace, scratch
from .direct import BLOCK, panels_of, scaled, shifts_of
from .micro import Micro
from .sequence import address_of, run_each
from .sides import Side, move, offsets, run_of

__all__ = ["CHAIN", "store_weights", "weight_sums"]

CHAIN = 4096
"""Positions over which a weight's gradient is summed in its own dtype, block by block.
"""

PIECE_BYTES = 1 << 19
"""Bytes of the gradient that are laid out at once: they are read again for every tile
of weights."""


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
    panels = groups * panels_of(width, micro)
    rows = per_group * window.taps
    shape = (panels, -(-rows // micro.places) * micro.places, micro.lanes)
    sums = scratch(shape, x.dtype)
    total: HostArray | None = None
    begun = 0
    for tile in tiles:
        block = workspace.block(x, tile, channels, window)
        images, channel, *steps = block.strides
        places = offsets(
            (per_group, *window.kernel),
            (channel, *scaled(steps, window.dilation)),
            micro.places,
        )
        terms = offsets(
            (len(tile.images), *map(len, tile.positions)),
            (images, *scaled(steps, window.stride)),
        )
        if begun >= CHAIN:
            total = sums.astype(np.float64) if total is None else total + sums
            begun = 0
        own = gradient[
            tile.images.start : tile.images.stop,
            :,
            *[slice(p.start, p.stop) for p in tile.positions],
        ]
        sides = _sides(own, width, groups if panels > groups else 1)
        shifts = shifts_of(groups, panels // groups, per_group * channel)
        operands = block, places, terms, shifts
        _add(micro, operands, sides, sums, width, begun > 0, workspace)
        begun += len(terms)
    return sums if total is None else total + sums


def _sides(own: HostArray, width: int, pieces: int) -> list[Side]:
    """The gradient's channels in so many pieces, which have panels of their own."""
    lengths = (own.shape[0], *own.shape[2:])
    steps = (own.strides[0], *own.strides[2:])
    return [
        Side(own[:, k * width :], own.strides[1], lengths, steps) for k in range(pieces)
    ]


def _add(
    micro: Micro,
    operands: tuple[HostArray, HostArray, HostArray, HostArray],
    sides: list[Side],
    sums: HostArray,
    width: int,
    begun: bool,
    workspace: Workspace,
) -> None:
    """Add the products of a tile to sums, piece by piece of the gradient.

    Parameters
    ----------
    micro : Micro
    operands : tuple of ndarray
        What is seen of x, places, terms and shifts, as in `direct.multiply`.
    sides : list of Side
        The gradient, whose elements belong to the terms.
    sums : ndarray
    width : int
        Channels of a group.
    begun : bool
        Whether there are sums already.
    workspace : Workspace
    """
    block, places, terms, shifts = operands
    item, (panels, many, lanes) = sums.itemsize, sums.shape
    count, run = len(terms), run_of(sides[0].lengths, sides[0].steps, item)
    most = max(BLOCK, PIECE_BYTES // (panels * lanes * item) // BLOCK * BLOCK)
    if run < count:
        most = max(run, most // run * run)  # pieces of whole runs
    most = min(most, count)
    packed = workspace.array("packed", (panels, most, lanes))
    if width % lanes:
        packed.fill(0)
    each = panels // len(sides)
    whole = sides[0].array.shape[1] if len(sides) == 1 else width
    skips = [offsets((panels,), one.strides[:1]) for one in (packed, sums)]
    seen, terms_at, *others = map(data_address, (block, terms, shifts, *skips))
    starts = seen, *map(data_address, (packed, sums, places))
    table = offsets(sides[0].lengths, sides[0].steps)
    pairs = [(side.array, packed[k * each :]) for k, side in enumerate(sides)]
    ends = [(data_address(far), data_address(near)) for far, near in pairs]
    form = whole, min(width, lanes), sides[0].step, packed.strides[0]
    steps = packed.strides[1], sums.strides[1]
    gather, tiles = address_of(micro.gather), address_of(micro.tiles)
    calls: list[tuple[int, tuple[int, ...]]] = []
    for first in range(0, count, most):
        some, skip = min(most, count - first), first * terms.itemsize
        rest = data_address(table) + skip, some, *form, min(run, some)
        calls += [(gather, (*pair, *rest)) for pair in ends]
        numbers = many, some, panels, BLOCK, int(first > 0 or begun)
        words = (*starts, terms_at + skip, *others, *numbers, *steps)
        calls.append((tiles, words))
    run_each(calls)


def store_weights(
    micro: Micro, sums: list[HostArray], panels: range, channels: range, w: HostArray
) -> bool:
    """Store some panels of a group of sums as `weight_sums` returns them, added in
    float64.  Whether none of them is NaN for certain.

    Parameters
    ----------
    micro : Micro
    sums : list of ndarray
    panels, channels : range
        What is stored.
    w : ndarray
        (groups, channels of the gradient, channels of x, \\*kernel)
    """
    rows = [edge * math.prod(w.shape[3:]) for edge in (channels.start, channels.stop)]
    part = slice(panels.start, panels.stop), slice(*rows)
    total = sums[0][part]
    if len(sums) > 1:
        total = total.astype(np.float64)
        with np.errstate(invalid="ignore"):
            for other in sums[1:]:
                total += other[part]
    group, own = divmod(panels.start, panels_of(w.shape[1], micro))
    begin = own * micro.lanes
    lanes = min(len(panels) * micro.lanes, w.shape[1] - begin)
    target = w[group, begin:, channels.start : channels.stop]
    far = Side(target, w.strides[1], target.shape[1:], w.strides[2:])
    near = total.astype(w.dtype, copy=False)
    move(micro.scatter, micro, far, near, lanes, micro.lanes)
    flat = near.ravel()
    return not np.isnan(np.einsum("i,i->", flat, flat))
