"""Complex numbers → pairs of real ones.

An array of complex numbers is one of their parts, twice as long: the element at ``i``
is at ``2 * i`` and ``2 * i + 1``, as it lies in memory.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import cache
from typing import Any, TypeAlias

import numpy as np

from ..errors import UnsupportedError
from . import nodes
from .complex_arithmetic import ARITHMETIC
from .complex_functions import FUNCTIONS
from .lowering import Lowering, Parts, convert, involves
from .verify import between

__all__ = ["lower_complex"]

DType: TypeAlias = np.dtype[Any]

BOOL = np.dtype(np.bool_)
INT64 = np.dtype(np.int64)


def lower_complex(kernel: nodes.Kernel) -> nodes.Kernel:
    """A kernel without complex numbers.

    A complex parameter ``z`` becomes ``z_re`` and ``z_im``, a complex result two.

    Raises
    ------
    UnsupportedError
        A complex element is changed in one step by something else than an addition.
    """
    if not involves(kernel, lambda dtype: dtype.kind == "c"):
        return kernel
    return between(_Complex(kernel).run())


class _Complex(Lowering):
    def __init__(self, kernel: nodes.Kernel) -> None:
        super().__init__(kernel)
        self.pairs = {
            node.name
            for node in kernel.parameters
            if isinstance(node, nodes.Array) and node.dtype.kind == "c"
        }

    def dtypes(self, dtype: DType) -> tuple[DType, ...]:
        return (_part(dtype),) * 2 if dtype.kind == "c" else (dtype,)

    def stored(self, dtype: DType) -> DType:
        return _part(dtype) if dtype.kind == "c" else dtype

    def constant(self, node: nodes.Constant) -> Parts:
        if node.dtype.kind != "c":
            return (node,)
        value = complex(node.value)
        part = _part(node.dtype)
        return nodes.Constant(value.real, part), nodes.Constant(value.imag, part)

    def operation(self, node: nodes.Apply, operands: Sequence[Parts]) -> Parts:
        if node.primitive == "make_complex":
            return tuple([convert(part, _part(node.dtype)) for (part,) in operands])
        if not any(len(parts) > 1 for parts in operands):
            return super().operation(node, operands)
        flat = [part for parts in operands for part in parts]
        name = node.primitive
        return self.call(ARITHMETIC.get(name) or FUNCTIONS[name], flat)

    def cast(self, node: nodes.Cast, operand: Parts) -> Parts:
        if node.dtype.kind == "c":
            part = _part(node.dtype)
            imag = operand[1] if len(operand) > 1 else nodes.Constant(0.0, part)
            return convert(operand[0], part), convert(imag, part)
        if len(operand) > 1 and node.dtype == BOOL:
            zero = nodes.Constant(0.0, operand[0].dtype)
            sides = [nodes.Apply("not_equal", (part, zero), BOOL) for part in operand]
            return (nodes.Apply("bitwise_or", tuple(sides), BOOL),)
        return super().cast(node, operand)

    # ------------------------------------------------------------------ arrays
    def places(self, index: nodes.Scalar) -> tuple[nodes.Scalar, nodes.Scalar]:
        """Where the parts of the element at ``index`` are."""
        # Twice an index may be too large for its dtype.
        wide = index if index.dtype.itemsize == 8 else convert(index, INT64)
        two, one = (nodes.Constant(number, wide.dtype) for number in (2, 1))
        first = self.bind("place", nodes.Apply("multiply", (wide, two), wide.dtype))
        return first, nodes.Apply("add", (first, one), wide.dtype)

    def load(self, node: nodes.Load, index: nodes.Scalar) -> Parts:
        if node.dtype.kind != "c":
            return super().load(node, index)
        part = _part(node.dtype)
        return tuple(
            [nodes.Load(node.array, place, part) for place in self.places(index)]
        )

    def store(self, node: nodes.Store, index: nodes.Scalar, value: Parts) -> None:
        if len(value) == 1:
            return super().store(node, index, value)
        for place, part in zip(self.places(index), value, strict=True):
            self.statements.append(nodes.Store(node.array, place, part))

    def shared(self, node: nodes.Shared) -> nodes.Shared:
        if node.dtype.kind != "c":
            return node
        return replace(node, dtype=_part(node.dtype), size=2 * node.size)

    def atomic(
        self,
        node: nodes.Atomic,
        index: nodes.Scalar,
        value: Parts,
        expected: Parts | None,
    ) -> None:
        if len(value) == 1:
            return super().atomic(node, index, value, expected)
        if node.operation != "add":
            what = f"atomic {node.operation} of {node.value.dtype}"
            raise UnsupportedError(f"{self.kernel.name}: {what}")
        names = [""] * 2
        if node.result:
            names = [x.name for x in self.define(node.result, node.value.dtype)]
        for place, part, name in zip(self.places(index), value, names, strict=True):
            self.statements.append(nodes.Atomic("add", node.array, place, part, name))


@cache
def _part(dtype: DType) -> DType:
    """The dtype of the parts of a complex dtype."""
    return np.dtype(f"f{dtype.itemsize // 2}")
