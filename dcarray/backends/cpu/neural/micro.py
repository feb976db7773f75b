"""Products of small tiles in registers, as LLVM IR.

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
from ..engine import Engine, engine
from .combining import FORMS, combine_text
from .moves import moves_text
from .spelling import address, fused_declared, multiply_add, words

__all__ = ["TILES_FIELDS", "Micro", "micro", "tiles_text"]

TILES_FIELDS = {
    **dict.fromkeys(("x", "packed", "out", "places", "terms"), "ptr"),
    **dict.fromkeys(("shifts", "origins", "ends"), "ptr"),
    **dict.fromkeys(("many", "count", "panels", "block", "begun"), "i64"),
    **dict.fromkeys(("apart", "spread"), "i64"),
}


@dataclass(frozen=True, slots=True)
class Micro:
    """Machine code for a dtype; each function takes the address of its words.

    Attributes
    ----------
    lanes : int
        Lanes of a panel.
    places : int
        Places of a tile.
    vector : int
        Lanes of a vector.
    tiles, gather, scatter : callable
        See `tiles_text` and `moves_text`.
    weights, operand, result, gradient, sums : callable
        See `combine_text`.
    """

    lanes: int
    places: int
    vector: int
    tiles: Callable[[int], None]
    gather: Callable[[int], None]
    scatter: Callable[[int], None]
    weights: Callable[[int], None]
    operand: Callable[[int], None]
    result: Callable[[int], None]
    gradient: Callable[[int], None]
    sums: Callable[[int], None]


def micro(dtype: np.dtype[Any], width: int) -> Micro | None:
    """The functions for a dtype and so many lanes; None where there are none."""
    if dtype.char not in "fd" or current().engine != "auto":
        return None
    machine = engine()
    if machine is None:
        return None
    vectors = -(-width * dtype.itemsize // machine.vector_bytes)
    return _built(dtype, _panel(machine, vectors))


def _panel(machine: Engine, vectors: int) -> int:
    """Vectors of a panel, of which there are 16 or 32 registers.

    A tile has room there with its factors.  Its speed is bound by the arithmetic,
    except where it has only one vector: what is broadcast is then used once.
    """
    if machine.vector_bytes < 64:
        return 2
    costs = {n: 4 * n * -(-vectors // n) for n in (4, 3, 2)}
    costs[1] = 5 * vectors
    return min(costs, key=lambda n: costs[n])


@functools.cache
def _built(dtype: np.dtype[Any], vectors: int) -> Micro | None:
    machine = engine()
    if machine is None:
        return None
    number = "float" if dtype.itemsize == 4 else "double"
    length = machine.vector_bytes // dtype.itemsize
    places = 6
    if machine.vector_bytes == 64:
        places = (14, 7, 8, 7)[vectors - 1]
    texts = {
        "tiles": tiles_text(number, length, vectors, places, machine.has_fused),
        "gather": moves_text(number, length, vectors, gather=True),
        "scatter": moves_text(number, length, vectors, gather=False),
    }
    texts |= {form: combine_text(number, length, form) for form in FORMS}
    found: dict[str, Any] = {}
    for name, text in texts.items():
        symbol = "dcarray_combine" if name in FORMS else f"dcarray_{name}"
        kernel = machine.kernel(text, symbol, f"convolution {name}")
        function = ctypes.CFUNCTYPE(None, ctypes.c_void_p)(kernel.address)
        found[name] = function
    return Micro(vectors * length, places, length, **found)


# -------------------------------------------------------------------------------- tiles
def _skipped(name: str, base: str, table: str) -> list[str]:
    """Where a panel has its part of something."""
    return [
        f"%{name}.skip.at = getelementptr i64, ptr {table}, i64 %panel",
        f"%{name}.skip = load i64, ptr %{name}.skip.at",
        address(f"%{name}.panel", base, f"%{name}.skip"),
    ]


def tiles_text(number: str, length: int, vectors: int, places: int, fused: bool) -> str:
    """The text of ``void dcarray_tiles(ptr words)``.

    Words are: addresses of x, of what is packed, of the result, of the places and the
    terms, and of the panels' own distances in x, in what is packed and in the result
    (bytes); places (a multiple of those of a tile), terms, panels, terms of a block,
    whether there are sums already, and bytes between packed terms and between places of
    the result.  What a block sums is added to the sums of those before it.
    """
    size = 4 if number == "float" else 8
    vector = f"<{length} x {number}>"
    tile = [(i, v) for i in range(places) for v in range(vectors)]
    lines = [
        "define void @dcarray_tiles(ptr %words) {",
        "entry:",
        *words(TILES_FIELDS),
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
        "%skip = mul i64 %first, %apart",
        address("%packed.block", "%packed", "%skip"),
        "br label %turns",
        "turns:",
        "%panel = phi i64 [ 0, %blocks.body ], [ %panel.next, %turns.next ]",
        "%turns.more = icmp slt i64 %panel, %panels",
        "br i1 %turns.more, label %turns.body, label %blocks.next",
        "blocks.next:",
        "br label %blocks",
        "turns.body:",
        *_skipped("x", "%x", "%shifts"),
        *_skipped("packed", "%packed.block", "%origins"),
        *_skipped("out", "%out", "%ends"),
        "br label %tiles",
        "tiles:",
        "%p = phi i64 [ 0, %turns.body ], [ %p.next, %tile.next ]",
        "%tiles.more = icmp slt i64 %p, %many",
        "br i1 %tiles.more, label %tile, label %turns.next",
        "turns.next:",
        "%panel.next = add i64 %panel, 1",
        "br label %turns",
        "tile:",
        "%tile.skip = mul i64 %p, %spread",
        address("%sums", "%out.panel", "%tile.skip"),
        "%place.at = getelementptr i64, ptr %places, i64 %p",
    ]
    for i in range(places):
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
    for v in range(vectors):
        lines += [
            address(f"%w{v}.at", "%row", v * length * size),
            f"%w{v} = load {vector}, ptr %w{v}.at, align {size}",
        ]
    for i in range(places):
        lines += [
            address(f"%x{i}.at", f"%x{i}", "%term"),
            f"%one{i} = load {number}, ptr %x{i}.at",
            f"%lane{i} = insertelement {vector} poison, {number} %one{i}, i32 0",
            f"%all{i} = shufflevector {vector} %lane{i}, {vector} poison, "
            f"<{length} x i32> zeroinitializer",
        ]
        for v in range(vectors):
            lines += multiply_add(vector, f"{i}_{v}", f"%all{i}", f"%w{v}", fused)
    lines += [
        address("%soon", f"%x{places - 1}.at", 64),
        "call void @llvm.prefetch.p0(ptr %soon, i32 0, i32 3, i32 1)",
        address("%row.next", "%row", "%apart"),
        "%k.next = add i64 %k, 1",
        "%terms.more = icmp slt i64 %k.next, %last",
        "br i1 %terms.more, label %terms.loop, label %tile.end",
        "tile.end:",
        address("%sums0", "%sums", 0),
        *[address(f"%sums{i}", f"%sums{i - 1}", "%spread") for i in range(1, places)],
        *[address(f"%s{i}_{v}", f"%sums{i}", v * length * size) for i, v in tile],
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
        f"%p.next = add i64 %p, {places}",
        "br label %tiles",
        "done:",
        "ret void",
        "}",
    ]
    lines += fused_declared(vector, fused)
    lines.append("declare void @llvm.prefetch.p0(ptr, i32, i32, i32)")
    return "\n".join(lines) + "\n"
