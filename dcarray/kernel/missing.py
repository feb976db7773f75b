"""Primitives that a dialect lacks, replaced by functions in the kernel language."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from typing import Any

from . import nodes
from .anatomy import (
    copied_sign,
    floating_remainder,
    next_number,
    ones,
    scaled,
    to_nearest,
)
from .elementary import ELEMENTARY
from .formats import HALF
from .lowering import Lowering, Parts
from .verify import between
from .walk import census

__all__ = ["REPLACEMENTS", "replace"]

REPLACEMENTS: dict[str, Callable[..., Any]] = {
    **ELEMENTARY,
    "copysign": copied_sign,
    "fmod": floating_remainder,
    "ldexp": scaled,
    "nextafter": next_number,
    "popcount": ones,
    "rint": to_nearest,
    "round_to_half": HALF.rounded,
}
"""What can be replaced: functions of float32 and float64 (and, for ``popcount``, of
integers) by the name of the primitive."""


def replace(kernel: nodes.Kernel, names: Collection[str]) -> nodes.Kernel:
    """The kernel without the primitives ``names``, all of them in `REPLACEMENTS`.

    It is to be lowered before: the functions take no complex numbers and no halves.
    """
    wanted = {name: REPLACEMENTS[name] for name in names}
    if census(kernel).primitives.isdisjoint(wanted):
        return kernel
    return between(_Replacing(kernel, wanted).run())


class _Replacing(Lowering):
    def __init__(
        self, kernel: nodes.Kernel, wanted: dict[str, Callable[..., Any]]
    ) -> None:
        super().__init__(kernel)
        self.wanted = wanted

    def stays(self, node: nodes.Scalar) -> bool:
        known = type(node) is not nodes.Apply or node.primitive not in self.wanted
        return known and super().stays(node)

    def operation(self, node: nodes.Apply, operands: Sequence[Parts]) -> Parts:
        if node.primitive not in self.wanted:
            return super().operation(node, operands)
        arguments = [part for (part,) in operands]
        return self.call(self.wanted[node.primitive], arguments)
