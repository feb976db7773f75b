"""A program without a reduction, as a kernel over a grid."""

from __future__ import annotations

from functools import cache

from ...kernel import nodes
from ...kernel.rewrite import simplify
from ...kernel.verify import verify
from ..inline import inlined, spliced
from ..program import Program
from .parts import INT32, INT64, Indexing, add, place, unravel

__all__ = ["loads", "map_kernel"]


@cache
def map_kernel(program: Program, ndim: int, wide: bool) -> nodes.Kernel:
    """Every element of the outputs, each by one work item; items take several in turn.

    Parameters
    ----------
    program : Program
        Without a reduction.
    ndim : int
        Axes of the shape; 0 where all operands lie without gaps in the same order.
    wide : bool
        Whether an index needs 64 bits.

    Returns
    -------
    Kernel
        Its parameters are the leaves, the outputs, the scalars, ``size``, an offset of
        each operand (leaves, then outputs), lengths of all axes but the first, and
        strides of each operand along all axes.
    """
    indexing = Indexing(INT64 if wide else INT32)
    size = indexing.number("size")
    flat = nodes.Name("flat", indexing.dtype)
    names = [f"leaf{k}" for k in range(len(program.leaves))]
    names += [f"out{k}" for k in range(len(program.outputs))]
    offsets = [indexing.number(f"{name}_offset") for name in names]
    steps: list[nodes.Statement] = []
    if ndim:
        lengths = indexing.lengths("axis", ndim)
        steps, indices = unravel(flat, ndim, lengths, "i")
        places = [
            place(offset, indices, indexing.strides(name, "axis", ndim))
            for name, offset in zip(names, offsets, strict=True)
        ]
    else:
        places = [add(offset, flat) for offset in offsets]
    statements, results = loads(program, places)
    steps.extend(statements)
    # Every element is read before one is written: an output may be an input.
    outputs = program.outputs
    for k, value in enumerate(results):
        steps.append(nodes.Let(f"value{k}", value))
    first = len(program.leaves)
    for k, value in enumerate(results):
        stored = nodes.Name(f"value{k}", value.dtype)
        steps.append(nodes.Store(f"out{k}", places[first + k], stored))
    start = nodes.Index("global_id", 0, indexing.dtype)
    stride = nodes.Name("stride", indexing.dtype)
    dtypes = program.slot_dtypes()
    parameters: tuple[nodes.Value | nodes.Array, ...] = (
        *(nodes.Array(f"leaf{k}", dtype) for k, dtype in enumerate(program.leaves)),
        *(nodes.Array(f"out{k}", dtypes[s], True) for k, s in enumerate(outputs)),
        *(nodes.Value(f"scalar{k}", dtype) for k, dtype in enumerate(program.scalars)),
        *indexing.parameters,
    )
    body: tuple[nodes.Statement, ...] = (
        nodes.Let("stride", nodes.Index("global_size", 0, indexing.dtype)),
        nodes.For("flat", start, size, stride, tuple(steps)),
    )
    return simplify(verify(nodes.Kernel("map", parameters, body)))


def loads(
    program: Program, places: list[nodes.Scalar]
) -> tuple[list[nodes.Statement], tuple[nodes.Scalar, ...]]:
    """Read the leaves at their places and compute the program's results."""
    statements: list[nodes.Statement] = []
    given: list[nodes.Scalar] = []
    for k, dtype in enumerate(program.leaves):
        name = f"leaf{k}_value"
        statements.append(nodes.Let(name, nodes.Load(f"leaf{k}", places[k], dtype)))
        given.append(nodes.Name(name, dtype))
    given += [nodes.Name(f"scalar{k}", d) for k, d in enumerate(program.scalars)]
    body, results = spliced(inlined(program), given, "b_")
    return [*statements, *body], results
