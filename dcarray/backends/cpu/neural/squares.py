"""Kernels of 3×3 at stride 1 by squares of 2×2 results: 16 products where there would
be 36 (Winograd's F(2×2, 3×3); Lavin and Gray, "Fast Algorithms for Convolutional Neural
Networks", 2015).

Sums and differences of neighbours lose no digits that count here.  They do spread what
is infinite over a square; such results are computed again by `direct`.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ..threads import available_threads, run_slices
from .columns import HostArray, Tile, Window, Workspace, scratch
from .direct import convolve, multiply, offsets, packed_weights, scatter
from .micro import Micro

__all__ = ["convolve_squares", "squares_suit"]

LEAST = 1024
"""Positions of all images from which the weights are worth their transformation."""

CHANNELS = 128
"""Channels, of the operand and of the result, from which the positions are."""

SQUARES = 160
"""Squares that are worked on at once, about."""


def squares_suit(w: HostArray, window: Window, y: HostArray) -> bool:
    """Whether a convolution is done best by `convolve_squares`; its weights are
    (groups, channels of y, channels of x, \\*kernel)."""
    plain = window.stride == window.dilation == (1, 1) and window.kernel == (3, 3)
    if not plain or w.shape[0] != 1 or min(w.shape[1:3]) < CHANNELS:
        return False
    positions: tuple[int, ...] = y.shape[2:]
    enough = len(y) * math.prod(positions) >= LEAST
    return enough and min(positions) > 4


def convolve_squares(
    micro: Micro,
    x: HostArray,
    w: HostArray,
    window: Window,
    y: HostArray,
    channels_last: bool,
) -> None:
    """Store a convolution in ``y``; takes what `convolve` takes."""
    packed = packed_weights(micro, w.astype(y.dtype, copy=False), channels_last=True)
    weights = _transformed(packed)
    batch, channels, height, width = y.shape
    down, across = -(-height // 2), -(-width // 2)
    threads = available_threads()
    some = max(1, min(SQUARES // (down * across), -(-batch // (2 * threads))))
    rows = max(1, min(down, SQUARES // across))
    jobs = [
        (slice(image, min(batch, image + some)), slice(row, min(down, row + rows)))
        for image in range(0, batch, some)
        for row in range(0, down, rows)
    ]
    idle: list[Workspace] = []
    odd: list[bool] = []

    def run(number: int) -> None:
        with np.errstate(all="ignore"):
            work(number)

    def work(number: int) -> None:
        images, part = jobs[number]
        workspace = idle.pop() if idle else Workspace(y.dtype, channels_last)
        places = (range(2 * part.start, 2 * part.stop), range(2 * across))
        tile = Tile(range(images.start, images.stop), range(1), places)
        block = workspace.block(x, tile, range(x.shape[1]), window)
        seen = _of_squares(block, workspace)
        found = _products(micro, seen, weights, workspace)
        odd.append(not np.isfinite(found).all())
        target = y[images, :, 2 * part.start : 2 * part.stop]
        shape = (len(block), channels, len(places[0]), 2 * across)
        made = target
        if target.shape != shape:  # the last squares reach over the edge
            made = workspace.array("result", shape)
        for down_, across_ in np.ndindex(2, 2):
            scatter(micro, found[down_, across_], made[:, :, down_::2, across_::2])
        if made is not target:
            np.copyto(target, made[:, :, : target.shape[2], :width])
        idle.append(workspace)

    run_slices(run, len(jobs), threads)
    if any(odd):
        again = np.empty_like(y)
        convolve(micro, x, w, window, again, channels_last)
        np.copyto(y, again, where=~np.isfinite(y))


def _transformed(packed: HostArray) -> HostArray:
    """Weights of (panels, 9 × channels, lanes) as (4 × 4 × panels, channels, lanes)."""
    panels, terms, lanes = packed.shape
    made = scratch((4, 4, panels, terms // 9, lanes), packed.dtype)
    half = packed.dtype.type(0.5)

    def spread(source: HostArray, target: HostArray) -> None:
        """Three rows as four."""
        target[0] = source[0]
        target[3] = source[2]
        ends = source[0] + source[2]
        ends *= half
        middle = source[1] * half
        np.add(ends, middle, out=target[1])
        np.subtract(ends, middle, out=target[2])

    def run(panel: int) -> None:
        taps = packed[panel].reshape(3, 3, -1, lanes)
        rows = scratch((4, *taps.shape[1:]), packed.dtype)
        spread(taps, rows)
        for row, target in zip(rows, made):
            spread(row, target[:, panel])

    run_slices(run, panels, available_threads())
    return made.reshape(16 * panels, -1, lanes)


def _of_squares(block: HostArray, workspace: Workspace) -> HostArray:
    """A block of (images, channels, \\*positions), two positions more than there are
    results, as (4, 4, images, \\*squares, channels)."""
    images, channels, height, width = block.shape
    last = workspace.array("last", (images, height, width, channels))
    np.copyto(last, np.moveaxis(block, 1, -1))
    down, across = height // 2 - 1, width // 2 - 1
    rows = workspace.array("rows", (4, images, down, width, channels))
    _differences([last[:, k : k + 2 * down : 2] for k in range(4)], rows)
    seen = workspace.array("squares", (4, 4, images, down, across, channels))
    for row, target in zip(rows, seen):
        _differences([row[:, :, k : k + 2 * across : 2] for k in range(4)], target)
    return seen


def _differences(four: list[HostArray], target: HostArray) -> None:
    np.subtract(four[0], four[2], out=target[0])
    np.add(four[1], four[2], out=target[1])
    np.subtract(four[2], four[1], out=target[2])
    np.subtract(four[1], four[3], out=target[3])


def _products(
    micro: Micro, seen: HostArray, weights: HostArray, workspace: Workspace
) -> HostArray:
    """Results of (2, 2, panels, squares, lanes)."""
    channels, item = seen.shape[-1], seen.itemsize
    count = seen.size // (16 * channels)
    places = offsets((count,), (channels * item,), micro.places)
    terms = offsets((channels,), (item,))
    panels = len(weights) // 16
    sums = workspace.array("sums", (16 * panels, len(places), micro.lanes))
    shifts = np.repeat(np.arange(16) * count * channels * item, panels)
    multiply(micro, seen, weights, sums, places, terms, shifts)
    whole = sums.reshape(4, 4, panels, len(places), micro.lanes)
    rows = workspace.array("halves", (2, *whole.shape[1:]))
    _gathered(whole, rows)
    found = workspace.array("found", (2, 2, *whole.shape[2:]))
    for row, target in zip(rows, found):
        _gathered(row, target)
    return found[:, :, :, :count]


def _gathered(four: Any, target: HostArray) -> None:
    np.add(four[0], four[1], out=target[0])
    target[0] += four[2]
    np.subtract(four[1], four[2], out=target[1])
    target[1] -= four[3]
