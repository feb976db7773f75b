"""The transformations of `squarewise`, as LLVM IR.

Here the lanes of a vector are squares that lie side by side, row after row of them:
images are read and written as they lie, and channels are only counted.
"""

from __future__ import annotations

import functools
from dataclasses import dataclass
from typing import Any

import numpy as np

from ....config import current
from ..engine import engine
from .combining import FORMS
from .micro import TILES_FIELDS, tiles_text
from .spelling import words
from .writing import Text

__all__ = [
    "OPERAND_FIELDS",
    "RESULT_FIELDS",
    "TILES_FIELDS",
    "OperandText",
    "ResultText",
    "SquareLines",
    "square_lines",
]

OPERAND_FIELDS = {
    **dict.fromkeys(("x", "zeros", "lines", "seen"), "ptr"),
    **dict.fromkeys(("channels", "step", "row", "first", "pairs", "height"), "i64"),
    **dict.fromkeys(("left", "width", "across", "parts", "span"), "i64"),
    **dict.fromkeys(("begin", "many", "pitch", "plane"), "i64"),
}

RESULT_FIELDS = {
    **dict.fromkeys(("sums", "lines", "y", "sources", "targets", "lengths"), "ptr"),
    "check": "ptr",
    **dict.fromkeys(("channels", "step", "panels", "panel", "plane"), "i64"),
    **dict.fromkeys(("span", "count"), "i64"),
}


@dataclass(frozen=True, slots=True)
class SquareLines:
    """Machine code for a dtype; each function takes the address of its words.

    Attributes
    ----------
    length : int
        Squares of a vector.
    lanes : int
        Squares of a panel.
    places : int
        Channels of a tile.
    tiles : tuple of int
        Addresses of functions, for panels of one vector, of two and so on up to
        `lanes`: see `tiles_text`.
    operand, result : int
        Addresses of functions: see `OperandText` and `ResultText`.
    """

    length: int
    lanes: int
    places: int
    tiles: tuple[int, ...]
    operand: int
    result: int


def square_lines(dtype: np.dtype[Any]) -> SquareLines | None:
    """The functions for a dtype; None where there are none."""
    if dtype.char not in "fd" or current().engine != "auto" or engine() is None:
        return None
    return _built(dtype)


@functools.cache
def _built(dtype: np.dtype[Any]) -> SquareLines:
    machine = engine()
    assert machine is not None
    number = "float" if dtype.itemsize == 4 else "double"
    nbytes = machine.vector_bytes
    length = nbytes // dtype.itemsize
    # A tile with its factors, in 32 registers or in 16.
    vectors, places = (3, 8) if nbytes == 64 else (2, 6)
    fused = machine.has_fused
    texts = [
        *[
            (tiles_text(number, length, n + 1, places, fused), "tiles")
            for n in range(vectors)
        ],
        (str(OperandText(number, nbytes)), "operand"),
        (str(ResultText(number, nbytes, vectors)), "result"),
    ]
    *tiles, operand, result = [
        machine.kernel(text, f"dcarray_{name}", f"convolution {name}").address
        for text, name in texts
    ]
    lanes = vectors * length
    return SquareLines(length, lanes, places, tuple(tiles), operand, result)


class OperandText(Text):
    """The text of ``void dcarray_operand(ptr words)``: what squares that overlap see.

    Rows are combined first, pairs of them after each other, as lines of squares: what
    comes of the first rows of pairs and of the second, for each of the four columns of
    a square.  Lines of a whole channel stay in cache, and are combined as columns.

    Words are: addresses of the first channel, of as many zeros as a row has, of the
    lines, and of the first square in its plane; channels, and bytes between them and
    between rows; the first row and the pairs of rows, of how many rows; the first
    column, of how many; squares of a row, and vectors; bytes of a line; squares before
    the first one, and vectors of them; bytes between channels and between planes.
    """

    def __init__(self, number: str, nbytes: int) -> None:
        super().__init__(number, nbytes)
        self.bits = f"<{self.length} x i1>"
        with self.function("void @dcarray_operand(ptr %words)"):
            self.lines += words(OPERAND_FIELDS)
            self.pair = self.times("%across", self.size)
            self.columns = self.spread(self.whole_of("%width"), self.whole)
            carried = {"from": ("ptr", "%x"), "to": ("ptr", "%seen")}
            with self.loop("channel", "%channels", carried=carried):
                with self.loop("part", "%parts"):
                    self.rows()
                with self.loop("v", "%many"):
                    self.squares()
                self.let("getelementptr i8, ptr %from, i64 %step", "%from.next")
                self.let("getelementptr i8, ptr %to, i64 %pitch", "%to.next")
        masked = f"ptr, i32, {self.bits}, {self.vector}"
        self.lines.append(f"declare {self.vector} @llvm.masked.load({masked})")

    def whole_of(self, number: str) -> str:
        return self.let(f"trunc i64 {number} to i32") if self.size == 4 else number

    def rows(self) -> None:
        """Combine a vector of all rows, the last vector first: what reaches over the
        end of a row is written again."""
        back = self.let("sub i64 %parts, %part")
        place = self.times(self.let(f"sub i64 {back}, 1"), self.length)
        column = self.let(f"add i64 %left, {self.times(place, 2)}")
        skips, masks = [], []
        for shift in (0, self.length, 2, self.length + 2):
            first = self.let(f"add i64 {column}, {shift}")
            lanes = ", ".join([f"{self.whole} {i}" for i in range(self.length)])
            start = self.spread(self.whole_of(first), self.whole)
            lane = self.let(f"add {self.wholes} {start}, <{lanes}>")
            masks.append(self.let(f"icmp ult {self.wholes} {lane}, {self.columns}"))
            skips.append(self.times(first, self.size))
        begin = self.at("%lines", self.times(place, self.size))
        with self.loop("pair", "%pairs", carried={"line": ("ptr", begin)}):
            for parity in (0, 1):
                number = self.let(f"add i64 %first, {self.times('%pair', 2)}")
                number = self.let(f"add i64 {number}, {parity}")
                inside = self.let(f"icmp ult i64 {number}, %height")
                there = self.at("%from", self.times(number, "%row"))
                row = self.let(f"select i1 {inside}, ptr {there}, ptr %zeros")
                parts = [self.masked(row, *given) for given in zip(skips, masks)]
                seen = [
                    self.every_other(parts[k], parts[k + 1], odd)
                    for k in (0, 2)
                    for odd in (0, 1)
                ]
                for j, value in enumerate(self.of_line(seen)):
                    skip = self.times("%span", 2 * j + parity)
                    self.store(value, self.at("%line", skip))
            self.let(f"getelementptr i8, ptr %line, i64 {self.pair}", "%line.next")

    def masked(self, row: str, skip: str, mask: str) -> str:
        given = f"ptr {self.at(row, skip)}, i32 {self.size}, {self.bits} {mask}"
        return self.let(
            f"call {self.vector} @llvm.masked.load"
            f"({given}, {self.vector} zeroinitializer)"
        )

    def every_other(self, one: str, other: str, first: int) -> str:
        picked = ", ".join([f"i32 {first + 2 * i}" for i in range(self.length)])
        return self.let(
            f"shufflevector {self.vector} {one}, {self.vector} {other}, "
            f"<{self.length} x i32> <{picked}>"
        )

    def of_line(self, seen: list[str]) -> list[str]:
        return FORMS["operand"][1](self, seen)

    def squares(self) -> None:
        """Combine a vector of columns."""
        square = self.let(f"add i64 %begin, {self.times('%v', self.length)}")
        one = self.at("%lines", self.times(square, self.size))
        other = self.at(one, self.pair)
        into = self.at("%to", self.times("%v", self.length * self.size))
        for j in range(4):
            first, second = [self.times("%span", 2 * j + parity) for parity in (0, 1)]
            seen = [
                self.load(self.at(line, skip))
                for line in (one, other)
                for skip in (first, second)
            ]
            for i, value in enumerate(self.of_line(seen)):
                self.store(value, self.at(into, self.times("%plane", 4 * i + j)))


class ResultText(Text):
    """The text of ``void dcarray_result(ptr words)``: what squares of sums become.

    Words are: addresses of the first square in its plane, of two lines (first rows of
    squares, and second ones), of the first channel, of where each row of results begins
    in the lines and in a channel (bytes), and how many they are; of a vector that is
    not finite afterwards if some result is not; channels, and bytes between them;
    panels, and bytes between them and between planes; bytes of a line; rows.
    """

    def __init__(self, number: str, nbytes: int, vectors: int) -> None:
        super().__init__(number, nbytes)
        self.bits = f"<{self.length} x i1>"
        self.vectors = vectors
        with self.function("void @dcarray_result(ptr %words)"):
            self.lines += words(RESULT_FIELDS)
            odd = self.let(f"load {self.vector}, ptr %check, align {self.size}")
            carried = {"odd": (self.vector, odd), "to": ("ptr", "%y")}
            with self.loop("channel", "%channels", carried=carried):
                row = self.times("%channel", vectors * nbytes)
                begin = self.at("%sums", row)
                lines = {"from": ("ptr", begin), "line": ("ptr", "%lines")}
                with self.loop("p", "%panels", carried=lines):
                    for v in range(vectors):
                        self.squares(v)
                    self.let("getelementptr i8, ptr %from, i64 %panel", "%from.next")
                    step = 2 * vectors * nbytes
                    self.let(f"getelementptr i8, ptr %line, i64 {step}", "%line.next")
                with self.loop("r", "%count", carried={"own": (self.vector, "%odd")}):
                    self.rows()
                self.let(f"fadd {self.vector} %own, zeroinitializer", "%odd.next")
                self.let("getelementptr i8, ptr %to, i64 %step", "%to.next")
            self.store("%odd", "%check")
        masked = f"ptr, i32, {self.bits}"
        self.lines += [
            f"declare {self.vector} @llvm.masked.load({masked}, {self.vector})",
            f"declare void @llvm.masked.store({self.vector}, {masked})",
        ]

    def squares(self, v: int) -> None:
        """Combine a vector of squares, and lay the columns side by side."""
        start = self.at("%from", v * self.length * self.size)
        columns = [
            [
                self.load(self.at(start, self.times("%plane", 4 * i + j)))
                for i in range(4)
            ]
            for j in range(4)
        ]
        line = FORMS["result"][1]
        rows = zip(*[line(self, column) for column in columns], strict=True)
        for parity, row in enumerate(rows):
            one, other = line(self, list(row))
            into = self.at("%line", self.times("%span", parity))
            for half in (0, 1):
                first = half * self.length // 2
                picked = ", ".join(
                    [
                        f"i32 {first + i // 2 + i % 2 * self.length}"
                        for i in range(self.length)
                    ]
                )
                found = self.let(
                    f"shufflevector {self.vector} {one}, {self.vector} {other}, "
                    f"<{self.length} x i32> <{picked}>"
                )
                skip = (2 * v + half) * self.length * self.size
                self.store(found, self.at(into, skip))

    def rows(self) -> None:
        """Copy a row, and see whether it is finite."""
        source, target, length = [
            self.load(self.at(table, self.times("%r", 8)), "i64")
            for table in ("%sources", "%targets", "%lengths")
        ]
        source, target = self.at("%lines", source), self.at("%to", target)
        seen = {"all": (self.vector, "%own")}
        with self.loop("place", length, self.length, carried=seen):
            left = self.let(f"sub i64 {length}, %place")
            if self.size == 4:
                left = self.let(f"trunc i64 {left} to i32")
            last = self.spread(left, self.whole)
            lanes = ", ".join([f"{self.whole} {i}" for i in range(self.length)])
            mask = self.let(f"icmp slt {self.wholes} <{lanes}>, {last}")
            skip = self.times("%place", self.size)
            given = f"ptr {self.at(source, skip)}, i32 {self.size}, {self.bits} {mask}"
            found = self.let(
                f"call {self.vector} @llvm.masked.load"
                f"({given}, {self.vector} zeroinitializer)"
            )
            given = f"ptr {self.at(target, skip)}, i32 {self.size}, {self.bits} {mask}"
            self.lines.append(
                f"call void @llvm.masked.store({self.vector} {found}, {given})"
            )
            none = self.apply("fsub", found, found)
            self.let(f"fadd {self.vector} %all, {none}", "%all.next")
        self.let(f"fadd {self.vector} %all, zeroinitializer", "%own.next")
