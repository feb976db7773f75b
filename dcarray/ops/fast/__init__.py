"""Elementary functions for ``config(math="fast")``: bodies of fused multiply-adds.

On the CPU a function is NumPy's own loop by default, for NumPy's bits.  A row from here
stands for the same function, but has a body that is inlined with what is around it and
computed for many elements at once, within 2 units in the last place.  Bodies are
functions of float32 and float64 in the kernel language.  They return

* the value;
* optionally, whether NumPy would raise a floating-point flag that the arithmetic of the
  body does not raise: where flags are watched, NumPy computes the block again;
* optionally, whether the value is none, so that NumPy has to compute the block.

They compare by integers where a NaN may come along, so as to raise no flag for it.
Devices other than the CPU have their own functions, and take a row for the usual one.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np

from ...config import current
from ..spec import Op

__all__ = ["FAR_OFF", "FUNCTIONS", "fast_row", "in_force"]

FUNCTIONS = frozenset(
    "exp exp2 expm1 log log2 log10 log1p sin cos tan arcsin arccos arctan arctan2 sinh "
    "cosh tanh arcsinh arccosh arctanh cbrt hypot power erf".split()
)
"""Names of the operations that have such a body."""

ULP = 2.0

FAR_OFF = frozenset(("tan",))
"""Those of which NumPy's loop of float32 is farther off than that on some processors:
what NumPy has to compute is asked of the loop of float64, and rounded."""


SHORT = frozenset((-1, 0, 0.5, 1, 2))
"""Numbers as exponents for which NumPy's loop does not compute a power."""


def in_force(op: Op, device: str, last: Any = None) -> Op:
    """The row that the settings ask for, for operands on a device; the last of them
    may be a number."""
    if op.fast or device not in ("auto", "cpu") or current().math == "exact":
        return op
    if op.name == "power" and isinstance(last, (int, float, np.number)):
        return op if last in SHORT else fast_row(op)
    return fast_row(op)


@cache
def fast_row(op: Op) -> Op:
    """The row that stands for an operation of `FUNCTIONS`."""
    from .table import BODIES  # loaded by those who ask for it

    return Op(
        op.name,
        op.kind,
        op.numpy,
        op.inputs,
        op.outputs,
        op.body,
        op.composed,
        # The other device may be off the value on the other side.
        ulp=op.ulp + ULP,
        fast=BODIES[op.name],
        resolver=op.resolver,
    )
