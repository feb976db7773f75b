"""A CPU plan as LLVM IR: one function that computes a block.

The text holds no address, shape or stride, so an object made from it can be kept on
disk.  All of them come in a *frame* (`llvm_driver.Frame`).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from .llvm_driver import Frame
from .llvm_fold import write_fold
from .llvm_memory import MemoryWriter, ends_of
from .llvm_pairwise import pairwise_text
from .llvm_scalar import ScalarWriter, declarations, llvm_type
from .plan import Fold, Home, LoopCall, Place, Plan, Segment, Start, Stride

__all__ = ["NAME", "RENDERER_VERSION", "KernelText", "render"]

RENDERER_VERSION = 1
"""Part of the key of objects on disk; raise it when the text's meaning changes."""

NAME = "dcarray_kernel"


def render(plan: Plan) -> str:
    """The text of the block function

    ``i32 dcarray_kernel(ptr frame, ptr pointers, i64 n, ptr scratch)``

    It runs the steps on ``n`` elements and returns the watched flags that were raised.
    """
    return KernelText(plan).text()


class KernelText(MemoryWriter):
    """The lines of a block function."""

    def __init__(self, plan: Plan) -> None:
        super().__init__()
        self.plan = plan
        self.operands = (*plan.leaves, *plan.outputs)
        self.frame = Frame(len(self.operands), len(plan.scalars))
        self.offsets = plan.buffer_offsets()
        self.total = "%total" if plan.rowwise else "%n"
        self.asked = plan.asked()
        self.functions: list[str] = []
        self.loops = 0

    # ------------------------------------------------------------------ the function
    def text(self) -> str:
        self.put(
            f"define i32 @{NAME}(ptr %frame, ptr %pointers, i64 %n, ptr %scratch) {{",
            "entry:",
        )
        self._prologue()
        flags = "0"
        for work in self.plan.steps:
            if isinstance(work, Segment):
                self._segment(work)
                continue
            # Some loops clear the flags: those so far are fetched first.
            flags = self._test_flags(flags)
            if isinstance(work, LoopCall):
                self._call(work)
            else:
                self._fold(work)
        flags = self._ask(self._test_flags(flags))
        self.put(
            f"%flagged = icmp ne i32 {flags}, 0",
            "br i1 %flagged, label %report, label %finish",
            "report:",
            f"ret i32 {flags}",
            "finish:",
        )
        for segment in self.plan.finish:
            self._segment(segment)
        self.put("ret i32 0", "}")
        body = "\n".join(self.lines)
        return "\n".join([body, *declarations(body), *self._rest()]) + "\n"

    def _rest(self) -> list[str]:
        # Iterations are independent: that is what elementwise means.
        lines = ["!0 = distinct !{}", '!1 = !{!"llvm.loop.parallel_accesses", !0}']
        lines.extend(
            f"!{k + 2} = distinct !{{!{k + 2}, !1}}" for k in range(self.loops)
        )
        return [*self.functions, *lines]

    def _prologue(self) -> None:
        most = 3
        for step in self.plan.steps:
            if isinstance(step, LoopCall):
                most = max(most, len(step.arguments))
        self.put(
            f"%args = alloca [{most} x ptr]",
            f"%steps = alloca [{most} x i64]",
            "%length = alloca i64",
            *(f"%{name} = alloca i8\nstore i8 0, ptr %{name}" for name in self.asked),
        )
        self.word(Frame.TABLE, "%table", "ptr")
        self.word(Frame.WATCH, "%watch", "i32")
        self.put(
            "%watching = icmp ne i32 %watch, 0",
            "%test = load ptr, ptr %table",
        )
        strides = Frame.STRIDES
        if self.plan.rowwise:
            strides = self.frame.columns
            self.word(Frame.RUN, "%width")
            self.put("%total = mul i64 %n, %width")
        for number, (_, stride) in enumerate(self.operands):
            if self.plan.rowwise:
                self.word(Frame.STRIDES + number, f"%apart{number}")
            if stride is Stride.GENERAL:
                self.word(strides + number, f"%stride{number}")
            self.put(
                f"%p{number}.at = getelementptr ptr, ptr %pointers, i64 {number}",
                f"%p{number} = load ptr, ptr %p{number}.at",
            )
        for number, dtype in enumerate(self.plan.scalars):
            self.put(
                f"%scalar{number}.at = getelementptr i64, ptr %frame, "
                f"i64 {self.frame.values + 2 * number}"
            )
            name = f"%scalar{number}"
            self.load(name, f"{name}.at", dtype, "")

    # ------------------------------------------------------------------------- steps
    def _address(self, place: Place) -> str:
        """The first element of a block's values."""
        if place.home is Home.LEAF:
            return f"%p{place.number}"
        if place.home is Home.OUTPUT:
            return f"%p{len(self.plan.leaves) + place.number}"
        if place.home is Home.SCALAR:
            return f"%scalar{place.number}.at"
        name = self.fresh()
        offset = self.offsets[place.number]
        self.put(f"{name} = getelementptr i8, ptr %scratch, i64 {offset}")
        return name

    def _stride(self, place: Place, itemsize: int) -> str:
        """Bytes between neighbours: a number, or the register of one."""
        if place.home is Home.SCALAR or place.spacing == 0:
            return "0"
        if place.home is Home.BUFFER:
            return str(place.spacing * itemsize)
        number = place.number
        if place.home is Home.OUTPUT:
            number += len(self.plan.leaves)
        stride = self.operands[number][1]
        if stride is Stride.GENERAL:
            return f"%stride{number}"
        if stride is Stride.PAIRS:
            return str(2 * itemsize)
        return "0" if stride is Stride.ZERO else str(itemsize)

    def _segment(self, segment: Segment) -> None:
        number = self.loops
        self.loops += 1
        label = f"seg{number}"
        writer = ScalarWriter(f"s{number}v")
        group = ", !llvm.access.group !0"
        loads = [
            (name, place, self._address(place), dtype)
            for name, place, dtype in segment.loads
        ]
        stores = [
            (name, place, self._address(place), dtype)
            for name, place, dtype in segment.stores
        ]
        if self.plan.rowwise:
            self._begin_row(label)
        each: list[tuple[str, str, np.dtype[Any], str]] = []
        for k, (name, place, base, dtype) in enumerate(loads):
            register = f"%{label}.in{k}"
            if place.home is Home.SCALAR:
                register = f"%scalar{place.number}"
            for end in ends_of(dtype):
                writer.names[name + end] = register + end
            if place.home is Home.SCALAR:
                continue
            base = self._row(label, place, base, dtype)
            stride = self._stride(place, dtype.itemsize)
            if stride == "0":
                self.load(register, base, dtype, "")
            else:
                each.append((register, base, dtype, stride))
        targets = [
            (
                name,
                self._row(label, place, base, dtype),
                self._stride(place, dtype.itemsize),
                dtype,
            )
            for name, place, base, dtype in stores
        ]
        j = f"%{label}.j"
        self.put(
            f"br label %{label}.enter",
            f"{label}.enter:",
            f"br label %{label}",
            f"{label}:",
            f"{j} = phi i64 [ 0, %{label}.enter ], [ {j}.next, %{label} ]",
        )
        asked = [(n, found) for n in self.asked if (found := getattr(segment, n))]
        for name, _ in asked:
            self.put(
                f"%{label}.{name} = phi i8 [ 0, %{label}.enter ], "
                f"[ %{label}.{name}.next, %{label} ]"
            )
        for register, base, dtype, stride in each:
            self.load(register, self.element(base, stride, dtype, j), dtype, group)
        for let in segment.body:
            writer.names[let.name] = writer.write(let.value)
        self.put(*writer.lines)
        for name, base, stride, dtype in targets:
            values = [writer.names[name + end] for end in ends_of(dtype)]
            self.store(values, base, stride, dtype, j, group)
        for name, found in asked:
            self._gather(f"%{label}.{name}", [writer.names[item] for item in found])
        length = "%width" if self.plan.rowwise else "%n"
        self.put(
            f"{j}.next = add nuw nsw i64 {j}, 1",
            f"{j}.more = icmp slt i64 {j}.next, {length}",
            f"br i1 {j}.more, label %{label}, label %{label}.end, "
            f"!llvm.loop !{number + 2}",
            f"{label}.end:",
        )
        for name, _ in asked:
            before, after = self.fresh(), self.fresh()
            self.put(
                f"{before} = load i8, ptr %{name}",
                f"{after} = or i8 {before}, %{label}.{name}.next",
                f"store i8 {after}, ptr %{name}",
            )
        if self.plan.rowwise:
            self._end_row(label)

    def _gather(self, total: str, conditions: list[str]) -> None:
        """``total`` and whether one of the conditions holds, for the next element."""
        last = total
        for number, condition in enumerate(conditions, 1 - len(conditions)):
            wide, before = self.fresh(), last
            last = self.fresh() if number else f"{total}.next"
            self.put(f"{wide} = zext i1 {condition} to i8")
            self.put(f"{last} = or i8 {before}, {wide}")

    def _ask(self, flags: str) -> str:
        """``flags``, and what segments ask for."""
        for name in self.asked:
            byte, given, wide, total = (self.fresh() for _ in range(4))
            wanted = "%watching" if name == "watched" else "true"
            self.put(
                f"{byte} = load i8, ptr %{name}",
                f"{given} = select i1 {wanted}, i8 {byte}, i8 0",
                f"{wide} = zext i8 {given} to i32",
                f"{total} = or i32 {flags}, {wide}",
            )
            flags = total
        return flags

    def _begin_row(self, label: str) -> None:
        r = f"%{label}.r"
        self.put(
            f"br label %{label}.first",
            f"{label}.first:",
            f"br label %{label}.rows",
            f"{label}.rows:",
            f"{r} = phi i64 [ 0, %{label}.first ], [ {r}.next, %{label}.end ]",
        )

    def _row(self, label: str, place: Place, base: str, dtype: np.dtype[Any]) -> str:
        """Where the values of the row at work begin."""
        if not self.plan.rowwise or place.home is Home.SCALAR:
            return base
        skip, name = self.fresh(), self.fresh()
        if place.home is Home.BUFFER:
            wide = self.fresh()
            self.put(
                f"{wide} = mul i64 %width, {place.spacing * dtype.itemsize}",
                f"{skip} = mul i64 {wide}, %{label}.r",
            )
        else:
            number = place.number
            if place.home is Home.OUTPUT:
                number += len(self.plan.leaves)
            self.put(f"{skip} = mul i64 %apart{number}, %{label}.r")
        self.put(f"{name} = getelementptr i8, ptr {base}, i64 {skip}")
        return name

    def _end_row(self, label: str) -> None:
        r = f"%{label}.r"
        self.put(
            f"{r}.next = add i64 {r}, 1",
            f"{r}.more = icmp slt i64 {r}.next, %n",
            f"br i1 {r}.more, label %{label}.rows, label %{label}.out",
            f"{label}.out:",
        )

    def _call(self, step: LoopCall) -> None:
        """Call a loop on the operands of a block."""
        arguments = [
            (
                self._address(argument.place),
                self._stride(argument.place, argument.itemsize),
            )
            for argument in step.arguments
        ]
        self._loop(step.entry, arguments, self.total)

    def _fold(self, step: Fold) -> None:
        """Reduce the block, run by run."""
        self.word(Frame.RUN, "%run.given")
        self.word(Frame.ADVANCE, "%advance")
        if step.start is Start.PAIRWISE:
            self.functions.append(pairwise_text(llvm_type(step.dtype)))
        source, result = self._address(step.source), f"%p{len(self.operands) - 1}"
        write_fold(step, source, result, self.total, self.put, self._loop)

    def _loop(self, entry: int, arguments: list[tuple[str, str]], length: str) -> None:
        for k, (pointer, stride) in enumerate(arguments):
            at, to = self.fresh(), self.fresh()
            self.put(
                f"{at} = getelementptr ptr, ptr %args, i64 {k}",
                f"store ptr {pointer}, ptr {at}",
                f"{to} = getelementptr i64, ptr %steps, i64 {k}",
                f"store i64 {stride}, ptr {to}",
            )
        word = 2 + 2 * entry
        at, function, data_at, data = (self.fresh() for _ in range(4))
        self.put(
            f"{at} = getelementptr ptr, ptr %table, i64 {word}",
            f"{function} = load ptr, ptr {at}",
            f"{data_at} = getelementptr ptr, ptr %table, i64 {word + 1}",
            f"{data} = load ptr, ptr {data_at}",
            f"store i64 {length}, ptr %length",
            f"call void {function}(ptr %args, ptr %length, ptr %steps, ptr {data})",
        )

    def _test_flags(self, flags: str) -> str:
        """``flags`` and what has been raised since, in a new register."""
        name = self.fresh()
        label = name[1:]
        self.put(
            f"br label %{label}.from",
            f"{label}.from:",
            f"br i1 %watching, label %{label}.test, label %{label}.join",
            f"{label}.test:",
            f"{name}.now = call i32 %test(i32 %watch)",
            f"{name}.all = or i32 {name}.now, {flags}",
            f"br label %{label}.join",
            f"{label}.join:",
            f"{name} = phi i32 [ {flags}, %{label}.from ], "
            f"[ {name}.all, %{label}.test ]",
        )
        return name
