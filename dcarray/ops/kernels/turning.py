"""A program some of whose operands lie along another axis than its outputs.

Read in the order of the outputs, neighbours would lie far apart.  So a group reads a
square of such an operand in the operand's own order into shared memory, and takes the
elements out of there in the order of the outputs.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Any

import numpy as np

from ...kernel import infer, nodes
from ...kernel.rewrite import simplify
from ..program import Program
from .mapping import loads
from .parts import INT32, INT64, Indexing, add, integer, multiply, place, unravel

__all__ = ["SIDE", "turning_kernel"]

DType = np.dtype[Any]

BOOL = np.dtype(np.bool_)

SIDE = 32
"""Elements of a square's side."""

PITCH = SIDE + 1
"""From row to row in shared memory: the elements of a column lie in different banks."""


@cache
def turning_kernel(
    program: Program, ndim: int, wide: bool, turned: tuple[bool, ...], rows: int
) -> nodes.Kernel:
    """A map by squares.

    Parameters
    ----------
    program : Program
        Without a reduction.
    ndim : int
        Axes of the shape, at least 2.  The last one is the outputs' fastest, the one
        before it that of the operands that are turned.
    wide : bool
        Whether an index needs 64 bits.
    turned : tuple of bool
        For each leaf.
    rows : int
        Rows of a square that a group of ``rows * SIDE`` work items reads at once.

    Returns
    -------
    Kernel
        Parameters as `mapping.map_kernel`, where ``size`` counts the squares' pairs of
        axes, and the length of the first axis comes with the others.  Groups along
        axis 0 of the grid are squares along the last axis, those along axis 1 along the
        one before it, those along axis 2 take the rest in turn.
    """
    indexing = Indexing(INT64 if wide else INT32)
    dtype = indexing.dtype
    size = indexing.number("size")
    names = [f"leaf{k}" for k in range(len(program.leaves))]
    names += [f"out{k}" for k in range(len(program.outputs))]
    offsets = [indexing.number(f"{name}_offset") for name in names]
    lengths = [indexing.number(f"axis_length{axis}") for axis in range(ndim)]
    strides = [indexing.strides(name, "axis", ndim) for name in names]
    batch = nodes.Name("batch", dtype)
    side = integer(SIDE, dtype)
    steps, outer = unravel(batch, ndim - 2, lengths[1 : ndim - 2], "i")
    tiles = [
        nodes.Shared(f"tile{k}", kind, SIDE * PITCH)
        for k, kind in enumerate(program.leaves)
        if turned[k]
    ]
    body: list[nodes.Statement] = list(steps)
    # All loads come before the stores: none waits for another.
    stores: list[nodes.Statement] = []
    for k in range(0, SIDE, rows):
        loaded, stored = _fill(program, turned, k, outer, offsets, lengths, strides)
        body.extend(loaded)
        stores.extend(stored)
    body.extend(stores)
    body.append(nodes.Barrier())
    for k in range(0, SIDE, rows):
        body.append(_take(program, turned, names, k, outer, offsets, lengths, strides))
    body.append(nodes.Barrier())
    item = nodes.Index("local_id", 0, dtype)
    outputs = program.outputs
    dtypes = program.slot_dtypes()
    parameters: tuple[nodes.Value | nodes.Array, ...] = (
        *(nodes.Array(f"leaf{k}", d, apart=True) for k, d in enumerate(program.leaves)),
        *(nodes.Array(f"out{k}", dtypes[s], True, True) for k, s in enumerate(outputs)),
        *(nodes.Value(f"scalar{k}", d) for k, d in enumerate(program.scalars)),
        *indexing.parameters,
    )
    whole: tuple[nodes.Statement, ...] = (
        *tiles,
        nodes.Let("item", item),
        nodes.Let("y", infer.apply("truncate_divide", nodes.Name("item", dtype), side)),
        nodes.Let(
            "x", infer.apply("truncate_remainder", nodes.Name("item", dtype), side)
        ),
        nodes.Let("left", multiply(nodes.Index("group_id", 0, dtype), side)),
        nodes.Let("top", multiply(nodes.Index("group_id", 1, dtype), side)),
        nodes.Let("batches", nodes.Index("group_count", 2, dtype)),
        nodes.For(
            "batch",
            nodes.Index("group_id", 2, dtype),
            size,
            nodes.Name("batches", dtype),
            tuple(body),
        ),
    )
    return simplify(nodes.Kernel("map_turned", parameters, whole))


def _inside(
    row: nodes.Scalar, column: nodes.Scalar, lengths: Sequence[nodes.Scalar]
) -> nodes.Scalar:
    """Whether a place of a square is one of the array."""
    first = infer.apply("less", row, lengths[-2])
    return infer.apply("bitwise_and", first, infer.apply("less", column, lengths[-1]))


def _fill(
    program: Program,
    turned: tuple[bool, ...],
    k: int,
    outer: Sequence[nodes.Scalar],
    offsets: Sequence[nodes.Name],
    lengths: Sequence[nodes.Scalar],
    strides: Sequence[Sequence[nodes.Scalar]],
) -> tuple[list[nodes.Statement], list[nodes.Statement]]:
    """Read some columns of a square, and put them there: neighbours lie along the axis
    before the last."""
    dtype = offsets[0].dtype
    x, y, left, top = (nodes.Name(name, dtype) for name in ("x", "y", "left", "top"))
    down = nodes.Name(f"f{k}_down", dtype)
    row, column = nodes.Name(f"f{k}_row", dtype), nodes.Name(f"f{k}_column", dtype)
    inside = nodes.Name(f"f{k}_inside", BOOL)
    zero = integer(0, dtype)
    loaded: list[nodes.Statement] = [
        nodes.Let(down.name, add(y, integer(k, dtype))),
        nodes.Let(inside.name, _inside(add(top, x), add(left, down), lengths)),
        # Beyond the edge, what is read is not used.
        nodes.Let(row.name, nodes.Select(inside, add(top, x), zero, dtype)),
        nodes.Let(column.name, nodes.Select(inside, add(left, down), zero, dtype)),
    ]
    stored: list[nodes.Statement] = []
    for number, kind in enumerate(program.leaves):
        if turned[number]:
            at = place(offsets[number], [*outer, row, column], strides[number])
            name = nodes.Name(f"f{k}_leaf{number}", kind)
            loaded.append(nodes.Let(name.name, nodes.Load(f"leaf{number}", at, kind)))
            slot = add(multiply(down, integer(PITCH, dtype)), x)
            stored.append(nodes.Store(f"tile{number}", slot, name))
    return loaded, stored


def _take(
    program: Program,
    turned: tuple[bool, ...],
    names: Sequence[str],
    k: int,
    outer: Sequence[nodes.Scalar],
    offsets: Sequence[nodes.Name],
    lengths: Sequence[nodes.Scalar],
    strides: Sequence[Sequence[nodes.Scalar]],
) -> nodes.Statement:
    """Compute some rows of a square."""
    dtype = offsets[0].dtype
    x, y, left, top = (nodes.Name(name, dtype) for name in ("x", "y", "left", "top"))
    down = add(y, integer(k, dtype))
    row, column = add(top, down), add(left, x)
    places = [
        place(offset, [*outer, row, column], steps)
        for offset, steps in zip(offsets, strides, strict=True)
    ]
    slot = add(multiply(x, integer(PITCH, dtype)), down)
    sources = [
        nodes.Load(f"tile{number}", slot, kind)
        if turned[number]
        else nodes.Load(f"leaf{number}", places[number], kind)
        for number, kind in enumerate(program.leaves)
    ]
    reading, computing, results = loads(program, sources, f"t{k}_")
    body = [*reading, *computing]
    stores: list[nodes.Statement] = []
    for number, value in enumerate(results):
        name = nodes.Name(f"t{k}_value{number}", value.dtype)
        body.append(nodes.Let(name.name, value))
        target = places[len(program.leaves) + number]
        stores.append(nodes.Store(names[len(program.leaves) + number], target, name))
    return nodes.If(_inside(row, column, lengths), (*body, *stores))
