"""Attention of a few queries over all keys as one function of machine code.

The lanes of vectors are queries.  So the scores of a block of keys are
``k @ (q * scale).T``, those of a key for all queries side by side, and the sums are
``v.T @ powers``: keys and values are read where they lie, number by number, broadcast.
Maximum and sum of each query are vectors, too.  What a block of keys needs stays in the
first-level cache, tiles of products in registers.
"""

from __future__ import annotations

import ctypes
import functools
import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..engine import engine
from .spelling import words
from .writing import Text, machine_for

__all__ = ["KEYS", "Attend", "attend", "attend_text"]

KEYS = 96
"""Keys of a block."""

Shape = tuple[int, int, int]

WIDE: tuple[Shape, Shape] = ((64, 4, 6), (64, 1, 12))
"""Bytes of a vector, vectors of queries, and broadcast numbers of a tile, for many
queries and for few: of 32 registers 24 have sums, 4 have factors and one is broadcast.
"""

NARROW: tuple[Shape, Shape] = ((32, 2, 6), (32, 1, 12))
"""The same with 16 registers."""

FIELDS = {
    **dict.fromkeys(("q", "k", "v", "out", "tops", "totals", "bias", "scratch"), "ptr"),
    **dict.fromkeys(("rows", "keys", "features", "values"), "i64"),
    **dict.fromkeys(("q.step", "k.step", "v.step", "first"), "i64"),
    **dict.fromkeys(("scale", "hidden"), "double"),
}
"""The words of `attend_text`."""


@dataclass(frozen=True, slots=True)
class Attend:
    """Machine code for a dtype: how many queries it takes, and `attend_text`."""

    lanes: int
    places: int
    run: Callable[[bytes], None]

    def scratch(self, features: int, values: int) -> int:
        """Numbers of scratch memory."""
        padded = -(-values // self.places) * self.places
        return (3 + KEYS + features + padded) * self.lanes


def attend(dtype: np.dtype[Any], queries: int) -> Attend | None:
    """The function for a dtype and so many queries; None where there is none."""
    machine = machine_for(dtype)
    if machine is None:
        return None
    many, few = WIDE if machine.vector_bytes == 64 else NARROW
    return _built(dtype, few if queries * dtype.itemsize <= few[0] else many)


@functools.cache
def _built(dtype: np.dtype[Any], shape: Shape) -> Attend:
    machine = engine()
    assert machine is not None
    text = attend_text("float" if dtype.itemsize == 4 else "double", shape)
    kernel = machine.kernel(text, "dcarray_attend", "attention")
    run = ctypes.CFUNCTYPE(None, ctypes.c_char_p)(kernel.address)
    nbytes, vectors, places = shape
    return Attend(vectors * nbytes // dtype.itemsize, places, run)


def attend_text(number: str, shape: Shape) -> str:
    """The text of ``void dcarray_attend(ptr words)`` for such tiles.

    Words are: addresses of queries, keys, values, of the result, of the maximum and the
    sum of each query, of what is added to scores (keys, lanes) or 0, and of scratch
    memory; how many queries, keys, features and values there are; bytes between
    queries, keys, and values; how many keys the first query sees, where each one sees
    one more than that before it; what queries are multiplied by; and a number that is
    not added to a score but takes its place.
    """
    return str(_Attend(number, shape))


class _Attend(Text):
    def __init__(self, number: str, shape: Shape) -> None:
        nbytes, self.vectors, self.places = shape
        super().__init__(number, nbytes)
        self.nbytes = nbytes
        self.row = nbytes * self.vectors
        self.lanes = self.row // self.size
        self.each = range(self.vectors)
        self._tiles("scores")
        self._tiles("sums")
        with self.function("void @dcarray_attend(ptr %words)"):
            self._attend()

    # --------------------------------------------------------------------- small pieces
    def line(self, base: str, number: str | int = 0) -> list[str]:
        """The addresses of a row of lanes."""
        start = self.at(base, self.times(str(number), self.row)) if number else base
        return [self.at(start, v * self.nbytes) for v in self.each]

    def loads(self, addresses: list[str]) -> list[str]:
        return [self.load(one) for one in addresses]

    def fill(self, name: str, base: str, count: str | int, value: str) -> None:
        with self.loop(name, count):
            for address in self.line(base, f"%{name}"):
                self.store(value, address)

    # ---------------------------------------------------------------------------- tiles
    def _tiles(self, name: str) -> None:
        """Products of places in x with rows of lanes: stored as ``scores``, or as
        ``sums`` added to what was there, times a row."""
        given = "ptr %x, i64 %across, i64 %places, i64 %along, i64 %terms, ptr %w"
        head = f"internal void @{name}({given}, ptr %out, ptr %shrinks) noinline"
        tile = [(i, v) for i in range(self.places) for v in self.each]
        with self.function(head):
            last = self.let("sub i64 %places, 1")
            with self.loop("p", "%places", self.places):
                starts = []
                for i in range(self.places):
                    own = self.smaller(self.let(f"add i64 %p, {i}"), last)
                    starts.append(self.at("%x", self.times(own, "%across")))
                carried = {
                    f"a{i}_{v}": (self.vector, "zeroinitializer") for i, v in tile
                }
                carried |= {"far": ("i64", "0"), "near": ("ptr", "%w")}
                with self.loop("k", "%terms", carried=carried):
                    factors = self.loads(self.line("%near"))
                    for i, start in enumerate(starts):
                        one = self.load(self.at(start, "%far"), self.number)
                        every = self.spread(one)
                        for v in self.each:
                            sums = f"%a{i}_{v}"
                            self.fma(every, factors[v], sums, f"{sums}.next")
                    self.let("add i64 %far, %along", "%far.next")
                    self.let(
                        f"getelementptr i8, ptr %near, i64 {self.row}", "%near.next"
                    )
                base = self.at("%out", self.times("%p", self.row))
                for i in range(self.places):
                    for v, address in enumerate(self.line(base, i)):
                        found = f"%a{i}_{v}"
                        if name == "sums":
                            shrink = self.load(self.line("%shrinks")[v])
                            found = self.fma(self.load(address), shrink, found)
                        self.store(found, address)

    # ------------------------------------------------------------------------ the whole
    def _attend(self) -> None:
        self.lines += words(FIELDS)
        self.let("getelementptr i8, ptr %scratch, i64 0", "%top")
        self.let(f"getelementptr i8, ptr %top, i64 {self.row}", "%total")
        self.let(f"getelementptr i8, ptr %total, i64 {self.row}", "%shrink")
        self.let(f"getelementptr i8, ptr %shrink, i64 {self.row}", "%score")
        self.let(f"getelementptr i8, ptr %score, i64 {self.row * KEYS}", "%turned")
        skip = self.times("%features", self.row)
        self.let(f"getelementptr i8, ptr %turned, i64 {skip}", "%found")
        self._turn()
        self.fill("i", "%top", 1, self.all_of(-math.inf))
        self.fill("j", "%total", 1, "zeroinitializer")
        self.fill("c", "%found", "%values", "zeroinitializer")
        with self.loop("start", "%keys", KEYS):
            left = self.let("sub i64 %keys, %start")
            count = self.smaller(left, str(KEYS))
            block = self.at("%k", self.times("%start", "%k.step"))
            given = f"i64 %k.step, i64 {count}, i64 {self.size}, i64 %features"
            tail = "ptr %turned, ptr %score, ptr %shrink"
            self.lines.append(f"call void @scores(ptr {block}, {given}, {tail})")
            self._add(count)
            self._hide(count)
            self._powers(count)
            block = self.at("%v", self.times("%start", "%v.step"))
            given = f"i64 {self.size}, i64 %values, i64 %v.step, i64 {count}"
            tail = "ptr %score, ptr %found, ptr %shrink"
            self.lines.append(f"call void @sums(ptr {block}, {given}, {tail})")
        self._finish()

    def _turn(self) -> None:
        """Queries times the scale, side by side; the last one takes spare lanes."""
        scale = "%scale"
        if self.number == "float":
            scale = self.let("fptrunc double %scale to float")
        last = self.let("sub i64 %rows, 1")
        with self.loop("lane", self.lanes):
            own = self.times(self.smaller("%lane", last), "%q.step")
            source, target = (
                self.at("%q", own),
                self.at("%turned", self.times("%lane", self.size)),
            )
            with self.loop("f", "%features"):
                address = self.at(source, self.times("%f", self.size))
                one = self.load(address, self.number)
                scaled = self.let(f"fmul {self.number} {one}, {scale}")
                address = self.at(target, self.times("%f", self.row))
                self.store(scaled, address, self.number)

    def _add(self, count: str) -> None:
        """What is added to scores, if there is such."""
        is_some = self.let("icmp ne ptr %bias, null")
        count = self.let(f"select i1 {is_some}, i64 {count}, i64 0")
        hidden = "%hidden"
        if self.number == "float":
            hidden = self.let("fptrunc double %hidden to float")
        hidden = self.spread(hidden)
        with self.loop("b", count):
            scores = self.line("%score", "%b")
            biases = self.line("%bias", self.let("add i64 %start, %b"))
            for score, address in zip(scores, biases):
                bias = self.load(address)
                whole = self.apply("fadd", self.load(score), bias)
                taken = self.apply("fcmp oeq", bias, hidden)
                self.store(self.select(taken, bias, whole), score)

    def _hide(self, count: str) -> None:
        """Scores of keys that come after a query."""
        begun = self.let("sub i64 %start, %first")
        end = self.let(f"add i64 {begun}, {count}")
        is_late = self.let(f"icmp sgt i64 {end}, 0")
        count = self.let(f"select i1 {is_late}, i64 {count}, i64 0")
        nothing = self.all_of(-math.inf)
        with self.loop("h", count):
            late = self.let(f"add i64 {begun}, %h")
            if self.whole != "i64":
                late = self.let(f"trunc i64 {late} to {self.whole}")
            late = self.spread(late, self.whole)
            for v, address in enumerate(self.line("%score", "%h")):
                own = [v * self.length + i for i in range(self.length)]
                lanes = ", ".join([f"{self.whole} {i}" for i in own])
                seen = self.let(f"icmp slt {self.wholes} {late}, <{lanes}>")
                self.store(self.select(seen, self.load(address), nothing), address)

    def _powers(self, count: str) -> None:
        """Exponentials less a maximum so far, and by what earlier ones shrink when that
        grows."""
        nothing = self.all_of(-math.inf)
        tops, totals = self.line("%top"), self.line("%total")
        before = self.loads(tops)
        names = [f"top{v}" for v in self.each]
        carried = {name: (self.vector, b) for name, b in zip(names, before)}
        with self.loop("t", count, carried=carried):
            for name, score in zip(names, self.loads(self.line("%score", "%t"))):
                larger = self.apply("fcmp ogt", score, f"%{name}")
                vector, bits = self.vector, f"<{self.length} x i1>"
                self.let(
                    f"select {bits} {larger}, {vector} {score}, {vector} %{name}",
                    f"%{name}.next",
                )
        peaks = []
        for v in self.each:
            top = f"%{names[v]}"
            # What sees nothing yet has no maximum to subtract.
            unseen = self.apply("fcmp oeq", top, nothing)
            peaks.append(self.select(unseen, "zeroinitializer", top))
            self.store(top, tops[v])
        names = [f"total{v}" for v in self.each]
        carried = dict.fromkeys(names, (self.vector, "zeroinitializer"))
        with self.loop("e", count, carried=carried):
            addresses = self.line("%score", "%e")
            for v in self.each:
                less = self.apply("fsub", self.load(addresses[v]), peaks[v])
                power = self.falling(less)
                self.store(power, addresses[v])
                self.let(
                    f"fadd {self.vector} %{names[v]}, {power}", f"%{names[v]}.next"
                )
        for v, address in enumerate(self.line("%shrink")):
            shrink = self.falling(self.apply("fsub", before[v], peaks[v]))
            self.store(shrink, address)
            total = self.fma(self.load(totals[v]), shrink, f"%{names[v]}")
            self.store(total, totals[v])

    def _finish(self) -> None:
        """Results, divided by the sums where there are any, with maxima and sums."""
        totals = self.loads(self.line("%total"))
        safe = []
        for total in totals:
            empty = self.apply("fcmp oeq", total, "zeroinitializer")
            safe.append(self.select(empty, self.all_of(1.0), total))
        with self.loop("d", "%values"):
            for v, address in enumerate(self.line("%found", "%d")):
                self.store(self.apply("fdiv", self.load(address), safe[v]), address)
        with self.loop("r", "%rows"):
            skip = self.times("%r", self.size)
            for source, target in (("%top", "%tops"), ("%total", "%totals")):
                one = self.load(self.at(source, skip), self.number)
                self.store(one, self.at(target, skip), self.number)
            from_, begun = self.at("%found", skip), self.times("%r", "%values")
            with self.loop("s", "%values"):
                address = self.at(from_, self.times("%s", self.row))
                one = self.load(address, self.number)
                place = self.times(self.let(f"add i64 {begun}, %s"), self.size)
                self.store(one, self.at("%out", place), self.number)
