"""Kernels of one tap at stride 1 where positions lie side by side: each image is a
product of matrices, which are read and stored where they lie.

Vectors run along positions.  What is left of them, and of the channels of a tile, is
computed again by a vector, or a tile, that reaches back.
"""

from __future__ import annotations

import itertools
import math

import numpy as np

from ..engine import data_address
from ..threads import available_threads, run_slices
from .columns import HostArray, Window
from .sequence import run_each
from .sides import offsets
from .square_lines import SquareLines

__all__ = ["convolve_pointwise", "pointwise_suits"]

BLOCK = 128
"""Channels that are summed at once: as many rows of a panel stay in the nearest cache.
"""

PAGE = 4096
"""Bytes between channels, or a multiple, at which they would share one place of the
cache."""

FEWEST = 8
"""Channels of a result: those of the largest tile."""

SHORTEST = 16
"""Positions: those of the longest vector."""

JOBS = 4
"""Pieces of work for each thread."""


def pointwise_suits(x: HostArray, w: HostArray, window: Window, y: HostArray) -> bool:
    """Whether `convolve_pointwise` is the way; the weights are (groups, channels of y,
    channels of x, \\*kernel)."""
    ones = (1,) * len(window.kernel)
    plain = window.kernel == window.stride == ones and not any(window.low)
    if not plain or x.shape[2:] != y.shape[2:] or w.shape[0] > 1:
        return False
    if y.shape[1] < FEWEST or math.prod(y.shape[2:]) < SHORTEST:
        return False
    return x.strides[1] % PAGE > 0 and all(map(_flat, (x, y)))


def _flat(x: HostArray) -> bool:
    """Whether the positions of a channel lie side by side."""
    step = x.itemsize
    for length, own in zip(x.shape[:1:-1], x.strides[:1:-1], strict=True):
        if length > 1 and own != step:
            return False
        step *= length
    return True


def convolve_pointwise(
    code: SquareLines, x: HostArray, w: HostArray, y: HostArray
) -> None:
    """Store a convolution in ``y``; arrays as `direct.convolve` takes them."""
    weights = w[0].reshape(w.shape[1:3]).astype(y.dtype, copy=False)
    positions, item = math.prod(y.shape[2:]), y.itemsize
    panels = -(-positions // code.lanes)
    threads = available_threads()
    pieces = min(panels, -(-JOBS * threads // len(y)))
    edges = [min(positions, panels * k // pieces * code.lanes) for k in range(pieces)]
    parts = [*itertools.pairwise([*edges, positions])]
    jobs = [(image, part) for image in range(len(y)) for part in parts]
    places = offsets(weights.shape[:1], weights.strides[:1])
    terms = offsets(weights.shape[1:], weights.strides[1:])
    shifts = np.zeros(panels, np.int64)
    skips = offsets((panels,), (code.lanes * item,))
    tables = tuple(map(data_address, (terms, shifts, skips, skips)))
    whole = len(places) // code.places * code.places
    # The first channel of y, and channels.
    rows = [(0, whole)]
    if whole < len(places):
        rows.append((len(places) - code.places, code.places))

    def run(number: int) -> None:
        image, (begin, end) = jobs[number]
        seen, out = data_address(x[image]), data_address(y[image])
        calls: list[tuple[int, tuple[int, ...]]] = []
        for first, count, width in _vectors(begin, end, code):
            for row, many in rows:
                starts = (
                    *(data_address(weights), seen + first * item),
                    *(out + row * y.strides[1] + first * item,),
                    data_address(places) + row * places.itemsize,
                )
                numbers = many, len(terms), count, BLOCK, 0, x.strides[1], y.strides[1]
                calls.append((code.tiles[width - 1], (*starts, *tables, *numbers)))
        run_each(calls)

    run_slices(run, len(jobs), threads)


def _vectors(begin: int, end: int, code: SquareLines) -> list[tuple[int, int, int]]:
    """The first position, the panels and their vectors of each call."""
    count, rest = divmod(end - begin, code.lanes)
    found = [(begin, count, len(code.tiles))] if count else []
    begin += count * code.lanes
    width = rest // code.length
    if width:
        found.append((begin, 1, width))
    if rest % code.length:
        found.append((end - code.length, 1, 1))
    return found
