"""The product of matrices, in tiles that a group shares."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np

from ...kernel import infer, nodes
from ...kernel.rewrite import simplify
from ...kernel.verify import verify
from .parts import add, place, unravel
from .tiles import Blocking, Tiles, sums_in

__all__ = ["Blocking", "product_kernel", "sums_in"]

DType = np.dtype[Any]


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
    along axis 1 are the matrices.

    Parameters are ``a``, ``b``, ``out``, and: the first matrix of the launch; rows,
    columns, length of the sums; an offset of each operand; strides of each along rows
    and columns; lengths of the axes of matrices but the first; strides of each operand
    along them.
    """
    return _Product(first, second, result, blocking, batch, wide).kernel()


class _Product(Tiles):
    def __init__(
        self,
        first: DType,
        second: DType,
        result: DType,
        blocking: Blocking,
        batch: int,
        wide: bool,
    ) -> None:
        super().__init__(result, blocking, wide)
        self.dtypes = {"a": first, "b": second, "out": result}
        self.batch = batch
        indexing = self.indexing
        sizes = ("rows", "columns", "length")
        self.rows, self.columns, self.length = map(indexing.number, sizes)
        names = ("a", "b", "out")
        self.offsets = {name: indexing.number(f"{name}_offset") for name in names}
        self.steps = {name: indexing.strides(name, "matrix", 2) for name in names}
        self.lengths = indexing.lengths("batch", batch)
        self.jumps = {name: indexing.strides(name, "batch", batch) for name in names}

    def kernel(self) -> nodes.Kernel:
        body: list[nodes.Statement] = [
            *self.beginning(self.columns),
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
        return simplify(verify(nodes.Kernel("product", parameters, tuple(body))))

    def matrix(self) -> list[nodes.Statement]:
        """One product of two matrices."""
        each = range(self.blocking.each)
        body, indices = unravel(self.name("matrix"), self.batch, self.lengths, "m")
        for name, offset in self.offsets.items():
            body.append(
                nodes.Let(f"{name}_base", place(offset, indices, self.jumps[name]))
            )
        body += self.nothing()
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
        return [
            *self.read("a", *first),
            *self.read("b", *second),
            nodes.Barrier(),
            self.products(),
            nodes.Barrier(),
        ]

    def read(
        self, name: str, first: str, limit: nodes.Scalar, along: bool
    ) -> list[nodes.Statement]:
        """A tile of a factor into shared memory, line by line of the sums."""
        down, across = self.steps[name]
        step_out, step_in = (down, across) if name == "a" else (across, down)
        body: list[nodes.Statement] = []
        for turn in range(self.blocking.each):
            made, out, within = self.lines(name, turn, along)
            there = add(self.name(first), self.name(out))
            k = add(self.name("start"), self.name(within))
            inside = infer.apply(
                "bitwise_and",
                infer.apply("less", there, limit),
                infer.apply("less", k, self.length),
            )
            base = self.name(f"{name}_base")
            at = place(base, [there, k], [step_out, step_in])
            value = f"{name}_read{turn}"
            target = self.spot(within, out)
            dtype = self.dtypes[name]
            body += made
            tile = f"{name}_tile"
            body += self.kept(value, tile, name, dtype, at, inside, base, target)
        return body

    def store(self, i: int, j: int) -> nodes.Statement:
        row = self.own(self.name("first_row"), "down", i)
        column = self.own(self.name("first_column"), "across", j)
        at = place(self.name("out_base"), [row, column], self.steps["out"])
        total = nodes.Name(f"sum_{i}_{j}", self.sums)
        inside = infer.apply(
            "bitwise_and",
            infer.apply("less", row, self.rows),
            infer.apply("less", column, self.columns),
        )
        stored = infer.convert(total, self.dtypes["out"])
        return nodes.If(inside, (nodes.Store("out", at, stored),))
