"""Numbers of 16 bits → singles that hold nothing but such numbers.

Every operation computes in float32 and is rounded afterwards, as NumPy does it.  Only
elements of arrays stay narrow: they are converted where they are loaded and stored.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, TypeAlias

import numpy as np

from ..errors import UnsupportedError
from . import nodes
from .half import bits_to_half, double_to_half, half_to_bits, next_half
from .lowering import Lowering, Parts, convert
from .verify import verify

__all__ = ["lower_narrow"]

DType: TypeAlias = np.dtype[Any]

HALF = np.dtype(np.float16)
SINGLE = np.dtype(np.float32)
DOUBLE = np.dtype(np.float64)

_EXACT = frozenset(
    (
        *("negative", "absolute", "copysign", "fmod"),
        *("floor", "ceil", "trunc", "rint"),
    )
)
"""Operations that give a half for halves without rounding."""
_IN_BITS: dict[str, Callable[..., Any]] = {
    "float_to_bits": half_to_bits,
    "bits_to_float": bits_to_half,
    "nextafter": next_half,
}
"""Operations that are another one in float32."""


def lower_narrow(kernel: nodes.Kernel) -> nodes.Kernel:
    """A kernel that computes with float32 where there was float16.

    The only casts between the two that remain are those of a loaded element and of an
    element to be stored.

    Raises
    ------
    UnsupportedError
        A narrow element is changed in one step.
    """
    return verify(_Narrow(kernel).run())


class _Narrow(Lowering):
    def dtypes(self, dtype: DType) -> tuple[DType, ...]:
        return (_wide(dtype),)

    def constant(self, node: nodes.Constant) -> Parts:
        return (replace(node, dtype=_wide(node.dtype)),)

    def operation(self, node: nodes.Apply, operands: Sequence[Parts]) -> Parts:
        arguments = tuple([part for (part,) in operands])
        narrow = any(item.dtype == HALF for item in (node, *node.arguments))
        if narrow and node.primitive in _IN_BITS:
            return self.call(_IN_BITS[node.primitive], arguments)
        found = nodes.Apply(node.primitive, arguments, _wide(node.dtype))
        if node.dtype != HALF or node.primitive in _EXACT:
            return (found,)
        return (_rounded(found),)

    def cast(self, node: nodes.Cast, operand: Parts) -> Parts:
        (value,) = operand
        source = node.argument.dtype
        if node.dtype != HALF:
            return (convert(value, node.dtype),)
        if source == DOUBLE:
            return self.call(double_to_half, (value,))
        single = convert(value, SINGLE)
        return (single if _fits(source) else _rounded(single),)

    # ------------------------------------------------------------------ arrays
    def load(self, node: nodes.Load, index: nodes.Scalar) -> Parts:
        stored = self.elements(node.array, node.dtype)
        return (convert(nodes.Load(node.array, index, stored), _wide(node.dtype)),)

    def store(self, node: nodes.Store, index: nodes.Scalar, value: Parts) -> None:
        stored = self.elements(node.array, node.value.dtype)
        found = convert(value[0], stored)
        self.statements.append(nodes.Store(node.array, index, found))

    def elements(self, array: str, dtype: DType) -> DType:
        """What an array holds: those that a group shares are not narrow."""
        given = {item.name for item in self.kernel.parameters}
        return dtype if array in given else _wide(dtype)

    def shared(self, node: nodes.Shared) -> nodes.Shared:
        return replace(node, dtype=_wide(node.dtype))

    def atomic(
        self,
        node: nodes.Atomic,
        index: nodes.Scalar,
        value: Parts,
        expected: Parts | None,
    ) -> None:
        if node.value.dtype == HALF:
            what = f"atomic {node.operation} of {node.value.dtype}"
            raise UnsupportedError(f"{self.kernel.name}: {what}")
        super().atomic(node, index, value, expected)


def _wide(dtype: DType) -> DType:
    return SINGLE if dtype == HALF else dtype


def _rounded(value: nodes.Scalar) -> nodes.Scalar:
    return nodes.Apply("round_to_half", (value,), SINGLE)


def _fits(dtype: DType) -> bool:
    """Whether every number of a dtype is a half."""
    return dtype.itemsize == 1
