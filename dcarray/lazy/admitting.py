"""What may be computed in the loop of a group: each refusal is one line of
`can_inline`, with its reason."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from ..dtypes import DType
from ..layout import Layout, Shape
from ..ops.program import Inner
from ..ops.spec import Op
from .axis_maps import AxisMap, axis_map
from .counting import more_than
from .graph import Expr, Read, State, Value, pending_readers

__all__ = ["Builder", "can_inline", "goes_along", "whole"]


@dataclass(slots=True)
class Builder:
    """A group that is being put together."""

    shape: Shape
    inner_axis: int | None
    limit_nodes: int
    limit_leaves: int
    leaves: list[Read] = field(default_factory=list)
    leaf_slots: dict[tuple[int, Layout, DType], int] = field(default_factory=dict)
    scalars: list[Any] = field(default_factory=list)
    scalar_slots: dict[tuple[DType, bytes], int] = field(default_factory=dict)
    # Slots of nodes are counted from 0 here and moved behind the scalars at the end.
    nodes: list[
        tuple[Op, list[tuple[str, int]], tuple[DType, ...], tuple[Inner, ...]]
    ] = field(default_factory=list)
    exprs: list[Expr] = field(default_factory=list)
    node_slots: int = 0
    operations: int = 0
    done: dict[tuple[int, Layout], int] = field(default_factory=dict)
    casts: dict[tuple[str, str, int, DType], int] = field(default_factory=dict)
    reads: dict[tuple[int, Layout], Read] = field(default_factory=dict)
    results: list[tuple[Value, Layout, int]] = field(default_factory=list)


def whole(read: Read) -> Read:
    """The complex numbers of which real or imaginary parts are read; anything else as
    it is."""
    value, layout, dtype = read
    if (
        value.dtype.kind != "c"
        or dtype.kind != "f"
        or (2 * dtype.itemsize != value.dtype.itemsize)
    ):
        return read
    offset = layout.offset - layout.offset % value.dtype.itemsize
    both = Layout(layout.shape, layout.strides, offset)
    return Read(value, value.layout if both == value.layout else both, value.dtype)


def goes_along(builder: Builder, read: Read) -> bool:
    """Whether a reader of what the group computes is computed as well."""
    value = read.value
    expr = value.expr
    # Nobody wants it, or it has elements for another loop.
    if (
        expr is None
        or len(expr.results) > 1
        or read.layout.shape != builder.shape
        or not (value.is_bound() or pending_readers(value))
    ):
        return False
    # Something else would have to run first.
    for operand in expr.inputs:
        if type(operand) is Read and operand.value.state != State.STORED:
            operand = whole(operand)
            if (id(operand.value), operand.layout) not in builder.done:
                return False
    return can_inline(builder, read)


def can_inline(builder: Builder, read: Read, is_root: bool = False) -> bool:
    """Whether a value is computed where it is read."""
    value = read.value
    expr = value.expr
    if expr is None or value.state != State.PENDING:
        return False
    # Seen as elements of another dtype: the bytes must be there first.
    if read.dtype != value.dtype:
        return False
    if read.layout == value.layout:
        mapping = None
    else:
        mapping = axis_map(value.layout, read.layout)
        # A reshape that joins or splits axes: the loop would be another one.
        if mapping is None:
            return False
        # Repeated along an axis: each element would be computed again and again.
        if _repeats(mapping):
            return False
        # A part of a value that is also wanted whole: compute it once, whole.
        if read.layout.size != value.layout.size and _wanted(value, builder):
            return False
    # NumPy's inner loop runs along another axis there, and this operation's bits
    # depend on that.
    axis = expr.form.inner_axis
    if axis is not None:
        if mapping is not None:
            if not _is_permutation(mapping, value.layout):
                return False
            if axis not in mapping.source:
                return False
            axis = mapping.source.index(axis)
        if axis != builder.inner_axis:
            return is_root
    if not is_root:
        # The group has grown to its bound.
        if more_than(builder.limit_nodes - builder.operations, expr, builder.done):
            return False
        if len(builder.leaves) + len(expr.sources) > builder.limit_leaves:
            return False
    return True


def _repeats(mapping: AxisMap) -> bool:
    return any(
        source is None and length > 1
        for source, length in zip(mapping.source, mapping.shape, strict=True)
    )


def _is_permutation(mapping: AxisMap, layout: Layout) -> bool:
    size = 1
    for source, step, length in zip(
        mapping.source, mapping.step, mapping.shape, strict=True
    ):
        if source is not None and step != 1:
            return False
        size *= length
    return size == layout.size


def _wanted(value: Value, builder: Builder) -> bool:
    """Whether an array, or a pending value outside the group so far, shows it."""
    if value.is_bound():
        return True
    return len(pending_readers(value)) > 1
