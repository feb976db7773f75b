"""Convolution tile by tile, in registers or as products of matrices; its input gradient
as convolutions of the gradient, one for each phase of the stride.

The scheme of the matrices is that of Chellapilla et al., "High Performance
Convolutional Neural Networks for Document Processing", 2006, with tiles in the place of
whole images.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from ....ops.neural.windows import at
from ..threads import available_threads
from ..wholes.radix import rented
from .columns import (
    HostArray,
    Sizes,
    Tile,
    Window,
    Workspace,
    cut_tiles,
    is_matrix,
    run_tiles,
)
from .direct import convolve, tiles_for
from .linewise import line_convolve, lines_for
from .micro import Micro
from .pointwise import convolve_pointwise, pointwise_suits
from .square_lines import square_lines
from .squares import convolve_squares, squares_suit
from .squarewise import convolve_squarewise, squarewise_suits
from .taps import channelwise, channelwise_adjoint, spread

__all__ = ["convolution", "convolution_input_gradient"]

FEW = 4
"""Channels of a result for each channel of the input from which it is cheaper to spread
an input gradient than to gather it."""


def convolution(
    x: HostArray,
    w: HostArray,
    *,
    stride: Sizes,
    low: Sizes,
    dilation: Sizes,
    size: Sizes,
    groups: int,
    channels_last: bool,
) -> HostArray:
    """As the oracle of the row."""
    dtype = np.result_type(x, w)
    made, y = _result(x.shape[0], w.shape[0], size, dtype, channels_last)
    window = Window(w.shape[2:], stride, low, dilation)
    x = _first(x, channels_last)
    width = w.shape[0] // groups
    if w.shape[1] == 1 and groups > 1:
        along = lines_for(dtype, width, window.taps, size, x.strides[-1])
        if along is None and tiles_for(dtype, width, 1) is None:
            weights = w.reshape(groups, width, *w.shape[2:])
            channelwise(x, weights, window, y)
            return made
    weights = w.reshape(groups, width, *w.shape[1:])
    _convolve(x, weights, window, y, channels_last)
    return made


def convolution_input_gradient(
    gradient: HostArray,
    w: HostArray,
    *,
    stride: Sizes,
    low: Sizes,
    dilation: Sizes,
    size: Sizes,
    groups: int,
    channels_last: bool,
) -> HostArray:
    """As the oracle of the row.

    The positions of the input that leave the same remainder by the stride are reached
    by the same taps: they are a convolution of the gradient, of stride 1, with those
    taps turned round.
    """
    channels = groups * w.shape[1]
    dtype = np.result_type(gradient, w)
    made, x = _result(gradient.shape[0], channels, size, dtype, channels_last)
    if not x.size:
        return made
    source = _first(gradient, channels_last)
    window = Window(w.shape[2:], stride, low, dilation)
    width = w.shape[0] // groups
    if w.shape[1] == 1 and groups > 1:
        step = source.strides[-1] if max(stride) == 1 else 0
        if lines_for(dtype, 1, width * window.taps, size, step) is None:
            weights = w.reshape(groups, width, *w.shape[2:])
            channelwise_adjoint(source, weights, window, x)
            return made
    if (
        w.shape[1] * FEW <= width
        and window.taps > 1
        and not _by_lines(source, w, window, size, width, dtype)
    ):
        spread(source, w, window, groups, x)
        return made
    swapped = w.reshape(groups, width, *w.shape[1:]).swapaxes(1, 2)
    per_axis = [
        _phase_table(*given) for given in zip(size, w.shape[2:], stride, low, dilation)
    ]
    for phase in np.ndindex(*map(len, per_axis)):
        parts = [table[k] for table, k in zip(per_axis, phase)]
        target = x[at([slice(k, None, s) for k, s in zip(phase, stride)])]
        taps = swapped[at([part[0] for part in parts])]
        if not taps.size:
            target.fill(0)
            continue
        window = Window(
            taps.shape[3:],
            (1,) * len(size),
            tuple([part[1] for part in parts]),
            tuple([part[2] for part in parts]),
        )
        weights = np.flip(taps, tuple(range(3, taps.ndim)))
        _convolve(source, weights, window, target, channels_last)
    return made


def _by_lines(
    source: HostArray,
    w: HostArray,
    window: Window,
    size: Sizes,
    width: int,
    dtype: np.dtype[Any],
) -> bool:
    """Whether `linewise` does all phases of an input gradient."""
    shortest = tuple([n // s for n, s in zip(size, window.stride)])
    taps = [-(-k // s) for k, s in zip(window.kernel, window.stride)]
    terms, step = width * math.prod(taps), source.strides[-1]
    found = lines_for(dtype, w.shape[1], terms, shortest, step)
    return found is not None and max(window.dilation) == 1


def _phase_table(
    size: int, taps: int, stride: int, low: int, dilation: int
) -> list[tuple[slice, int, int]]:
    """For each phase the taps that reach it, where their window begins (as
    `Window.low`) and their distance."""
    common = math.gcd(stride, dilation)
    period = stride // common
    table = []
    for phase in range(min(stride, size)):
        first = next(
            (t for t in range(period) if (phase + low - t * dilation) % stride == 0),
            taps,
        )
        count = len(range(first, taps, period))
        newest = (phase + low - first * dilation) // stride
        distance = dilation // common
        table.append(
            (slice(first, None, period), (count - 1) * distance - newest, distance)
        )
    return table


# ------------------------------------------------------------------------------- tiles
def _first(x: HostArray, channels_last: bool) -> HostArray:
    return np.moveaxis(x, -1, 1) if channels_last else x


def _result(
    batch: int, channels: int, size: Sizes, dtype: np.dtype[Any], channels_last: bool
) -> tuple[HostArray, HostArray]:
    """A new array, and the same with the channels before the positions."""
    shape = (batch, *size, channels) if channels_last else (batch, channels, *size)
    made = rented(math.prod(shape), dtype).reshape(shape)
    return made, _first(made, channels_last)


def _convolve(
    x: HostArray,
    w: HostArray,
    window: Window,
    y: HostArray,
    channels_last: bool,
) -> None:
    """Store a convolution in ``y``; arrays with the channels before the positions,
    weights of (groups, channels of y, channels of x, \\*kernel)."""
    if not y.size:
        return
    groups, per_group = w.shape[0], w.shape[2]
    height = per_group * window.taps
    if not height:
        y.fill(0)
        return
    x = x.astype(y.dtype, copy=False)
    along = lines_for(y.dtype, w.shape[1], height, y.shape[2:], x.strides[-1])
    if along is not None:
        line_convolve(along, x, w, window, y)
        return
    code = square_lines(y.dtype) if pointwise_suits(x, w, window, y) else None
    if code is not None:
        convolve_pointwise(code, x, w, y)
        return
    direct = tiles_for(y.dtype, w.shape[1], groups)
    if direct is not None:
        way = _by_squares if squares_suit(w, window, y) else convolve
        way(direct, x, w, window, y, channels_last)
        return
    matrices = np.moveaxis(w, 2, -1) if channels_last else w
    matrices = np.ascontiguousarray(matrices, y.dtype).reshape(groups, -1, height)
    threads = available_threads()
    column = height * y.itemsize
    tiles = cut_tiles(x.shape[0], groups, y.shape[2:], column)

    def run(tile: Tile, workspace: Workspace) -> None:
        some = tile.groups
        channels = range(some.start * per_group, some.stop * per_group)
        columns = workspace.columns(x, tile, channels, window)
        weights = matrices[some.start : some.stop]
        _store(np.matmul, weights, columns, _target(y, tile, groups), workspace)

    run_tiles(run, tiles, threads, lambda: Workspace(y.dtype, channels_last))


def _by_squares(
    direct: Micro,
    x: HostArray,
    w: HostArray,
    window: Window,
    y: HostArray,
    channels_last: bool,
) -> None:
    """Store a convolution in ``y``; what is not finite is done again by `direct`."""
    code = square_lines(y.dtype) if squarewise_suits(x, y) else None
    if code is None:
        finite = convolve_squares(direct, x, w, window, y, channels_last)
    else:
        finite = convolve_squarewise(code, x, w, window, y)
    if not finite:
        again = np.empty_like(y)
        convolve(direct, x, w, window, again, channels_last)
        np.copyto(y, again, where=~np.isfinite(y))


def _target(y: HostArray, tile: Tile, groups: int) -> HostArray:
    """(images, groups, channels of a group, \\*positions)"""
    width = y.shape[1] // groups
    return y[
        tile.images.start : tile.images.stop,
        tile.groups.start * width : tile.groups.stop * width,
        *[slice(part.start, part.stop) for part in tile.positions],
    ].reshape(
        len(tile.images),
        len(tile.groups),
        width,
        *map(len, tile.positions),
        copy=False,
    )


def _store(
    product: Callable[..., HostArray],
    weights: HostArray,
    columns: HostArray,
    target: HostArray,
    workspace: Workspace,
) -> None:
    """A product of matrices, stored right where it belongs if BLAS can do that."""
    images, groups, width, *positions = target.shape
    if images == 1:
        try:
            direct = target[0].reshape(groups, width, -1, copy=False)
        except ValueError:
            pass
        else:
            if is_matrix(direct):
                product(weights, columns, out=direct)
                return
    made = workspace.matrices("result", groups, width, columns.shape[2])
    product(weights, columns, out=made)
    shaped = made.reshape(groups, width, images, *positions)
    np.copyto(target, np.moveaxis(shaped, 2, 0))
