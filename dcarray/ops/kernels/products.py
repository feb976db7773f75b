"""The product of matrices, in tiles that a group shares.

A group computes a tile of the result.  Step by step, it reads a tile of each factor
into shared memory, and every work item takes products of it into several sums.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np

from ...kernel import infer, nodes
from ...kernel.rewrite import simplify
from ...kernel.verify import verify
from .parts import INT32, INT64, Indexing, add, integer, multiply, place, unravel
from .reducing import accumulator

__all__ = ["Blocking", "product_kernel", "sums_in"]

DType = np.dtype[Any]


@dataclass(frozen=True, slots=True)
class Blocking:
    """How a product is cut: ``side`` by ``side`` work items of a group (a power of 2),
    each with ``each`` by ``each`` elements of the result.

    The factors are read along their rows or columns, whichever are neighbours in
    memory.
    """

    side: int
    each: int
    rows_of_first: bool
    rows_of_second: bool

    @property
    def edge(self) -> int:
        """Rows and columns of a tile of the result."""
        return self.side * self.each

    def shared(self, dtype: DType) -> int:
        """Bytes of shared memory."""
        return 2 * self.side * (self.edge + 1) * sums_in(dtype).itemsize


def sums_in(dtype: DType) -> DType:
    """The dtype in which products are added up."""
    if dtype.kind in "iu" and dtype.itemsize < 4:
        return np.dtype(np.int32)  # its low bits are the same
    return accumulator(dtype)


@cache
def product_kernel(
    first: DType,
    second: DType,
    result: DType,
    blocking: Blocking,
    batch: int,
    wide: bool,
) -> nodes.Kernel:
    """``out = a @ b``: groups along axis 0 of the grid are the tiles of a matrix, those
    along axis 1 take the matrices in turn.

    Parameters are ``a``, ``b``, ``out``, and: rows, columns, length of the sums, number
    of matrices; an offset of each operand; strides of each along rows and columns;
    lengths of the axes of matrices but the first; strides of each operand along them.
    """
    return _Product(first, second, result, blocking, batch, wide).kernel()


class _Product:
    def __init__(
        self,
        first: DType,
        second: DType,
        result: DType,
        blocking: Blocking,
        batch: int,
        wide: bool,
    ) -> None:
        self.dtypes = {"a": first, "b": second, "out": result}
        self.sums = sums_in(result)
        self.blocking = blocking
        self.batch = batch
        indexing = Indexing(INT64 if wide else INT32)
        self.indexing = indexing
        self.dtype = indexing.dtype
        sizes = ("rows", "columns", "length", "count")
        self.rows, self.columns, self.length, self.count = map(indexing.number, sizes)
        names = ("a", "b", "out")
        self.offsets = {name: indexing.number(f"{name}_offset") for name in names}
        self.steps = {name: indexing.strides(name, "matrix", 2) for name in names}
        self.lengths = indexing.lengths("batch", batch)
        self.jumps = {name: indexing.strides(name, "batch", batch) for name in names}

    # --------------------------------------------------------------------- small pieces
    def name(self, name: str) -> nodes.Name:
        return nodes.Name(name, self.dtype)

    def number(self, value: int) -> nodes.Scalar:
        return integer(value, self.dtype)

    def split(
        self, name: str, value: nodes.Scalar, by: nodes.Scalar, high: str, low: str
    ) -> list[nodes.Statement]:
        """``high, low = divmod(value, by)`` of a positive value."""
        quotient = infer.apply("truncate_divide", value, by)
        rest = infer.apply("subtract", self.name(name), multiply(self.name(high), by))
        return [
            nodes.Let(name, value),
            nodes.Let(high, quotient),
            nodes.Let(low, rest),
        ]

    # ------------------------------------------------------------------------ the whole
    def kernel(self) -> nodes.Kernel:
        blocking = self.blocking
        size = blocking.side * (blocking.edge + 1)
        lane = nodes.Index("local_id", 0, self.dtype)
        group = nodes.Index("group_id", 0, self.dtype)
        edge, side = self.number(blocking.edge), self.number(blocking.side)
        tiles = infer.apply(
            "truncate_divide", add(self.columns, self.number(blocking.edge - 1)), edge
        )
        body: list[nodes.Statement] = [
            nodes.Shared("a_tile", self.sums, size),
            nodes.Shared("b_tile", self.sums, size),
            nodes.Let("tiles", tiles),
            *self.split("lane", lane, side, "down", "across"),
            *self.split("group", group, self.name("tiles"), "tile_down", "tile_across"),
            nodes.Let("first_row", multiply(self.name("tile_down"), edge)),
            nodes.Let("first_column", multiply(self.name("tile_across"), edge)),
            nodes.For(
                "matrix",
                nodes.Index("group_id", 1, self.dtype),
                self.count,
                nodes.Index("group_count", 1, self.dtype),
                tuple(self.matrix()),
            ),
        ]
        arrays = [
            nodes.Array(name, dtype, name == "out")
            for name, dtype in self.dtypes.items()
        ]
        parameters: tuple[nodes.Value | nodes.Array, ...] = (
            *arrays,
            *self.indexing.parameters,
        )
        return simplify(verify(nodes.Kernel("product", parameters, tuple(body))))

    def matrix(self) -> list[nodes.Statement]:
        """One product of two matrices."""
        each = range(self.blocking.each)
        body, indices = unravel(self.name("matrix"), self.batch, self.lengths, "m")
        for name, offset in self.offsets.items():
            body.append(
                nodes.Let(f"{name}_base", place(offset, indices, self.jumps[name]))
            )
        zero = infer.convert(0, self.sums) if self.sums.kind != "b" else False
        for i in each:
            for j in each:
                body.append(nodes.Let(f"sum_{i}_{j}", infer.convert(zero, self.sums)))
        step = self.number(self.blocking.side)
        body.append(
            nodes.For("start", self.number(0), self.length, step, tuple(self.step()))
        )
        for i in each:
            for j in each:
                body.append(self.store(i, j))
        return body

    def step(self) -> list[nodes.Statement]:
        """Read a tile of each factor and take the products in."""
        blocking = self.blocking
        first = ("first_row", self.rows, blocking.rows_of_first)
        second = ("first_column", self.columns, not blocking.rows_of_second)
        body = [*self.read("a", *first), *self.read("b", *second), nodes.Barrier()]
        inner: list[nodes.Statement] = []
        line = multiply(self.name("k"), self.number(blocking.edge + 1))
        each = range(blocking.each)
        for name, own in (("a", "down"), ("b", "across")):
            for i in each:
                at = add(add(line, self.name(own)), self.number(i * blocking.side))
                found = nodes.Load(f"{name}_tile", at, self.sums)
                inner.append(nodes.Let(f"{name}_{i}", found))
        for i in each:
            for j in each:
                total = nodes.Name(f"sum_{i}_{j}", self.sums)
                product = infer.apply(
                    "multiply",
                    nodes.Name(f"a_{i}", self.sums),
                    nodes.Name(f"b_{j}", self.sums),
                )
                taken = infer.apply("add", total, product)
                inner.append(nodes.Assign(total.name, taken))
        body.append(
            nodes.For(
                "k",
                self.number(0),
                self.number(blocking.side),
                self.number(1),
                tuple(inner),
            )
        )
        body.append(nodes.Barrier())
        return body

    def read(
        self, name: str, first: str, limit: nodes.Scalar, along: bool
    ) -> list[nodes.Statement]:
        """A tile of a factor into shared memory, line by line of the sums.

        ``along`` says that neighbours read along the sums; otherwise across them.
        """
        blocking = self.blocking
        items = blocking.side**2
        down, across = self.steps[name]
        step_out, step_in = (down, across) if name == "a" else (across, down)
        body: list[nodes.Statement] = []
        for turn in range(blocking.each):
            flat = add(self.name("lane"), self.number(turn * items))
            fast, slow = f"{name}_fast{turn}", f"{name}_slow{turn}"
            extent = blocking.side if along else blocking.edge
            label = f"{name}_flat{turn}"
            body += self.split(label, flat, self.number(extent), slow, fast)
            out, within = (slow, fast) if along else (fast, slow)
            there = add(self.name(first), self.name(out))
            k = add(self.name("start"), self.name(within))
            inside = infer.apply(
                "bitwise_and",
                infer.apply("less", there, limit),
                infer.apply("less", k, self.length),
            )
            at = place(self.name(f"{name}_base"), [there, k], [step_out, step_in])
            # Outside, the first element is read in place of one that is not there.
            safe = infer.select(inside, at, self.name(f"{name}_base"))
            value = f"{name}_read{turn}"
            found = nodes.Load(name, safe, self.dtypes[name])
            body.append(nodes.Let(value, infer.convert(found, self.sums)))
            nothing = infer.convert(False if self.sums.kind == "b" else 0, self.sums)
            chosen = nodes.Select(
                inside, nodes.Name(value, self.sums), nothing, self.sums
            )
            line = multiply(self.name(within), self.number(blocking.edge + 1))
            body.append(nodes.Store(f"{name}_tile", add(line, self.name(out)), chosen))
        return body

    def store(self, i: int, j: int) -> nodes.Statement:
        side = self.blocking.side
        row = add(add(self.name("first_row"), self.name("down")), self.number(i * side))
        column = add(
            add(self.name("first_column"), self.name("across")), self.number(j * side)
        )
        at = place(self.name("out_base"), [row, column], self.steps["out"])
        total = nodes.Name(f"sum_{i}_{j}", self.sums)
        inside = infer.apply(
            "bitwise_and",
            infer.apply("less", row, self.rows),
            infer.apply("less", column, self.columns),
        )
        stored = infer.convert(total, self.dtypes["out"])
        return nodes.If(inside, (nodes.Store("out", at, stored),))
