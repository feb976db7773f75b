"""A program without a reduction, as a kernel over a grid."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache

import numpy as np

from ...kernel import infer, nodes
from ...kernel.rewrite import simplify
from ..inline import inlined, spliced
from ..program import Program
from .parts import INT32, INT64, Indexing, add, integer, multiply, place, unravel

__all__ = ["elements", "loads", "map_kernel"]

BOOL = np.dtype(np.bool_)


@cache
def map_kernel(program: Program, ndim: int, wide: bool, ahead: int = 1) -> nodes.Kernel:
    """Every element of the outputs, each by one work item; items take several in turn.

    Parameters
    ----------
    program : Program
        Without a reduction.
    ndim : int
        Axes of the shape; 0 where all operands lie without gaps in the same order.
    wide : bool
        Whether an index needs 64 bits.
    ahead : int
        Elements that a work item reads before it computes: a device that hides the time
        of one load behind the next one is faster with some.

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
    lengths = indexing.lengths("axis", ndim)
    strides = [indexing.strides(name, "axis", ndim) for name in names]
    stride = nodes.Name("stride", indexing.dtype)
    reading: list[nodes.Statement] = []
    computing: list[nodes.Statement] = []
    storing: list[nodes.Statement] = []
    for k in range(ahead):
        mark = f"e{k}_" if ahead > 1 else ""
        at: nodes.Scalar = flat
        inside: nodes.Scalar | None = None
        if k:  # beyond the end, the first element is read again
            wanted = nodes.Name(f"{mark}wanted", indexing.dtype)
            further = multiply(integer(k, indexing.dtype), stride)
            reading.append(nodes.Let(wanted.name, add(flat, further)))
            inside = nodes.Name(f"{mark}inside", BOOL)
            found = infer.apply("less", wanted, size)
            reading.append(nodes.Let(inside.name, found))
            at = nodes.Name(f"{mark}at", indexing.dtype)
            chosen = nodes.Select(inside, wanted, flat, indexing.dtype)
            reading.append(nodes.Let(at.name, chosen))
        if ndim:
            steps, indices = unravel(at, ndim, lengths, f"{mark}i")
            reading.extend(steps)
            places = [
                place(offset, indices, row)
                for offset, row in zip(offsets, strides, strict=True)
            ]
        else:
            places = [add(offset, at) for offset in offsets]
        loaded, computed, results = loads(program, elements(program, places), mark)
        reading.extend(loaded)
        computing.extend(computed)
        # Every element is read before one is written: an output may be an input.
        stores: list[nodes.Statement] = []
        for number, value in enumerate(results):
            name = nodes.Name(f"{mark}value{number}", value.dtype)
            computing.append(nodes.Let(name.name, value))
            target = places[len(program.leaves) + number]
            stores.append(nodes.Store(f"out{number}", target, name))
        storing += stores if inside is None else [nodes.If(inside, tuple(stores))]
    start = nodes.Index("global_id", 0, indexing.dtype)
    outputs = program.outputs
    dtypes = program.slot_dtypes()
    parameters: tuple[nodes.Value | nodes.Array, ...] = (
        *(
            nodes.Array(f"leaf{k}", dtype, apart=True)
            for k, dtype in enumerate(program.leaves)
        ),
        *(nodes.Array(f"out{k}", dtypes[s], True, True) for k, s in enumerate(outputs)),
        *(nodes.Value(f"scalar{k}", dtype) for k, dtype in enumerate(program.scalars)),
        *indexing.parameters,
    )
    body: tuple[nodes.Statement, ...] = (
        nodes.Let("stride", nodes.Index("global_size", 0, indexing.dtype)),
        nodes.Let("leap", multiply(integer(ahead, indexing.dtype), stride)),
        nodes.For(
            "flat",
            start,
            size,
            nodes.Name("leap", indexing.dtype),
            (*reading, *computing, *storing),
        ),
    )
    return simplify(nodes.Kernel("map", parameters, body))


def elements(program: Program, places: Sequence[nodes.Scalar]) -> list[nodes.Scalar]:
    """The leaves' elements at these places."""
    return [
        nodes.Load(f"leaf{k}", at, dtype)
        for k, (at, dtype) in enumerate(
            zip(places[: len(program.leaves)], program.leaves, strict=True)
        )
    ]


def loads(
    program: Program, sources: Sequence[nodes.Scalar], mark: str
) -> tuple[
    list[nodes.Statement], tuple[nodes.Statement, ...], tuple[nodes.Scalar, ...]
]:
    """Statements that read the leaves from ``sources``, those that compute the
    program's results, and the results.  ``mark`` begins the names."""
    reading: list[nodes.Statement] = []
    given: list[nodes.Scalar] = []
    for k, (source, dtype) in enumerate(zip(sources, program.leaves, strict=True)):
        name = f"{mark}leaf{k}_value"
        reading.append(nodes.Let(name, source))
        given.append(nodes.Name(name, dtype))
    given += [nodes.Name(f"scalar{k}", d) for k, d in enumerate(program.scalars)]
    body, results = spliced(inlined(program), given, f"{mark}b_")
    return reading, body, results
