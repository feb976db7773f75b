"""Attention in blocks of queries and keys whose scores stay in cache, one block of
queries (for the gradient: one of queries, then one of keys) for each thread."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from ....kernel.nodes import Kernel
from ....ops.kernels.rows import powers_kernel, slopes_kernel
from ..engine import engine
from ..kernels import single_piece
from ..threads import available_threads
from .columns import HostArray, Workspace, run_tiles

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
    most = 2 * ROWS if q.shape[0] * q.shape[1] >= MANY else ROWS
    scores = _Scores(q * q.dtype.type(scale), k, mask, causal, most)
    result = np.zeros((*q.shape[:2], v.shape[2]), q.dtype)
    logs = np.empty((*q.shape[:2], 1), q.dtype)
    make_powers = _machine_code(powers_kernel(q.dtype))

    def run(block: Block, workspace: Workspace) -> None:
        number, rows = block
        found = result[number, rows]
        made = workspace.array("products", found.shape)
        top = np.full((len(found), 1), -np.inf, q.dtype)
        total = np.zeros(top.shape)
        for columns in scores.seen(rows):
            powers = scores.block(number, rows, columns, workspace, make_powers is None)
            if make_powers is None:
                _make_powers(powers, top, total, found)
            else:
                shape = (*powers.shape, found.shape[1])
                first = scores.first(rows, columns)
                make_powers(powers, top, total, found, *shape, first)
            np.matmul(powers, v[number, columns], out=made)
            found += made
        empty = total == 0
        total[empty] = 1
        found /= total.astype(q.dtype)
        logs[number, rows] = np.where(empty, np.inf, top + np.log(total))

    _run(run, scores.rows(), q.dtype)
    return result, logs


def _machine_code(kernel: Kernel) -> Callable[..., None] | None:
    """A kernel as a function; it takes out later keys itself."""
    machine = engine()
    return single_piece(kernel) if machine is not None and machine.has_fused else None


def _make_powers(
    powers: HostArray, top: HostArray, total: HostArray, found: HostArray
) -> None:
    """See `powers_kernel`."""
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
