"""Convolutions as products of matrices that nobody lays out.

``out[r, c]`` is the sum over ``k`` of ``x[r, k] * w[k, c]``, for each of some groups of
channels.  A row ``r`` and a term ``k`` are each a number (of an image or a channel) and
a place on three axes; the positions of the element of x are

    ``place of r * row_step + place of k * term_step + shift``

along the three axes, and x is 0 outside of its limits.  So the rows are positions of
the result and the terms are channels and taps, in a convolution and in the gradient of
its operand; in the gradient of the weights rows are channels and taps, and terms are
images and positions.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np

from ...kernel import infer, nodes
from ...kernel.rewrite import simplify
from ...kernel.verify import verify
from .parts import add, multiply, place, unravel
from .tiles import Blocking, Tiles

__all__ = ["correlation_kernel"]

DType = np.dtype[Any]
AXES = range(3)
ALONG = ("along_0", "along_1", "along_2")
OUTSIDE = -(1 << 29)
"""A position along the first axis of what is not there."""


@cache
def correlation_kernel(
    first: DType,
    second: DType,
    result: DType,
    blocking: Blocking,
    channels_last: tuple[bool, bool],
    wide: bool,
) -> nodes.Kernel:
    """Groups along axis 0 of the grid are the tiles of a matrix; those along axis 1
    are the groups of channels, and of each the parts of the sums.

    ``channels_last`` says, of rows and of terms, whether their number is faster than
    their place.  Parameters are x, w, the result, and: the first of those groups in
    the launch; rows, columns, terms, parts, terms of a part; lengths of rows and of
    terms along all but the slowest of their four axes (3 each); steps of rows and of
    terms, shift, limits (3 each); offset and strides of x: groups, rows, terms,
    positions (3); of w: groups, columns, terms, places of terms (3); of the result:
    groups, columns, rows, places of rows (3), parts.
    """
    return _Correlation(first, second, result, blocking, channels_last, wide).kernel()


class _Correlation(Tiles):
    def __init__(
        self,
        first: DType,
        second: DType,
        result: DType,
        blocking: Blocking,
        channels_last: tuple[bool, bool],
        wide: bool,
    ) -> None:
        super().__init__(result, blocking, wide)
        self.dtypes = {"a": first, "b": second, "out": result}
        self.rows_last, self.terms_last = channels_last
        number = self.indexing.number
        self.rows, self.columns, self.length = map(number, ("rows", "columns", "terms"))
        self.parts, self.part = map(number, ("parts", "part"))
        triples = ("row_length", "term_length", "row_step", "term_step")
        self.triples = {
            name: [number(f"{name}{axis}") for axis in AXES]
            for name in (*triples, "shift", "limit")
        }
        self.strides = {
            name: {what: number(f"{name}_{what}") for what in ("offset", *strides)}
            for name, strides in (
                ("a", ("group", "row", "term", *ALONG)),
                ("b", ("group", "column", "term", *ALONG)),
                ("out", ("group", "column", "row", *ALONG, "split")),
            )
        }

    def steps(self, name: str) -> list[nodes.Scalar]:
        """Strides of an operand along the three axes."""
        return [self.strides[name][which] for which in ALONG]

    # ------------------------------------------------------------------------ the whole
    def kernel(self) -> nodes.Kernel:
        side = self.blocking.side
        body: list[nodes.Statement] = [
            *self.beginning(self.columns),
            nodes.Shared("terms_of", self.dtype, 5 * side),
            *self.of_group(),
            *self.matrix(),
        ]
        arrays = [
            nodes.Array(name, dtype, name == "out")
            for name, dtype in self.dtypes.items()
        ]
        parameters: tuple[nodes.Value | nodes.Array, ...] = (
            *arrays,
            *self.indexing.parameters,
        )
        return simplify(verify(nodes.Kernel("correlation", parameters, tuple(body))))

    def matrix(self) -> list[nodes.Statement]:
        """One part of the sums of one group of channels."""
        each = range(self.blocking.each)
        body = self.split("one", self.name("matrix"), self.parts, "part_of", "split")
        for name, strides in self.strides.items():
            at = place(strides["offset"], [self.name("part_of")], [strides["group"]])
            if name == "out":
                at = place(at, [self.name("split")], [strides["split"]])
            body.append(nodes.Let(f"{name}_base", at))
        begin = nodes.Let("begin", multiply(self.name("split"), self.part))
        end = add(self.name("begin"), self.part)
        before = infer.apply("less", end, self.length)
        body += [begin, nodes.Let("end", infer.select(before, end, self.length))]
        for turn in self.turns():
            body += self.row_to_read(turn)
        body += self.nothing()
        body += [*self.terms("first", self.name("begin")), nodes.Barrier()]
        step = self.number(self.blocking.side)
        body.append(
            nodes.For(
                "start", self.name("begin"), self.name("end"), step, tuple(self.step())
            )
        )
        for i in each:
            body += self.store(i)
        return body

    def step(self) -> list[nodes.Statement]:
        """Read a tile of each factor and take the products in."""
        after = add(self.name("start"), self.number(self.blocking.side))
        body: list[nodes.Statement] = []
        for turn in range(self.blocking.each):
            body += self.read_x(turn)
        for turn in range(self.blocking.each):
            body += self.read_w(turn)
        body.append(nodes.Barrier())
        # The table is read above the barrier: it can be that of the next step now.
        return [*body, *self.terms("next", after), self.products(), nodes.Barrier()]

    # ------------------------------------------------------------------ rows and terms
    def digits(
        self, flat: nodes.Scalar, which: str, prefix: str, last: bool
    ) -> tuple[list[nodes.Statement], nodes.Scalar, list[nodes.Scalar]]:
        """The number and the place of a row or a term."""
        body, found = unravel(flat, 4, self.triples[f"{which}_length"], prefix)
        if last:
            return body, found[3], found[:3]
        return body, found[0], found[1:]

    def turns(self) -> range:
        """Turns of reading x that have rows of their own."""
        blocking = self.blocking
        along = blocking.rows_of_first
        same = not along and blocking.side % blocking.each == 0
        return range(1 if same else blocking.each)

    def row_to_read(self, turn: int) -> list[nodes.Statement]:
        """Where in x a row begins that a work item reads: ``x_at``, and its positions
        ``x_0`` to ``x_2``."""
        made, out, _ = self.lines("row", turn, self.blocking.rows_of_first)
        row = self.name(f"row_read{turn}")
        body = [*made, nodes.Let(row.name, add(self.name("first_row"), self.name(out)))]
        more, number, where = self.digits(row, "row", f"r{turn}_", self.rows_last)
        body += more
        positions: list[nodes.Scalar] = []
        for axis in AXES:
            step, shift = (self.triples[k][axis] for k in ("row_step", "shift"))
            position = self.name(f"x{turn}_{axis}")
            found: nodes.Scalar = place(shift, [where[axis]], [step])
            positions.append(position)
            if not axis:
                inside = infer.apply("less", row, self.rows)
                body.append(nodes.Let(f"x{turn}_there", found))
                positions[0] = self.name(f"x{turn}_there")
                found = infer.select(inside, positions[0], self.number(OUTSIDE))
            body.append(nodes.Let(position.name, found))
        at = place(self.name("a_base"), [number], [self.strides["a"]["row"]])
        body.append(nodes.Let(f"x{turn}_at", place(at, positions, self.steps("a"))))
        return body

    def terms(self, name: str, start: nodes.Scalar) -> list[nodes.Statement]:
        """The terms of a step into the table ``terms_of``: how far they lie from the
        first one in x and in w, and their positions."""
        side = self.number(self.blocking.side)
        term = self.name(name)
        body: list[nodes.Statement] = [nodes.Let(name, add(start, self.name("lane")))]
        more, number, where = self.digits(term, "term", f"{name}_t", self.terms_last)
        body += more
        positions: list[nodes.Scalar] = []
        for axis in AXES:
            step = self.triples["term_step"][axis]
            body.append(nodes.Let(f"{name}_{axis}", multiply(where[axis], step)))
            positions.append(self.name(f"{name}_{axis}"))
        x_at = multiply(number, self.strides["a"]["term"])
        w_at = multiply(number, self.strides["b"]["term"])
        inside = infer.apply("less", term, self.name("end"))
        kept = [
            place(x_at, positions, self.steps("a")),
            place(w_at, where, self.steps("b")),
            infer.select(inside, positions[0], self.number(OUTSIDE)),
            *positions[1:],
        ]
        for slot, value in enumerate(kept):
            at = add(self.name("lane"), self.number(slot * self.blocking.side))
            body.append(nodes.Store("terms_of", at, value))
        return [nodes.If(infer.apply("less", self.name("lane"), side), tuple(body))]

    def term(self, slot: int, within: str) -> nodes.Scalar:
        """A number of the table."""
        at = add(self.name(within), self.number(slot * self.blocking.side))
        return nodes.Load("terms_of", at, self.dtype)

    # ------------------------------------------------------------ reading and storing
    def read_x(self, turn: int) -> list[nodes.Statement]:
        along = self.blocking.rows_of_first
        body, out, within = self.lines("a", turn, along)
        row = turn if turn in self.turns() else 0
        inside: nodes.Scalar | None = None
        for axis in AXES:
            position = self.name(f"a{turn}_{axis}")
            found = add(self.name(f"x{row}_{axis}"), self.term(2 + axis, within))
            body.append(nodes.Let(position.name, found))
            limit = self.triples["limit"][axis]
            for test in (
                infer.apply("greater_equal", position, self.number(0)),
                infer.apply("less", position, limit),
            ):
                both = test if inside is None else _and(inside, test)
                inside = both
        assert inside is not None
        flag = nodes.Name(f"a{turn}_inside", inside.dtype)
        body.append(nodes.Let(flag.name, inside))
        at = add(self.name(f"x{row}_at"), self.term(0, within))
        return [
            *body,
            *self.kept(
                f"a_read{turn}",
                "a_tile",
                "a",
                self.dtypes["a"],
                at,
                flag,
                self.strides["a"]["offset"],
                self.spot(within, out),
            ),
        ]

    def read_w(self, turn: int) -> list[nodes.Statement]:
        along = not self.blocking.rows_of_second
        body, out, within = self.lines("b", turn, along)
        column = self.name(f"b{turn}_column")
        body.append(
            nodes.Let(column.name, add(self.name("first_column"), self.name(out)))
        )
        k = add(self.name("start"), self.name(within))
        inside = _and(
            infer.apply("less", column, self.columns),
            infer.apply("less", k, self.name("end")),
        )
        base = self.name("b_base")
        at = place(base, [column], [self.strides["b"]["column"]])
        return [
            *body,
            *self.kept(
                f"b_read{turn}",
                "b_tile",
                "b",
                self.dtypes["b"],
                add(at, self.term(1, within)),
                inside,
                base,
                self.spot(within, out),
            ),
        ]

    def store(self, i: int) -> list[nodes.Statement]:
        row = self.name(f"row_{i}")
        strides = self.strides["out"]
        body: list[nodes.Statement] = [
            nodes.Let(row.name, self.own(self.name("first_row"), "down", i))
        ]
        more, number, where = self.digits(row, "row", f"o{i}_", self.rows_last)
        at = place(self.name("out_base"), [number], [strides["row"]])
        line = self.name(f"line_{i}")
        body += [*more, nodes.Let(line.name, place(at, where, self.steps("out")))]
        for j in range(self.blocking.each):
            column = self.own(self.name("first_column"), "across", j)
            inside = _and(
                infer.apply("less", row, self.rows),
                infer.apply("less", column, self.columns),
            )
            total = nodes.Name(f"sum_{i}_{j}", self.sums)
            to = place(line, [column], [strides["column"]])
            stored = infer.convert(total, self.dtypes["out"])
            body.append(nodes.If(inside, (nodes.Store("out", to, stored),)))
        return body


def _and(one: nodes.Scalar, other: nodes.Scalar) -> nodes.Scalar:
    return infer.apply("bitwise_and", one, other)
