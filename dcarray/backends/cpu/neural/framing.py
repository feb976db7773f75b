"""Copies with zeros around them, as machine code: what windows see at the edges."""

from __future__ import annotations

import ctypes
import functools
from array import array
from collections.abc import Callable
from typing import Any, TypeAlias

import numpy as np

from ..engine import data_address, engine
from .spelling import words
from .writing import Text, machine_for

__all__ = ["FrameText", "copy_framed"]

HostArray: TypeAlias = np.ndarray[Any, Any]
Sizes: TypeAlias = tuple[int, ...]

NOTHING = -(1 << 63)
"""Where a row of zeros begins in the source."""

FIELDS = {
    **dict.fromkeys(("source", "target", "table"), "ptr"),
    **dict.fromkeys(("rows", "length", "before", "count"), "i64"),
}


class FrameText(Text):
    """The text of ``void dcarray_frame(ptr words)``, for vectors of so many bytes.

    Words are: addresses of the source, of the target, whose rows lie side by side, and
    of where each row begins in the source (bytes, or `NOTHING`); rows, and elements of
    each of them, zeros before those of the source, and how many these are.
    """

    def __init__(self, number: str, nbytes: int) -> None:
        super().__init__(number, nbytes)
        self.bits = f"<{self.length} x i1>"
        with self.function("void @dcarray_frame(ptr %words)"):
            self.lines += words(FIELDS)
            self.row_by_row()
        masked = f"ptr, i32, {self.bits}"
        self.lines += [
            f"declare {self.vector} @llvm.masked.load({masked}, {self.vector})",
            f"declare void @llvm.masked.store({self.vector}, {masked})",
        ]

    def row_by_row(self) -> None:
        lead = self.times("%before", -self.size)
        end = self.let("add i64 %before, %count")
        first = self.all_of_lane("%before")
        total = self.all_of_lane("%length")
        nbytes = self.times("%length", self.size)
        with self.loop("row", "%rows", carried={"to": ("ptr", "%target")}):
            entry = self.at("%table", self.times("%row", 8))
            start = self.load(entry, "i64")
            nothing = self.let(f"icmp eq i64 {start}, {NOTHING}")
            stop = self.all_of_lane(self.let(f"select i1 {nothing}, i64 0, i64 {end}"))
            begin = self.at(self.at("%source", start), lead)
            with self.loop("place", "%length", self.length):
                self.part(begin, first, stop, total)
            self.let(f"getelementptr i8, ptr %to, i64 {nbytes}", "%to.next")

    def part(self, begin: str, first: str, stop: str, total: str) -> None:
        """A vector of a row."""
        lanes = ", ".join([f"{self.whole} {i}" for i in range(self.length)])
        lane = self.let(f"add {self.wholes} {self.all_of_lane('%place')}, <{lanes}>")
        after = self.let(f"icmp sge {self.wholes} {lane}, {first}")
        until = self.let(f"icmp slt {self.wholes} {lane}, {stop}")
        inside = self.let(f"and {self.bits} {after}, {until}")
        kept = self.let(f"icmp slt {self.wholes} {lane}, {total}")
        skip = self.times("%place", self.size)
        given = f"ptr {self.at(begin, skip)}, i32 {self.size}, {self.bits} {inside}"
        found = self.let(
            f"call {self.vector} @llvm.masked.load"
            f"({given}, {self.vector} zeroinitializer)"
        )
        target = f"ptr {self.at('%to', skip)}, i32 {self.size}, {self.bits} {kept}"
        self.lines.append(
            f"call void @llvm.masked.store({self.vector} {found}, {target})"
        )

    def all_of_lane(self, number: str) -> str:
        """A vector of a number of elements."""
        if self.size == 4:
            number = self.let(f"trunc i64 {number} to i32")
        return self.spread(number, self.whole)


@functools.cache
def _built(dtype: np.dtype[Any], nbytes: int) -> Callable[[int], None]:
    machine = engine()
    assert machine is not None
    text = str(FrameText("float" if dtype.itemsize == 4 else "double", nbytes))
    kernel = machine.kernel(text, "dcarray_frame", "copies with zeros around them")
    return ctypes.CFUNCTYPE(None, ctypes.c_void_p)(kernel.address)


def copy_framed(source: HostArray, target: HostArray, starts: Sizes) -> bool:
    """Copy an array to the middle of another one, and zeros all around; False if there
    is no machine code for it.

    Parameters
    ----------
    source : ndarray
    target : ndarray
        Contiguous, of the same dtype.
    starts : tuple of int
        The place of the first element.
    """
    machine = machine_for(source.dtype)
    form = _form(source.shape, source.strides, target.shape, starts, source.itemsize)
    if machine is None or form is None:
        return False
    table, numbers = form
    addresses = map(data_address, (source, target, table))
    call = array("q", [*addresses, len(table), *numbers])
    _built(source.dtype, machine.vector_bytes)(call.buffer_info()[0])
    return True


@functools.lru_cache(512)
def _form(
    counts: Sizes, steps: Sizes, lengths: Sizes, starts: Sizes, item: int
) -> tuple[HostArray, Sizes] | None:
    """Where rows begin, and their numbers; None if elements of them lie apart."""
    if steps[-1] != item and counts[-1] > 1 and 0 not in counts:
        return None
    axes = list(zip(counts, steps, lengths, starts, strict=True))
    count, _, length, start = axes.pop()
    while axes and count == length and axes[-1][1] == count * item:
        *axes, (more, _, longer, place) = axes
        count, length, start = [count * n for n in (more, longer, place)]
    table = np.zeros(1, np.int64)
    for more, step, longer, place in axes:
        places = np.arange(longer) - place
        own = np.where((places >= 0) & (places < more), places * step, NOTHING)
        there = (table[:, None] != NOTHING) & (own != NOTHING)
        table = np.where(there, table[:, None] + own, NOTHING).ravel()
    return table, (length, start, count)
