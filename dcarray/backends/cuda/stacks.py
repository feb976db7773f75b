"""How stacks of matrices lie in memory, as cuBLAS takes them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from ..grid.views import GridView

__all__ = ["ALIGNED", "INT", "NOT_TURNED", "Matrix", "alignment", "matrix_of", "places"]

NOT_TURNED, TURNED = 0, 1

INT = 1 << 31

MOST_CALLS = 64
"""Of one product, whose stacks do not lie evenly."""

ALIGNED = 16
"""Bytes that are read at once at most; somebody else's memory may begin elsewhere."""


class Matrix(NamedTuple):
    """A stack of matrices; strides are counted in elements."""

    turned: int
    leading: int
    step: int


def places(
    x: GridView, y: GridView, batch: tuple[int, ...], size: int
) -> tuple[Matrix, Matrix, int, list[tuple[int, int]]] | None:
    """Both operands, the matrices of a call, and where each call begins, in bytes; None
    where cuBLAS cannot have them."""
    strides = []
    for view in (x, y):
        layout = view.layout
        missing = len(batch) - (view.ndim - 2)
        steps = [0] * missing + [
            0 if length == 1 else step
            for length, step in zip(view.shape[:-2], layout.strides, strict=False)
        ]
        strides.append(steps)
    axes = [a for a, length in enumerate(batch) if length != 1]
    count = 1
    steps = [0, 0]
    while axes:
        axis = axes[-1]
        here = [row[axis] for row in strides]
        if count > 1 and any(
            [h != s * count for h, s in zip(here, steps, strict=True)]
        ):
            break
        if count == 1:
            steps = here
        count *= batch[axis]
        axes.pop()
    calls = int(np.prod([batch[a] for a in axes], dtype=np.int64))
    if calls > MOST_CALLS:
        return None
    starts = [
        (
            x.layout.offset + _sum(at, axes, strides[0]),
            y.layout.offset + _sum(at, axes, strides[1]),
        )
        for at in np.ndindex(*[batch[a] for a in axes])
    ]
    matrices = [
        matrix_of(view.shape[-2:], view.layout.strides[-2:], step, size)
        for view, step in zip((x, y), steps, strict=True)
    ]
    if None in matrices:
        return None
    first, second = matrices
    assert first is not None and second is not None
    return first, second, count, starts


def _sum(at: tuple[int, ...], axes: list[int], strides: list[int]) -> int:
    return sum([i * strides[axis] for i, axis in zip(at, axes, strict=True)])


def matrix_of(
    shape: tuple[int, ...], strides: tuple[int, ...], step: int, size: int
) -> Matrix | None:
    """How cuBLAS takes a matrix with these strides, in bytes."""
    if any([s % size for s in (*strides, step)]) or step < 0:
        return None
    rows, columns = shape
    down, across = (s // size for s in strides)
    if across == 1 or columns == 1:
        leading = columns if rows == 1 else down
        if columns <= leading < INT:
            return Matrix(NOT_TURNED, leading, step // size)
    if down == 1 or rows == 1:
        leading = rows if columns == 1 else across
        if rows <= leading < INT:
            return Matrix(TURNED, leading, step // size)
    return None


def alignment(numbers: Sequence[int]) -> int:
    """Bytes to which memory is aligned that begins so many bytes behind blocks."""
    bits = int(np.bitwise_or.reduce([ALIGNED, *numbers]))
    return bits & -bits
