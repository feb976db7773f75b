"""Convolutions in tiles: as products of matrices that nobody lays out.

Each of the three is a `Sums`, which `ops.kernels.correlating` describes.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from ....ops.kernels.convolving import Triple, Window
from ....ops.kernels.correlating import correlation_kernel
from ....ops.kernels.tiles import Blocking, sums_in
from ....ops.reduction import SUM
from ..geometry import Axes, is_wide
from ..views import GridView
from .contraction import fitting, run_tiles
from .work import INT64, WAVES, DType, Work

__all__ = ["FEW", "convolve", "input_gradient", "weight_gradient"]

FEW = 8
"""Channels of a group from which tiles pay: with fewer, most of a tile is empty."""

SHORT = 8
"""Steps of a product below which its sums are not cut into parts."""


@dataclass(frozen=True, slots=True)
class Walk:
    """Where the elements of an operand lie: an offset and strides, in elements.

    Attributes
    ----------
    offset, group : int
    row : int
        From a row to the next; from a column to the next in the weights.
    term : int
        From a term to the next; from a column to the next in the result.
    steps : tuple of int
        Along the three axes.
    """

    offset: int
    group: int
    row: int
    term: int
    steps: Triple

    def numbers(self) -> tuple[int, ...]:
        return (self.offset, self.group, self.row, self.term, *self.steps)


@dataclass(frozen=True, slots=True)
class Sums:
    """``out[r, c] = sum over k of x[r, k] * w[k, c]`` in each of some groups.

    Rows and terms are a number and a place, of which the second may be the slower.
    """

    groups: int
    columns: int
    rows: int
    places: Triple
    terms: int
    taps: Triple
    row_step: Triple
    term_step: Triple
    shift: Triple
    limit: Triple
    x: Walk
    w: Walk
    out: Walk

    @property
    def height(self) -> int:
        """All rows."""
        return self.rows * math.prod(self.places)

    @property
    def length(self) -> int:
        """All terms."""
        return self.terms * math.prod(self.taps)


# ---------------------------------------------------------------------- what is wanted
def _walk(view: GridView) -> tuple[int, int, int, Triple]:
    """Offset, strides along the first two axes, strides along the last three."""
    offset, (first, second, *rest) = view.elements()
    along_0, along_1, along_2 = rest
    return offset, first, second, (along_0, along_1, along_2)


def convolve(
    work: Work, x: GridView, w: GridView, out: GridView, window: Window, groups: int
) -> GridView:
    """The convolution, as ``out`` lies; channels are the second axis of all."""
    x_offset, x_batch, x_channel, x_steps = _walk(x)
    w_offset, w_out, w_in, w_steps = _walk(w)
    y_offset, y_batch, y_channel, y_steps = _walk(out)
    outs, ins = w.shape[0] // groups, w.shape[1]
    places = _triple(out.shape[2:])
    low_0, low_1, low_2 = window.low
    sums = Sums(
        groups,
        outs,
        x.shape[0],
        places,
        ins,
        window.kernel,
        window.stride,
        window.dilation,
        (-low_0, -low_1, -low_2),
        _triple(x.shape[2:]),
        Walk(x_offset, ins * x_channel, x_batch, x_channel, x_steps),
        Walk(w_offset, outs * w_out, w_out, w_in, w_steps),
        Walk(y_offset, outs * y_channel, y_channel, y_batch, y_steps),
    )
    return _run(work, x, w, out, sums, True)


def input_gradient(
    work: Work, g: GridView, w: GridView, out: GridView, window: Window, groups: int
) -> GridView:
    """The adjoint of `convolve` in x.

    For each remainder by the stride, the positions with that remainder are met by some
    of the taps, evenly apart: a convolution with stride 1.
    """
    g_offset, g_batch, g_channel, g_steps = _walk(g)
    w_offset, w_out, w_in, w_steps = _walk(w)
    x_offset, x_batch, x_channel, x_steps = _walk(out)
    outs, ins = w.shape[0] // groups, w.shape[1]
    size = out.shape[2:]
    axes = [list(_remainders(window, axis, size[axis])) for axis in range(3)]
    alone = all([len(phases) == 1 for phases in axes])
    for phases in itertools.product(*axes):
        first = [phase.first for phase in phases]
        tap = [phase.tap for phase in phases]
        apart = [phase.apart for phase in phases]
        x_at = sum([n * step for n, step in zip(first, x_steps, strict=True)])
        w_at = sum([n * step for n, step in zip(tap, w_steps, strict=True)])
        sums = Sums(
            groups,
            ins,
            g.shape[0],
            _triple([phase.positions for phase in phases]),
            outs,
            _triple([phase.taps for phase in phases]),
            (1, 1, 1),
            _triple([-phase.back for phase in phases]),
            _triple([phase.shift for phase in phases]),
            _triple(g.shape[2:]),
            Walk(g_offset, outs * g_channel, g_batch, g_channel, g_steps),
            Walk(
                w_offset + w_at,
                outs * w_out,
                w_in,
                w_out,
                _triple([n * step for n, step in zip(apart, w_steps, strict=True)]),
            ),
            Walk(
                x_offset + x_at,
                ins * x_channel,
                x_channel,
                x_batch,
                _triple(
                    [n * step for n, step in zip(window.stride, x_steps, strict=True)]
                ),
            ),
        )
        out = _run(work, g, w, out, sums, alone)
    return out


@dataclass(frozen=True, slots=True)
class _Phase:
    """Along one axis, the positions with the same remainder by the stride.

    Attributes
    ----------
    first, positions : int
        The first of them, and how many there are.
    tap, apart, taps : int
        The first tap that meets them, the distance to the next one, and how many
        there are.
    shift, back : int
        Which element of the gradient the first tap takes to the first of the
        positions, and how far before it that of the next tap lies.
    """

    first: int
    positions: int
    tap: int
    apart: int
    taps: int
    shift: int
    back: int


def _remainders(window: Window, axis: int, size: int) -> Iterator[_Phase]:
    stride, dilation = window.stride[axis], window.dilation[axis]
    kernel, low = window.kernel[axis], window.low[axis]
    common = math.gcd(stride, dilation)
    apart = stride // common
    for first in range(min(stride, size)):
        met = [
            tap
            for tap in range(min(kernel, apart))
            if (first + low - tap * dilation) % stride == 0
        ]
        tap = met[0] if met else 0
        yield _Phase(
            first,
            -(-(size - first) // stride),
            tap,
            apart,
            -(-(kernel - tap) // apart) if met else 0,
            (first + low - tap * dilation) // stride,
            dilation // common,
        )


def weight_gradient(
    work: Work, x: GridView, g: GridView, out: GridView, window: Window, groups: int
) -> GridView:
    """The adjoint of `convolve` in the weights."""
    x_offset, x_batch, x_channel, x_steps = _walk(x)
    g_offset, g_batch, g_channel, g_steps = _walk(g)
    w_offset, w_out, w_in, w_steps = _walk(out)
    outs, ins = out.shape[0] // groups, out.shape[1]
    low_0, low_1, low_2 = window.low
    sums = Sums(
        groups,
        outs,
        ins,
        window.kernel,
        x.shape[0],
        _triple(g.shape[2:]),
        window.dilation,
        window.stride,
        (-low_0, -low_1, -low_2),
        _triple(x.shape[2:]),
        Walk(x_offset, ins * x_channel, x_channel, x_batch, x_steps),
        Walk(g_offset, outs * g_channel, g_channel, g_batch, g_steps),
        Walk(w_offset, outs * w_out, w_out, w_in, w_steps),
    )
    return _run(work, x, g, out, sums, True)


def _triple(numbers: Sequence[int]) -> Triple:
    first, second, third = numbers
    return int(first), int(second), int(third)


# ---------------------------------------------------------------------------- launches
def _run(
    work: Work, x: GridView, w: GridView, out: GridView, sums: Sums, cut: bool
) -> GridView:
    """``out``, which lies at the start of its memory, or the same with other memory.

    ``cut`` says that its elements are all there are, so that their sums may be made in
    parts.
    """
    rows_last = _rank(sums.x.row) < _rank(sums.x.steps[2] * sums.row_step[2])
    terms_last = _rank(sums.x.term) < _rank(sums.x.steps[2] * sums.term_step[2])
    blocking = _blocking(work, sums, (rows_last, terms_last), out.dtype)
    edge, side = blocking.edge, blocking.side
    tiles = -(-sums.height // edge) * -(-sums.columns // edge)
    parts, part = 1, max(1, sums.length)
    if cut:
        wanted = work.backend.limits.units * WAVES // max(1, tiles * sums.groups)
        parts = max(1, min(wanted, sums.length // (SHORT * side)))
        part = -(-part // (parts * side)) * side
        parts = max(1, -(-sums.length // part))
    target = out if parts == 1 else work.new((parts, out.size), sums_in(out.dtype))
    count = sums.groups * parts
    wide = is_wide(
        [_reach(x), _reach(w), parts * _reach(out)],
        [Axes((n,), ()) for n in (sums.height, sums.length, count)],
    )
    kernel = correlation_kernel(
        x.dtype, w.dtype, target.dtype, blocking, (rows_last, terms_last), wide
    )
    numbers = (
        *(sums.height, sums.columns, sums.length, parts, part),
        *_lengths(sums.rows, sums.places, rows_last),
        *_lengths(sums.terms, sums.taps, terms_last),
        *(*sums.row_step, *sums.term_step, *sums.shift, *sums.limit),
        *(*sums.x.numbers(), *sums.w.numbers(), *sums.out.numbers(), out.size),
    )
    run_tiles(work, kernel, blocking, (tiles, count), (x, w, target), numbers)
    if parts == 1:
        return out
    within = target.dtype
    found = work.reduce(SUM, (0,), target, dtype=within, result=out.dtype)
    return GridView(found.memory, out.layout, out.dtype)


def _rank(step: int) -> float:
    """How far neighbours are apart; those that are the same count as far."""
    return abs(step) or math.inf


def _lengths(number: int, places: Triple, last: bool) -> tuple[int, ...]:
    """Lengths of the four axes but the slowest.

    Where there is nothing to add up one of them is 0, by which no kernel may divide.
    """
    found = (*places[1:], number) if last else places
    return tuple([max(1, n) for n in found])


def _reach(x: GridView) -> int:
    offset, strides = x.elements()
    steps = zip(x.shape, strides, strict=True)
    return abs(offset) + sum([(n - 1) * abs(step) for n, step in steps])


def _nearest(
    number: int, step: int, places: Triple, steps: Triple, last: bool
) -> float:
    """How far the next row or term lies."""
    axes = [*zip(places, steps, strict=True)][::-1]
    axes = [(number, step), *axes] if last else [*axes, (number, step)]
    for length, apart in axes:
        if length > 1:
            return _rank(apart)
    return math.inf


def _blocking(
    work: Work, sums: Sums, lasts: tuple[bool, bool], dtype: DType
) -> Blocking:
    """Tiles that fit into the shared memory of the device."""
    rows_last, terms_last = lasts
    rows, terms = (sums.rows, sums.places), (sums.terms, sums.taps)

    def row(step: int, steps: Triple) -> float:
        return _nearest(rows[0], step, rows[1], steps, rows_last)

    def term(step: int, steps: Triple) -> float:
        return _nearest(terms[0], step, terms[1], steps, terms_last)

    def times(steps: Triple, by: Triple) -> Triple:
        return _triple([n * m for n, m in zip(steps, by, strict=True)])

    x, w, out = sums.x, sums.w, sums.out
    along = term(x.term, times(x.steps, sums.term_step)) < row(
        x.row, times(x.steps, sums.row_step)
    )
    across = _rank(w.row) <= term(w.term, w.steps)
    turned = work.backend.limits.coalesces and row(out.term, out.steps) < _rank(out.row)
    table = 5 * INT64.itemsize
    return fitting(work, dtype, along, across, turned, table=table)
