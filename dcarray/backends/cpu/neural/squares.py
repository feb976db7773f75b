"""Kernels of 3×3 at stride 1 by squares of 2×2 results: 16 products where there would
be 36 (Winograd's F(2×2, 3×3); Lavin and Gray, "Fast Algorithms for Convolutional Neural
Networks", 2015).

Sums and differences of neighbours lose no digits that count here.  They do spread what
is infinite over a square; such results are computed again by `direct`.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from ..engine import data_address
from ..threads import available_threads, run_slices
from .columns import HostArray, Sizes, Tile, Window, Workspace, scratch
from .direct import multiply
from .micro import Micro
from .sides import Side, gather, move, offsets, scatter

__all__ = [
    "combine",
    "convolve_squares",
    "of_squares",
    "squares_suit",
    "transformed_weights",
]

LEAST = 1024
"""Positions of all images from which the weights are worth their transformation."""

CHANNELS = 64
"""Channels, of the operand and of the result, from which the positions are."""

SQUARES = 160
"""Squares that are worked on at once, at least."""

TOGETHER = 50_000
"""Squares × channels that are, if every thread has some: larger jobs need less Python
for each result."""


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
) -> bool:
    """Store a convolution in ``y``; takes what `direct.convolve` takes.  Whether all of
    it is finite."""
    weights = transformed_weights(micro, w.astype(y.dtype, copy=False))
    batch, channels, height, width = y.shape
    down, across = -(-height // 2), -(-width // 2)
    threads = available_threads()
    share = batch * down * across // (2 * threads)
    most = max(SQUARES, min(share, TOGETHER // max(channels, x.shape[1])))
    some = max(1, min(most // (down * across), -(-batch // (2 * threads))))
    rows = max(1, min(down, most // across))
    jobs = [
        (slice(image, min(batch, image + some)), slice(row, min(down, row + rows)))
        for image in range(0, batch, some)
        for row in range(0, down, rows)
    ]
    idle: list[Workspace] = []
    odd: list[bool] = []

    def run(number: int) -> None:
        images, part = jobs[number]
        workspace = idle.pop() if idle else Workspace(y.dtype, channels_last)
        places = (range(2 * part.start, 2 * part.stop), range(2 * across))
        tile = Tile(range(images.start, images.stop), range(1), places)
        block = workspace.block(x, tile, range(x.shape[1]), window)
        squares = (len(block), part.stop - part.start, across)
        panels, count = -(-x.shape[1] // micro.lanes), math.prod(squares)
        # With a power of two between them, planes would share places of the cache.
        planes = workspace.array("squares", (16, panels * count | 1, micro.lanes))
        shape = (16, panels, count, micro.lanes)
        seen = planes[:, : panels * count].reshape(shape, copy=False)
        of_squares(micro.operand, micro, block, squares, seen, workspace)
        sums = _products(micro, seen, x.shape[1], weights, workspace)
        found, finite = _gathered(micro, sums, squares, workspace)
        odd.append(not finite)
        target = y[images, :, 2 * part.start : 2 * part.stop]
        shape = (len(block), channels, len(places[0]), 2 * across)
        made = target
        if target.shape != shape:  # the last squares reach over the edge
            made = workspace.array("result", shape)
        scatter(micro, found, made)
        if made is not target:
            np.copyto(target, made[:, :, : target.shape[2], :width])
        idle.append(workspace)

    run_slices(run, len(jobs), threads)
    return not any(odd)


def combine(
    function: Callable[[int], None],
    micro: Micro,
    source: tuple[HostArray, HostArray, Sizes],
    target: tuple[HostArray, HostArray, Sizes],
) -> bool:
    """Turn squares of vectors into others; of the source and of the target are given
    memory, where squares begin (bytes), and the steps of their rows and columns.
    Whether all is finite, where that is asked for."""
    (one, starts, steps), (other, ends, into) = source, target
    check = np.empty(micro.vector, one.dtype)
    operands = (one, other, starts, ends, check)
    numbers = (len(starts), micro.lanes // micro.vector, *steps, *into)
    words = np.array([*map(data_address, operands), *numbers], np.int64)
    function(data_address(words))
    return bool(np.isfinite(check).all())


def transformed_weights(micro: Micro, w: HostArray) -> HostArray:
    """Weights of one group as (4 × 4 × panels, channels, lanes)."""
    panels, lanes = -(-w.shape[1] // micro.lanes), micro.lanes
    count, row = w.shape[2], lanes * w.itemsize
    # With a power of two between them, planes would share places of the cache.
    made = scratch((16 * panels, count | 1, lanes), w.dtype)[:, :count]
    plane = panels * made.strides[0]
    jobs = min(panels, available_threads() if w.size >= 1 << 17 else 1)

    def run(number: int) -> None:
        first, last = [panels * k // jobs for k in (number, number + 1)]
        own = w[0, first * lanes : last * lanes]
        packed = scratch((last - first, 9 * count, lanes), w.dtype)
        if len(own) % lanes:
            packed.fill(0)
        far = Side(own, own.strides[0], own.shape[1:], own.strides[1:])
        move(micro.gather, micro, far, packed, len(own), lanes)
        shape = last - first, count
        starts = offsets(shape, (packed.strides[0], 9 * row))
        ends = offsets(shape, (made.strides[0], row))
        source, target = (packed, starts, (3 * row, row)), (made[first], ends)
        combine(micro.weights, micro, source, (*target, (4 * plane, plane)))

    run_slices(run, jobs, jobs)
    return made


def of_squares(
    function: Callable[[int], None],
    micro: Micro,
    block: HostArray,
    squares: Sizes,
    seen: HostArray,
    workspace: Workspace,
) -> None:
    """Store a block of (images, channels, \\*positions), in which a square begins at
    every other position, as (4 × 4, panels, squares, lanes)."""
    images, channels, height, width = block.shape
    row = micro.lanes * block.itemsize
    panels, count = seen.shape[1:3]
    near = workspace.array("near", (panels, images * height * width, micro.lanes))
    if channels % micro.lanes:
        near.fill(0)
    gather(micro, block, near)
    starts = offsets(
        (panels, *squares),
        (near.strides[0], height * width * row, 2 * width * row, 2 * row),
    )
    ends = offsets((panels, count), seen.strides[1:3])
    plane = seen.strides[0]
    source = near, starts, (width * row, row)
    combine(function, micro, source, (seen, ends, (4 * plane, plane)))


def _products(
    micro: Micro,
    seen: HostArray,
    channels: int,
    weights: HostArray,
    workspace: Workspace,
) -> HostArray:
    """Results of (4 × 4 × panels, squares, lanes)."""
    count, item = seen.shape[2], seen.itemsize
    places = offsets((count,), (seen.strides[2],), micro.places)
    terms = offsets(seen.shape[1::2], (seen.strides[1], item))[:channels]
    panels = len(weights) // 16
    sums = workspace.array("sums", (16 * panels, len(places), micro.lanes))
    shifts = np.repeat(np.arange(16) * seen.strides[0], panels)
    multiply(micro, seen, weights, sums, places, terms, shifts)
    return sums


def _gathered(
    micro: Micro, sums: HostArray, squares: Sizes, workspace: Workspace
) -> tuple[HostArray, bool]:
    """(panels, positions, lanes) of squares of products, and whether all is finite."""
    panels, (images, down, across) = len(sums) // 16, squares
    row, plane = sums.strides[1], panels * sums.strides[0]
    starts = offsets((panels, math.prod(squares)), sums.strides[:2])
    shape = (panels, images * 4 * down * across, micro.lanes)
    found = workspace.array("found", shape)
    ends = offsets(
        (panels, *squares),
        (found.strides[0], 4 * down * across * row, 4 * across * row, 2 * row),
    )
    source = sums, starts, (4 * plane, plane)
    finite = combine(
        micro.result, micro, source, (found, ends, (2 * across * row, row))
    )
    return found, finite
