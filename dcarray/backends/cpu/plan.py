"""From a sketch to a plan: where the values of a block lie between the steps."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal, TypeAlias

import numpy as np

from ...config import current
from ...kernel.nodes import Apply, Cast, Constant, Let, Name, Scalar, Select
from ...ops.program import Inner, Node
from ...render.plan import (
    Argument,
    Fold,
    Home,
    LoopCall,
    Place,
    Plan,
    Segment,
    Start,
    Step,
    Stride,
)
from .parts import can_split, split, uses_both
from .sketch import Sketch, is_inlined_fast

__all__ = ["FoldKind", "plan_for"]

DType = np.dtype[Any]
FoldKind: TypeAlias = "Start | Literal['rows', 'columns']"


def plan_for(
    sketch: Sketch,
    leaves: Sequence[Stride],
    outputs: Sequence[Stride],
    slots: Sequence[int],
    buffered: Sequence[bool],
    fold: FoldKind | None = None,
    rowwise: bool = False,
    block: int = 0,
) -> Plan | None:
    """The plan for operands of these stride classes.

    Parameters
    ----------
    sketch : Sketch
    leaves, outputs : sequence of Stride
    slots : sequence of int
        What goes into the outputs.
    buffered : sequence of bool
        For each output whether it may be stored only once the block is known to be
        good.
    fold : Start, "rows" or "columns", optional
        The slot of the program's reduction is reduced on the way, see `Fold`, into
        one more operand; the loop that does it is the last of the table.
    rowwise : bool
        See `Plan`.
    block : int
        Elements of a block; 0 leaves the choice to the planner.

    Returns
    -------
    Plan or None
        None if an operand cannot be shown to a loop as NumPy would show it.
    """
    return _Planner(sketch, leaves, outputs, slots, buffered, fold, rowwise).plan(block)


class _Planner:
    def __init__(
        self,
        sketch: Sketch,
        leaves: Sequence[Stride],
        outputs: Sequence[Stride],
        slots: Sequence[int],
        buffered: Sequence[bool],
        fold: FoldKind | None,
        rowwise: bool,
    ) -> None:
        self.sketch = sketch
        self.program = sketch.program
        self.leaf_strides = leaves
        self.output_strides = outputs
        self.slots = slots
        self.buffered = buffered
        self.fold = fold
        self.folded = -1
        if fold is not None:
            assert sketch.program.reduction is not None
            self.folded = sketch.program.reduction.slot
        self.rowwise = rowwise
        self.dtypes = self.program.slot_dtypes()
        self.first = len(self.program.leaves) + len(self.program.scalars)
        self.places: dict[int, Place] = {}
        self.copies: dict[tuple[int, Inner], Place] = {}
        self.buffers: list[int] = []
        self.free: list[int] = []
        self.constant = self._constant_slots()

    def _constant_slots(self) -> set[int]:
        """Slots with the same value all along the inner axis."""
        leaves = len(self.program.leaves)
        found = set(range(leaves, self.first))
        if not self.rowwise:
            zero = Stride.ZERO
            found |= {k for k in range(leaves) if self.leaf_strides[k] is zero}
        slot = self.first
        for node in self.program.nodes:
            constant = all(used in found for used in node.inputs)
            for _ in node.dtypes:
                if constant:
                    found.add(slot)
                slot += 1
        return found

    def plan(self, block: int) -> Plan | None:
        program = self.program
        if any(slot < self.first for slot in self.slots):
            return None
        if 0 <= self.folded < self.first and not self._folds_leaf():
            return None
        for number in range(len(program.leaves)):
            self.places[number] = Place(Home.LEAF, number)
        for number in range(len(program.scalars)):
            self.places[len(program.leaves) + number] = Place(Home.SCALAR, number)
        for number, slot in enumerate(self.slots):
            direct = self.output_strides[number] is Stride.CONTIGUOUS
            direct = direct and not self.buffered[number]
            if self.rowwise and slot in self._called():
                direct = False  # loops work on all rows in one piece
            if direct and slot not in self.places:
                self.places[slot] = Place(Home.OUTPUT, number)
        steps = self._steps()
        if steps is None:
            return None
        finish = self._finish()
        outputs = [self.dtypes[slot] for slot in self.slots]
        targets = list(zip(outputs, self.output_strides, strict=True))
        if self.fold is not None:
            slot = self.folded
            targets.append((self.dtypes[slot], Stride.CONTIGUOUS))
            start = self.fold if isinstance(self.fold, Start) else None
            entry = len(self.sketch.loops)
            steps.append(Fold(entry, self.places[slot], self.dtypes[slot], start))
        passing = [*program.leaves, *outputs]
        weight = sum(self.buffers) + sum(dtype.itemsize for dtype in passing)
        return Plan(
            tuple(zip(program.leaves, self.leaf_strides, strict=True)),
            tuple(targets),
            program.scalars,
            tuple(self.buffers),
            tuple(steps),
            finish,
            block or _block_length(weight, len(steps)),
            self.rowwise,
        )

    def _folds_leaf(self) -> bool:
        """Whether a stored operand is reduced, which a loop finds where it lies."""
        leaves = self.leaf_strides
        if self.rowwise and self.fold != "columns":
            return False  # loops are called on all rows in one piece
        return self.folded < len(leaves) and leaves[self.folded] is Stride.CONTIGUOUS

    def _called(self) -> set[int]:
        """Slots that a loop reads or writes."""
        found: set[int] = {self.folded}
        slot = self.first
        for node, lowered in zip(self.program.nodes, self.sketch.lowered, strict=True):
            if not lowered:
                found.update(node.inputs)
                found.update(range(slot, slot + len(node.dtypes)))
            slot += len(node.dtypes)
        return found

    # -------------------------------------------------------------------- the steps
    def _steps(self) -> list[Step] | None:
        sketch, nodes = self.sketch, self.program.nodes
        starts = []
        slot = self.first
        for node in nodes:
            starts.append(slot)
            slot += len(node.dtypes)
        last = self._last_uses(starts)
        entries: dict[int, int] = {}
        for number, lowered in enumerate(sketch.lowered):
            if not lowered:
                entries[number] = len(entries)
        steps: list[Step] = []
        for stage in range(max(sketch.stages, default=0) + 1):
            members = [n for n in range(len(nodes)) if sketch.stages[n] == stage]
            inline = [n for n in members if sketch.lowered[n]]
            calls = [n for n in members if not sketch.lowered[n]]
            segment = self._segment(stage, inline, calls, starts, last)
            if segment is None:
                return None
            if segment.stores:
                steps.append(segment)
            for number in calls:
                for offset, dtype in enumerate(nodes[number].dtypes):
                    self._home(starts[number] + offset, dtype)
                steps.append(self._call(number, entries[number], starts[number]))
            self._release(stage, last)
        return steps

    def _last_uses(self, starts: Sequence[int]) -> dict[int, int]:
        """For each computed slot the stage after which its buffer is free."""
        last: dict[int, int] = {}
        stages = self.sketch.stages
        for number, node in enumerate(self.program.nodes):
            for offset in range(len(node.dtypes)):
                last[starts[number] + offset] = stages[number]
            for used in node.inputs:
                if used >= self.first:
                    last[used] = max(last[used], stages[number])
        for slot in (*self.slots, *([self.folded] if self.fold else [])):
            last[slot] = len(self.program.nodes) + 1
        return last

    def _release(self, stage: int, last: dict[int, int]) -> None:
        for slot, place in list(self.places.items()):
            if place.home is Home.BUFFER and last[slot] == stage:
                self.free.append(place.number)
                last[slot] = -1
        for place in self.copies.values():
            self.free.append(place.number)
        self.copies.clear()

    def _segment(
        self,
        stage: int,
        inline: Sequence[int],
        calls: Sequence[int],
        starts: Sequence[int],
        last: dict[int, int],
    ) -> Segment | None:
        nodes = self.program.nodes
        own = {starts[number]: number for number in inline}
        called = {
            starts[number] + offset
            for number in calls
            for offset in range(len(nodes[number].dtypes))
        }
        loads: dict[int, None] = {}
        body: list[Let] = []
        asked: tuple[list[str], list[str]] = [], []
        for number in inline:
            for used in nodes[number].inputs:
                if used not in own:
                    loads[used] = None
            name = f"v{starts[number]}"
            if self._is_fast(nodes[number]):
                self._write_fast(nodes[number], name, body, asked)
            elif can_split(nodes[number], self._given(nodes[number])):
                body.extend(
                    split(nodes[number], nodes[number].inputs, self.dtypes, name)
                )
            else:
                body.append(Let(name, _scalar(nodes[number], self.dtypes)))
        stores: list[tuple[str, Place, DType]] = []
        read = {used for number in calls for used in nodes[number].inputs}
        for slot in own:
            tested = self._is_only_tested(slot, inline)
            if slot in read or last[slot] > stage or tested:
                self._home(slot, self.dtypes[slot])
                stores.append((f"v{slot}", self.places[slot], self.dtypes[slot]))
        for number in calls:
            node = nodes[number]
            for used, inner in zip(node.inputs, node.inner, strict=True):
                if inner is Inner.SCALAR and used not in self.constant:
                    return None
                if self._is_seen_as(used, inner) or (used, inner) in self.copies:
                    continue
                # A loop may ask for more than "not contiguous": a leaf of its own
                # strides is not copied.
                strided = inner is Inner.STRIDED and used < len(self.program.leaves)
                if used in called or (strided and self.rowwise):
                    return None
                place = self._copy(used, inner)
                stores.append((f"v{used}", place, self.dtypes[used]))
                if used not in own:
                    loads[used] = None
        found = [(f"v{slot}", self.places[slot], self.dtypes[slot]) for slot in loads]
        watched, doubts = map(tuple, asked)
        return Segment(tuple(found), tuple(body), tuple(stores), watched, doubts)

    def _given(self, node: Node) -> tuple[DType, ...]:
        return tuple([self.dtypes[slot] for slot in node.inputs])

    def _is_fast(self, node: Node) -> bool:
        return is_inlined_fast(node, self._given(node))

    def _write_fast(
        self, node: Node, name: str, body: list[Let], asked: tuple[list[str], list[str]]
    ) -> None:
        """Write a body of `ops.fast`; what it asks for goes into ``asked``."""
        from ...kernel.splice import spliced  # both take 10 ms, and are for
        from ...ops.bodies import fast_kernel  # `config(math="fast")` alone

        operands = _operands(node, self.dtypes)
        kernel = fast_kernel(node.op, tuple([x.dtype for x in operands]))
        written, (value, *conditions) = spliced(kernel, operands, f"{name}.")
        for statement in written:
            assert isinstance(statement, Let), f"fast {node.op.name} has branches"
            body.append(statement)
        body.append(Let(name, value))
        for number, condition in enumerate(conditions):
            if isinstance(condition, Constant):
                continue  # never
            body.append(Let(f"{name}.asked{number}", condition))
            asked[number].append(f"{name}.asked{number}")

    def _is_only_tested(self, slot: int, inline: Sequence[int]) -> bool:
        """Whether a float is computed and nothing but a property of it is used.

        LLVM knows when a root is NaN without taking it, and the flag would not come
        up: the value is stored, so that it has to be there.  To compare it with another
        value LLVM needs it.
        """
        kind = self.dtypes[slot].kind
        if kind not in "fc":
            return False
        nodes = self.program.nodes
        readers = [nodes[n] for n in inline if slot in nodes[n].inputs]
        if kind == "c":
            return not uses_both(readers)
        return all(
            node.op.name in ("copysign", "sign")
            or (node.dtypes[0].kind != "f" and not _compares(node))
            for node in readers
        )

    def _is_seen_as(self, slot: int, inner: Inner) -> bool:
        """Whether a loop sees a value as it should where the value lies."""
        place = self.places.get(slot, Place(Home.BUFFER, 0))
        if inner is Inner.SCALAR:
            return True  # every slot that gets here is constant
        stride = Stride.CONTIGUOUS
        if place.home is Home.LEAF:
            if self.rowwise:
                return False
            stride = self.leaf_strides[place.number]
        elif place.home is Home.SCALAR:
            stride = Stride.ZERO
        if inner is Inner.CONTIGUOUS:
            return stride is Stride.CONTIGUOUS
        return stride in (Stride.PAIRS, Stride.GENERAL)

    def _copy(self, slot: int, inner: Inner) -> Place:
        spacing = 2 if inner is Inner.STRIDED else 1
        itemsize = self.dtypes[slot].itemsize
        number = self._buffer(itemsize * spacing)
        place = Place(Home.BUFFER, number, spacing)
        self.copies[slot, inner] = place
        return place

    def _home(self, slot: int, dtype: DType) -> None:
        if slot not in self.places:
            self.places[slot] = Place(Home.BUFFER, self._buffer(dtype.itemsize))

    def _buffer(self, size: int) -> int:
        for number in self.free:
            if self.buffers[number] == size:
                self.free.remove(number)
                return number
        self.buffers.append(size)
        return len(self.buffers) - 1

    def _call(self, number: int, entry: int, start: int) -> LoopCall:
        node = self.program.nodes[number]
        arguments = []
        for used, inner in zip(node.inputs, node.inner, strict=True):
            place = self.copies.get((used, inner), self.places[used])
            if inner is Inner.SCALAR and place.home in (Home.BUFFER, Home.OUTPUT):
                place = Place(place.home, place.number, 0)
            arguments.append(Argument(place, self.dtypes[used].itemsize))
        for offset, dtype in enumerate(node.dtypes):
            arguments.append(Argument(self.places[start + offset], dtype.itemsize))
        return LoopCall(entry, tuple(arguments))

    def _finish(self) -> tuple[Segment, ...]:
        """Copies into outputs that were not written directly."""
        found = []
        for number, slot in enumerate(self.slots):
            target = Place(Home.OUTPUT, number)
            source = self.places[slot]
            if source != target:
                dtype = self.dtypes[slot]
                move = (
                    ((f"v{slot}", source, dtype),),
                    (),
                    ((f"v{slot}", target, dtype),),
                )
                found.append(Segment(*move))
        return tuple(found)


def _compares(node: Node) -> bool:
    """Whether a node compares two values by their order."""
    ordered = ("less", "less_equal", "greater", "greater_equal")
    return node.op.name in ordered and node.inputs[0] != node.inputs[1]


def _operands(node: Node, dtypes: Sequence[DType]) -> tuple[Name, ...]:
    return tuple([Name(f"v{slot}", dtypes[slot]) for slot in node.inputs])


def _scalar(node: Node, dtypes: Sequence[DType]) -> Scalar:
    operands = _operands(node, dtypes)
    if node.op.name == "cast":
        return Cast(operands[0], node.dtypes[0])
    if node.op.name == "where":
        condition, when_true, when_false = operands
        return Select(condition, when_true, when_false, node.dtypes[0])
    return Apply(node.op.name, operands, node.dtypes[0])


def _block_length(weight: int, steps: int) -> int:
    """Elements of a block whose values weigh so many bytes each.

    The setting is half of the L1 cache, unless it was measured: memory is fetched ahead
    while a loop computes, if it is not too far.
    """
    if steps <= 1:
        return 8192  # everything passes by once
    length = current().block_bytes // max(1, weight)
    return max(256, min(4096, 1 << max(0, length.bit_length() - 1)))
