"""Kernels over a grid on the CPU, by NumPy: all work items of some groups in step."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from ...kernel.interpret import interpret
from ...kernel.nodes import Array, Kernel

__all__ = ["run_in_step"]


def run_in_step(
    kernel: Kernel, grid: Sequence[int], group: Sequence[int], arguments: Sequence[Any]
) -> None:
    """Run a kernel; see `GridBackend.run`.  Arrays are NumPy's, of one axis."""
    with np.errstate(all="ignore"):
        given = [
            x if isinstance(p, Array) else np.asarray(p.dtype.type(x))
            for p, x in zip(kernel.parameters, arguments, strict=True)
        ]
    if math.prod(grid):
        interpret(kernel, given, grid, group)
