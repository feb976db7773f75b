"""A reduction over rows as LLVM IR: some rows at a time are combined into the result.

Memory gives more when several rows are read at once, and the result is loaded and
stored once for all of them.  Each column still has its rows in order.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..kernel.nodes import Apply, Let, Name
from .llvm import NAME, KernelText
from .llvm_scalar import ScalarWriter, can_lower, declarations
from .plan import Fold, Home, Place, Plan, Segment, Stride

__all__ = ["render_columns"]

STREAMS = 8
"""Rows of all operands together that are read at a time."""


def render_columns(plan: Plan, op: str) -> str | None:
    """The text of the block function of `llvm.render` for a rowwise plan that ends in a
    reduction of rows by ``op``; None if that is not a single loop.
    """
    found = _parts(plan)
    if found is None:
        return None
    loads, body, name, dtype = found
    if not can_lower(op, (dtype, dtype), dtype):
        return None
    return _Columns(plan, op, loads, body, name, dtype).text()


_Load = tuple[str, Place, np.dtype[Any]]


def _parts(
    plan: Plan,
) -> tuple[tuple[_Load, ...], tuple[Let, ...], str, np.dtype[Any]] | None:
    """What is loaded, computed and reduced."""
    *steps, fold = plan.steps
    if not isinstance(fold, Fold) or fold.start is not None or plan.finish:
        return None
    if not plan.rowwise or len(plan.outputs) > 1 or len(steps) > 1:
        return None
    if not steps:
        return (("x", fold.source, fold.dtype),), (), "x", fold.dtype
    (segment,) = steps
    if not isinstance(segment, Segment) or segment.watched or segment.doubts:
        return None
    if any(place.home not in (Home.LEAF, Home.SCALAR) for _, place, _ in segment.loads):
        return None
    if len(segment.stores) != 1 or segment.stores[0][1] != fold.source:
        return None
    return segment.loads, segment.body, segment.stores[0][0], fold.dtype


class _Columns(KernelText):
    def __init__(
        self,
        plan: Plan,
        op: str,
        loads: tuple[_Load, ...],
        body: tuple[Let, ...],
        name: str,
        dtype: np.dtype[Any],
    ) -> None:
        super().__init__(plan)
        self.op = op
        self.loads = loads
        self.body = body
        self.name = name
        self.dtype = dtype

    def text(self) -> str:
        self.put(
            f"define i32 @{NAME}(ptr %frame, ptr %pointers, i64 %n, ptr %scratch) {{",
            "entry:",
        )
        self._prologue()
        leaves = sum(place.home is Home.LEAF for _, place, _ in self.loads)
        several = max(2, STREAMS // max(1, leaves))
        self.put(
            f"%odd = urem i64 %n, {several}",
            "%even = sub i64 %n, %odd",
            "br label %many.enter",
        )
        self._sweep("many", several, "0", "%even", "one.enter")
        self._sweep("one", 1, "%even", "%n", "swept")
        self.put("swept:")
        flags = self._test_flags("0")
        self.put(f"ret i32 {flags}", "}")
        text = "\n".join(self.lines)
        return "\n".join([text, *declarations(text), *self._rest()]) + "\n"

    def _sweep(self, label: str, count: int, first: str, stop: str, after: str) -> None:
        """Combine ``count`` rows at a time, from row ``first`` on."""
        number = self.loops
        self.loops += 1
        row, j = f"%{label}.row", f"%{label}.j"
        self.put(
            f"{label}.enter:",
            f"{row}.any = icmp slt i64 {first}, {stop}",
            f"br i1 {row}.any, label %{label}.rows, label %{after}",
            f"{label}.rows:",
            f"{row} = phi i64 [ {first}, %{label}.enter ], "
            f"[ {row}.next, %{label}.end ]",
        )
        writers = []
        each: list[tuple[str, str, np.dtype[Any], str]] = []
        for place in range(count):
            writer = ScalarWriter(f"{label}{place}v")
            writers.append(writer)
            at = self.fresh()
            self.put(f"{at} = add i64 {row}, {place}")
            for k, (name, home, dtype) in enumerate(self.loads):
                self._load_row(
                    f"%{label}{place}.in{k}", name, home, dtype, at, writer, each
                )
        result = f"%p{len(self.operands) - 1}"
        group = ", !llvm.access.group !0"
        self.put(
            f"br label %{label}.first",
            f"{label}.first:",
            f"br label %{label}",
            f"{label}:",
            f"{j} = phi i64 [ 0, %{label}.first ], [ {j}.next, %{label} ]",
        )
        own = str(self.dtype.itemsize)
        total = f"%{label}.total"
        self.load(total, self.element(result, own, self.dtype, j), self.dtype, group)
        for register, base, dtype, stride in each:
            self.load(register, self.element(base, stride, dtype, j), dtype, group)
        for writer in writers:
            for let in self.body:
                writer.names[let.name] = writer.write(let.value)
            writer.names["total"] = total
            operands = Name("total", self.dtype), Name(self.name, self.dtype)
            total = writer.write(Apply(self.op, operands, self.dtype))
            self.put(*writer.lines)
        self.store([total], result, own, self.dtype, j, group)
        self.put(
            f"{j}.next = add nuw nsw i64 {j}, 1",
            f"{j}.more = icmp slt i64 {j}.next, %width",
            f"br i1 {j}.more, label %{label}, label %{label}.end, "
            f"!llvm.loop !{number + 2}",
            f"{label}.end:",
            f"{row}.next = add i64 {row}, {count}",
            f"{row}.more = icmp slt i64 {row}.next, {stop}",
            f"br i1 {row}.more, label %{label}.rows, label %{after}",
        )

    def _load_row(
        self,
        register: str,
        name: str,
        place: Place,
        dtype: np.dtype[Any],
        at: str,
        writer: ScalarWriter,
        each: list[tuple[str, str, np.dtype[Any], str]],
    ) -> None:
        """Where the elements of a row are; what is one for all of it is loaded."""
        if place.home is Home.SCALAR:
            writer.names[name] = f"%scalar{place.number}"
            return
        writer.names[name] = register
        skip, base = self.fresh(), self.fresh()
        self.put(
            f"{skip} = mul i64 %apart{place.number}, {at}",
            f"{base} = getelementptr i8, ptr %p{place.number}, i64 {skip}",
        )
        stride = self._stride(place, dtype.itemsize)
        if self.operands[place.number][1] is Stride.ZERO:
            self.load(register, base, dtype, "")
        else:
            each.append((register, base, dtype, stride))
