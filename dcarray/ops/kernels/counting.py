"""Kernels that count how often numbers are there."""

from __future__ import annotations

from functools import cache

import numpy as np

from ...kernel import nodes
from ...kernel.grid import atomic_add, global_id, global_size
from ...kernel.language import Scalar
from .parts import INT32, INT64
from .searching import array, built

__all__ = ["count_kernel", "weigh_kernel"]

FLOAT64 = np.dtype(np.float64)


@cache
def count_kernel() -> nodes.Kernel:
    """Parameters are numbers, the counts, and how many numbers there are."""

    def count(numbers: Scalar, counts: Scalar, size: Scalar) -> None:
        for k in range(global_id(0), size, global_size(0)):
            atomic_add(counts, numbers[k], 1)

    return built(count, array(INT64), array(INT32, True), numbers=1)


@cache
def weigh_kernel() -> nodes.Kernel:
    """Parameters are numbers, weights, their sums, and how many numbers there are."""

    def weigh(numbers: Scalar, weights: Scalar, sums: Scalar, size: Scalar) -> None:
        for k in range(global_id(0), size, global_size(0)):
            atomic_add(sums, numbers[k], weights[k])

    return built(weigh, array(INT64), array(FLOAT64), array(FLOAT64, True), numbers=1)
