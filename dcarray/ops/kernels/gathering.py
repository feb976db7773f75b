"""Kernels that read and write elements at places that an array holds.

A place counts elements from an operand's own: the operand is seen with its indexed axes
left out, and a place says how far along those axes the element lies.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np

from ...kernel import infer, nodes
from ...kernel.grid import global_id, global_size
from ...kernel.language import Scalar, truncate_divide, truncate_remainder
from ...kernel.rewrite import simplify
from ...kernel.verify import verify
from .parts import INT32, INT64, Indexing, add, place, unravel
from .searching import array, built

__all__ = [
    "carrier",
    "claim_kernel",
    "coordinate_kernel",
    "gather_kernel",
    "places_kernel",
    "scatter_kernel",
    "turns_kernel",
]

DType = np.dtype[Any]


# --------------------------------------------------------------- reading and writing
def carrier(dtype: DType) -> DType:
    """The dtype by which elements are carried from place to place: one for each size,
    so that few kernels do."""
    return dtype if dtype.itemsize > 8 else np.dtype(f"u{dtype.itemsize}")


class _Walk:
    """A walk over all places.

    Parameters are arrays, then ``size``, an offset of each operand, lengths of all axes
    but the first, and strides of each operand along all axes.
    """

    def __init__(self, operands: tuple[str, ...], ndim: int, wide: bool) -> None:
        indexing = Indexing(INT64 if wide else INT32)
        self.indexing = indexing
        self.size = indexing.number("size")
        offsets = [indexing.number(f"{name}_offset") for name in operands]
        lengths = indexing.lengths("axis", ndim)
        self.flat = nodes.Name("flat", indexing.dtype)
        self.steps, indices = unravel(self.flat, ndim, lengths, "i")
        self.at = {
            name: place(offset, indices, indexing.strides(name, "axis", ndim))
            for name, offset in zip(operands, offsets, strict=True)
        }

    def displaced(self, name: str) -> nodes.Scalar:
        """An operand's index, moved by the place that belongs to this step."""
        return add(self.at[name], nodes.Load("places", self.at["places"], INT64))

    def kernel(
        self,
        name: str,
        arrays: tuple[nodes.Array, ...],
        last: tuple[nodes.Statement, ...],
    ) -> nodes.Kernel:
        dtype = self.indexing.dtype
        start = nodes.Index("global_id", 0, dtype)
        stride = nodes.Name("stride", dtype)
        body: nodes.Body = (
            nodes.Let("stride", nodes.Index("global_size", 0, dtype)),
            nodes.For("flat", start, self.size, stride, (*self.steps, *last)),
        )
        parameters: tuple[nodes.Value | nodes.Array, ...] = (
            *arrays,
            *self.indexing.parameters,
        )
        return simplify(verify(nodes.Kernel(name, parameters, body)))


@cache
def gather_kernel(dtype: DType, ndim: int, wide: bool) -> nodes.Kernel:
    """``out[...] = x[... + places[...]]``; operands are x, places, out."""
    walk = _Walk(("x", "places", "out"), ndim, wide)
    arrays = (
        nodes.Array("x", dtype),
        nodes.Array("places", INT64),
        nodes.Array("out", dtype, True),
    )
    value = nodes.Load("x", walk.displaced("x"), dtype)
    return walk.kernel("gather", arrays, (nodes.Store("out", walk.at["out"], value),))


@cache
def scatter_kernel(dtype: DType, ndim: int, wide: bool, claimed: bool) -> nodes.Kernel:
    """``out[... + places[...]] = x[...]``; operands are x, places, out.

    If ``claimed``, the last array holds for each element of ``out`` the step that
    writes it, of those that would.
    """
    walk = _Walk(("x", "places", "out"), ndim, wide)
    arrays: tuple[nodes.Array, ...] = (
        nodes.Array("x", dtype),
        nodes.Array("places", INT64),
        nodes.Array("out", dtype, True),
    )
    target = nodes.Name("target", INT64)
    value = nodes.Load("x", walk.at["x"], dtype)
    found = nodes.Let("target", infer.convert(walk.displaced("out"), INT64))
    store: nodes.Statement = nodes.Store("out", target, value)
    if claimed:
        arrays = (*arrays, nodes.Array("claims", INT32))
        owner = nodes.Load("claims", target, INT32)
        owns = infer.apply("equal", owner, infer.convert(walk.flat, INT32))
        store = nodes.If(owns, (store,))
    return walk.kernel("scatter", arrays, (found, store))


@cache
def claim_kernel(ndim: int, wide: bool) -> nodes.Kernel:
    """Which step is the last to write an element; operands are places, out."""
    walk = _Walk(("places", "out"), ndim, wide)
    arrays = (nodes.Array("places", INT64), nodes.Array("claims", INT32, True))
    step = infer.convert(walk.flat, INT32)
    target = infer.convert(walk.displaced("out"), INT64)
    return walk.kernel(
        "claim", arrays, (nodes.Atomic("maximum", "claims", target, step),)
    )


# ------------------------------------------------------------------------ the places
@cache
def places_kernel(dtype: DType, mode: str) -> nodes.Kernel:
    """Indices along an axis as places.

    Parameters are the indices, the places, two numbers (whether an index is out of
    bounds, and one that is), and: how many there are, the length of the axis, its
    stride.  ``mode`` is NumPy's: "raise", "wrap" or "clip".
    """
    wraps, clips = mode == "wrap", mode == "clip"

    def places(
        indices: Scalar,
        out: Scalar,
        wrong: Scalar,
        count: Scalar,
        length: Scalar,
        step: Scalar,
    ) -> None:
        for k in range(global_id(0), count, global_size(0)):
            index = np.int64(indices[k])
            if clips:
                found = min(max(index, 0), length - 1)
            else:
                if wraps:
                    index = truncate_remainder(index, length)
                found = index + length if index < 0 else index
                if found < 0 or found >= length:
                    wrong[0] = 1
                    wrong[1] = index
                    found = np.int64(0)
            out[k] = found * step

    return built(
        places, array(dtype), array(INT64, True), array(INT64, True), numbers=3
    )


@cache
def coordinate_kernel() -> nodes.Kernel:
    """The index along one axis of flat positions.

    Parameters are positions, indices, and: how many there are, the elements behind one
    step along the axis, and the length of the axis.
    """

    def coordinate(
        positions: Scalar, out: Scalar, count: Scalar, inner: Scalar, length: Scalar
    ) -> None:
        for k in range(global_id(0), count, global_size(0)):
            out[k] = truncate_remainder(truncate_divide(positions[k], inner), length)

    return built(coordinate, array(INT64), array(INT64, True), numbers=3)


@cache
def turns_kernel(dtype: DType) -> nodes.Kernel:
    """Numbers that count up from 0, and again from 0 after each ``length`` of them.

    Parameters are the numbers, how many there are, and the length.
    """

    def turns(out: Scalar, count: Scalar, length: Scalar) -> None:
        for k in range(global_id(0), count, global_size(0)):
            out[k] = truncate_remainder(k, length)

    return built(turns, array(dtype, True), numbers=2)
