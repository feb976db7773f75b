"""What kernels share that multiply matrices tile by tile.

A group computes a tile of the result.  Step by step, it reads a tile of each factor
into shared memory, and every work item takes products of it into several sums.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ...kernel import infer, nodes
from .parts import INT32, INT64, Indexing, add, integer, multiply
from .reducing import accumulator

__all__ = ["Blocking", "Tiles", "sums_in"]

DType = np.dtype[Any]


@dataclass(frozen=True, slots=True)
class Blocking:
    """How a product is cut: ``side`` by ``side`` work items of a group (a power of 2),
    each with ``each`` by ``each`` elements of the result.

    The elements of an item lie side by side in the tile (``together``), which a
    processor makes a vector of, or else those of neighbours do.  The factors are read
    along their rows or columns, whichever are neighbours in memory.  Neighbours are
    along the columns of the result, or (``turned``) along its rows.
    """

    side: int
    each: int
    together: bool
    rows_of_first: bool
    rows_of_second: bool
    turned: bool = False

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


class Tiles:
    """The pieces of such a kernel; a subclass reads the factors and stores.

    Names of variables: ``lane`` is the work item, ``down`` and ``across`` its place
    among the rows and columns, ``first_row`` and ``first_column`` are those of the
    tile.
    """

    def __init__(self, result: DType, blocking: Blocking, wide: bool) -> None:
        self.sums = sums_in(result)
        self.blocking = blocking
        self.indexing = Indexing(INT64 if wide else INT32)
        self.dtype = self.indexing.dtype
        self.first = self.indexing.number("first_matrix")

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

    def zero(self) -> nodes.Scalar:
        return infer.convert(False if self.sums.kind == "b" else 0, self.sums)

    def own(self, start: nodes.Scalar, which: str, i: int) -> nodes.Scalar:
        """``start`` and the place of the ``i``-th row or column of a work item."""
        blocking = self.blocking
        if blocking.together:
            first = multiply(self.name(which), self.number(blocking.each))
            return add(add(start, first), self.number(i))
        return add(add(start, self.name(which)), self.number(i * blocking.side))

    # ----------------------------------------------------------------------- statements
    def beginning(self, columns: nodes.Scalar) -> list[nodes.Statement]:
        """Shared memory, and the place of a work item."""
        blocking = self.blocking
        size = blocking.side * (blocking.edge + 1)
        lane = nodes.Index("local_id", 0, self.dtype)
        group = nodes.Index("group_id", 0, self.dtype)
        edge, side = self.number(blocking.edge), self.number(blocking.side)
        last = add(columns, self.number(blocking.edge - 1))
        places = ("across", "down") if blocking.turned else ("down", "across")
        return [
            nodes.Shared("a_tile", self.sums, size),
            nodes.Shared("b_tile", self.sums, size),
            nodes.Let("tiles", infer.apply("truncate_divide", last, edge)),
            *self.split("lane", lane, side, *places),
            *self.split("group", group, self.name("tiles"), "tile_down", "tile_across"),
            nodes.Let("first_row", multiply(self.name("tile_down"), edge)),
            nodes.Let("first_column", multiply(self.name("tile_across"), edge)),
        ]

    def of_group(self) -> list[nodes.Statement]:
        """``matrix``: which one a group computes, along axis 1 of the grid.

        Groups take but one: compilers for processors take a multiple of the time for
        barriers in one more loop.
        """
        group = nodes.Index("group_id", 1, self.dtype)
        return [nodes.Let("matrix", add(self.first, group))]

    def nothing(self, sums: str = "sum") -> list[nodes.Statement]:
        """The sums of a work item, all 0."""
        each = range(self.blocking.each)
        return [nodes.Let(f"{sums}_{i}_{j}", self.zero()) for i in each for j in each]

    def products(
        self,
        first: str = "a_tile",
        second: str = "b_tile",
        sums: str = "sum",
        skip: nodes.Scalar | None = None,
    ) -> nodes.Statement:
        """The products of two tiles, added to the sums.

        ``skip`` are lines of the first one, which may be longer than a step, before
        those that count.
        """
        blocking = self.blocking
        # The names of a kernel differ.
        mark = "" if sums == "sum" else f"{sums}_"
        step = self.name(f"{mark}k")
        inner: list[nodes.Statement] = []
        each = range(blocking.each)
        for name, tile, which in (("a", first, "down"), ("b", second, "across")):
            place = step if skip is None or name == "b" else add(step, skip)
            line = multiply(place, self.number(blocking.edge + 1))
            for i in each:
                at = self.own(line, which, i)
                found = nodes.Load(tile, at, self.sums)
                inner.append(nodes.Let(f"{mark}{name}_{i}", found))
        for i in each:
            for j in each:
                total = nodes.Name(f"{sums}_{i}_{j}", self.sums)
                product = infer.apply(
                    "multiply",
                    nodes.Name(f"{mark}a_{i}", self.sums),
                    nodes.Name(f"{mark}b_{j}", self.sums),
                )
                taken = infer.apply("add", total, product)
                inner.append(nodes.Assign(total.name, taken))
        return nodes.For(
            step.name,
            self.number(0),
            self.number(blocking.side),
            self.number(1),
            tuple(inner),
        )

    def lines(
        self, name: str, turn: int, along: bool
    ) -> tuple[list[nodes.Statement], str, str]:
        """What a work item reads of a tile in its ``turn``: names of the place among
        the rows or columns, and of that along the sums.

        ``along`` says that neighbours read along the sums; otherwise across them.
        """
        blocking = self.blocking
        flat = add(self.name("lane"), self.number(turn * blocking.side**2))
        fast, slow = f"{name}_fast{turn}", f"{name}_slow{turn}"
        extent = blocking.side if along else blocking.edge
        label = f"{name}_flat{turn}"
        made = self.split(label, flat, self.number(extent), slow, fast)
        return made, *((slow, fast) if along else (fast, slow))

    def spot(self, within: str, out: str) -> nodes.Scalar:
        """Where an element lies in a tile."""
        line = multiply(self.name(within), self.number(self.blocking.edge + 1))
        return add(line, self.name(out))

    def kept(
        self,
        name: str,
        tile: str,
        array: str,
        dtype: DType,
        at: nodes.Scalar,
        inside: nodes.Scalar,
        safe: nodes.Scalar,
        place: nodes.Scalar,
    ) -> list[nodes.Statement]:
        """An element into a tile, 0 where there is none.

        Outside, the ``safe`` element is read in place of one that is not there.
        """
        found = nodes.Load(array, infer.select(inside, at, safe), dtype)
        value = nodes.Name(name, self.sums)
        chosen = nodes.Select(inside, value, self.zero(), self.sums)
        return [
            nodes.Let(name, infer.convert(found, self.sums)),
            nodes.Store(tile, place, chosen),
        ]
