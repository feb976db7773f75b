"""Grouping: from pending values to one program.

`fuse` starts at the value that is wanted and takes in the operations that it is made
of, as long as they can run in the same loop.  Slices, transposes and flips in between
are pushed down to the leaves.  What else reads the same values goes along.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from ..config import current
from ..dtypes import DType
from ..layout import Layout, Shape, Strides, broadcast_strides
from ..ops.elementwise import CAST, IMAG, REAL
from ..ops.program import Inner, Node, Program, Reduction
from ..ops.spec import Op
from .admitting import Builder, can_inline, goes_along, whole
from .axis_maps import axis_map
from .callers import Place, line_of
from .graph import Expr, Read, State, Value, pending_readers

__all__ = ["Group", "Target", "fastest", "fuse", "outlives"]


@dataclass(slots=True)
class Group:
    """A program and what it is bound to.

    Attributes
    ----------
    program : Program
    shape : tuple of int
        The iteration space.
    leaves : list of Read
        Memory that is read, each as an array of ``shape``.
    scalars : list of NumPy scalars
    outputs : list of (Value, Layout)
        Values to store; the layout shows the value's own memory as an array of
        ``shape``.
    exprs : list of Expr or None
        For each node of the program the expression that it stems from.
    values : list of Value
        The pending values that the group computes, stored or not.
    blockers : list of Value
        Pending values among the leaves: they must run first.
    inner_axis : int or None
        The axis along which the loop runs.
    place : tuple or None
        The user's line of a reduction at the end.
    """

    program: Program
    shape: Shape
    leaves: list[Read]
    scalars: list[Any]
    outputs: list[tuple[Value, Layout]]
    exprs: list[Expr]
    values: list[Value]
    blockers: list[Value]
    inner_axis: int | None = None
    place: Place | None = None

    @property
    def stored(self) -> list[Value]:
        """The values that are stored."""
        return [value for value, _ in self.outputs]

    def reads(self) -> list[Read]:
        """Memory that is read."""
        return self.leaves

    @property
    def last_frame(self) -> Any:
        """Where the user's code recorded the last operation, or None."""
        if self.place is not None:
            return line_of(self.place)
        return self.exprs[-1].frame if self.exprs else None


@dataclass(frozen=True, slots=True)
class Target:
    """What to compute: a pending value, or a reduction over a read.

    ``into`` has the strides of the memory that the result goes into, if that is not
    memory of its own.
    """

    read: Read
    reduction: Op | None = None
    into: Strides | None = None


def fuse(target: Target) -> Group:
    """The group that computes ``target``.

    Parameters
    ----------
    target : Target
        Its value is pending, or (for a reduction) stored.
    """
    read = target.read
    shape = read.layout.shape
    strides = target.into if target.into is not None else read.layout.strides
    if target.reduction is not None and read.value.state == State.STORED:
        program = _sole(target.reduction, read.dtype)
        axis = fastest(shape, strides)
        return Group(program, shape, [read], [], [], [], [], [], axis)
    settings = current()
    builder = Builder(
        shape,
        fastest(shape, strides),
        settings.max_group_nodes,
        settings.max_group_inputs,
    )
    root = _walk(builder, read)
    if target.reduction is None and target.into is None:
        _take_along(builder, read.value)
    return _finish(builder, root, target)


@lru_cache(1024)
def _sole(op: Op, dtype: DType) -> Program:
    """A reduction and nothing else."""
    return Program((dtype,), (), (), (), Reduction(op, 0, dtype))


@lru_cache(1 << 12)
def fastest(shape: Shape, strides: Strides) -> int | None:
    """The axis along which memory runs fastest."""
    best = None
    for axis, (length, stride) in enumerate(zip(shape, strides, strict=True)):
        if length != 1 and (best is None or abs(stride) <= abs(strides[best])):
            best = axis
    return best


# ------------------------------------------------------------------------------- walk
def _walk(builder: Builder, root: Read) -> tuple[str, int]:
    """Number the operations below ``root`` in post-order, without recursion."""
    if not can_inline(builder, root, is_root=True):
        return "leaf", _leaf(builder, root)
    stack: list[tuple[Read, bool]] = [(root, False)]
    while stack:
        read, expanded = stack.pop()
        key = (id(read.value), read.layout)
        if key in builder.done:
            continue
        expr = read.value.expr
        assert expr is not None
        operands = _operands(expr, read)
        if not expanded:
            stack.append((read, True))
            for operand in reversed(operands):
                if type(operand) is not Read:
                    continue
                if operand.dtype != operand.value.dtype:
                    operand = whole(operand)
                if (id(operand.value), operand.layout) not in builder.done and (
                    can_inline(builder, operand)
                ):
                    stack.append((operand, False))
            continue
        _add_node(builder, expr, operands, read)
    return "node", builder.done[(id(root.value), root.layout)]


def _take_along(builder: Builder, root: Value) -> None:
    """Compute what else reads values of the group, beside the one that was asked for:
    those need no memory then, or are not read again.  See `company`."""
    builder.limit_nodes *= 2
    place = 0
    while place < len(builder.results):
        value, layout, _ = builder.results[place]
        found = None
        if value is not root and layout == value.layout:
            found = _next_along(builder, value)
        if found is None:
            place += 1
        else:
            _walk(builder, found)


def _next_along(builder: Builder, value: Value) -> Read | None:
    """A reader of a value that is not in the group yet, and is to be."""
    for reader in pending_readers(value):
        read = Read(reader, reader.layout, reader.dtype)
        known = (id(reader), read.layout) in builder.done
        if not known and goes_along(builder, read):
            return read
    return None


def _operands(expr: Expr, read: Read) -> list[Any]:
    """The inputs of ``expr``, seen as arrays of the group's shape."""
    value = read.value
    if read.layout == value.layout and not read.layout.offset:
        mapping = None
    else:
        mapping = axis_map(value.layout, read.layout)
        assert mapping is not None
    shape = expr.form.shape
    found: list[Any] = []
    for operand in expr.inputs:
        if type(operand) is Read:
            layout = operand.layout
            if layout.shape != shape:
                spread = broadcast_strides(layout, shape)
                layout = Layout(shape, spread, layout.offset)
            if mapping is not None:
                layout = mapping.through(layout)
            if layout is not operand.layout:
                operand = Read(operand.value, layout, operand.dtype)
        found.append(operand)
    return found


def _leaf(builder: Builder, read: Read) -> int:
    key = (id(read.value), read.layout, read.dtype)
    slot = builder.leaf_slots.get(key)
    if slot is None:
        slot = len(builder.leaves)
        builder.leaf_slots[key] = slot
        builder.leaves.append(read)
    return slot


def _add_node(
    builder: Builder, expr: Expr, operands: Sequence[Any], read: Read
) -> None:
    inputs: list[tuple[str, int]] = []
    form = expr.form
    signature = form.signature
    for operand, dtype in zip(operands, signature.inputs, strict=True):
        if type(operand) is Read:
            slot = builder.done.get((id(operand.value), operand.layout))
            if slot is not None and operand.dtype == operand.value.dtype:
                where = ("node", slot)
            else:
                where = _part(builder, operand, expr) or (
                    "leaf",
                    _leaf(builder, operand),
                )
            if operand.dtype != dtype:
                where = _cast(builder, where, dtype, expr)
        else:
            where = ("scalar", _scalar(builder, operand))
        inputs.append(where)
    first = builder.node_slots
    builder.nodes.append((form.op, inputs, signature.outputs, form.inner))
    builder.exprs.append(expr)
    builder.operations += 1
    builder.node_slots += len(signature.outputs)
    for index, reference in enumerate(expr.results):
        value = reference()
        if value is None:
            continue
        layout = read.layout
        if value is not read.value:
            # The other outputs have the same shape, and strides of the same order.
            mapping = axis_map(read.value.layout, read.layout)
            assert mapping is not None
            layout = mapping.through(value.layout)
        builder.done[(id(value), layout)] = first + index
        builder.results.append((value, layout, first + index))


def _cast(
    builder: Builder,
    where: tuple[str, int],
    dtype: DType,
    expr: Expr,
    op: Op = CAST,
) -> tuple[str, int]:
    key = (op.name, *where, dtype)
    slot = builder.casts.get(key)
    if slot is None:
        slot = builder.node_slots
        builder.casts[key] = slot
        builder.nodes.append((op, [where], (dtype,), (Inner.CONTIGUOUS,)))
        builder.exprs.append(expr)
        builder.node_slots += 1
    return "node", slot


def _part(builder: Builder, read: Read, expr: Expr) -> tuple[str, int] | None:
    """Real or imaginary parts of complex numbers that the group computes."""
    both = whole(read)
    slot = builder.done.get((id(both.value), both.layout))
    if slot is None or both is read:
        return None
    op = REAL if both.layout.offset == read.layout.offset else IMAG
    return _cast(builder, ("node", slot), read.dtype, expr, op)


def _scalar(builder: Builder, number: Any) -> int:
    key = (number.dtype, number.tobytes())
    slot = builder.scalar_slots.get(key)
    if slot is None:
        slot = len(builder.scalars)
        builder.scalar_slots[key] = slot
        builder.scalars.append(number)
    return slot


# ----------------------------------------------------------------------------- finish
def _finish(builder: Builder, root: tuple[str, int], target: Target) -> Group:
    bases = {
        "leaf": 0,
        "scalar": len(builder.leaves),
        "node": len(builder.leaves) + len(builder.scalars),
    }

    def slot(where: tuple[str, int]) -> int:
        return bases[where[0]] + where[1]

    outputs: list[tuple[Value, Layout]] = []
    slots: list[int] = []
    computed = {id(value) for value, _, _ in builder.results}
    if target.reduction is None:
        outputs.append((target.read.value, target.read.layout))
        slots.append(slot(root))
    for value, layout, index in builder.results:
        if value is target.read.value and target.reduction is None:
            continue
        if any(value is known for known, _ in outputs):
            continue
        if layout.size == value.layout.size and outlives(value, computed):
            outputs.append((value, layout))
            slots.append(slot(("node", index)))
    reduction = None
    if target.reduction is not None:
        reduction = Reduction(target.reduction, slot(root), target.read.dtype)
    program = Program(
        tuple([read.dtype for read in builder.leaves]),
        tuple([number.dtype for number in builder.scalars]),
        tuple(
            [
                Node(op, tuple([slot(where) for where in inputs]), dtypes, inner)
                for op, inputs, dtypes, inner in builder.nodes
            ]
        ),
        tuple(slots),
        reduction,
    )
    blockers = [
        read.value
        for read in builder.leaves
        if read.value.state in (State.PENDING, State.RUNNING)
    ]
    return Group(
        program,
        builder.shape,
        builder.leaves,
        builder.scalars,
        outputs,
        builder.exprs,
        [value for value, _, _ in builder.results],
        blockers,
        builder.inner_axis,
    )


def outlives(value: Value, computed: set[int]) -> bool:
    """Whether the value is still wanted once the group has run."""
    if value.is_bound():
        return True
    return any(id(reader) not in computed for reader in pending_readers(value))
