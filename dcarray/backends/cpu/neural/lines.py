"""Convolutions of few channels in a group along rows of positions, as LLVM IR.

Here the lanes of a vector are positions that lie side by side, and weights are
broadcast.  A row that is no multiple of a vector has a last one that reaches back over
the one before it, where that does no harm, or is masked.
"""

from __future__ import annotations

import ctypes
import functools
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ....config import current
from ..engine import engine
from .spelling import address, fused_declared, multiply_add, words

__all__ = ["SHORT", "Lines", "dots_text", "lines", "sums_text"]

BLOCK = 256
"""Terms that are summed at once."""

SHORT = 32
"""Bytes of a vector where rows are short."""


@dataclass(frozen=True, slots=True)
class Lines:
    """Machine code for a dtype; each function takes the address of its words.

    Attributes
    ----------
    length : int
        Positions of a vector.
    spots : int
        Vectors of positions, or weights, that are worked on at once.
    sums, dots : callable
        See `sums_text` and `dots_text`.
    """

    length: int
    spots: int
    sums: Callable[[int], None]
    dots: Callable[[int], None]


def lines(dtype: np.dtype[Any], outs: int, positions: int) -> Lines | None:
    """The functions for a dtype, 1 to 3 channels at once and rows of so many positions;
    None where there are none."""
    if dtype.char not in "fd" or current().engine != "auto":
        return None
    machine = engine()
    if machine is None:
        return None
    size = machine.vector_bytes
    if positions * dtype.itemsize < size:
        size = SHORT
    return _built(dtype, outs, size) if positions * dtype.itemsize >= size else None


@functools.cache
def _built(dtype: np.dtype[Any], outs: int, nbytes: int) -> Lines:
    machine = engine()
    assert machine is not None
    number = "float" if dtype.itemsize == 4 else "double"
    # Sums, a vector of each operand and what is broadcast fill the registers.
    spots = (8, 8, 7) if nbytes > SHORT else (6, 6, 4)
    tile = nbytes // dtype.itemsize, spots[outs - 1]
    found: dict[str, Any] = {}
    for name, write in (("sums", sums_text), ("dots", dots_text)):
        text = write(number, *tile, outs, machine.has_fused)
        kernel = machine.kernel(text, f"dcarray_{name}", f"convolution {name}")
        found[name] = ctypes.CFUNCTYPE(None, ctypes.c_void_p)(kernel.address)
    return Lines(*tile, **found)


def _loop(name: str, before: str, end: str, count: str, then: str) -> list[str]:
    """The head of a loop from 0 to ``count``; `%name` is its counter."""
    return [
        f"br label %{name}.loop",
        f"{name}.loop:",
        f"%{name} = phi i64 [ 0, %{before} ], [ %{name}.next, %{end} ]",
        f"%{name}.more = icmp slt i64 %{name}, {count}",
        f"br i1 %{name}.more, label %{name}.body, label %{then}",
        f"{name}.body:",
    ]


def _entry(name: str, table: str, index: str) -> list[str]:
    """Read a number of a table."""
    return [
        f"%{name}.at = getelementptr i64, ptr {table}, i64 {index}",
        f"%{name} = load i64, ptr %{name}.at",
    ]


# --------------------------------------------------------------------------------- sums
def _opening(
    name: str, pointers: Sequence[str], size: str, kept: Sequence[str] = ()
) -> list[str]:
    """A function up to its loop over panels, with those of x and of the weights."""
    given = dict.fromkeys(pointers, "ptr")
    given |= dict.fromkeys(("many", "count", "panels", "step"), "i64")
    return [
        f"define void @dcarray_{name}(ptr %words) {{",
        "entry:",
        *words(given),
        *kept,
        f"%panel.size = mul i64 {size}",
        *_loop("panel", "entry", "spots.end", "%panels", "done"),
        "%w.skip = mul i64 %panel, %panel.size",
        address("%w.panel", "%w", "%w.skip"),
        *_entry("x.shift", "%from", "%panel"),
        address("%x.panel", "%x", "%x.shift"),
    ]


def sums_text(number: str, length: int, spots: int, outs: int, fused: bool) -> str:
    """The text of ``void dcarray_sums(ptr words)``.

    ``y[target + out] = sum of x[place + term] * w[term, out]``, vectors at each place.
    Words are: addresses of x, of the weights (panels of terms of outs), of y, of places
    and targets (bytes), terms, the panels' own distances in x and in y; places (a
    multiple of the spots), terms, panels, and bytes between outs in y.
    """
    size = 4 if number == "float" else 8
    vector = f"<{length} x {number}>"
    row = outs * size
    tile = [(i, v) for i in range(spots) for v in range(outs)]
    names = ("x", "w", "y", "places", "targets", "terms", "from", "to")
    totals = [f"%total{i}_{v} = alloca {vector}" for i, v in tile]
    text = [
        *_opening("sums", names, f"%count, {row}", totals),
        *_entry("y.shift", "%to", "%panel"),
        address("%y.panel", "%y", "%y.shift"),
        *_loop("spot", "panel.body", "spot.end", "%many", "spots.end"),
        "%place.at = getelementptr i64, ptr %places, i64 %spot",
        "%target.at = getelementptr i64, ptr %targets, i64 %spot",
    ]
    for i in range(spots):
        text += [
            *_entry(f"place{i}", "%place.at", f"{i}"),
            address(f"%x{i}", "%x.panel", f"%place{i}"),
        ]
    text += [
        *[f"store {vector} zeroinitializer, ptr %total{i}_{v}" for i, v in tile],
        "br label %blocks",
        "blocks:",
        "%first = phi i64 [ 0, %spot.body ], [ %last, %block.end ]",
        "%row.first = phi ptr [ %w.panel, %spot.body ], [ %row.next, %block.end ]",
        f"%ahead = add i64 %first, {BLOCK}",
        "%short = icmp slt i64 %ahead, %count",
        "%last = select i1 %short, i64 %ahead, i64 %count",
        "br label %terms.loop",
        "terms.loop:",
        "%k = phi i64 [ %first, %blocks ], [ %k.next, %terms.loop ]",
        "%row = phi ptr [ %row.first, %blocks ], [ %row.next, %terms.loop ]",
        *[
            f"%a{i}_{v} = phi {vector} [ zeroinitializer, %blocks ], "
            f"[ %n{i}_{v}, %terms.loop ]"
            for i, v in tile
        ],
        *_entry("term", "%terms", "%k"),
    ]
    for v in range(outs):
        text += [
            address(f"%w{v}.at", "%row", v * size),
            f"%one{v} = load {number}, ptr %w{v}.at",
            *_broadcast(vector, length, number, f"{v}"),
        ]
    for i in range(spots):
        text += [
            address(f"%x{i}.at", f"%x{i}", "%term"),
            f"%seen{i} = load {vector}, ptr %x{i}.at, align {size}",
        ]
        for v in range(outs):
            text += multiply_add(vector, f"{i}_{v}", f"%seen{i}", f"%all{v}", fused)
    text += [
        address("%row.next", "%row", row),
        "%k.next = add i64 %k, 1",
        "%terms.more = icmp slt i64 %k.next, %last",
        "br i1 %terms.more, label %terms.loop, label %block.end",
        "block.end:",
    ]
    for i, v in tile:
        text += [
            f"%before{i}_{v} = load {vector}, ptr %total{i}_{v}",
            f"%sum{i}_{v} = fadd {vector} %before{i}_{v}, %n{i}_{v}",
            f"store {vector} %sum{i}_{v}, ptr %total{i}_{v}",
        ]
    text += [
        "%blocks.more = icmp slt i64 %last, %count",
        "br i1 %blocks.more, label %blocks, label %spot.end",
        "spot.end:",
    ]
    for i in range(spots):
        text += [
            *_entry(f"target{i}", "%target.at", f"{i}"),
            address(f"%y{i}_0", "%y.panel", f"%target{i}"),
        ]
        for v in range(outs):
            if v:
                text.append(address(f"%y{i}_{v}", f"%y{i}_{v - 1}", "%step"))
            text.append(f"store {vector} %sum{i}_{v}, ptr %y{i}_{v}, align {size}")
    text += [
        f"%spot.next = add i64 %spot, {spots}",
        "br label %spot.loop",
        "spots.end:",
        "%panel.next = add i64 %panel, 1",
        "br label %panel.loop",
        "done:",
        "ret void",
        "}",
        *fused_declared(vector, fused),
    ]
    return "\n".join(text) + "\n"


def _broadcast(vector: str, length: int, number: str, name: str) -> list[str]:
    return [
        f"%lane{name} = insertelement {vector} poison, {number} %one{name}, i32 0",
        f"%all{name} = shufflevector {vector} %lane{name}, {vector} poison, "
        f"<{length} x i32> zeroinitializer",
    ]


# --------------------------------------------------------------------------------- dots
def dots_text(number: str, length: int, spots: int, outs: int, fused: bool) -> str:
    """The text of ``void dcarray_dots(ptr words)``.

    ``w[row, out] = sum of x[place + row] * g[target + out]`` over vectors at places, of
    which a mask tells the elements that count.  Words are: addresses of x, of g, of the
    result (panels of rows of outs, float64), of the rows, places and targets (bytes),
    of masks for each place, and of the panels' own distances in x and in g; rows (a
    multiple of the spots), places, panels, and bytes between outs in g.
    """
    size = 4 if number == "float" else 8
    vector, bits = f"<{length} x {number}>", f"<{length} x i{8 * size}>"
    tile = [(i, v) for i in range(spots) for v in range(outs)]
    names = ("x", "g", "w", "rows", "places", "targets", "masks", "from", "to")
    text = [
        *_opening("dots", names, f"%many, {8 * outs}"),
        *_entry("g.shift", "%to", "%panel"),
        address("%g0", "%g", "%g.shift"),
        *[address(f"%g{v}", f"%g{v - 1}", "%step") for v in range(1, outs)],
        *_loop("spot", "panel.body", "spot.end", "%many", "spots.end"),
        "%row.at = getelementptr i64, ptr %rows, i64 %spot",
    ]
    for i in range(spots):
        text += [
            *_entry(f"row{i}", "%row.at", f"{i}"),
            address(f"%x{i}", "%x.panel", f"%row{i}"),
        ]
    text += [
        "br label %terms.loop",
        "terms.loop:",
        "%k = phi i64 [ 0, %spot.body ], [ %k.next, %terms.loop ]",
        *[
            f"%a{i}_{v} = phi {vector} [ zeroinitializer, %spot.body ], "
            f"[ %n{i}_{v}, %terms.loop ]"
            for i, v in tile
        ],
        *_entry("place", "%places", "%k"),
        *_entry("target", "%targets", "%k"),
        f"%mask.at = getelementptr {bits}, ptr %masks, i64 %k",
        f"%mask = load {bits}, ptr %mask.at, align {size}",
    ]
    masked = [(f"g{v}", f"%g{v}", "%target") for v in range(outs)]
    for v in range(outs):
        text += _masked(vector, bits, size, *masked[v])
    for i in range(spots):
        text += _masked(vector, bits, size, f"x{i}", f"%x{i}", "%place")
        for v in range(outs):
            text += multiply_add(
                vector, f"{i}_{v}", f"%x{i}.seen", f"%g{v}.seen", fused
            )
    text += [
        "%k.next = add i64 %k, 1",
        "%terms.more = icmp slt i64 %k.next, %count",
        "br i1 %terms.more, label %terms.loop, label %spot.end",
        "spot.end:",
        f"%found.skip = mul i64 %spot, {8 * outs}",
        address("%found", "%w.panel", "%found.skip"),
    ]
    wide = f"<{length} x double>"
    for place, (i, v) in enumerate(tile):
        value = f"%n{i}_{v}"
        if size == 4:
            text.append(f"%wide{i}_{v} = fpext {vector} {value} to {wide}")
            value = f"%wide{i}_{v}"
        text += [
            f"%sum{i}_{v} = call double @llvm.vector.reduce.fadd.v{length}f64("
            f"double -0.0, {wide} {value})",
            address(f"%found{i}_{v}", "%found", 8 * place),
            f"store double %sum{i}_{v}, ptr %found{i}_{v}",
        ]
    text += [
        f"%spot.next = add i64 %spot, {spots}",
        "br label %spot.loop",
        "spots.end:",
        "%panel.next = add i64 %panel, 1",
        "br label %panel.loop",
        "done:",
        "ret void",
        "}",
        *fused_declared(vector, fused),
        f"declare double @llvm.vector.reduce.fadd.v{length}f64(double, {wide})",
    ]
    return "\n".join(text) + "\n"


def _masked(
    vector: str, bits: str, size: int, name: str, base: str, skip: str
) -> list[str]:
    """A vector with zeros for what does not count, which may be infinite."""
    return [
        address(f"%{name}.at", base, skip),
        f"%{name}.bits = load {bits}, ptr %{name}.at, align {size}",
        f"%{name}.kept = and {bits} %{name}.bits, %mask",
        f"%{name}.seen = bitcast {bits} %{name}.kept to {vector}",
    ]
