"""Small pieces of IR from which kernels are put together."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ...kernel import infer, nodes

__all__ = ["Indexing", "add", "integer", "multiply", "unravel"]

DType = np.dtype[Any]

INT32 = np.dtype(np.int32)
INT64 = np.dtype(np.int64)


def integer(value: int, dtype: DType) -> nodes.Constant:
    """A literal."""
    return nodes.Constant(value, dtype)


def add(x: nodes.Scalar, y: nodes.Scalar) -> nodes.Scalar:
    """``x + y``; nothing for a literal 0."""
    for one, other in ((x, y), (y, x)):
        if isinstance(one, nodes.Constant) and one.value == 0:
            return other
    return infer.apply("add", x, y)


def multiply(x: nodes.Scalar, y: nodes.Scalar) -> nodes.Scalar:
    """``x * y``."""
    return infer.apply("multiply", x, y)


def unravel(
    flat: nodes.Scalar, ndim: int, lengths: Sequence[nodes.Scalar], prefix: str
) -> tuple[list[nodes.Statement], list[nodes.Scalar]]:
    """The indices along ``ndim`` axes of a flat one, in C order.

    ``lengths`` are those of all axes but the first.
    """
    if not ndim:
        return [], []
    statements: list[nodes.Statement] = []
    indices: list[nodes.Scalar] = []
    rest = flat
    for place in range(len(lengths), 0, -1):
        length = lengths[place - 1]
        quotient = nodes.Name(f"{prefix}{place}_rest", flat.dtype)
        remainder = nodes.Name(f"{prefix}{place}", flat.dtype)
        divided = infer.apply("truncate_divide", rest, length)
        statements.append(nodes.Let(quotient.name, divided))
        taken = infer.apply("subtract", rest, multiply(quotient, length))
        statements.append(nodes.Let(remainder.name, taken))
        indices.append(remainder)
        rest = quotient
    indices.append(rest)
    return statements, indices[::-1]


class Indexing:
    """Names of the parameters that say where the elements of operands lie.

    ``group`` tells sets of axes apart.  All of them count elements, not bytes.
    """

    def __init__(self, dtype: DType) -> None:
        self.dtype = dtype
        self.parameters: list[nodes.Value] = []

    def number(self, name: str) -> nodes.Name:
        """A new parameter."""
        self.parameters.append(nodes.Value(name, self.dtype))
        return nodes.Name(name, self.dtype)

    def lengths(self, group: str, ndim: int) -> list[nodes.Scalar]:
        """Lengths of all axes but the first."""
        return [self.number(f"{group}_length{axis}") for axis in range(1, ndim)]

    def strides(self, operand: str, group: str, ndim: int) -> list[nodes.Scalar]:
        """Strides of an operand along the axes."""
        return [self.number(f"{operand}_{group}_stride{axis}") for axis in range(ndim)]


def place(
    offset: nodes.Scalar,
    indices: Sequence[nodes.Scalar],
    strides: Sequence[nodes.Scalar],
) -> nodes.Scalar:
    """``offset + sum(index * stride)``."""
    found = offset
    for index, stride in zip(indices, strides, strict=True):
        found = add(found, multiply(index, stride))
    return found
