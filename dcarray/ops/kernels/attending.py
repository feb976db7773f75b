"""Attention without the matrix of scores, in tiles that a group shares.

A group has a block of rows and walks over blocks of columns: it makes the scores of a
block, turns them into weights in shared memory, and adds the products of the weights
with another matrix to its block of the result.  What the rows, the columns and the
matrix are makes one of four kernels:

| result | rows | columns | weights | times |
| --- | --- | --- | --- | --- |
| attention | queries | keys | shares, with a running maximum and sum | values |
| gradient in q | queries | keys | slopes | keys |
| gradient in k | keys | queries | slopes | queries |
| gradient in v | keys | queries | shares | gradient |

The share of a key for a query is the exponential of their score, less the logarithm of
the sum of them all; its slope is ``share * (gradient . value - mean) * scale``.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from typing import Any

import numpy as np

from ...kernel import infer, nodes
from ...kernel.rewrite import simplify
from ...kernel.verify import verify
from .parts import add, multiply, place
from .tiles import Blocking, Tiles

__all__ = ["RESULTS", "attention_kernel"]

DType = np.dtype[Any]

RESULTS = {
    "out": ("q", "k", "v"),
    "of_q": ("q", "k", "v", "g", "logs", "mean"),
    "of_k": ("q", "k", "v", "g", "logs", "mean"),
    "of_v": ("q", "k", "g", "logs"),
}
"""The operands of each kernel."""

_MATRICES = {"q": "queries", "k": "keys", "v": "keys", "g": "queries"}
_WIDTHS = {"q": "features", "k": "features", "v": "values", "g": "values"}


@cache
def attention_kernel(
    result: str,
    dtype: DType,
    mask: DType | None,
    causal: bool,
    blocking: Blocking,
    wide: bool,
) -> nodes.Kernel:
    """Groups along axis 0 of the grid are the tiles of the result, those along axis 1
    are the batch.

    Parameters are the operands of `RESULTS`, the mask if there is one, the result, for
    attention also the logarithms, then ``scale`` and: the first of the batch in the
    launch; queries, keys, features, values; for q, k, v and g and the mask, where they
    are operands, the offset and strides along the batch, the rows and the columns.
    Results, logarithms and means are C-contiguous.
    """
    return _Attention(result, dtype, mask, causal, blocking, wide).kernel()


class _Attention(Tiles):
    def __init__(
        self,
        result: str,
        dtype: DType,
        mask: DType | None,
        causal: bool,
        blocking: Blocking,
        wide: bool,
    ) -> None:
        super().__init__(dtype, blocking, wide)
        self.result = result
        self.mask = mask
        self.causal = causal
        number = self.indexing.number
        sizes = ("queries", "keys", "features", "values")
        self.sizes = {name: number(name) for name in sizes}
        self.arrays = [nodes.Array(name, dtype) for name in RESULTS[result]]
        seen = [name for name in RESULTS[result] if name in _MATRICES]
        if mask is not None:
            self.arrays.append(nodes.Array("mask", mask))
            seen.append("mask")
        self.arrays.append(nodes.Array("out", dtype, True))
        if result == "out":
            self.arrays.append(nodes.Array("logs", dtype, True))
        parts = ("offset", "batch", "row", "column")
        self.strides = {n: [number(f"{n}_{part}_step") for part in parts] for n in seen}
        by_query = result in ("out", "of_q")
        self.rows, self.columns = ("q", "k") if by_query else ("k", "q")
        self.slope = ("g", "v") if by_query else ("v", "g")
        self.times = {"out": "v", "of_q": "k", "of_k": "q", "of_v": "g"}[result]

    # --------------------------------------------------------------------- small pieces
    def real(self, name: str) -> nodes.Name:
        return nodes.Name(name, self.sums)

    def constant(self, value: float) -> nodes.Scalar:
        return infer.convert(value, self.sums)

    def pairs(self) -> Iterator[tuple[int, int]]:
        """The elements of a work item in a tile."""
        each = range(self.blocking.each)
        return ((i, j) for i in each for j in each)

    def row(self, i: int) -> nodes.Scalar:
        """A row of a work item, within the tile."""
        return self.own(self.number(0), "down", i)

    def column(self, j: int) -> nodes.Scalar:
        return self.own(self.number(0), "across", j)

    def weight(self, i: int, j: int) -> nodes.Scalar:
        """Where the weight of a pair lies in the shared tile."""
        line = multiply(self.column(j), self.number(self.blocking.edge + 1))
        return add(line, self.row(i))

    def by_row(self, name: str, body: list[nodes.Statement]) -> nodes.Statement:
        """The rows of the tile, one for each work item."""
        edge, items = self.blocking.edge, self.blocking.side**2
        lane = self.name("lane")
        return nodes.For(name, lane, self.number(edge), self.number(items), tuple(body))

    def count(self, name: str) -> nodes.Scalar:
        """Rows of a matrix."""
        return self.sizes[_MATRICES[name]]

    # ------------------------------------------------------------------------ the whole
    def kernel(self) -> nodes.Kernel:
        edge = self.blocking.edge
        shared = [nodes.Shared("p_tile", self.sums, edge * (edge + 1))]
        if "mean" in RESULTS[self.result]:
            shared.append(nodes.Shared("s_tile", self.sums, edge * (edge + 1)))
        if self.result == "out":
            names = ("top_of", "sum_of", "shrink_of")
            shared += [nodes.Shared(name, self.sums, edge) for name in names]
        body: list[nodes.Statement] = [
            *self.beginning(self.sizes[_WIDTHS[self.times]]),
            *shared,
            *self.of_group(),
            *self.matrix(),
        ]
        scale = nodes.Value("scale", self.sums)
        parameters: list[nodes.Value | nodes.Array] = [*self.arrays, scale]
        parameters += self.indexing.parameters
        name = f"attention_{self.result}"
        made = nodes.Kernel(name, tuple(parameters), tuple(body))
        return simplify(verify(made))

    def matrix(self) -> list[nodes.Statement]:
        body: list[nodes.Statement] = []
        for name, (offset, batch, _, _) in self.strides.items():
            at = place(offset, [self.name("matrix")], [batch])
            body.append(nodes.Let(f"{name}_base", at))
        if self.result == "out":
            row = self.name("row_before")
            top = nodes.Store("top_of", row, self.constant(-np.inf))
            body.append(
                self.by_row(row.name, [top, nodes.Store("sum_of", row, self.zero())])
            )
        body += self.nothing("result")
        edge = self.number(self.blocking.edge)
        start, stop = self.number(0), self.count(self.columns)
        if self.causal and self.rows == "q":
            after = add(self.name("first_row"), edge)
            some = infer.select(infer.apply("less", after, stop), after, stop)
            body.append(nodes.Let("seen", some))
            stop = self.name("seen")
        elif self.causal:
            start = self.name("first_row")
        block = [*self.weights(), *self.gathered()]
        body += [
            nodes.For("first_other", start, stop, edge, tuple(block)),
            nodes.Barrier(),
            *self.stores(),
            nodes.Barrier(),
        ]
        return body

    # -------------------------------------------------------------------------- reading
    def read(
        self,
        name: str,
        tile: str,
        mark: str,
        first: nodes.Scalar,
        start: nodes.Scalar,
        by_lines: bool,
    ) -> list[nodes.Statement]:
        """A tile of a matrix.  Its rows are the lines of the tile (``by_lines``), or
        the places in a line."""
        _, _, down, across = self.strides[name]
        rows, width = self.count(name), self.sizes[_WIDTHS[name]]
        body: list[nodes.Statement] = []
        for turn in range(self.blocking.each):
            made, out, within = self.lines(f"{mark}_{name}", turn, not by_lines)
            one, other = (within, out) if by_lines else (out, within)
            row = add(first, self.name(one))
            column = add(start, self.name(other))
            inside = _both(
                infer.apply("less", row, rows), infer.apply("less", column, width)
            )
            base = self.name(f"{name}_base")
            at = place(base, [row, column], [down, across])
            body += made
            body += self.kept(
                f"{mark}_{name}_read{turn}",
                tile,
                name,
                self.sums,
                at,
                inside,
                base,
                self.spot(within, out),
            )
        return body

    def dots(self, sums: str, first: str, second: str) -> list[nodes.Statement]:
        """Products of the rows of two matrices, in the sums."""
        start = self.name(f"{sums}_start")
        step = [
            *self.read(first, "a_tile", sums, self.name("first_row"), start, False),
            *self.read(second, "b_tile", sums, self.name("first_other"), start, False),
            nodes.Barrier(),
            self.products(sums=sums),
            nodes.Barrier(),
        ]
        return [
            *self.nothing(sums),
            nodes.For(
                start.name,
                self.number(0),
                self.sizes[_WIDTHS[first]],
                self.number(self.blocking.side),
                tuple(step),
            ),
        ]

    def gathered(self) -> list[nodes.Statement]:
        """The weights of a block times the rows of a matrix, added up by themselves:
        that rounds less often than one sum over all blocks."""
        start = self.name("line")
        first = add(self.name("first_other"), start)
        column = self.name("first_column")
        step = [
            *self.read(self.times, "b_tile", "times", first, column, True),
            nodes.Barrier(),
            self.products("p_tile", sums="part", skip=start),
            nodes.Barrier(),
        ]
        side, edge = self.blocking.side, self.blocking.edge
        numbers = (self.number(0), self.number(edge), self.number(side))
        walk = nodes.For(start.name, *numbers, tuple(step))
        return [*self.nothing("part"), walk, *self.taken()]

    def taken(self) -> list[nodes.Statement]:
        """The sums of a block into the result; with a higher maximum, what was added
        up before shrinks."""
        body: list[nodes.Statement] = []
        for i, j in self.pairs():
            whole = self.real(f"result_{i}_{j}")
            before: nodes.Scalar = whole
            if self.result == "out":
                shrink = nodes.Load("shrink_of", self.row(i), self.sums)
                before = infer.apply("multiply", whole, shrink)
            more = infer.apply("add", before, self.real(f"part_{i}_{j}"))
            body.append(nodes.Assign(whole.name, more))
        return body

    # -------------------------------------------------------------------------- weights
    def weights(self) -> list[nodes.Statement]:
        """Weights of a block into the shared tile, from the products of its rows."""
        body = [*self.dots("dot", self.rows, self.columns), *self.laid("p_tile", "dot")]
        if self.result == "out":
            return [*body, nodes.Barrier(), *self.shares()]
        if self.result != "of_v":
            body += [*self.dots("slope", *self.slope), *self.laid("s_tile", "slope")]
        # A barrier comes after the first tile of the other matrix, too: before weights
        # are read.
        return [*body, nodes.Barrier(), self.slopes()]

    def laid(self, tile: str, sums: str) -> list[nodes.Statement]:
        """The sums of a work item into a tile."""
        return [
            nodes.Store(tile, self.weight(i, j), self.real(f"{sums}_{i}_{j}"))
            for i, j in self.pairs()
        ]

    def score(
        self, row: nodes.Scalar, column: nodes.Scalar, at: nodes.Scalar
    ) -> tuple[list[nodes.Statement], nodes.Scalar]:
        """What a query and a key have for each other: -inf for what is not seen."""
        own = add(self.name("first_row"), row)
        other = add(self.name("first_other"), column)
        query, key = (own, other) if self.rows == "q" else (other, own)
        body: list[nodes.Statement] = []
        seen = _both(
            infer.apply("less", query, self.sizes["queries"]),
            infer.apply("less", key, self.sizes["keys"]),
        )
        dot = nodes.Load("p_tile", at, self.sums)
        score = infer.apply("multiply", dot, self.real("scale"))
        if self.mask is not None:
            _, _, down, across = self.strides["mask"]
            base = self.name("mask_base")
            place_of = place(base, [query, key], [down, across])
            given = nodes.Name("mask_here", self.mask)
            found = nodes.Load("mask", infer.select(seen, place_of, base), self.mask)
            body.append(nodes.Let(given.name, found))
            if self.mask.kind == "b":
                seen = _both(seen, given)
            else:
                score = infer.apply("add", score, infer.convert(given, self.sums))
        if self.causal:
            seen = _both(seen, infer.apply("less_equal", key, query))
        return body, infer.select(seen, score, self.constant(-np.inf))

    def shares(self) -> list[nodes.Statement]:
        """Exponentials less a maximum so far, and by what earlier ones shrink when that
        grows."""
        edge = self.blocking.edge
        line = self.number(edge + 1)
        walk = (self.number(0), self.number(edge), self.number(1))
        row, first, second = map(self.name, ("row_of", "score_of", "share_of"))
        best, base, total, power = map(self.real, ("best", "base", "total", "power"))
        at = add(multiply(first, line), row)
        body, found = self.score(row, first, at)
        own = self.real("score")
        larger = infer.select(infer.apply("greater", own, best), own, best)
        scores: list[nodes.Statement] = [
            *body,
            nodes.Let(own.name, found),
            nodes.Store("p_tile", at, own),
            nodes.Assign(best.name, larger),
        ]
        # A row in which nothing is to be seen yet has no maximum to subtract.
        nothing = infer.apply("equal", best, self.constant(-np.inf))
        less = infer.apply("subtract", self.real("top"), base)
        at = add(multiply(second, line), row)
        scaled = infer.apply("subtract", nodes.Load("p_tile", at, self.sums), base)
        powers: list[nodes.Statement] = [
            nodes.Let(power.name, infer.apply("exp", scaled)),
            nodes.Store("p_tile", at, power),
            nodes.Assign(total.name, infer.apply("add", total, power)),
        ]
        before = nodes.Load("sum_of", row, self.sums)
        shrink = self.real("shrink")
        whole = infer.apply("add", infer.apply("multiply", before, shrink), total)
        made: list[nodes.Statement] = [
            nodes.Let("top", nodes.Load("top_of", row, self.sums)),
            nodes.Let(best.name, self.real("top")),
            nodes.For(first.name, *walk, tuple(scores)),
            nodes.Let(base.name, infer.select(nothing, self.zero(), best)),
            nodes.Let(shrink.name, infer.apply("exp", less)),
            nodes.Let(total.name, self.zero()),
            nodes.For(second.name, *walk, tuple(powers)),
            nodes.Store("top_of", row, best),
            nodes.Store("sum_of", row, whole),
            nodes.Store("shrink_of", row, shrink),
        ]
        return [self.by_row(row.name, made), nodes.Barrier()]

    def slopes(self) -> nodes.Statement:
        """Shares, or (but for the gradient in v) their slopes."""
        edge = self.blocking.edge
        flat, column, row = map(self.name, ("element", "its_column", "its_row"))
        whole = infer.apply("truncate_divide", flat, self.number(edge))
        rest = infer.apply("subtract", flat, multiply(column, self.number(edge)))
        at = add(multiply(column, self.number(edge + 1)), row)
        more, score = self.score(row, column, at)
        by_query = self.rows == "q"
        first = self.name("first_row" if by_query else "first_other")
        query = add(first, row if by_query else column)
        queries = self.sizes["queries"]
        inside = infer.apply("less", query, queries)
        line = add(multiply(self.name("matrix"), queries), query)
        known = self.name("known")
        log = nodes.Load("logs", known, self.sums)
        weight = infer.apply("exp", infer.apply("subtract", score, log))
        if self.result != "of_v":
            product = nodes.Load("s_tile", at, self.sums)
            mean = nodes.Load("mean", known, self.sums)
            slope = multiply(infer.apply("subtract", product, mean), self.real("scale"))
            weight = multiply(weight, slope)
        body: list[nodes.Statement] = [
            nodes.Let(column.name, whole),
            nodes.Let(row.name, rest),
            nodes.Let(known.name, infer.select(inside, line, self.number(0))),
            *more,
            nodes.Store("p_tile", at, weight),
        ]
        items = self.number(self.blocking.side**2)
        size = self.number(edge * edge)
        return nodes.For(flat.name, self.name("lane"), size, items, tuple(body))

    # -------------------------------------------------------------------------- storing
    def stores(self) -> list[nodes.Statement]:
        rows, width = self.count(self.rows), self.sizes[_WIDTHS[self.times]]
        body: list[nodes.Statement] = []
        for i, j in self.pairs():
            row = add(self.name("first_row"), self.row(i))
            column = add(self.name("first_column"), self.column(j))
            value: nodes.Scalar = self.real(f"result_{i}_{j}")
            if self.result == "out":
                _, by = self.total(self.row(i))
                value = infer.apply("divide", value, by)
            line = add(multiply(self.name("matrix"), rows), row)
            at = add(multiply(line, width), column)
            inside = _both(
                infer.apply("less", row, rows), infer.apply("less", column, width)
            )
            body.append(nodes.If(inside, (nodes.Store("out", at, value),)))
        if self.result == "out":
            body.append(self.logarithms())
        return body

    def total(self, row: nodes.Scalar) -> tuple[nodes.Scalar, nodes.Scalar]:
        """Whether a row sees nothing, and its sum, or else 1."""
        total = nodes.Load("sum_of", row, self.sums)
        empty = infer.apply("equal", total, self.zero())
        return empty, infer.select(empty, self.constant(1.0), total)

    def logarithms(self) -> nodes.Statement:
        """The logarithms of the sums of a block of rows; infinity where nothing is
        seen."""
        row = self.name("row_last")
        queries = self.sizes["queries"]
        query = add(self.name("first_row"), row)
        empty, by = self.total(row)
        top = nodes.Load("top_of", row, self.sums)
        found = infer.apply("add", top, infer.apply("log", by))
        value = infer.select(empty, self.constant(np.inf), found)
        at = add(multiply(self.name("matrix"), queries), query)
        once = infer.apply("equal", self.name("tile_across"), self.number(0))
        inside = _both(once, infer.apply("less", query, queries))
        kept = nodes.If(inside, (nodes.Store("logs", at, value),))
        return self.by_row(row.name, [kept])


def _both(one: nodes.Scalar, other: nodes.Scalar) -> nodes.Scalar:
    return infer.apply("bitwise_and", one, other)
