"""A program without a reduction, as a kernel in which a work item takes runs: elements
that lie side by side in every operand, and that a device reads and writes at once."""

from __future__ import annotations

from functools import cache

from ...kernel import nodes
from ...kernel.rewrite import simplify
from ...kernel.verify import verify
from ..program import Program
from .mapping import elements, loads
from .parts import INT32, INT64, Indexing, add, integer, multiply, place, unravel

__all__ = ["runs_kernel"]


@cache
def runs_kernel(
    program: Program, ndim: int, wide: bool, run: int, dense: tuple[bool, ...]
) -> nodes.Kernel:
    """Runs of elements, each by one work item; items take several in turn.

    Parameters
    ----------
    program : Program
        Without a reduction.
    ndim : int
        Axes of the shape, at least one.
    wide : bool
        Whether an index needs 64 bits.
    run : int
        Elements of a run, a power of 2.
    dense : tuple of bool
        For each operand (leaves, then outputs) whether neighbours along the last axis
        are neighbours in memory; they are one and the same element otherwise.  The
        former ones lie at whole numbers of runs.

    Returns
    -------
    Kernel
        Its parameters are the leaves, the outputs, the scalars, ``size`` in runs,
        ``rest`` (elements behind the last run, where there is but one axis), an offset
        of each operand, lengths of all axes but the first, and strides of each operand
        along all axes but the last.  What belongs to dense operands, and the length of
        the last axis, is counted in runs.
    """
    indexing = Indexing(INT64 if wide else INT32)
    dtype = indexing.dtype
    size, rest = indexing.number("size"), indexing.number("rest")
    names = [f"leaf{k}" for k in range(len(program.leaves))]
    names += [f"out{k}" for k in range(len(program.outputs))]
    offsets = [indexing.number(f"{name}_offset") for name in names]
    lengths = indexing.lengths("axis", ndim)
    strides = [indexing.strides(name, "axis", ndim - 1) for name in names]
    flat = nodes.Name("flat", dtype)
    each = integer(run, dtype)
    steps, indices = unravel(flat, ndim, lengths, "i")
    body: list[nodes.Statement] = list(steps)
    bases: list[nodes.Scalar] = []
    for name, offset, row, together in zip(names, offsets, strides, dense, strict=True):
        found = place(offset, indices[:-1], row)
        if together:
            found = multiply(add(found, indices[-1]), each)
        body.append(nodes.Let(f"{name}_at", found))
        bases.append(nodes.Name(f"{name}_at", dtype))
    reading: list[nodes.Statement] = []
    computing: list[nodes.Statement] = []
    storing: list[nodes.Statement] = []
    for k in range(run):
        step = integer(k, dtype)
        places = [
            add(base, step) if one else base
            for base, one in zip(bases, dense, strict=True)
        ]
        read, computed, stored = _element(program, places, f"e{k}_")
        reading += read
        computing += computed
        storing += stored
    body += [*reading, *computing, *storing]
    whole = nodes.For(
        "flat",
        nodes.Index("global_id", 0, dtype),
        size,
        nodes.Name("stride", dtype),
        tuple(body),
    )
    end: tuple[nodes.Statement, ...] = ()
    if ndim == 1:
        end = _rest(program, names, offsets, dense, size, rest, each)
    slots = program.slot_dtypes()
    leaves, outputs = len(program.leaves), program.outputs
    aligned = [run if one else 1 for one in dense]
    parameters: tuple[nodes.Value | nodes.Array, ...] = (
        *(
            nodes.Array(names[k], one, apart=True, run=aligned[k])
            for k, one in enumerate(program.leaves)
        ),
        *(
            nodes.Array(names[leaves + k], slots[s], True, True, aligned[leaves + k])
            for k, s in enumerate(outputs)
        ),
        *(nodes.Value(f"scalar{k}", one) for k, one in enumerate(program.scalars)),
        *indexing.parameters,
    )
    first = nodes.Let("stride", nodes.Index("global_size", 0, dtype))
    return simplify(verify(nodes.Kernel("map_runs", parameters, (first, whole, *end))))


def _rest(
    program: Program,
    names: list[str],
    offsets: list[nodes.Name],
    dense: tuple[bool, ...],
    size: nodes.Scalar,
    rest: nodes.Scalar,
    each: nodes.Scalar,
) -> tuple[nodes.Statement, ...]:
    """The elements behind the last run, one by one."""
    last = nodes.Name("last", size.dtype)
    places = [
        add(multiply(add(offset, size), each), last) if together else offset
        for offset, together in zip(offsets, dense, strict=True)
    ]
    read, computed, stored = _element(program, places, "r_")
    start = nodes.Index("global_id", 0, size.dtype)
    stride = nodes.Name("stride", size.dtype)
    body = (*read, *computed, *stored)
    return (nodes.For("last", start, rest, stride, body),)


def _element(
    program: Program, places: list[nodes.Scalar], mark: str
) -> tuple[list[nodes.Statement], list[nodes.Statement], list[nodes.Statement]]:
    """What reads, computes and stores one element."""
    reading, body, results = loads(program, elements(program, places), mark)
    computing = [*body]
    storing: list[nodes.Statement] = []
    for number, value in enumerate(results):
        name = nodes.Name(f"{mark}value{number}", value.dtype)
        computing.append(nodes.Let(name.name, value))
        target = places[len(program.leaves) + number]
        storing.append(nodes.Store(f"out{number}", target, name))
    return reading, computing, storing
