"""Kernels of 3×3 by squares of results, as `squares`, for images whose rows lie side by
side: vectors run along squares, and nothing is turned round.

A block of squares goes through all of it while it stays in cache: what the squares see
in 16 planes, products of each plane with its own weights, and the results.  Squares are
counted through all images, so that blocks are full, however small the images are.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping

import numpy as np

from ..engine import data_address
from ..threads import available_threads, run_slices
from .columns import HostArray, Sizes, Window, scratch
from .direct import BLOCK
from .micro import micro
from .sequence import run_calls, table_of
from .sides import offsets
from .square_blocks import cut_squares
from .square_lines import OPERAND_FIELDS, RESULT_FIELDS, TILES_FIELDS, SquareLines
from .squares import transformed_weights

__all__ = ["convolve_squarewise", "squarewise_suits"]

BLOCK_BYTES = 1 << 20
"""Bytes of the planes of a block: half of a second-level cache."""

JOBS = 16
"""Pieces of work for each thread, of some blocks each."""


def squarewise_suits(x: HostArray, y: HostArray) -> bool:
    """Whether images lie as `convolve_squarewise` takes them."""
    return x.strides[-1] == x.itemsize and y.strides[-1] == y.itemsize


def convolve_squarewise(
    code: SquareLines, x: HostArray, w: HostArray, window: Window, y: HostArray
) -> bool:
    """Store a convolution in ``y``; takes what `direct.convolve` takes.  Whether all of
    it is finite."""
    threads = available_threads()
    work = _Work(code, x, w, window, y, threads)
    blocks = len(work.vectors)
    jobs = _even(blocks, min(blocks, JOBS * threads))
    run_slices(lambda number: work.run(jobs[number]), len(jobs), threads)
    return all(work.finite)


def _even(count: int, parts: int) -> list[range]:
    edges = [count * k // parts for k in range(parts + 1)]
    return [range(a, b) for a, b in itertools.pairwise(edges)]


def _blocks(vectors: int, width: int, most: int, threads: int) -> list[int]:
    """Vectors of each block: of even numbers of panels, at most so many, as many blocks
    for each thread; the first one takes what is no whole panel, too."""
    panels, rest = divmod(vectors, width)
    if not panels:
        return [rest]
    count = min(panels, -(-panels // (most * threads)) * threads)
    found = [width * len(part) for part in _even(panels, count)]
    found[0] += rest
    return found


def _apart(nbytes: int) -> int:
    """So many bytes or some more, so that planes do not share places of the cache."""
    return nbytes + (64 - nbytes % 128) % 128


class _Memory:
    """Scratch memory of one thread, and the calls that work in it.

    Attributes
    ----------
    check : ndarray
        Not finite afterwards if some result is not.
    calls : ndarray
        Functions and the addresses of their words.
    edges : list of int
        Calls before each block, and all of them.
    """

    def __init__(self, work: _Work) -> None:
        def room(nbytes: int) -> HostArray:
            return scratch((nbytes // work.y.itemsize,), work.y.dtype)

        code, cut = work.code, work.cut
        seen, sums = room(16 * work.plane), room(16 * work.sums_plane)
        lines, rows = room(8 * work.lines_span), room(2 * work.span)
        lines.fill(0)
        self.check = np.zeros(code.length, work.y.dtype)
        operands = _filled(OPERAND_FIELDS, work.operands, lines=lines, seen=seen)
        products = _filled(TILES_FIELDS, work.products, packed=seen, out=sums)
        results = _filled(
            RESULT_FIELDS, work.results, sums=sums, lines=rows, check=self.check
        )
        self.kept = seen, sums, lines, rows, operands, products, results
        operand, product, result = [
            range(data_address(table), data_address(table) + table.nbytes, step)
            for table in (operands, products, results)
            for step in table.strides[:1]
        ]
        calls: list[tuple[int, int]] = []
        self.edges = [0]
        for block, vectors in enumerate(work.vectors):
            calls += [(code.operand, operand[piece]) for piece in cut.pieces[block]]
            calls += [(tiles, product[k]) for tiles, k in work.tilings[vectors]]
            calls.append((code.result, result[block]))
            self.edges.append(len(calls))
        self.calls = np.array(calls, np.int64)


def _filled(
    fields: Mapping[str, str], table: HostArray, **arrays: HostArray
) -> HostArray:
    """Words with the addresses of scratch memory added."""
    found = table.copy()
    names = list(fields)
    for name, array in arrays.items():
        found[:, names.index(name)] += data_address(array)
    return found


class _Work:
    """A convolution, block by block."""

    def __init__(
        self,
        code: SquareLines,
        x: HostArray,
        w: HostArray,
        window: Window,
        y: HostArray,
        threads: int,
    ) -> None:
        own = micro(y.dtype, 1)
        assert own is not None
        self.code, self.x, self.y = code, x, y
        self.weights = transformed_weights(own, w.astype(y.dtype, copy=False))
        item, (down, across) = y.itemsize, [-(-n // 2) for n in y.shape[2:]]
        channels, outs = x.shape[1], -(-y.shape[1] // code.places) * code.places
        panel = 16 * (channels + outs) * code.lanes * item
        most = max(1, BLOCK_BYTES // panel)
        count = -(-len(y) * down * across // code.length)
        self.vectors = _blocks(count, len(code.tiles), most, threads)
        # There is room for vectors that reach over an end.
        panels = -(-max(self.vectors) // len(code.tiles))
        self.pitch = (panels * code.lanes + code.length) * item
        self.plane = _apart(channels * self.pitch)
        self.panel = outs * code.lanes * item
        self.sums_plane = _apart(panels * self.panel)
        self.span = (2 * panels * code.lanes + code.length) * item
        pairs = min(down, -(-panels * code.lanes // across) + 1) + 1
        self.lines_span = (pairs * across + code.length) * item
        steps = y.strides[0], y.strides[2]
        starts = itertools.accumulate(self.vectors[:-1], initial=0)
        blocks = tuple([code.length * start for start in starts])
        self.cut = cut_squares(len(y), y.shape[2:], steps, item, blocks, self.span)
        self.zeros = np.zeros(x.shape[3], x.dtype)
        self.operands = self._operands(window.low, across)
        self.tilings: dict[int, list[tuple[int, int]]] = {}
        self.kept: list[HostArray] = []
        self.products = self._products(outs, own.lanes)
        self.results = self._results()
        self.idle: list[_Memory] = []
        self.finite: list[bool] = []

    def run(self, blocks: range) -> None:
        """Do some blocks, one after the other."""
        memory = self.idle.pop() if self.idle else _Memory(self)
        first, last = memory.edges[blocks.start], memory.edges[blocks.stop]
        memory.check.fill(0)
        run_calls(memory.calls[first:last])
        self.finite.append(bool(np.isfinite(memory.check).all()))
        self.idle.append(memory)

    def _operands(self, low: Sizes, across: int) -> HostArray:
        """What the pieces of images see."""
        x, length = self.x, self.code.length
        image, first, place, count = self.cut.table
        row = first // across
        return table_of(
            OPERAND_FIELDS,
            len(image),
            x=data_address(x) + image * x.strides[0],
            zeros=data_address(self.zeros),
            seen=place * x.itemsize,
            channels=x.shape[1],
            step=x.strides[1],
            row=x.strides[2],
            first=2 * row - low[0],
            pairs=(first + count - 1) // across - row + 2,
            height=x.shape[2],
            left=-low[1],
            width=x.shape[3],
            across=across,
            parts=-(-across // length),
            span=self.lines_span,
            begin=first - row * across,
            many=-(-count // length),
            pitch=self.pitch,
            plane=self.plane,
        )

    def _products(self, outs: int, lanes: int) -> HostArray:
        """The products of blocks of each size: whole panels, and what is left."""
        weights, code, item = self.weights, self.code, self.y.itemsize
        panels, step = len(weights) // 16, weights.strides[0]
        # The last channel is repeated, to fill a tile.
        wanted = np.minimum(np.arange(outs), self.y.shape[1] - 1)
        places = offsets((panels, lanes), (step, item))[wanted]
        terms = offsets(weights.shape[1:2], weights.strides[1:2])
        row, planes = code.lanes * item, (panels * step, self.plane, self.sums_plane)
        tables: list[HostArray] = []
        for vectors in set(self.vectors):
            whole, rest = divmod(vectors, len(code.tiles))
            own = self.tilings[vectors] = []
            for first, many, width in ((0, whole, len(code.tiles)), (whole, 1, rest)):
                if not many * width:
                    continue
                own.append((code.tiles[width - 1], len(tables)))
                skips = [
                    offsets((16, many), (plane, each)) + first * each
                    for plane, each in zip(planes, (0, row, self.panel), strict=True)
                ]
                self.kept += [places, terms, *skips]
                names = "x", "places", "terms", "shifts", "origins", "ends"
                operands = map(data_address, (weights, places, terms, *skips))
                table = table_of(
                    TILES_FIELDS,
                    1,
                    **dict(zip(names, operands, strict=True)),
                    many=outs,
                    count=len(terms),
                    panels=16 * many,
                    block=BLOCK,
                    apart=self.pitch,
                    spread=row,
                )
                tables.append(table)
        return np.concatenate(tables)

    def _results(self) -> HostArray:
        """The results of blocks."""
        y, parts = self.y, self.cut.parts
        starts = np.array([part.start for part in parts])
        rows = [data_address(row) + 8 * starts for row in self.cut.rows]
        return table_of(
            RESULT_FIELDS,
            len(parts),
            **dict(zip(("sources", "targets", "lengths"), rows, strict=True)),
            y=data_address(y),
            channels=y.shape[1],
            step=y.strides[1],
            panels=np.array([-(-n // len(self.code.tiles)) for n in self.vectors]),
            panel=self.panel,
            plane=self.sums_plane,
            span=self.span,
            count=np.array([len(part) for part in parts]),
        )
