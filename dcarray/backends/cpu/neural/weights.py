"""The weights' gradient of a convolution: products of the gradient with what the
windows see, summed over tiles in float64."""

from __future__ import annotations

import itertools
import math
from typing import Any, TypeAlias

import numpy as np

from ....ops.neural.windows import at, overlaps
from ..threads import available_threads, run_slices
from ..wholes.radix import rented
from .blas import one_blas_thread
from .columns import HostArray, Sizes, Tile, Window, Workspace, cut_tiles
from .direct import tiles_for
from .direct_weights import store_weights, weight_sums
from .linewise import WEIGHTS, line_weights, lines_for
from .micro import Micro
from .square_weights import square_weights, square_weights_suit
from .taps import channelwise_weights

__all__ = ["convolution_weight_gradient"]

MOST_ROWS = 1024
"""Rows of columns (channels × taps) that one slice sums."""

FEW_ROWS = 256
"""Rows of a slice for which it is still worth to gather the gradient."""

SUMS = 16
"""Sums made side by side; their number does not depend on the threads either."""


def convolution_weight_gradient(
    x: HostArray,
    gradient: HostArray,
    *,
    stride: Sizes,
    low: Sizes,
    dilation: Sizes,
    kernel: Sizes,
    groups: int,
    channels_last: bool,
) -> HostArray:
    """As the oracle of the row."""
    dtype = np.result_type(x, gradient)
    x = x.astype(dtype, copy=False)
    gradient = gradient.astype(dtype, copy=False)
    if channels_last:
        x, gradient = np.moveaxis(x, -1, 1), np.moveaxis(gradient, -1, 1)
    window = Window(kernel, stride, low, dilation)
    found, certain = _gradient(x, gradient, window, groups, channels_last)
    if not certain and _reaches_out(x.shape[2:], gradient.shape[2:], window):
        none = np.isnan(found)
        if none.any():
            again = _tap_by_tap(x, gradient, window, groups, channels_last)
            np.copyto(found, again, where=none)
    return found


def _gradient(
    x: HostArray,
    gradient: HostArray,
    window: Window,
    groups: int,
    channels_last: bool,
) -> tuple[HostArray, bool]:
    """The gradient, where what lies outside of x is multiplied as zeros; and whether
    none of it is NaN for certain."""
    dtype = x.dtype
    width, per_group = gradient.shape[1] // groups, x.shape[1] // groups
    shape = (groups * width, per_group, *window.kernel)
    wide = np.promote_types(dtype, np.float64) if dtype.kind in "fc" else dtype
    direct = tiles_for(dtype, width, 1 if per_group == 1 else groups)
    alive = x.size and gradient.size and window.taps
    size = gradient.shape[2:]
    step = x.strides[-1] if gradient.strides[-1] == dtype.itemsize else 0
    rows = per_group * window.taps
    along = lines_for(dtype, width, rows, size, step) if rows <= WEIGHTS else None
    certain = dtype.kind not in "fc"
    if along is not None and alive:
        total = line_weights(along, x, gradient, window, groups)
    elif direct is not None and alive:
        return _directly(direct, x, gradient, window, groups)
    elif per_group == 1 and groups > 1 and x.size and gradient.size:
        total = channelwise_weights(x, gradient, window, wide)
        certain = True  # sees nothing outside
    elif alive:
        total = _by_tiles(x, gradient, window, groups, channels_last, wide)
    else:
        total = np.zeros((groups, width, per_group, window.taps), wide)
    return total.astype(dtype, copy=False).reshape(shape), certain


def _reaches_out(source: Sizes, size: Sizes, window: Window) -> bool:
    """Whether some window sees what is not there."""
    axes = zip(source, size, *_numbers(window), strict=True)
    return any(
        low > 0 or (n - 1) * stride + (taps - 1) * dilation - low >= length
        for length, n, taps, stride, low, dilation in axes
    )


def _tap_by_tap(
    x: HostArray,
    gradient: HostArray,
    window: Window,
    groups: int,
    channels_last: bool,
) -> HostArray:
    """The gradient of each tap from what it sees: zeros outside of x, times what is not
    finite, would be NaN."""
    shape = (gradient.shape[1], x.shape[1] // groups, *window.kernel)
    found = np.zeros(shape, x.dtype)
    ones = (1,) * len(window.kernel)
    alone = Window(ones, ones, (0,) * len(ones), ones)
    taps = overlaps(x.shape[2:], gradient.shape[2:], *_numbers(window))
    for tap, outer, inner in taps:
        seen, slopes = x[at(inner)], gradient[at(outer)]
        own, _ = _gradient(seen, slopes, alone, groups, channels_last)
        found[at(tap)] = own.reshape(shape[:2])
    return found


def _numbers(window: Window) -> tuple[Sizes, Sizes, Sizes, Sizes]:
    return window.kernel, window.stride, window.low, window.dilation


def _directly(
    micro: Micro, x: HostArray, gradient: HostArray, window: Window, groups: int
) -> tuple[HostArray, bool]:
    """The whole gradient through `direct`, as `_gradient`."""
    width, per_group = gradient.shape[1] // groups, x.shape[1] // groups
    shape = (groups * width, per_group, *window.kernel)
    found = rented(math.prod(shape), x.dtype).reshape(shape)
    if square_weights_suit(x, gradient, window, groups) and square_weights(
        micro, x, gradient, window, found
    ):
        return found, True
    weights = found.reshape(groups, width, *shape[1:])
    span = per_group * math.prod(window.stride) + width
    parts, jobs = _jobs(x, gradient, window, groups, span)
    shares, panels = len(jobs) // len(parts), -(-width // micro.lanes)
    sums: dict[int, HostArray] = {}
    certain: list[bool] = []

    def task(number: int) -> None:
        (some, own), mine = jobs[number]
        first = some.start * per_group + own.start
        channels = range(first, first + len(some) * len(own))
        results = gradient[:, some.start * width : some.stop * width]
        mine = [Tile(tile.images, some, tile.positions) for tile in mine]
        workspace = Workspace(x.dtype, channels_last=False)
        made = weight_sums(micro, x, results, channels, mine, window, workspace)
        sums[number] = made
        if shares == 1:
            for k in range(0, len(made), panels):
                store(number, range(k, k + panels), range(len(own)))
            del sums[number]

    def store(number: int, some_panels: range, channels: range) -> None:
        some, own = parts[number]
        target = weights[some.start : some.stop, :, own.start : own.stop]
        shared = [sums[number * shares + k] for k in range(shares)]
        certain.append(store_weights(micro, shared, some_panels, channels, target))

    threads = available_threads()
    run_slices(task, len(jobs), threads)
    if shares > 1:
        count = sum([len(sums[n * shares]) for n in range(len(parts))])
        pieces = -(-threads // count)  # one panel is shared by all threads
        places = [
            (n, range(k, k + 1), range(edges[c], edges[c + 1]))
            for n, (_, own) in enumerate(parts)
            for edges in [[len(own) * c // pieces for c in range(pieces + 1)]]
            for k in range(len(sums[n * shares]))
            for c in range(pieces)
            if edges[c] < edges[c + 1]
        ]
        run_slices(lambda number: store(*places[number]), len(places), threads)
    return found, all(certain)


def _by_tiles(
    x: HostArray,
    gradient: HostArray,
    window: Window,
    groups: int,
    channels_last: bool,
    wide: np.dtype[Any],
) -> HostArray:
    """(groups, channels of the gradient, channels of x, taps)"""
    width, per_group = gradient.shape[1] // groups, x.shape[1] // groups
    taps = window.taps
    total = np.zeros((groups, width, per_group, taps), wide)
    jobs = _jobs(x, gradient, window, groups)[1]
    sums: list[HostArray | None] = [None] * len(jobs)

    def task(number: int) -> None:
        (some, own), mine = jobs[number]
        workspace = Workspace(x.dtype, channels_last)
        first = some.start * per_group + own.start
        channels = range(first, first + len(some) * len(own))
        results = gradient[:, some.start * width : some.stop * width]
        mine = [Tile(tile.images, some, tile.positions) for tile in mine]
        sums[number] = _summed(x, results, channels, mine, window, workspace, wide)

    with one_blas_thread():
        run_slices(task, len(jobs), available_threads())
    for ((some, own), _), found in zip(jobs, sums):
        assert found is not None
        if channels_last:
            found = found.reshape(len(some), width, taps, len(own)).swapaxes(2, 3)
        else:
            found = found.reshape(len(some), width, len(own), taps)
        total[some.start : some.stop, :, own.start : own.stop] += found
    return total


_Part: TypeAlias = tuple[range, range]
"""Some groups, and some channels of x of each."""


def _jobs(
    x: HostArray,
    gradient: HostArray,
    window: Window,
    groups: int,
    column: int = 0,
) -> tuple[list[_Part], list[tuple[_Part, list[Tile]]]]:
    """Parts of the weights, and what is summed side by side: the shares of each part
    follow each other.  ``column`` are the bytes of a position, those of a matrix of
    windows if they are not given."""
    per_group, taps = x.shape[1] // groups, window.taps
    some_groups = max(1, min(groups, MOST_ROWS // (per_group * taps)))
    some = max(1, min(per_group, MOST_ROWS // taps))
    fewer = max(FEW_ROWS // taps, -(-per_group // SUMS))
    if column and 0 < fewer < some and per_group > fewer * SUMS // 2:
        some = fewer  # so many parts that none needs several sums
    parts = [
        (range(g, min(groups, g + some_groups)), range(c, min(per_group, c + some)))
        for g in range(0, groups, some_groups)
        for c in range(0, per_group, some)
    ]
    column = column or max(256, some_groups * some * taps * x.itemsize // 4)
    wanted = max(1, SUMS // len(parts))
    tiles = cut_tiles(x.shape[0], 1, gradient.shape[2:], column, wanted)
    shares = min(len(tiles), wanted)
    edges = [len(tiles) * k // shares for k in range(shares + 1)]
    jobs = [(part, tiles[a:b]) for part in parts for a, b in itertools.pairwise(edges)]
    return parts, jobs


def _summed(
    x: HostArray,
    gradient: HostArray,
    channels: range,
    tiles: list[Tile],
    window: Window,
    workspace: Workspace,
    wide: np.dtype[Any],
) -> HostArray:
    """(groups, channels of the gradient, rows of the columns), over some tiles."""
    groups = len(tiles[0].groups)
    width = gradient.shape[1] // groups
    rows = len(channels) // groups * window.taps
    total = np.zeros((groups, width, rows), wide)
    made = workspace.array("product", total.shape)
    for tile in tiles:
        columns = workspace.columns(x, tile, channels, window)
        part = gradient[
            tile.images.start : tile.images.stop,
            :,
            *[slice(p.start, p.stop) for p in tile.positions],
        ]
        flat = np.moveaxis(part, 1, 0)
        matrices = workspace.matrices("gradient", 1, groups * width, tile.count)
        np.copyto(matrices.reshape(flat.shape), flat)
        mine = matrices.reshape(groups, width, tile.count)
        np.matmul(mine, columns.swapaxes(1, 2), out=made)
        np.add(total, made, out=total)
    return total
