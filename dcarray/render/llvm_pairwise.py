"""NumPy's pairwise sum of a contiguous run, as LLVM IR.

A run of more than 128 numbers is halved at a multiple of 8.  A shorter one has eight
sums, of each eighth number, which are added two by two; then come those that are left.
Eight sums are one vector here, and the sums of several leaves of the tree are computed
at the same time, since none of them waits for another.
"""

from __future__ import annotations

__all__ = ["pairwise_text"]

LEAF = 128


def _together(kind: str, vector: str, result: str) -> list[str]:
    """Add up eight sums."""
    v, mask = vector, "<{n} x i32> <{places}>"
    lines = []
    for width in (8, 4, 2):
        half = width // 2
        names = f"{result}.{half}"
        for part, first in (("even", 0), ("odd", 1)):
            places = ", ".join(f"i32 {k}" for k in range(first, width, 2))
            lines.append(
                f"{names}.{part} = shufflevector <{width} x {kind}> {v}, "
                f"<{width} x {kind}> poison, {mask.format(n=half, places=places)}"
            )
        lines.append(f"{names} = fadd <{half} x {kind}> {names}.even, {names}.odd")
        v = names
    lines.append(f"{result} = extractelement <1 x {kind}> {v}, i32 0")
    return lines


def pairwise_text(kind: str) -> str:
    """A function ``pairwise`` of address and length, for ``float`` or ``double``."""
    size = 4 if kind == "float" else 8
    vector, align = f"<8 x {kind}>", f"align {size}"
    whole = [f"%w0 = load {vector}, ptr %a, {align}"]
    for k in range(1, LEAF // 8):
        whole += [
            f"%w{k}.at = getelementptr {kind}, ptr %a, i64 {8 * k}",
            f"%w{k}.in = load {vector}, ptr %w{k}.at, {align}",
            f"%w{k} = fadd {vector} %w{k - 1}, %w{k}.in",
        ]
    lines = [
        f"define internal {kind} @pairwise_leaf(ptr %a) alwaysinline {{",
        *whole,
        *_together(kind, f"%w{LEAF // 8 - 1}", "%all"),
        f"ret {kind} %all",
        "}",
        f"define internal {kind} @pairwise(ptr %a, i64 %n) {{",
        "entry:",
        f"%long = icmp sgt i64 %n, {LEAF}",
        "br i1 %long, label %halve, label %leaf",
        "halve:",
        "%middle = lshr i64 %n, 1",
        "%half = and i64 %middle, -8",
        "%rest = sub i64 %n, %half",
        f"%second.at = getelementptr {kind}, ptr %a, i64 %half",
        f"%double = icmp eq i64 %n, {2 * LEAF}",
        "br i1 %double, label %pair, label %split",
        "pair:",
        f"%left = call {kind} @pairwise_leaf(ptr %a)",
        f"%right = call {kind} @pairwise_leaf(ptr %second.at)",
        f"%both = fadd {kind} %left, %right",
        f"ret {kind} %both",
        "split:",
        f"%first = call {kind} @pairwise(ptr %a, i64 %half)",
        f"%second = call {kind} @pairwise(ptr %second.at, i64 %rest)",
        f"%sum = fadd {kind} %first, %second",
        f"ret {kind} %sum",
        "leaf:",
        f"%is.whole = icmp eq i64 %n, {LEAF}",
        "br i1 %is.whole, label %whole, label %part",
        "whole:",
        f"%known = call {kind} @pairwise_leaf(ptr %a)",
        f"ret {kind} %known",
        "part:",
        "%few = icmp slt i64 %n, 8",
        "%eights = and i64 %n, -8",
        "br i1 %few, label %single.enter, label %eight.enter",
        "eight.enter:",
        f"%begin = load {vector}, ptr %a, {align}",
        "%more.eights = icmp sgt i64 %eights, 8",
        "br i1 %more.eights, label %eight, label %joined",
        "eight:",
        "%i = phi i64 [ 8, %eight.enter ], [ %i.next, %eight ]",
        f"%sums = phi {vector} [ %begin, %eight.enter ], [ %sums.next, %eight ]",
        f"%at = getelementptr {kind}, ptr %a, i64 %i",
        f"%next = load {vector}, ptr %at, {align}",
        f"%sums.next = fadd {vector} %sums, %next",
        "%i.next = add i64 %i, 8",
        "%again = icmp slt i64 %i.next, %eights",
        "br i1 %again, label %eight, label %joined",
        "joined:",
        f"%last = phi {vector} [ %begin, %eight.enter ], [ %sums.next, %eight ]",
        *_together(kind, "%last", "%eighths"),
        "%is.done = icmp eq i64 %eights, %n",
        "br i1 %is.done, label %out, label %single",
        "single.enter:",
        "br label %single",
        "single:",
        "%k = phi i64 [ 0, %single.enter ], [ %eights, %joined ], [ %k.next, %single ]",
        f"%total = phi {kind} [ -0.0, %single.enter ], [ %eighths, %joined ], "
        "[ %total.next, %single ]",
        f"%one.at = getelementptr {kind}, ptr %a, i64 %k",
        f"%one = load {kind}, ptr %one.at, {align}",
        f"%total.next = fadd {kind} %total, %one",
        "%k.next = add i64 %k, 1",
        "%k.more = icmp slt i64 %k.next, %n",
        "br i1 %k.more, label %single, label %out",
        "out:",
        f"%found = phi {kind} [ %eighths, %joined ], [ %total.next, %single ]",
        f"ret {kind} %found",
        "}",
    ]
    return "\n".join(lines)
