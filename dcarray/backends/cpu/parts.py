"""Operations on complex numbers as operations on their real and imaginary parts.

A complex value ``v3`` of a segment is two names, ``v3.re`` and ``v3.im``.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ...kernel.nodes import Apply, Cast, Constant, Let, Name, Scalar, Select
from ...ops.program import Node
from ...render.llvm_scalar import can_cast
from ...render.plan import PARTS, part_dtype
from .same_loops import products_agree

__all__ = ["can_split", "split", "uses_both"]

DType = np.dtype[Any]

_EACH = {
    "add": ("add", "add"),
    "subtract": ("subtract", "subtract"),
    "negative": ("negative", "negative"),
    "positive": ("positive", "positive"),
    "conjugate": ("positive", "negative"),
}
"""What is done to the real, and to the imaginary parts."""


def can_split(node: Node, inputs: Sequence[DType]) -> bool:
    """Whether LLVM computes an operation with complex numbers."""
    if len(node.dtypes) != 1:
        return False
    name, wanted = node.op.name, node.dtypes[0]
    if name in ("real", "imag"):
        return inputs[0].char in "FD" and wanted == part_dtype(inputs[0])
    if wanted.char not in "FD":
        return False
    if name == "cast":
        given = part_dtype(inputs[0]) if inputs[0].kind == "c" else inputs[0]
        return can_cast(given, part_dtype(wanted))
    if name == "where":
        return inputs[0].kind == "b" and inputs[1] == inputs[2] == wanted
    if any(dtype != wanted for dtype in inputs):
        return False
    return name in _EACH or (name in ("multiply", "square") and products_agree(wanted))


def split(
    node: Node, slots: Sequence[int], dtypes: Sequence[DType], name: str
) -> list[Let]:
    """The statements that give ``name``, or its parts, their values."""
    operation, wanted = node.op.name, node.dtypes[0]
    given = [_parts(f"v{slot}", dtypes[slot]) for slot in slots]
    if operation in ("real", "imag"):
        return [Let(name, given[0][operation == "imag"])]
    part = part_dtype(wanted)
    found: tuple[Scalar, Scalar]
    if operation == "cast":
        one, two = given[0]
        found = _cast(one, part), _cast(two, part)
    elif operation == "where":
        test = Name(f"v{slots[0]}", dtypes[slots[0]])
        (a, b), (c, d) = given[1:]
        found = Select(test, a, c, part), Select(test, b, d, part)
    elif operation in _EACH:
        rows = zip(_EACH[operation], zip(*given, strict=True), strict=True)
        one, two = [Apply(verb, operands, part) for verb, operands in rows]
        found = one, two
    else:
        (a, b), (c, d) = given[0], given[-1]
        # NumPy's order: the second product is rounded, the first is not.
        cross = Apply("negative", (Apply("multiply", (b, d), part),), part)
        other = Apply("multiply", (b, c), part)
        found = Apply("fma", (a, c, cross), part), Apply("fma", (a, d, other), part)
    return [Let(name + end, value) for end, value in zip(PARTS, found, strict=True)]


def _parts(name: str, dtype: DType) -> tuple[Scalar, Scalar]:
    """Real and imaginary part of a value; a real one has a zero."""
    if dtype.kind != "c":
        return Name(name, dtype), Constant(0, dtype)
    part = part_dtype(dtype)
    return Name(name + PARTS[0], part), Name(name + PARTS[1], part)


def _cast(value: Scalar, dtype: DType) -> Scalar:
    if value.dtype == dtype:
        return value
    if isinstance(value, Constant):
        return Constant(0, dtype)
    return Cast(value, dtype)


def uses_both(readers: Sequence[Node]) -> bool:
    """Whether both parts of a complex number are wanted: LLVM leaves out what nobody
    reads, and the flags that it would have raised."""
    names = {node.op.name for node in readers}
    return bool(names - {"real", "imag"}) or names == {"real", "imag"}
