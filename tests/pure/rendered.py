"""A kernel for every elementwise row and signature, by the first operand's dtype."""

from __future__ import annotations

from dataclasses import replace
from functools import cache

from dcarray.kernel.nodes import Kernel
from dcarray.ops import elementwise
from dcarray.ops.kernels.mapping import map_kernel
from dcarray.testing import operands
from dcarray.testing.workbench import single

__all__ = ["CODES", "kernels_of"]

CODES = "?bBhHiIlLqQefdFD"


@cache
def kernels_of(code: str) -> tuple[Kernel, ...]:
    """Kernels with names of their own."""
    found = []
    for op in elementwise.TABLE.values():
        for dtypes in operands.signatures(op):
            if dtypes[0].char == code:
                kernel = map_kernel(single(op, dtypes), 0, False)
                marks = "_".join([f"{d.num}" for d in dtypes])
                found.append(replace(kernel, name=f"{op.name}_{marks}"))
    return tuple(found)
