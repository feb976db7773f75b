"""Products of a few rows with a large matrix, as LLVM IR.

The matrix is read once, where it lies, a strip of columns at a time; sums of the strip
stay in cache.  They go in the order of BLAS: term by term with one rounding each, in
blocks of terms, whose sums are added in turn.
"""

from __future__ import annotations

from ..neural.spelling import words
from ..neural.writing import Text

__all__ = ["NAME", "TOGETHER", "thin_text"]

NAME = "dcarray_thin"

TOGETHER = 4
"""Terms that are added while a sum is in a register."""

WORDS = dict.fromkeys(("x", "y", "out", "sums", "total", "edges"), "ptr")
WORDS |= dict.fromkeys(("row", "term", "wide", "step", "blocks", "columns"), "i64")


def thin_text(number: str, nbytes: int, rows: int) -> str:
    """The text of ``void dcarray_thin(ptr words)``, for so many rows of x.

    Words are: addresses of x, of the strip of y and of the result, of two times the
    room for the strip's sums, and of the edges of the blocks; bytes from one row of x
    to the next, from one term to the next in x and in y, and from one row of the result
    to the next; blocks, and columns, whole vectors of them.
    """
    return str(_Thin(number, nbytes, rows))


class _Thin(Text):
    def __init__(self, number: str, nbytes: int, rows: int) -> None:
        super().__init__(number, nbytes)
        self.rows = rows
        with self.function(f"void @{NAME}(ptr %words)"):
            self.lines += words(WORDS)
            self._clear("z", "%total")
            with self.loop("e", "%blocks"):
                edge = self.let("getelementptr i64, ptr %edges, i64 %e")
                first = self.load(edge, "i64")
                last = self.load(self.at(edge, 8), "i64")
                self._clear("c", "%sums")
                many = self.let(f"sub i64 {last}, {first}")
                odd = self.let(f"srem i64 {many}, {TOGETHER}")
                middle = self.let(f"sub i64 {last}, {odd}")
                self._terms("k", first, middle, TOGETHER)
                self._terms("r", middle, last, 1)
                self._add()
            self._store()
        self.lines.append("declare void @llvm.prefetch.p0(ptr, i32, i32, i32)")

    def _vectors(self, base: str, column: str) -> list[str]:
        """Where the sums of one vector of columns are, row by row."""
        size = self.rows * self.size
        start = self.at(base, self.times(column, size))
        step = self.length * self.size
        return [self.at(start, k * step) for k in range(self.rows)]

    def _clear(self, name: str, base: str) -> None:
        with self.loop(name, "%columns", self.length):
            for place in self._vectors(base, f"%{name}"):
                self.store("zeroinitializer", place)

    def _terms(self, name: str, first: str, last: str, together: int) -> None:
        """Add products to the sums, so many terms at a time."""
        with self.loop(name, last, together, begin=first):
            skip = self.times(f"%{name}", "%term")
            factors = self.at("%x", skip)
            line = self.at("%y", self.times(f"%{name}", "%wide"))
            lines = [line]
            for _ in range(2 * together - 1):
                lines.append(self.at(lines[-1], "%wide"))
            ones = []
            for k in range(self.rows):
                one = self.at(factors, self.times("%row", k))
                for _ in range(together):
                    ones.append(one)
                    one = self.at(one, "%term")
            with self.loop(f"{name}v", "%columns", self.length):
                column = f"%{name}v"
                skip = self.times(column, self.size)
                for ahead in lines[together:]:
                    soon = self.at(ahead, skip)
                    self.lines.append(
                        f"call void @llvm.prefetch.p0(ptr {soon}, i32 0, i32 3, i32 1)"
                    )
                given = [self.load(self.at(x, skip)) for x in lines[:together]]
                for k, place in enumerate(self._vectors("%sums", column)):
                    total = self.load(place)
                    for j, vector in enumerate(given):
                        factor = self.load(ones[k * together + j], self.number)
                        total = self.fma(self.spread(factor), vector, total)
                    self.store(total, place)

    def _add(self) -> None:
        with self.loop("a", "%columns", self.length):
            sums = self._vectors("%sums", "%a")
            for place, total in zip(sums, self._vectors("%total", "%a"), strict=True):
                both = self.apply("fadd", self.load(total), self.load(place))
                self.store(both, total)

    def _store(self) -> None:
        with self.loop("s", "%columns", self.length):
            place = self.at("%out", self.times("%s", self.size))
            for total in self._vectors("%total", "%s"):
                self.store(self.load(total), place)
                place = self.at(place, "%step")
