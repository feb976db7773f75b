"""A program that ends in a reduction, as a kernel over a grid.

Two ways: each work item reduces for one result (many results), or each group does for
one part of one result, with a tree in shared memory (few results).  Parts are reduced
again by a second launch.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np

from ...kernel import infer, nodes
from ...kernel.rewrite import simplify
from ..bodies import combine_kernel
from ..inline import spliced
from ..program import Program
from ..spec import Op
from .mapping import elements, loads
from .parts import INT32, INT64, Indexing, add, integer, multiply, place, unravel

__all__ = ["Tile", "accumulator", "identity", "reduce_by_group", "reduce_by_item"]

DType = np.dtype[Any]

BLOCK = 64
"""Numbers that a work item adds up before it adds their sum to that of others."""


def accumulator(dtype: DType) -> DType:
    """What a reduction adds up in: half precision is too coarse for it."""
    if dtype.kind == "f" and dtype.itemsize == 2:
        return np.dtype(np.float32)
    return dtype


def identity(op: Op, dtype: DType) -> nodes.Constant:
    """What changes nothing when it is combined."""
    name = op.name
    if dtype.kind == "b":
        return nodes.Constant(name in ("all", "prod", "min"), dtype)
    if name in ("sum", "prod", "any", "all"):
        number = 1 if name in ("prod", "all") else 0
        return nodes.Constant(dtype.type(number).item(), dtype)
    assert name in ("min", "max"), f"{name} has no identity"
    highest = name == "min"
    if dtype.kind in "iu":
        limits = np.iinfo(dtype)
        return nodes.Constant(int(limits.max if highest else limits.min), dtype)
    end = np.inf if highest else -np.inf
    value = complex(end, end) if dtype.kind == "c" else end
    return nodes.Constant(value, dtype)


class _Reduction:
    """What both ways have in common.

    Parameters follow each other: leaves, outputs, the result, scalars, ``count`` of
    results, ``size`` reduced into each, an offset of each operand, lengths of the kept
    axes but the first and of the reduced axes but the first, and strides: of each leaf
    and output along kept and along reduced axes, of the result along kept axes.
    """

    def __init__(
        self, program: Program, kept: int, reduced: int, wide: bool, result: DType
    ) -> None:
        reduction = program.reduction
        assert reduction is not None
        self.program = program
        self.op = reduction.op
        self.dtype = accumulator(reduction.dtype)
        self.result = result
        self.kept = kept
        self.reduced = reduced
        self.indexing = indexing = Indexing(INT64 if wide else INT32)
        self.count = indexing.number("count")
        self.size = indexing.number("size")
        names = [f"leaf{k}" for k in range(len(program.leaves))]
        names += [f"out{k}" for k in range(len(program.outputs))]
        self.names = names
        self.offsets = [indexing.number(f"{n}_offset") for n in (*names, "result")]
        self.kept_lengths = indexing.lengths("kept", kept)
        self.lengths = indexing.lengths("reduced", reduced)
        self.kept_strides = [indexing.strides(n, "kept", kept) for n in names]
        self.strides = [indexing.strides(n, "reduced", reduced) for n in names]
        self.result_strides = indexing.strides("result", "kept", kept)
        self.acc = nodes.Name("accumulated", self.dtype)

    def kernel(self, name: str, body: list[nodes.Statement]) -> nodes.Kernel:
        program = self.program
        dtypes = program.slot_dtypes()
        leaves = [
            nodes.Array(f"leaf{k}", d, apart=True) for k, d in enumerate(program.leaves)
        ]
        outputs = [
            nodes.Array(f"out{k}", dtypes[slot], True, True)
            for k, slot in enumerate(program.outputs)
        ]
        scalars = [nodes.Value(f"scalar{k}", d) for k, d in enumerate(program.scalars)]
        parameters: tuple[nodes.Value | nodes.Array, ...] = (
            *leaves,
            *outputs,
            nodes.Array("result", self.result, True, True),
            *scalars,
            *self.indexing.parameters,
        )
        return simplify(nodes.Kernel(name, parameters, tuple(body)))

    def bases(self, flat: nodes.Scalar) -> list[nodes.Statement]:
        """Where the elements of one result begin, in each operand."""
        steps, indices = unravel(flat, self.kept, self.kept_lengths, "k")
        rows = [*self.kept_strides, self.result_strides]
        for name, offset, strides in zip(
            (*self.names, "result"), self.offsets, rows, strict=True
        ):
            found = place(offset, indices, strides)
            steps.append(nodes.Let(f"{name}_base", found))
        return steps

    def steps(
        self, start: nodes.Scalar, stop: nodes.Scalar, stride: nodes.Scalar, ahead: int
    ) -> list[nodes.Statement]:
        """Take the elements in from ``start`` on, at first ``ahead`` at a time.

        A long sum loses digits with each number: every `BLOCK` numbers are summed on
        their own.
        """
        dtype = self.indexing.dtype
        at = nodes.Name("at", dtype)
        begin: list[nodes.Statement] = [nodes.Let("at", start)]
        if self.op.name != "sum" or self.dtype.kind not in "fc":
            return [*begin, *self.walk(stop, stride, ahead)]
        total = nodes.Name("total", self.dtype)
        zero = identity(self.op, self.dtype)
        block = multiply(integer(BLOCK, dtype), stride)
        many = infer.apply("less", block, infer.apply("subtract", stop, at))
        limit = nodes.Name("limit", dtype)
        body = (
            nodes.Let(limit.name, nodes.Select(many, add(at, block), stop, dtype)),
            nodes.Assign(self.acc.name, zero),
            *self.walk(limit, stride, ahead),
            *self.combine(self.acc, "t_", total),
        )
        more = infer.apply("less", at, stop)
        begin += [nodes.Let(total.name, zero), nodes.While(more, body)]
        return [*begin, nodes.Assign(self.acc.name, total)]

    def walk(
        self, stop: nodes.Scalar, stride: nodes.Scalar, ahead: int
    ) -> list[nodes.Statement]:
        """Take in the elements from ``at`` on."""
        dtype = self.indexing.dtype
        at = nodes.Name("at", dtype)
        found: list[nodes.Statement] = []
        for count in (ahead, 1) if ahead > 1 else (1,):
            reading: list[nodes.Statement] = []
            rest: list[nodes.Statement] = []
            last: nodes.Scalar = at
            for k in range(count):
                mark = f"e{k}_" if count > 1 else ""
                if k:
                    further = multiply(integer(k, dtype), stride)
                    last = nodes.Name(f"{mark}at", dtype)
                    reading.append(nodes.Let(last.name, add(at, further)))
                loaded, taken = self.step(last, mark)
                reading += loaded
                rest += taken
            leap = multiply(integer(count, dtype), stride)
            # The compiler may turn this into loads that do not wait for each other.
            end = add(at, multiply(integer(count - 1, dtype), stride))
            more = infer.apply("less", end if count > 1 else at, stop)
            body = (*reading, *rest, nodes.Assign("at", add(at, leap)))
            found.append(nodes.While(more, body))
        return found

    def step(
        self, flat: nodes.Scalar, mark: str
    ) -> tuple[list[nodes.Statement], list[nodes.Statement]]:
        """Read one more element, and take it in."""
        reading, indices = unravel(flat, self.reduced, self.lengths, f"{mark}r")
        places = [
            place(nodes.Name(f"{name}_base", self.indexing.dtype), indices, strides)
            for name, strides in zip(self.names, self.strides, strict=True)
        ]
        loaded, computed, results = loads(
            self.program, elements(self.program, places), mark
        )
        steps = [*computed]
        *outputs, value = results
        first = len(self.program.leaves)
        stored = [
            nodes.Name(f"{mark}value{k}", output.dtype)
            for k, output in enumerate(outputs)
        ]
        for name, output in zip(stored, outputs, strict=True):
            steps.append(nodes.Let(name.name, output))
        for k, name in enumerate(stored):
            steps.append(nodes.Store(f"out{k}", places[first + k], name))
        taken = nodes.Name(f"{mark}taken", self.dtype)
        steps.append(nodes.Let(taken.name, infer.convert(value, self.dtype)))
        steps.extend(self.combine(taken, f"{mark}c_"))
        return [*reading, *loaded], steps

    def combine(
        self, other: nodes.Scalar, prefix: str, into: nodes.Name | None = None
    ) -> list[nodes.Statement]:
        target = into or self.acc
        kernel = combine_kernel(self.op, self.dtype)
        body, (value,) = spliced(kernel, [target, other], prefix)
        return [*body, nodes.Assign(target.name, value)]

    def begin(self) -> nodes.Statement:
        return nodes.Let(self.acc.name, identity(self.op, self.dtype))

    def end(self, at: nodes.Scalar) -> nodes.Statement:
        return nodes.Store("result", at, infer.convert(self.acc, self.result))


@cache
def reduce_by_item(
    program: Program, kept: int, reduced: int, wide: bool, result: DType
) -> nodes.Kernel:
    """Each work item reduces into results of its own, one after the other."""
    made = _Reduction(program, kept, reduced, wide, result)
    dtype = made.indexing.dtype
    number = nodes.Name("number", dtype)
    inner = made.steps(integer(0, dtype), made.size, integer(1, dtype), 1)
    body = [*made.bases(number), made.begin(), *inner]
    body.append(made.end(nodes.Name("result_base", dtype)))
    start = nodes.Index("global_id", 0, dtype)
    stride = nodes.Name("stride", dtype)
    return made.kernel(
        "reduce_by_item",
        [
            nodes.Let("stride", nodes.Index("global_size", 0, dtype)),
            nodes.For("number", start, made.count, stride, tuple(body)),
        ],
    )


@dataclass(frozen=True, slots=True)
class Tile:
    """How the work items of a group are laid out: ``width`` results side by side, each
    reduced by ``height`` items (a power of 2).

    ``along`` says that neighbours reduce for the same result: where the reduced
    elements are neighbours in memory, rather than the results.  An item reads ``ahead``
    elements before it combines them.
    """

    width: int
    height: int
    along: bool
    ahead: int

    @property
    def items(self) -> int:
        """Work items of a group."""
        return self.width * self.height


@cache
def reduce_by_group(
    program: Program, kept: int, reduced: int, wide: bool, tile: Tile, result: DType
) -> nodes.Kernel:
    """Each group reduces a part of some results: groups along axis 0 of the grid are
    the results, ``tile.width`` at a time (CUDA takes many groups along that axis
    alone), those along axis 1 the parts.

    Part ``p`` of a result is stored ``p`` elements behind the place of the result:
    where there are several parts, results lie as far apart as there are parts.
    """
    made = _Reduction(program, kept, reduced, wide, result)
    dtype = made.indexing.dtype
    names = ("item", "column", "lane", "part", "parts", "number", "start", "stride")
    item, column, lane, part, parts, number, start, stride = (
        nodes.Name(name, dtype) for name in names
    )
    inner = integer(tile.height if tile.along else tile.width, dtype)
    quotient = infer.apply("truncate_divide", item, inner)
    remainder = infer.apply("truncate_remainder", item, inner)
    height, width = integer(tile.height, dtype), integer(tile.width, dtype)
    first = multiply(nodes.Index("group_id", 0, dtype), width)
    wanted = add(first, column)
    size: nodes.Scalar = made.size
    inside: nodes.Scalar | None = None
    begin: list[nodes.Statement] = []
    if tile.width > 1:  # the last group may have columns too many
        begin.append(nodes.Let("wanted", wanted))
        wanted = nodes.Name("wanted", dtype)
        begin.append(nodes.Let("inside", infer.apply("less", wanted, made.count)))
        inside = nodes.Name("inside", np.dtype(np.bool_))
        zero = integer(0, dtype)
        wanted = nodes.Select(inside, wanted, zero, dtype)
        size = nodes.Name("own_size", dtype)
        chosen = nodes.Select(inside, made.size, zero, dtype)
        begin.append(nodes.Let("own_size", chosen))
    body: list[nodes.Statement] = [
        nodes.Shared("tree", made.dtype, tile.items),
        nodes.Let("item", nodes.Index("local_id", 0, dtype)),
        nodes.Let("column", quotient if tile.along else remainder),
        nodes.Let("lane", remainder if tile.along else quotient),
        nodes.Let("part", nodes.Index("group_id", 1, dtype)),
        nodes.Let("parts", nodes.Index("group_count", 1, dtype)),
        *begin,
        nodes.Let("number", wanted),
        *made.bases(number),
        made.begin(),
        nodes.Let("start", add(multiply(part, height), lane)),
        nodes.Let("stride", multiply(parts, height)),
        *made.steps(start, size, stride, tile.ahead),
    ]
    body.append(nodes.Let("own", add(multiply(lane, width), column)))
    own = nodes.Name("own", dtype)
    body += [nodes.Store("tree", own, made.acc), nodes.Barrier()]
    half = tile.height // 2
    while half:
        at = add(own, integer(half * tile.width, dtype))
        name = nodes.Name(f"other{half}", made.dtype)
        combined = [
            nodes.Let(name.name, nodes.Load("tree", at, made.dtype)),
            *made.combine(name, f"c{half}_"),
            nodes.Store("tree", own, made.acc),
        ]
        below = infer.apply("less", lane, integer(half, dtype))
        body += [nodes.If(below, tuple(combined)), nodes.Barrier()]
        half //= 2
    stores = infer.apply("equal", lane, integer(0, dtype))
    if inside is not None:
        stores = infer.apply("bitwise_and", stores, inside)
    at = add(nodes.Name("result_base", dtype), part)
    body.append(nodes.If(stores, (made.end(at),)))
    return made.kernel("reduce_by_group", body)
