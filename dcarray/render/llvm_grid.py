"""A kernel over a grid as LLVM IR: one function that runs groups of work items.

The items of a group run in a loop.  Where they meet at a barrier, the loop ends and
another one begins: a kernel is split into *regions* between barriers, and a variable
that more than one region knows is an array with an element for each item.  Loops and
branches with a barrier inside are the group's own; their conditions are the same for
all items, so that the first one is asked.  So are loops of mere arithmetic that have as
many rounds for all items: a round of all of them is vector code.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TypeAlias

import numpy as np

from ..errors import UnsupportedError
from ..kernel import nodes
from ..kernel.lower import lower
from ..kernel.walk import expressions, names, statements
from .llvm_functions import GridScalars, has_instructions, type_of
from .llvm_items import apart, invariants_first, placed, uniform_values, within
from .llvm_scalar import declarations

__all__ = ["GRID", "render_grid"]

GRID = "dcarray_grid"

Inner: TypeAlias = Callable[[nodes.Body], None]


def render_grid(
    kernel: nodes.Kernel, group: tuple[int, int, int] | None = None
) -> tuple[str, int, int]:
    """The text of ``void dcarray_grid(ptr words, i64 first, i64 last, ptr scratch)``.

    It runs the groups ``first`` to ``last``.  ``words`` holds 8 bytes for each
    parameter of the kernel after `lower`, an address or a number, then the number of
    groups and the items of a group along three axes.  Where these are known, as
    ``group``, short loops over them need no counters.

    Returns
    -------
    tuple of str, int and int
        The text; bytes of scratch memory for each item of a group; and besides.

    Raises
    ------
    UnsupportedError
        An operation that has no spelling here.
    """
    ready = invariants_first(placed(lower(kernel)))
    writer = _Writer(*within(ready), group)
    return writer.text(), 8 * len(writer.slots), writer.fixed


class _Writer:
    def __init__(
        self,
        kernel: nodes.Kernel,
        ends: dict[int, nodes.Scalar],
        group: tuple[int, int, int] | None,
    ) -> None:
        self.kernel = kernel
        self.group = group
        self.lengths = ends
        self.ends = ["%size0", "%size1", "%size2"]
        self.lines: list[str] = []
        self.labels = 0
        self.loops = 0
        self.scalars = GridScalars(self.lines)
        self.shared = [
            node for node in statements(kernel.body) if isinstance(node, nodes.Shared)
        ]
        self.fixed = 0
        self.apart = apart(kernel, has_instructions)
        self.uniform = uniform_values(kernel) if self.apart else set()
        self.regions: dict[str, set[int]] = {}
        self.region = 0
        if self.apart:
            self.survey(kernel.body)
        self.slots = [
            name
            for name, known in self.regions.items()
            if len(known) > 1 and name not in self.uniform
        ]
        self.item = "%item"

    def put(self, *lines: str) -> None:
        self.lines.extend(lines)

    def label(self, name: str) -> str:
        self.labels += 1
        return f"{name}{self.labels}"

    # -------------------------------------------------------------------- regions
    def pieces(
        self, body: nodes.Body
    ) -> Iterator[tuple[nodes.Statement | None, nodes.Body]]:
        """Statements that a group does together, one by one, and runs of others."""
        run: list[nodes.Statement] = []
        for node in body:
            if id(node) not in self.apart:
                run.append(node)
                continue
            if run:
                yield None, tuple(run)
            run = []
            yield node, ()
        if run:
            yield None, tuple(run)

    def survey(self, body: nodes.Body) -> None:
        """Find which regions know which variable."""
        for node, run in self.pieces(body):
            self.region += 1
            if node is None:
                for item in statements(run):
                    self.know(item)
                continue
            self.know(node)
            if isinstance(node, nodes.For):
                self.uniform.add(node.name)
            if isinstance(node, (nodes.For, nodes.While, nodes.If)):
                self.survey(node.body)
            if isinstance(node, nodes.If):
                self.survey(node.otherwise)

    def know(self, node: nodes.Statement) -> None:
        found = list(names(*expressions(node)))
        if isinstance(node, (nodes.Let, nodes.Assign, nodes.For)):
            found.append(node.name)
        elif isinstance(node, nodes.Atomic) and node.result:
            found.append(node.result)
        for name in found:
            self.regions.setdefault(name, set()).add(self.region)

    # ---------------------------------------------------------------- the function
    def text(self) -> str:
        self.put(
            f"define void @{GRID}(ptr %words, i64 %first, i64 %last, ptr %scratch) {{",
            "entry:",
        )
        self.parameters()
        self.variables()
        self.put(
            "%group = alloca i64",
            "store i64 %first, ptr %group",
            "br label %groups",
            "groups:",
            "%number = load i64, ptr %group",
            "%more = icmp slt i64 %number, %last",
            "br i1 %more, label %begin, label %done",
            "begin:",
            "%group0 = urem i64 %number, %count0",
            "%rest = udiv i64 %number, %count0",
            "%group1 = urem i64 %rest, %count1",
            "%group2 = udiv i64 %rest, %count1",
        )
        for axis, length in self.lengths.items():
            name = self.ends[axis] = f"%end{axis}"
            self.put(
                f"%ahead{axis} = mul nsw i64 %group{axis}, %size{axis}",
                f"%left{axis} = sub nsw i64 {self.scalars.write(length)}, %ahead{axis}",
                f"%short{axis} = icmp slt i64 %left{axis}, %size{axis}",
                f"{name} = select i1 %short{axis}, i64 %left{axis}, i64 %size{axis}",
            )
        self.together(self.kernel.body)
        self.put(
            "%next = add i64 %number, 1",
            "store i64 %next, ptr %group",
            "br label %groups",
            "done:",
            "ret void",
            "}",
        )
        body = "\n".join(self.lines)
        extra = [*declarations(body), *self.scalars.declared, *self.metadata()]
        return "\n".join([body, *extra]) + "\n"

    def metadata(self) -> list[str]:
        # Between barriers, no item needs what another one does.
        lines = ["!0 = distinct !{}", '!1 = !{!"llvm.loop.parallel_accesses", !0}']
        lines.append('!2 = !{!"llvm.loop.interleave.count", i32 1}')
        lines.append('!3 = !{!"llvm.loop.unroll.disable"}')
        # Groups that do things together are small: one vector after the other, and no
        # row of single items where there could be vectors.
        known = "!1, !2, !3" if self.apart else "!1"
        for number in range(4, self.loops + 4):
            lines.append(f"!{number} = distinct !{{!{number}, {known}}}")
        return lines

    def word(self, index: int, name: str, kind: str) -> None:
        self.put(
            f"{name}.at = getelementptr i64, ptr %words, i64 {index}",
            f"{name} = load {kind}, ptr {name}.at",
        )

    def parameters(self) -> None:
        count = len(self.kernel.parameters)
        for place, item in enumerate(self.kernel.parameters):
            name = f"%p{place}"
            if isinstance(item, nodes.Array):
                self.word(place, name, "ptr")
                self.scalars.arrays[item.name] = (name, item.dtype)
            elif item.dtype.kind == "b":
                self.word(place, f"{name}.i8", "i8")
                self.put(f"{name} = icmp ne i8 {name}.i8, 0")
                self.scalars.names[item.name] = name
            else:
                self.word(place, name, type_of(item.dtype))
                self.scalars.names[item.name] = name
        for axis in range(3):
            self.word(count + axis, f"%count{axis}", "i64")
            if self.group is None:
                self.word(count + 3 + axis, f"%size{axis}", "i64")
            else:
                self.put(f"%size{axis} = add i64 0, {self.group[axis]}")
        self.put(
            "%plane = mul i64 %size0, %size1",
            "%items = mul i64 %plane, %size2",
        )

    def variables(self) -> None:
        """Room for variables and shared arrays."""
        for place, name in enumerate(self.slots):
            self.put(
                f"%slot{place}.skip = mul i64 %items, {8 * place}",
                f"%slot{place} = getelementptr i8, ptr %scratch, i64 %slot{place}.skip",
            )
            self.scalars.slots[name] = f"%slot{place}"
        self.put(
            f"%fixed.skip = mul i64 %items, {8 * len(self.slots)}",
            "%fixed = getelementptr i8, ptr %scratch, i64 %fixed.skip",
        )
        for place, node in enumerate(self.shared):
            self.put(f"%shared{place} = getelementptr i8, ptr %fixed, i64 {self.fixed}")
            self.scalars.arrays[node.name] = (f"%shared{place}", node.dtype)
            self.fixed += -(-node.size * max(node.dtype.itemsize, 1) // 64) * 64
        for axis in range(3):
            self.put(f"%at{axis} = alloca i64")
        for item in statements(self.kernel.body):
            if isinstance(item, nodes.Let):
                self.variable(item.name, item.value.dtype)
            elif isinstance(item, nodes.For):
                self.variable(item.name, item.start.dtype)
            elif isinstance(item, nodes.Atomic) and item.result:
                self.variable(item.result, item.value.dtype)

    def variable(self, name: str, dtype: np.dtype[np.generic]) -> None:
        if name in self.scalars.slots or name in self.scalars.variables:
            return
        register = f"%v{len(self.scalars.variables)}"
        self.put(f"{register} = alloca {type_of(dtype)}")
        self.scalars.variables[name] = register

    # ------------------------------------------------------------- groups and items
    def together(self, body: nodes.Body) -> None:
        """What a group does, region by region."""
        for node, run in self.pieces(body):
            if node is None:
                self.each(run)
            elif isinstance(node, nodes.If):
                self.scalars.alone()
                self.fork(node, self.together)
            elif isinstance(node, nodes.While):
                self.repeat(node, self.together, self.scalars.alone)
            elif isinstance(node, nodes.For):
                self.scalars.alone()
                self.count(node, self.together)

    def each(self, run: nodes.Body) -> None:
        """A region: a loop over the items of a group."""
        number = self.loops
        self.loops += 1
        axes = [(axis, self.label(f"axis{axis}_")) for axis in (2, 1, 0)]
        for axis, name in axes:
            self.put(
                f"store i64 0, ptr %at{axis}",
                f"br label %{name}",
                f"{name}:",
                f"%{name}.i = load i64, ptr %at{axis}",
                f"%{name}.more = icmp slt i64 %{name}.i, {self.ends[axis]}",
                f"br i1 %{name}.more, label %{name}.body, label %{name}.end",
                f"{name}.body:",
            )
        z, y, x = [f"%{name}.i" for _, name in axes]
        item = self.label("%item")
        self.put(
            f"{item}.z = mul i64 {z}, %size1",
            f"{item}.y = add i64 {item}.z, {y}",
            f"{item}.r = mul i64 {item}.y, %size0",
            f"{item} = add i64 {item}.r, {x}",
        )
        self.scalars.within(item, (x, y, z))
        self.body(run)
        for axis, name in reversed(axes):
            loop = f", !llvm.loop !{number + 4}" if axis == 0 else ""
            self.put(
                f"%{name}.next = add i64 %{name}.i, 1",
                f"store i64 %{name}.next, ptr %at{axis}",
                f"br label %{name}{loop}",
                f"{name}.end:",
            )

    # ------------------------------------------------------------------- statements
    def body(self, body: nodes.Body) -> None:
        for node in body:
            self.statement(node)

    def statement(self, node: nodes.Statement) -> None:
        scalars = self.scalars
        if isinstance(node, (nodes.Let, nodes.Assign)):
            scalars.assign(node.name, scalars.write(node.value), node.value.dtype)
        elif isinstance(node, nodes.Store):
            scalars.store(node)
        elif isinstance(node, nodes.If):
            self.fork(node, self.body)
        elif isinstance(node, nodes.While):
            self.repeat(node, self.body, lambda: None)
        elif isinstance(node, nodes.For):
            self.count(node, self.body)
        elif isinstance(node, nodes.Atomic):
            self.atomic(node)

    def fork(self, node: nodes.If, inner: Inner) -> None:
        name = self.label("if")
        condition = self.scalars.write(node.condition)
        self.put(f"br i1 {condition}, label %{name}.then, label %{name}.else")
        self.put(f"{name}.then:")
        inner(node.body)
        self.put(f"br label %{name}.end", f"{name}.else:")
        inner(node.otherwise)
        self.put(f"br label %{name}.end", f"{name}.end:")

    def repeat(
        self, node: nodes.While, inner: Inner, before: Callable[[], None]
    ) -> None:
        name = self.label("while")
        self.put(f"br label %{name}", f"{name}:")
        before()
        condition = self.scalars.write(node.condition)
        self.put(
            f"br i1 {condition}, label %{name}.body, label %{name}.end",
            f"{name}.body:",
        )
        inner(node.body)
        self.put(f"br label %{name}", f"{name}.end:")

    def count(self, node: nodes.For, inner: Inner) -> None:
        """A counter of few bits may not reach its stop: all count in 64 bits."""
        name = self.label("for")
        scalars = self.scalars
        dtype = node.start.dtype
        start, stop, step = (
            scalars.widened(scalars.write(item), dtype)
            for item in (node.start, node.stop, node.step)
        )
        less = "ult" if dtype.kind == "u" else "slt"
        more = "ugt" if dtype.kind == "u" else "sgt"
        i = f"%{name}.i"
        self.put(
            f"br label %{name}.enter",
            f"{name}.enter:",
            f"br label %{name}",
            f"{name}:",
            f"{i} = phi i64 [ {start}, %{name}.enter ], [ {i}.next, %{name}.again ]",
            f"%{name}.up = icmp {more} i64 {step}, 0",
            f"%{name}.below = icmp {less} i64 {i}, {stop}",
            f"%{name}.above = icmp {more} i64 {i}, {stop}",
            f"%{name}.ahead = select i1 %{name}.up, i1 %{name}.below, i1 %{name}.above",
            f"%{name}.moves = icmp ne i64 {step}, 0",
            f"%{name}.more = and i1 %{name}.ahead, %{name}.moves",
            f"br i1 %{name}.more, label %{name}.body, label %{name}.end",
            f"{name}.body:",
        )
        scalars.assign(node.name, scalars.narrowed(i, dtype), dtype)
        inner(node.body)
        self.put(
            f"br label %{name}.again",
            f"{name}.again:",
            f"{i}.next = add i64 {i}, {step}",
            f"br label %{name}",
            f"{name}.end:",
        )

    def atomic(self, node: nodes.Atomic) -> None:
        scalars = self.scalars
        place = scalars.element(node.array, node.index)
        value = scalars.write(node.value)
        dtype = node.value.dtype
        if dtype.kind == "b":
            raise UnsupportedError(f"{self.kernel.name}: no atomic operations on bools")
        if node.expected is not None:
            expected = scalars.write(node.expected)
            old = scalars.exchanged(place, expected, value, dtype)
        else:
            old = scalars.changed(node.operation, place, value, dtype)
        if node.result:
            scalars.assign(node.result, old, dtype)
