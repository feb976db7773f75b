"""Products of small tiles in registers, and moves between channels side by side and
positions side by side, as LLVM IR.

A convolution, and each of its gradients, is a sum

    ``out[place, lane] = sum of x[place + term] * packed[term, lane]``

over terms.  A tile of some places and a *panel* of lanes stays in registers while the
terms go by: of x a number at a time is broadcast, and of ``packed`` there is a vector.
So windows are read where they lie, with any stride, and nobody lays out columns.
"""

from __future__ import annotations

import ctypes
import functools
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from ....config import current
from ..engine import engine

__all__ = [
    "BYTES",
    "PLACES",
    "Micro",
    "address",
    "micro",
    "moves_text",
    "multiply_add",
    "tiles_text",
    "words",
]

PLACES = 6
"""Places of a tile."""

VECTORS = 2
"""Vectors of a panel: 6 × 2 sums, two factors and one broadcast fill 16 registers."""

BYTES = 32
"""Bytes of a vector."""


@dataclass(frozen=True, slots=True)
class Micro:
    """Machine code for a dtype; each function takes the address of its words.

    Attributes
    ----------
    lanes : int
        Lanes of a panel.
    tiles, gather, scatter : callable
        See `tiles_text` and `moves_text`.
    """

    lanes: int
    tiles: Callable[[int], None]
    gather: Callable[[int], None]
    scatter: Callable[[int], None]


def micro(dtype: np.dtype[Any]) -> Micro | None:
    """The functions for a dtype; None where there are none."""
    if dtype.char not in "fd" or current().engine != "auto":
        return None
    return _built(dtype)


@functools.cache
def _built(dtype: np.dtype[Any]) -> Micro | None:
    machine = engine()
    if machine is None:
        return None
    number = "float" if dtype.itemsize == 4 else "double"
    texts = {
        "tiles": tiles_text(number, machine.has_fused),
        "gather": moves_text(number, gather=True),
        "scatter": moves_text(number, gather=False),
    }
    found: dict[str, Any] = {}
    for name, text in texts.items():
        kernel = machine.kernel(text, f"dcarray_{name}", f"convolution {name}")
        function = ctypes.CFUNCTYPE(None, ctypes.c_void_p)(kernel.address)
        found[name] = function
    return Micro(VECTORS * BYTES // dtype.itemsize, **found)


def words(names: dict[str, str]) -> list[str]:
    """Load the words of a function, each of which has a name and a type."""
    lines = []
    for index, (name, kind) in enumerate(names.items()):
        lines.append(f"%{name}.at = getelementptr i64, ptr %words, i64 {index}")
        lines.append(f"%{name} = load {kind}, ptr %{name}.at")
    return lines


def address(name: str, base: str, skip: str | int) -> str:
    return f"{name} = getelementptr i8, ptr {base}, i64 {skip}"


# -------------------------------------------------------------------------------- tiles
def tiles_text(number: str, fused: bool) -> str:
    """The text of ``void dcarray_tiles(ptr words)``.

    Words are: addresses of x, of the packed panels, of the result (panels of places of
    lanes), of the places, the terms and the panels' own distances in x (bytes); places
    (a multiple of `PLACES`), terms, panels, terms of a block, and whether there are
    sums already.  What a block sums is added to the sums of those before it.
    """
    size = 4 if number == "float" else 8
    length = BYTES // size
    vector = f"<{length} x {number}>"
    row = VECTORS * BYTES
    tile = [(i, v) for i in range(PLACES) for v in range(VECTORS)]
    given = dict.fromkeys(("x", "packed", "out", "places", "terms", "shifts"), "ptr")
    given |= dict.fromkeys(("many", "count", "panels", "block", "begun"), "i64")
    lines = [
        "define void @dcarray_tiles(ptr %words) {",
        "entry:",
        *words(given),
        f"%panel.size = mul i64 %count, {row}",
        f"%sums.size = mul i64 %many, {row}",
        "br label %blocks",
        "blocks:",
        "%first = phi i64 [ 0, %entry ], [ %last, %blocks.next ]",
        "%blocks.more = icmp slt i64 %first, %count",
        "br i1 %blocks.more, label %blocks.body, label %done",
        "blocks.body:",
        "%ahead = add i64 %first, %block",
        "%short = icmp slt i64 %ahead, %count",
        "%last = select i1 %short, i64 %ahead, i64 %count",
        "%before = or i64 %first, %begun",
        "%fresh = icmp eq i64 %before, 0",
        f"%skip = mul i64 %first, {row}",
        address("%packed.block", "%packed", "%skip"),
        "br label %turns",
        "turns:",
        "%panel = phi i64 [ 0, %blocks.body ], [ %panel.next, %turns.next ]",
        "%turns.more = icmp slt i64 %panel, %panels",
        "br i1 %turns.more, label %turns.body, label %blocks.next",
        "blocks.next:",
        "br label %blocks",
        "turns.body:",
        "%packed.skip = mul i64 %panel, %panel.size",
        address("%packed.panel", "%packed.block", "%packed.skip"),
        "%out.skip = mul i64 %panel, %sums.size",
        address("%out.panel", "%out", "%out.skip"),
        "%shift.at = getelementptr i64, ptr %shifts, i64 %panel",
        "%shift = load i64, ptr %shift.at",
        address("%x.panel", "%x", "%shift"),
        "br label %tiles",
        "tiles:",
        "%p = phi i64 [ 0, %turns.body ], [ %p.next, %tile.next ]",
        "%tiles.more = icmp slt i64 %p, %many",
        "br i1 %tiles.more, label %tile, label %turns.next",
        "turns.next:",
        "%panel.next = add i64 %panel, 1",
        "br label %turns",
        "tile:",
        f"%tile.skip = mul i64 %p, {row}",
        address("%sums", "%out.panel", "%tile.skip"),
        "%place.at = getelementptr i64, ptr %places, i64 %p",
    ]
    for i in range(PLACES):
        lines += [
            f"%place{i}.at = getelementptr i64, ptr %place.at, i64 {i}",
            f"%place{i} = load i64, ptr %place{i}.at",
            address(f"%x{i}", "%x.panel", f"%place{i}"),
        ]
    lines += [
        "br label %terms.loop",
        "terms.loop:",
        "%k = phi i64 [ %first, %tile ], [ %k.next, %terms.loop ]",
        "%row = phi ptr [ %packed.panel, %tile ], [ %row.next, %terms.loop ]",
        *[
            f"%a{i}_{v} = phi {vector} [ zeroinitializer, %tile ], "
            f"[ %n{i}_{v}, %terms.loop ]"
            for i, v in tile
        ],
        "%term.at = getelementptr i64, ptr %terms, i64 %k",
        "%term = load i64, ptr %term.at",
    ]
    for v in range(VECTORS):
        lines += [
            address(f"%w{v}.at", "%row", v * BYTES),
            f"%w{v} = load {vector}, ptr %w{v}.at, align {size}",
        ]
    for i in range(PLACES):
        lines += [
            address(f"%x{i}.at", f"%x{i}", "%term"),
            f"%one{i} = load {number}, ptr %x{i}.at",
            f"%lane{i} = insertelement {vector} poison, {number} %one{i}, i32 0",
            f"%all{i} = shufflevector {vector} %lane{i}, {vector} poison, "
            f"<{length} x i32> zeroinitializer",
        ]
        for v in range(VECTORS):
            lines += multiply_add(vector, f"{i}_{v}", f"%all{i}", f"%w{v}", fused)
    lines += [
        address("%row.next", "%row", row),
        "%k.next = add i64 %k, 1",
        "%terms.more = icmp slt i64 %k.next, %last",
        "br i1 %terms.more, label %terms.loop, label %tile.end",
        "tile.end:",
        *[address(f"%s{i}_{v}", "%sums", (i * VECTORS + v) * BYTES) for i, v in tile],
        "br i1 %fresh, label %tile.store, label %tile.add",
        "tile.store:",
        *[f"store {vector} %n{i}_{v}, ptr %s{i}_{v}, align {size}" for i, v in tile],
        "br label %tile.next",
        "tile.add:",
    ]
    for i, v in tile:
        lines += [
            f"%o{i}_{v} = load {vector}, ptr %s{i}_{v}, align {size}",
            f"%t{i}_{v} = fadd {vector} %o{i}_{v}, %n{i}_{v}",
            f"store {vector} %t{i}_{v}, ptr %s{i}_{v}, align {size}",
        ]
    lines += [
        "br label %tile.next",
        "tile.next:",
        f"%p.next = add i64 %p, {PLACES}",
        "br label %tiles",
        "done:",
        "ret void",
        "}",
    ]
    if fused:
        three = ", ".join([vector] * 3)
        lines.append(f"declare {vector} @llvm.fma.v{length}f{8 * size}({three})")
    return "\n".join(lines) + "\n"


def multiply_add(vector: str, name: str, x: str, w: str, fused: bool) -> list[str]:
    """``n = x * w + a``"""
    if fused:
        length, number = vector.strip("<>").split(" x ")
        bits = 32 if number == "float" else 64
        three = ", ".join([f"{vector} {value}" for value in (x, w, f"%a{name}")])
        return [f"%n{name} = call {vector} @llvm.fma.v{length}f{bits}({three})"]
    return [
        f"%m{name} = fmul {vector} {x}, {w}",
        f"%n{name} = fadd {vector} %m{name}, %a{name}",
    ]


# -------------------------------------------------------------------------------- moves
def moves_text(number: str, gather: bool) -> str:
    """The text of ``void dcarray_gather(ptr words)`` or ``dcarray_scatter``.

    Moves ``near[panel][k][lane]`` from or to ``far[panel][lane] + table[k]``.  Words
    are: addresses of far, near and the table (bytes); its length, all lanes, lanes of
    a panel that are used, bytes between lanes of far and between panels of near, and
    whether the table counts elements that lie side by side.
    """
    size = 4 if number == "float" else 8
    length = BYTES // size
    vector = f"<{length} x {number}>"
    row = VECTORS * BYTES
    lanes = row // size
    name = "gather" if gather else "scatter"
    given = dict.fromkeys(("far", "near", "table"), "ptr")
    given |= dict.fromkeys(("count", "lanes", "each", "step", "apart", "dense"), "i64")

    def move(tag: str, far: str, near: str, kind: str) -> list[str]:
        source, target = (far, near) if gather else (near, far)
        return [
            f"%{tag} = load {kind}, ptr {source}, align {size}",
            f"store {kind} %{tag}, ptr {target}, align {size}",
        ]

    lines = [
        f"define void @dcarray_{name}(ptr %words) {{",
        "entry:",
        *words(given),
        f"%beside = icmp eq i64 %step, {size}",
        "%is.dense = icmp ne i64 %dense, 0",
        f"%even = and i64 %count, {-length}",
        "br label %panels",
        "panels:",
        "%panel = phi i64 [ 0, %entry ], [ %panel.next, %panels.next ]",
        "%begun = mul i64 %panel, %each",
        "%left = sub i64 %lanes, %begun",
        "%panels.more = icmp sgt i64 %left, 0",
        "br i1 %panels.more, label %panels.body, label %done",
        "panels.body:",
        "%fewer = icmp slt i64 %left, %each",
        "%used = select i1 %fewer, i64 %left, i64 %each",
        f"%full = icmp eq i64 %used, {lanes}",
        "%far.skip = mul i64 %begun, %step",
        address("%far.panel", "%far", "%far.skip"),
        "%near.skip = mul i64 %panel, %apart",
        address("%near.panel", "%near", "%near.skip"),
        "%turned = and i1 %full, %is.dense",
        "%copied = and i1 %full, %beside",
        "br i1 %turned, label %squares, label %rest",
        "panels.next:",
        "%panel.next = add i64 %panel, 1",
        "br label %panels",
        # squares of a vector's lanes and as many positions are turned in registers
        "squares:",
        "%q = phi i64 [ 0, %panels.body ], [ %q.next, %square.end ]",
        "%squares.more = icmp slt i64 %q, %even",
        "br i1 %squares.more, label %square, label %rest",
        "square:",
        f"%q.far = mul i64 %q, {size}",
        address("%far.square", "%far.panel", "%q.far"),
        f"%q.near = mul i64 %q, {row}",
        address("%near.square", "%near.panel", "%q.near"),
        "br label %halves",
        "halves:",
        "%h = phi i64 [ 0, %square ], [ %h.next, %halves ]",
        "%h.skip = mul i64 %h, %step",
        address("%far.half", "%far.square", "%h.skip"),
        f"%h.near = mul i64 %h, {size}",
        address("%near.half", "%near.square", "%h.near"),
        "%far.at0 = getelementptr i8, ptr %far.half, i64 0",
        *[address(f"%far.at{i}", f"%far.at{i - 1}", "%step") for i in range(1, length)],
        *[address(f"%near.at{i}", "%near.half", i * row) for i in range(length)],
        *_turned(
            vector,
            length,
            size,
            *(("%far.at", "%near.at") if gather else ("%near.at", "%far.at")),
        ),
        f"%h.next = add i64 %h, {length}",
        f"%halves.more = icmp slt i64 %h.next, {lanes}",
        "br i1 %halves.more, label %halves, label %square.end",
        "square.end:",
        f"%q.next = add i64 %q, {length}",
        "br label %squares",
        "rest:",
        "%k = phi i64 [ 0, %panels.body ], [ %q, %squares ], [ %k.next, %rest.next ]",
        "%rest.more = icmp slt i64 %k, %count",
        "br i1 %rest.more, label %rest.body, label %panels.next",
        "rest.body:",
        "%from.at = getelementptr i64, ptr %table, i64 %k",
        "%from = load i64, ptr %from.at",
        address("%far.row", "%far.panel", "%from"),
        f"%k.near = mul i64 %k, {row}",
        address("%near.row", "%near.panel", "%k.near"),
        "br i1 %copied, label %whole, label %single",
        "whole:",
    ]
    for v in range(VECTORS):
        lines += [
            address(f"%far.v{v}", "%far.row", v * BYTES),
            address(f"%near.v{v}", "%near.row", v * BYTES),
            *move(f"whole{v}", f"%far.v{v}", f"%near.v{v}", vector),
        ]
    lines += [
        "br label %rest.next",
        "single:",
        "%lane = phi i64 [ 0, %rest.body ], [ %lane.next, %single ]",
        "%lane.skip = mul i64 %lane, %step",
        address("%far.one", "%far.row", "%lane.skip"),
        f"%near.one = getelementptr {number}, ptr %near.row, i64 %lane",
        *move("one", "%far.one", "%near.one", number),
        "%lane.next = add i64 %lane, 1",
        "%single.more = icmp slt i64 %lane.next, %used",
        "br i1 %single.more, label %single, label %rest.next",
        "rest.next:",
        "%k.next = add i64 %k, 1",
        "br label %rest",
        "done:",
        "ret void",
        "}",
    ]
    return "\n".join(lines) + "\n"


def _turned(vector: str, length: int, size: int, source: str, target: str) -> list[str]:
    """A square matrix from vectors at ``source`` to vectors at ``target``, turned:
    one bit after the other of row and column changes places."""
    lines = [
        f"%r{length}_{i} = load {vector}, ptr {source}{i}, align {size}"
        for i in range(length)
    ]
    bit = length // 2
    while bit:
        for i in range(length):
            if i & bit:
                continue
            one, other = f"%r{2 * bit}_{i}", f"%r{2 * bit}_{i + bit}"
            low = [length + e - bit if e & bit else e for e in range(length)]
            high = [length + e if e & bit else e + bit for e in range(length)]
            for row, mask in ((i, low), (i + bit, high)):
                picked = ", ".join([f"i32 {e}" for e in mask])
                lines.append(
                    f"%r{bit}_{row} = shufflevector {vector} {one}, {vector} {other}, "
                    f"<{length} x i32> <{picked}>"
                )
        bit //= 2
    return lines + [
        f"store {vector} %r1_{i}, ptr {target}{i}, align {size}" for i in range(length)
    ]
