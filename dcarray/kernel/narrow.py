"""Numbers of 16 and 8 bits → singles that hold nothing but such numbers.

Every operation computes in float32 and is rounded afterwards, as NumPy and ml_dtypes do
it.  Only elements of arrays stay narrow: they are converted where they are loaded and
stored.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, TypeAlias

import numpy as np

from ..errors import UnsupportedError
from . import nodes
from .formats import format_of, is_narrow, rounded_to_odd
from .lowering import Lowering, Parts, convert, involves
from .verify import between

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
"""Operations that give a narrow number for narrow ones without rounding."""


def lower_narrow(kernel: nodes.Kernel) -> nodes.Kernel:
    """A kernel that computes with float32 where there was a narrower dtype.

    The only casts between float16 and float32 that remain are those of a loaded element
    and of an element to be stored.  An array of bfloat16 or of a dtype with 8 bits
    becomes one of unsigned integers, its bits.

    Raises
    ------
    UnsupportedError
        A narrow element is changed in one step, or the kernel has a dtype of ml_dtypes
        of another kind.
    """
    if not involves(kernel, is_narrow):
        return kernel
    return between(_Narrow(kernel).run())


class _Narrow(Lowering):
    def dtypes(self, dtype: DType) -> tuple[DType, ...]:
        return (_wide(dtype),)

    def stored(self, dtype: DType) -> DType:
        if not is_narrow(dtype) or dtype == HALF:
            return dtype
        return np.dtype(f"u{dtype.itemsize}")

    def constant(self, node: nodes.Constant) -> Parts:
        return (nodes.Constant(node.value, _wide(node.dtype)),)

    def operation(self, node: nodes.Apply, operands: Sequence[Parts]) -> Parts:
        arguments = tuple([part for (part,) in operands])
        first = format_of(node.arguments[0].dtype)
        if first is not None and node.primitive == "float_to_bits":
            return self.call(first.to_bits, arguments)
        narrow = format_of(node.dtype)
        if narrow is not None and node.primitive == "bits_to_float":
            return self.call(narrow.from_bits, arguments)
        if narrow is not None and node.primitive == "nextafter":
            return self.call(narrow.following, arguments)
        found = nodes.Apply(node.primitive, arguments, _wide(node.dtype))
        return (found,) if node.primitive in _EXACT else self.rounded(found, node.dtype)

    def rounded(self, value: nodes.Scalar, dtype: DType) -> Parts:
        """A float32 as a number of ``dtype``."""
        narrow = format_of(dtype)
        if narrow is None:
            return (value,)
        if dtype == HALF:
            return (nodes.Apply("round_to_half", (value,), SINGLE),)
        return self.call(narrow.rounded, (value,))

    def cast(self, node: nodes.Cast, operand: Parts) -> Parts:
        (value,) = operand
        if format_of(node.dtype) is None:
            return (convert(value, node.dtype),)
        # ml_dtypes converts to float32 first, and so rounds twice.
        if node.argument.dtype == DOUBLE and node.dtype == HALF:
            (value,) = self.call(rounded_to_odd, (value,))
        return self.rounded(convert(value, SINGLE), node.dtype)

    # ------------------------------------------------------------------ arrays
    def load(self, node: nodes.Load, index: nodes.Scalar) -> Parts:
        given = self.elements(node.array, node.dtype)
        element = nodes.Load(node.array, index, given)
        narrow = format_of(node.dtype)
        if narrow is not None and given.kind == "u":
            return self.call(narrow.from_bits, (element,))
        return (convert(element, _wide(node.dtype)),)

    def store(self, node: nodes.Store, index: nodes.Scalar, value: Parts) -> None:
        given = self.elements(node.array, node.value.dtype)
        narrow = format_of(node.value.dtype)
        if narrow is not None and given.kind == "u":
            value = self.call(narrow.to_bits, value)
        found = convert(value[0], given)
        self.statements.append(nodes.Store(node.array, index, found))

    def elements(self, array: str, dtype: DType) -> DType:
        """What an array holds: those that a group shares are not narrow."""
        given = {item.name for item in self.kernel.parameters}
        return self.stored(dtype) if array in given else _wide(dtype)

    def shared(self, node: nodes.Shared) -> nodes.Shared:
        return replace(node, dtype=_wide(node.dtype))

    def atomic(
        self,
        node: nodes.Atomic,
        index: nodes.Scalar,
        value: Parts,
        expected: Parts | None,
    ) -> None:
        if is_narrow(node.value.dtype):
            what = f"atomic {node.operation} of {node.value.dtype}"
            raise UnsupportedError(f"{self.kernel.name}: {what}")
        super().atomic(node, index, value, expected)


def _wide(dtype: DType) -> DType:
    if not is_narrow(dtype):
        return dtype
    if format_of(dtype) is None:
        raise UnsupportedError(f"kernels do not compute with {dtype}")
    return SINGLE
