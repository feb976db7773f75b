"""Convolutions tap by tap, where laying out columns would cost more than the products:
one channel in a group, or an input gradient of few channels."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from ....ops.neural.windows import at, overlaps
from ..threads import available_threads, run_slices
from .columns import HostArray, Sizes, Window, Workspace, cut_tiles, run_tiles

__all__ = ["channelwise", "channelwise_adjoint", "channelwise_weights", "spread"]

BLOCK_BYTES = 1 << 17
"""Bytes of the planes that are worked on at once."""


def channelwise(x: HostArray, w: HostArray, window: Window, y: HostArray) -> None:
    """Store in ``y`` a convolution with one channel in a group.

    Parameters
    ----------
    x, y : ndarray
        With the channels before the positions.
    w : ndarray
        (channels of x, channels of y for each, \\*kernel)
    window : Window
    """
    whole = y.reshape(*x.shape[:2], w.shape[1], *y.shape[2:], copy=False)
    if max(window.stride) == 1 and y.strides[-1] == y.itemsize:
        _by_channels(lambda key: _shifted(x[key], w[key[1]], window, whole[key]), x, y)
        return
    taps = list(_overlaps(x.shape[2:], y.shape[2:], window))

    def run(key: tuple[slice, slice]) -> None:
        source, target, weights = x[key], whole[key], w[key[1]]
        target.fill(0)
        for tap, outer, inner in taps:
            seen = source[at(inner)]
            for k in range(w.shape[1]):
                part = target[(slice(None), slice(None), k, *outer)]
                part += seen * _column(weights[(slice(None), k, *tap)], seen.ndim)

    _by_channels(run, x, y)


def _shifted(x: HostArray, w: HostArray, window: Window, y: HostArray) -> None:
    """Store in ``y`` a convolution of stride 1, its planes laid end to end: a tap is a
    distance, and loops are as long as a plane.  What runs over the end of a row is not
    stored.

    Parameters
    ----------
    x : ndarray
        (images, channels, \\*positions)
    w : ndarray
        (channels, channels of y for each, \\*kernel)
    window : Window
    y : ndarray
        (images, channels, channels of y for each, \\*positions)
    """
    given = zip(y.shape[3:], window.kernel, window.dilation)
    extents = [n + (k - 1) * d for n, k, d in given]
    padded = np.zeros((*x.shape[:2], *extents), y.dtype)
    inner, outer = [], []
    for n, m, low in zip(x.shape[2:], extents, window.low):
        first, stop = max(0, -low), min(n, m - low)
        outer.append(slice(first, max(first, stop)))
        inner.append(slice(first + low, max(first, stop) + low))
    padded[at(inner)] = x[at(outer)]
    steps = [math.prod(extents[k + 1 :]) for k in range(len(extents))]
    reach = sum(
        (k - 1) * d * s for k, d, s in zip(window.kernel, window.dilation, steps)
    )
    flat = padded.reshape(*x.shape[:2], -1)
    count = flat.shape[2] - reach
    total = np.empty(flat.shape, y.dtype)
    made = np.empty((*x.shape[:2], count), y.dtype)
    places = tuple([slice(n) for n in y.shape[3:]])
    for k in range(w.shape[1]):
        total.fill(0)
        sums = total[..., :count]
        for tap in np.ndindex(*window.kernel):
            start = sum(t * d * s for t, d, s in zip(tap, window.dilation, steps))
            weights = w[(slice(None), k, *tap)][:, None]
            np.multiply(flat[..., start : start + count], weights, out=made)
            np.add(sums, made, out=sums)
        y[:, :, k] = total.reshape(padded.shape)[at(places)]


def channelwise_adjoint(
    gradient: HostArray, w: HostArray, window: Window, x: HostArray
) -> None:
    """Store in ``x`` the input gradient of `channelwise`."""
    if w.shape[1] == 1 and max(window.stride) == 1:
        # The same, with the kernel turned round.
        given = zip(window.kernel, window.dilation, window.low)
        low = tuple([(k - 1) * d - before for k, d, before in given])
        turned = np.flip(w, tuple(range(2, w.ndim)))
        again = Window(window.kernel, window.stride, low, window.dilation)
        channelwise(gradient, turned, again, x)
        return
    taps = list(_overlaps(x.shape[2:], gradient.shape[2:], window))
    shape = (*x.shape[:2], w.shape[1], *gradient.shape[2:])
    whole = gradient.reshape(shape, copy=False)

    def run(key: tuple[slice, slice]) -> None:
        source, target, weights = whole[key], x[key], w[key[1]]
        target.fill(0)
        for tap, outer, inner in taps:
            part = target[at(inner)]
            for k in range(w.shape[1]):
                seen = source[(slice(None), slice(None), k, *outer)]
                part += seen * _column(weights[(slice(None), k, *tap)], seen.ndim)

    _by_channels(run, x, gradient)


def channelwise_weights(
    x: HostArray, gradient: HostArray, window: Window, wide: np.dtype[Any]
) -> HostArray:
    """The weights' gradient of `channelwise`: (channels of x, channels of the gradient
    for each, taps)."""
    width = gradient.shape[1] // x.shape[1]
    shape = (*x.shape[:2], width, *gradient.shape[2:])
    whole = gradient.reshape(shape, copy=False)
    found = np.zeros((*x.shape[:2], width, *window.kernel), wide)
    taps = list(_overlaps(x.shape[2:], gradient.shape[2:], window))
    axes = tuple(range(2, x.ndim))

    def run(key: tuple[slice, slice]) -> None:
        source, results, target = x[key], whole[key], found[key]
        for tap, outer, inner in taps:
            seen = source[at(inner)]
            for k in range(width):
                products = seen * results[(slice(None), slice(None), k, *outer)]
                target[(slice(None), slice(None), k, *tap)] = products.sum(axes, wide)

    _by_channels(run, x, gradient)
    total: HostArray = found.sum(0)
    return total.reshape(x.shape[1], width, window.taps)


def spread(
    gradient: HostArray, w: HostArray, window: Window, groups: int, x: HostArray
) -> None:
    """Store in ``x`` an input gradient: products for every tap, added where they belong
    (col2im).  One thread works on an image."""
    width, per_group = w.shape[0] // groups, w.shape[1]
    rows = per_group * window.taps
    matrices = w.reshape(groups, width, rows).swapaxes(1, 2)
    matrices = np.ascontiguousarray(matrices, x.dtype)
    size, threads = gradient.shape[2:], available_threads()
    tiles = cut_tiles(1, 1, size, rows * x.itemsize, 1)
    steps = []
    for tile in tiles:
        part = tuple([slice(p.start, p.stop) for p in tile.positions])
        starts = [p.start for p in tile.positions]
        low = [n - k * s for n, k, s in zip(window.low, starts, window.stride)]
        moved = Window(window.kernel, window.stride, tuple(low), window.dilation)
        lengths = tuple(map(len, tile.positions))
        steps.append((part, lengths, list(_overlaps(x.shape[2:], lengths, moved))))

    def run(image: int, workspace: Workspace) -> None:
        x[image].fill(0)
        for group in range(groups):
            target = x[image, group * per_group : (group + 1) * per_group]
            source = gradient[image, group * width : (group + 1) * width]
            for part, lengths, taps in steps:
                count = math.prod(lengths)
                seen = workspace.array("gradient", (width, *lengths))
                np.copyto(seen, source[at(part)])
                made = workspace.array("columns", (rows, count))
                np.matmul(matrices[group], seen.reshape(width, count), out=made)
                shaped = made.reshape(per_group, *window.kernel, *lengths)
                for tap, outer, inner in taps:
                    place = target[at(inner)]
                    place += shaped[(slice(None), *tap, *outer)]

    run_tiles(run, range(x.shape[0]), threads, lambda: Workspace(x.dtype, False))


def _overlaps(source: Sizes, size: Sizes, window: Window) -> Any:
    return overlaps(
        source, size, window.kernel, window.stride, window.low, window.dilation
    )


def _column(weights: HostArray, ndim: int) -> HostArray:
    """A number for each channel, against (images, channels, \\*positions)."""
    return weights.reshape(-1, *(1,) * (ndim - 2))


def _by_channels(
    run: Callable[[tuple[slice, slice]], None], x: HostArray, y: HostArray
) -> None:
    """Work on some channels of one image at a time, on several threads."""
    batch, channels = x.shape[:2]
    plane = max(x.nbytes, y.nbytes) // max(1, batch * channels)
    some = max(1, min(channels, BLOCK_BYTES // max(1, plane)))
    if x.strides[1] == x.itemsize:
        some = min(channels, max(some, 64))  # whole lines of the cache
    keys = [
        (slice(image, image + 1), slice(first, first + some))
        for image in range(batch)
        for first in range(0, channels, some)
    ]
    run_slices(lambda number: run(keys[number]), len(keys), available_threads())
