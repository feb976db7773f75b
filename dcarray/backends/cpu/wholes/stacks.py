"""Products of stacks of small matrices, on all cores.

NumPy gives BLAS one pair of matrices after the other, and they are too small for more
than one thread.  Here each thread has a part of the stack, in which NumPy does the
same.
"""

from __future__ import annotations

import functools
import math
from typing import Any

import numpy as np

from ..threads import available_threads, run_slices
from .radix import rented

__all__ = ["product"]

HostArray = np.ndarray[Any, Any]

EACH = range(1 << 12, (1 << 18) + 1)
"""Products of elements in those of two matrices that BLAS does on one thread, and not
waiting for memory that it hands out to one thread at a time."""

LEAST = 1 << 25
"""Products of elements in all from which threads share them: some ms."""

PIECES = 8
"""Parts of a stack for each thread."""


def product(x: HostArray, y: HostArray) -> HostArray | None:
    """``x @ y`` of arrays of two axes or more; None where NumPy does it as fast."""
    threads = available_threads()
    dtype = x.dtype
    if threads < 2 or dtype != y.dtype or dtype.char not in "fd" or not dtype.isnative:
        return None
    (rows, length), columns = x.shape[-2:], y.shape[-1]
    each = rows * length * columns
    if length != y.shape[-2] or each not in EACH:
        return None
    try:
        stack = np.broadcast_shapes(x.shape[:-2], y.shape[:-2])
    except ValueError:
        return None  # NumPy says it in its words
    if each * math.prod(stack) < LEAST or np.geterr()["under"] != "ignore":
        return None
    orders = _order(x), _order(y)
    if orders[0] is None or orders[1] is None:
        return None
    from ..neural.blas import blas_threads, one_blas_thread  # who uses it pays for it

    before = blas_threads()
    if before is None or not _is_the_same(
        dtype, (rows, length, columns), orders, before
    ):
        return None
    axis = stack.index(max(stack))
    count = min(stack[axis], PIECES * threads)
    x = np.broadcast_to(x, (*stack, rows, length))
    y = np.broadcast_to(y, (*stack, length, columns))
    shape = (*stack, rows, columns)
    found = rented(math.prod(shape), dtype).reshape(shape)

    def part(number: int) -> None:
        begin = stack[axis] * number // count
        end = stack[axis] * (number + 1) // count
        own = (slice(None),) * axis + (slice(begin, end),)
        with np.errstate(all="raise", under="ignore"):
            np.matmul(x[own], y[own], out=found[own])

    try:
        with one_blas_thread():
            run_slices(part, count, threads)
    except FloatingPointError:
        return None  # NumPy warns of it
    return found


def _order(x: HostArray) -> str | None:
    """How each matrix of a stack lies, if it is dense."""
    (rows, columns), (far, near), size = x.shape[-2:], x.strides[-2:], x.itemsize
    if not x.flags.aligned:
        return None
    if (far, near) == (columns * size, size):
        return "C"
    return "F" if (far, near) == (size, rows * size) else None


@functools.lru_cache(1 << 10)
def _is_the_same(
    dtype: np.dtype[Any],
    lengths: tuple[int, int, int],
    orders: tuple[Any, Any],
    before: int,
) -> bool:
    """Whether BLAS on one thread gives such a product the bits that it has on as many
    as there are ``before``."""
    from ..neural.blas import one_blas_thread

    rows, length, columns = lengths
    generator = np.random.default_rng(before)
    x = generator.random((rows, length), dtype).astype(dtype, orders[0])
    y = generator.random((length, columns), dtype).astype(dtype, orders[1])
    wanted = np.matmul(x, y)
    with one_blas_thread():
        found = np.matmul(x, y)
    return bool(found.tobytes() == wanted.tobytes())
