"""Attention in blocks of queries and keys whose scores stay in cache, one block of
queries (for the gradient: one of queries, then one of keys) for each thread.  Machine
code takes all keys of such a block, or else BLAS and NumPy do, as for the gradient."""

from __future__ import annotations

import math
import struct
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from ....kernel.nodes import Kernel
from ....ops.kernels.rows import slopes_kernel
from ..engine import data_address, engine
from ..kernels import single_piece
from ..threads import available_threads
from .attending import Attend, attend
from .columns import HostArray, Workspace, run_tiles, scratch

__all__ = ["attention", "attention_gradient"]

ROWS = 128
"""Queries in a block, or in half of one where there are `MANY` of them."""

MANY = 4096

COLUMNS = 512
"""Keys in a block: its scores take a quarter or half of a usual second-level cache."""

Block = tuple[int, slice]


@dataclass(frozen=True, slots=True)
class _Scores:
    """The matrix of scores, of which only blocks are ever made; of scaled queries."""

    q: HostArray
    k: HostArray
    mask: HostArray | None
    causal: bool
    most: int = ROWS

    def rows(self) -> list[Block]:
        """Blocks of queries, of each of the batch."""
        return [
            (number, block)
            for number in range(self.q.shape[0])
            for block in _blocks(self.q.shape[1], self.most)
        ]

    def columns(self) -> list[Block]:
        """Blocks of keys, of each of the batch."""
        return [
            (number, block)
            for number in range(self.k.shape[0])
            for block in _blocks(self.k.shape[1], COLUMNS)
        ]

    def seen(self, rows: slice) -> Iterator[slice]:
        """Blocks of keys of which these queries see any."""
        for block in _blocks(self.k.shape[1], COLUMNS):
            if not self.causal or block.start < rows.stop:
                yield self.visible(rows, block)

    def visible(self, rows: slice, columns: slice) -> slice:
        """Keys of a block that are not later than all of these queries."""
        if not self.causal:
            return columns
        return slice(columns.start, min(columns.stop, rows.stop))

    def first(self, rows: slice, columns: slice) -> int:
        """How many keys of a block the first query sees; each one after it sees one
        more, if there are more."""
        end: int = rows.start + 1 if self.causal else columns.stop
        return end - int(columns.start)

    def seeing(self, columns: slice) -> Iterator[slice]:
        """Blocks of queries that see any of these keys."""
        for block in _blocks(self.q.shape[1], self.most):
            if not self.causal or columns.start < block.stop:
                yield block

    def block(
        self,
        number: int,
        rows: slice,
        columns: slice,
        workspace: Workspace,
        later: bool = True,
    ) -> HostArray:
        """Scores, in scratch memory; those of later keys are taken out, or, unless
        ``later``, left to the caller."""
        q, k = self.q[number, rows], self.k[number, columns]
        made = workspace.array("scores", (len(q), len(k)))
        np.matmul(q, k.T, out=made)
        if self.mask is not None:
            mask = _part(self.mask, number, rows, columns)
            if mask.dtype == bool:
                np.copyto(made, -np.inf, where=~mask)
            else:
                made += mask
        if later and self.causal and columns.stop - 1 > rows.start:
            keys = np.arange(columns.start, columns.stop)
            places = np.arange(rows.start, rows.start + len(q))[:, None]
            np.copyto(made, -np.inf, where=keys > places)
        return made


def _blocks(count: int, most: int) -> list[slice]:
    return [slice(k, min(count, k + most)) for k in range(0, count, most)]


def _part(mask: HostArray, number: int, rows: slice, columns: slice) -> HostArray:
    """A block of a mask that is not repeated along axes of length 1."""
    one = slice(None)
    return mask[
        0 if mask.shape[0] == 1 else number,
        one if mask.shape[1] == 1 else rows,
        one if mask.shape[2] == 1 else columns,
    ]


def attention(
    q: HostArray,
    k: HostArray,
    v: HostArray,
    *,
    mask: HostArray | None,
    causal: bool,
    scale: float,
) -> tuple[HostArray, HostArray]:
    """As the oracle of the row."""
    shape = (*q.shape[:2], 1)
    result = scratch((*shape[:2], v.shape[2]), q.dtype)
    tops, totals = np.full(shape, -np.inf, q.dtype), np.zeros(shape, q.dtype)
    code = attend(q.dtype, q.shape[1])
    if code is None:
        most = 2 * ROWS if q.shape[0] * q.shape[1] >= MANY else ROWS
        scores = _Scores(q * q.dtype.type(scale), k, mask, causal, most)
        result.fill(0)
        _by_products(scores, v, result, tops, totals)
    else:
        scores = _Scores(q, k, mask, causal, code.lanes)
        _by_code(code, scores, v, scale, result, tops, totals)
    empty = totals == 0
    totals[empty] = 1
    return result, np.where(empty, np.inf, tops + np.log(totals))


def _by_code(
    code: Attend,
    scores: _Scores,
    v: HostArray,
    scale: float,
    result: HostArray,
    tops: HostArray,
    totals: HostArray,
) -> None:
    """Means of values, and the maximum and sum of each query, by machine code."""
    q, k, v = map(np.ascontiguousarray, (scores.q, scores.k, v))
    mask, dtype = scores.mask, q.dtype
    features, values = k.shape[2], v.shape[2]
    room = code.scratch(features, values)
    by_query = [(data_address(x), *x.strides[:2]) for x in (q, result, tops, totals)]
    by_key = [(data_address(x), x.strides[0]) for x in (k, v)]
    steps = (q.strides[1], k.strides[1], v.strides[1])
    factor = float(dtype.type(scale))
    # NaN is equal to nothing: numbers are added, whatever they are.
    hidden = -math.inf if mask is not None and mask.dtype == bool else math.nan

    def run(block: Block, workspace: Workspace) -> None:
        number, rows = block
        first, count = rows.start, rows.stop - rows.start
        keys = min(k.shape[1], rows.stop) if scores.causal else k.shape[1]
        own, *targets = [at + number * n + first * m for at, n, m in by_query]
        bias = 0
        if mask is not None:
            part = _part(mask, number, rows, slice(0, keys)).T
            spread = workspace.array("bias", (keys, code.lanes))
            spread[:, count:] = 0
            if mask.dtype == bool:
                spread[:, :count] = 0
                np.copyto(spread[:, :count], hidden, where=~part)
            else:
                spread[:, :count] = part
            bias = data_address(spread)
        memory = data_address(workspace.array("scratch", (room,)))
        words = struct.pack(
            "=16q2d",
            *(own, *[at + number * n for at, n in by_key], *targets),
            *(bias, memory, count, keys, features, values, *steps),
            *(first + 1 if scores.causal else keys, factor, hidden),
        )
        code.run(words)

    blocks = scores.rows()
    if scores.causal:  # the longest ones first: threads end together
        blocks.sort(key=lambda block: -block[1].start)
    _run(run, blocks, dtype)


def _by_products(
    scores: _Scores,
    v: HostArray,
    result: HostArray,
    tops: HostArray,
    totals: HostArray,
) -> None:
    """The same by BLAS and NumPy."""

    def run(block: Block, workspace: Workspace) -> None:
        number, rows = block
        found, top = result[number, rows], tops[number, rows]
        made = workspace.array("products", found.shape)
        total = np.zeros(top.shape)
        for columns in scores.seen(rows):
            powers = scores.block(number, rows, columns, workspace)
            _make_powers(powers, top, total, found)
            np.matmul(powers, v[number, columns], out=made)
            found += made
        found /= np.where(total == 0, 1, total).astype(found.dtype)
        totals[number, rows] = total

    _run(run, scores.rows(), result.dtype)


def _make_powers(
    powers: HostArray, top: HostArray, total: HostArray, found: HostArray
) -> None:
    """Scores of a block as powers that stand above those of other blocks.

    The largest score and the sum of powers of each row so far, and a row of results of
    each, become those with this block, the results but for what this block adds.
    """
    higher = np.maximum(top, powers.max(-1, keepdims=True))
    # A row that sees nothing yet has no maximum to subtract.
    base = np.where(higher == -np.inf, 0, higher)
    shrink = np.exp(top - base)
    np.subtract(powers, base, out=powers)
    np.exp(powers, out=powers)
    total *= shrink
    total += powers.sum(-1, keepdims=True)
    found *= shrink
    top[...] = higher


def _machine_code(kernel: Kernel) -> Callable[..., None] | None:
    """A kernel as a function; it takes out later keys itself."""
    machine = engine()
    return single_piece(kernel) if machine is not None and machine.has_fused else None


def attention_gradient(
    gradient: HostArray,
    q: HostArray,
    k: HostArray,
    v: HostArray,
    logs: HostArray,
    mean: HostArray,
    *,
    mask: HostArray | None,
    causal: bool,
    scale: float,
) -> tuple[HostArray, HostArray, HostArray]:
    """As the oracle of the row."""
    factor = q.dtype.type(scale)
    scores = _Scores(q * factor, k, mask, causal)
    of_q, of_k, of_v = np.zeros_like(q), np.empty_like(k), np.empty_like(v)
    logs, mean = np.ascontiguousarray(logs), np.ascontiguousarray(mean)
    make_slopes = _machine_code(slopes_kernel(q.dtype))

    def shares(
        number: int, rows: slice, columns: slice, workspace: Workspace
    ) -> tuple[HostArray, HostArray]:
        """The weights of a block, and the gradient in its scores, before scaling."""
        powers = scores.block(number, rows, columns, workspace, make_slopes is None)
        slope = workspace.array("slope", powers.shape)
        np.matmul(gradient[number, rows], v[number, columns].T, out=slope)
        if make_slopes is None:
            np.subtract(powers, logs[number, rows], out=powers)
            np.exp(powers, out=powers)
            slope -= mean[number, rows]
            slope *= powers
        else:
            own = logs[number, rows], mean[number, rows]
            first = scores.first(rows, columns)
            make_slopes(powers, slope, *own, *powers.shape, first)
        return powers, slope

    def of_queries(block: Block, workspace: Workspace) -> None:
        number, rows = block
        target = of_q[number, rows]
        for columns in scores.seen(rows):
            _, slope = shares(number, rows, columns, workspace)
            target += slope @ k[number, columns]
        target *= factor

    def of_keys(block: Block, workspace: Workspace, queries: bool = False) -> None:
        number, whole = block
        of_k[number, whole] = 0
        of_v[number, whole] = 0
        for rows in scores.seeing(whole):
            columns = scores.visible(rows, whole)
            powers, slope = shares(number, rows, columns, workspace)
            of_k[number, columns] += slope.T @ q[number, rows]
            of_v[number, columns] += powers.T @ gradient[number, rows]
            if queries:
                of_q[number, rows] += slope @ k[number, columns]
        of_k[number, whole] *= factor

    def of_all(number: int, workspace: Workspace) -> None:
        """Both, with each block made once."""
        for columns in _blocks(k.shape[1], COLUMNS):
            of_keys((number, columns), workspace, queries=True)
        of_q[number] *= factor

    threads = available_threads()
    if len(q) >= 2 * threads:
        run_tiles(of_all, range(len(q)), threads, lambda: Workspace(q.dtype, False))
    else:
        _run(of_queries, scores.rows(), q.dtype)
        _run(of_keys, scores.columns(), q.dtype)
    return of_q, of_k, of_v


def _run(
    run: Callable[[Block, Workspace], None], blocks: list[Block], dtype: np.dtype[Any]
) -> None:
    run_tiles(run, blocks, available_threads(), lambda: Workspace(dtype, False))
