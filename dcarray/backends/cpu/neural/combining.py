"""Sums and differences of small squares of vectors, as LLVM IR: the transformations of
`squares`, whose one-dimensional forms are applied to columns and then to rows."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

from .spelling import address, words
from .writing import Text

__all__ = ["FORMS", "Names", "combine_text"]

Names: TypeAlias = list[str]


def _of_weights(to: Text, s: Names) -> Names:
    half = to.all_of(0.5)
    ends = to.apply("fmul", to.add(s[0], s[2]), half)
    middle = to.apply("fmul", s[1], half)
    return [s[0], to.add(ends, middle), to.subtract(ends, middle), s[2]]


def _of_operand(to: Text, s: Names) -> Names:
    return [
        to.subtract(s[0], s[2]),
        to.add(s[1], s[2]),
        to.subtract(s[2], s[1]),
        to.subtract(s[1], s[3]),
    ]


def _of_result(to: Text, s: Names) -> Names:
    return [
        to.add(to.add(s[0], s[1]), s[2]),
        to.subtract(to.subtract(s[1], s[2]), s[3]),
    ]


def _of_gradient(to: Text, s: Names) -> Names:
    return [
        s[0],
        to.add(s[0], s[1]),
        to.subtract(s[0], s[1]),
        to.apply("fsub", to.all_of(-0.0), s[1]),
    ]


def _of_sums(to: Text, s: Names) -> Names:
    half = to.all_of(0.5)
    one, other = [to.apply("fmul", x, half) for x in s[1:3]]
    both = to.add(one, other)
    return [to.add(s[0], both), to.subtract(one, other), to.add(both, s[3])]


FORMS: dict[str, tuple[int, Callable[[Text, Names], Names]]] = {
    "weights": (3, _of_weights),
    "operand": (4, _of_operand),
    "result": (4, _of_result),
    "gradient": (2, _of_gradient),
    "sums": (4, _of_sums),
}
"""The side of a square, and what becomes of a line of it."""

CHECKED = ("result", "sums")
"""The forms that look whether all is finite."""


def combine_text(number: str, length: int, form: str) -> str:
    """The text of ``void dcarray_combine(ptr words)``.

    Words are: addresses of the source and the target, of where items begin in each of
    them (bytes), and of a vector that is not finite afterwards if some result is not;
    items, vectors of each, and bytes between rows and between columns of a square, in
    the source and in the target.
    """
    size = 4 if number == "float" else 8
    vector = f"<{length} x {number}>"
    side, line = FORMS[form]
    given = dict.fromkeys(("source", "target", "sources", "targets", "check"), "ptr")
    given |= dict.fromkeys(("count", "vectors"), "i64")
    given |= dict.fromkeys(("row", "column", "to.row", "to.column"), "i64")
    to = Text(number, length * size)
    columns = [line(to, [f"%s{i}_{j}" for i in range(side)]) for j in range(side)]
    rows = [line(to, list(one)) for one in zip(*columns, strict=True)]
    last = len(rows) - 1
    odd = f"%odd{last}_{last}" if form in CHECKED else "%odd.before"
    text = [
        "define void @dcarray_combine(ptr %words) {",
        "entry:",
        *words(given),
        f"%bytes = mul i64 %vectors, {length * size}",
        "br label %items",
        "items:",
        "%item = phi i64 [ 0, %entry ], [ %item.next, %items.next ]",
        f"%odd = phi {vector} [ zeroinitializer, %entry ], [ {odd}, %items.next ]",
        "%items.more = icmp slt i64 %item, %count",
        "br i1 %items.more, label %items.body, label %done",
        "items.body:",
        "%from.at = getelementptr i64, ptr %sources, i64 %item",
        "%from = load i64, ptr %from.at",
        "%into.at = getelementptr i64, ptr %targets, i64 %item",
        "%into = load i64, ptr %into.at",
        address("%source.item", "%source", "%from"),
        address("%target.item", "%target", "%into"),
        "br label %parts",
        "parts:",
        "%part = phi i64 [ 0, %items.body ], [ %part.next, %parts ]",
        f"%odd.before = phi {vector} [ %odd, %items.body ], [ {odd}, %parts ]",
        address("%s.0", "%source.item", "%part"),
        address("%t.0", "%target.item", "%part"),
    ]
    for i in range(side):
        if i:
            text.append(address(f"%s.{i}", f"%s.{i - 1}", "%row"))
        text.append(address(f"%s.{i}_0", f"%s.{i}", 0))
        for j in range(side):
            if j:
                text.append(address(f"%s.{i}_{j}", f"%s.{i}_{j - 1}", "%column"))
            text.append(f"%s{i}_{j} = load {vector}, ptr %s.{i}_{j}, align {size}")
    text += to.lines
    checked = "%odd.before"
    for i, row in enumerate(rows):
        if i:
            text.append(address(f"%t.{i}", f"%t.{i - 1}", "%to.row"))
        text.append(address(f"%t.{i}_0", f"%t.{i}", 0))
        for j, found in enumerate(row):
            if j:
                text.append(address(f"%t.{i}_{j}", f"%t.{i}_{j - 1}", "%to.column"))
            text.append(f"store {vector} {found}, ptr %t.{i}_{j}, align {size}")
            if form in CHECKED:
                text += [
                    f"%none{i}_{j} = fsub {vector} {found}, {found}",
                    f"%odd{i}_{j} = fadd {vector} {checked}, %none{i}_{j}",
                ]
                checked = f"%odd{i}_{j}"
    text += [
        f"%part.next = add i64 %part, {length * size}",
        "%parts.more = icmp slt i64 %part.next, %bytes",
        "br i1 %parts.more, label %parts, label %items.next",
        "items.next:",
        "%item.next = add i64 %item, 1",
        "br label %items",
        "done:",
        f"store {vector} %odd, ptr %check, align {size}",
        "ret void",
        "}",
    ]
    return "\n".join(text) + "\n"
