"""Moves between channels side by side and positions side by side, as LLVM IR."""

from __future__ import annotations

from .spelling import address, words

__all__ = ["moves_text"]


def moves_text(number: str, length: int, vectors: int, gather: bool) -> str:
    """The text of ``void dcarray_gather(ptr words)`` or ``dcarray_scatter``.

    Moves ``near[panel][k][lane]`` from or to ``far[panel][lane] + table[k]``.  Words
    are: addresses of far, near and the table (bytes); its length, all lanes, lanes of
    a panel that are used, bytes between lanes of far and between panels of near, and
    of how many entries of the table each run lies side by side.

    Squares of a vector's lanes and as many positions of a run are turned in registers;
    the last one of a run reaches back over the one before it.
    """
    size = 4 if number == "float" else 8
    vector = f"<{length} x {number}>"
    row = vectors * length * size
    name = "gather" if gather else "scatter"
    given = dict.fromkeys(("far", "near", "table"), "ptr")
    given |= dict.fromkeys(("count", "lanes", "each", "step", "apart", "run"), "i64")

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
        f"%long = icmp sge i64 %run, {length}",
        "%apart.lanes = xor i1 %beside, true",
        "%turns = and i1 %long, %apart.lanes",
        f"%back = sub i64 %run, {length}",
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
        f"%whole = and i64 %used, {-length}",
        "%far.skip = mul i64 %begun, %step",
        address("%far.panel", "%far", "%far.skip"),
        "%near.skip = mul i64 %panel, %apart",
        address("%near.panel", "%near", "%near.skip"),
        "%some = icmp sgt i64 %whole, 0",
        "%squared = and i1 %turns, %some",
        "br i1 %squared, label %parts, label %rest",
        "panels.next:",
        "%panel.next = add i64 %panel, 1",
        "br label %panels",
        # what is turned: a few lanes over all positions, which are as many streams
        "parts:",
        "%h = phi i64 [ 0, %panels.body ], [ %h.next, %parts.next ]",
        "%parts.more = icmp slt i64 %h, %whole",
        "br i1 %parts.more, label %parts.body, label %parts.end",
        "parts.body:",
        "%h.skip = mul i64 %h, %step",
        address("%far.part", "%far.panel", "%h.skip"),
        f"%h.near = mul i64 %h, {size}",
        address("%near.part", "%near.panel", "%h.near"),
        "br label %runs",
        "parts.next:",
        f"%h.next = add i64 %h, {length}",
        "br label %parts",
        "parts.end:",
        "%all = icmp eq i64 %whole, %used",
        "br i1 %all, label %panels.next, label %rest",
        "runs:",
        "%first = phi i64 [ 0, %parts.body ], [ %first.next, %runs.next ]",
        "%runs.more = icmp slt i64 %first, %count",
        "br i1 %runs.more, label %runs.body, label %parts.next",
        "runs.body:",
        "%last = add i64 %first, %back",
        "br label %squares",
        "runs.next:",
        "%first.next = add i64 %first, %run",
        "br label %runs",
        "squares:",
        "%q = phi i64 [ %first, %runs.body ], [ %q.next, %squares ]",
        "%over = icmp sgt i64 %q, %last",
        "%at = select i1 %over, i64 %last, i64 %q",
        "%square.entry = getelementptr i64, ptr %table, i64 %at",
        "%square.far = load i64, ptr %square.entry",
        address("%far.at0", "%far.part", "%square.far"),
        f"%square.near = mul i64 %at, {row}",
        address("%near.at0", "%near.part", "%square.near"),
        *[address(f"%far.at{i}", f"%far.at{i - 1}", "%step") for i in range(1, length)],
        *[address(f"%near.at{i}", "%near.at0", i * row) for i in range(1, length)],
        *_turned(
            vector,
            length,
            size,
            *(("%far.at", "%near.at") if gather else ("%near.at", "%far.at")),
        ),
        f"%q.next = add i64 %at, {length}",
        "%squares.more = icmp slt i64 %at, %last",
        "br i1 %squares.more, label %squares, label %runs.next",
        # what is not: whole vectors where lanes lie side by side, and single lanes
        "rest:",
        "%turned = phi i64 [ 0, %panels.body ], [ %whole, %parts.end ]",
        "br label %rows",
        "rows:",
        "%k = phi i64 [ 0, %rest ], [ %k.next, %rows.next ]",
        "%rows.more = icmp slt i64 %k, %count",
        "br i1 %rows.more, label %rows.body, label %panels.next",
        "rows.body:",
        "%from.at = getelementptr i64, ptr %table, i64 %k",
        "%from = load i64, ptr %from.at",
        address("%far.row", "%far.panel", "%from"),
        f"%k.near = mul i64 %k, {row}",
        address("%near.row", "%near.panel", "%k.near"),
        "%copied = and i1 %beside, %some",
        "br i1 %copied, label %vectors, label %singles",
        "vectors:",
        "%v = phi i64 [ 0, %rows.body ], [ %v.next, %vectors ]",
        f"%far.vector = getelementptr {number}, ptr %far.row, i64 %v",
        f"%near.vector = getelementptr {number}, ptr %near.row, i64 %v",
        *move("vector", "%far.vector", "%near.vector", vector),
        f"%v.next = add i64 %v, {length}",
        "%vectors.more = icmp slt i64 %v.next, %whole",
        "br i1 %vectors.more, label %vectors, label %singles",
        "singles:",
        "%one.first = phi i64 [ %turned, %rows.body ], [ %v.next, %vectors ]",
        "br label %ones",
        "ones:",
        "%lane = phi i64 [ %one.first, %singles ], [ %lane.next, %ones.body ]",
        "%ones.more = icmp slt i64 %lane, %used",
        "br i1 %ones.more, label %ones.body, label %rows.next",
        "ones.body:",
        "%lane.skip = mul i64 %lane, %step",
        address("%far.one", "%far.row", "%lane.skip"),
        f"%near.one = getelementptr {number}, ptr %near.row, i64 %lane",
        *move("one", "%far.one", "%near.one", number),
        "%lane.next = add i64 %lane, 1",
        "br label %ones",
        "rows.next:",
        "%k.next = add i64 %k, 1",
        "br label %rows",
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
