"""Running a program on private memory: gather, interpret, scatter."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from ...kernel.interpret import interpret
from ...kernel.nodes import Kernel
from ...layout import Shape
from ...ops.bodies import combine_kernel
from ...ops.inline import inlined
from ...ops.program import Program, Reduction

__all__ = ["Executable"]

HostArray = np.ndarray[Any, Any]

BLOCK = 1 << 16
"""Work items that run in step."""


class Executable:
    """A program, made ready."""

    def __init__(self, program: Program) -> None:
        self.program = program
        self.kernel: Kernel = inlined(program)

    def run(
        self,
        shape: Shape,
        inputs: Sequence[HostArray],
        scalars: Sequence[np.generic],
        outputs: Sequence[HostArray],
        reduced: HostArray | None,
    ) -> None:
        """Run over ``shape``; see `Backend.launch`."""
        reduction = self.program.reduction
        targets = list(outputs)
        if reduction is not None:
            targets.append(np.empty(shape, reduction.dtype))
        numbers = [np.asarray(number) for number in scalars]
        for part in blocks(shape):
            # A vector of its own for each operand: stores of this block come after
            # all of its loads.
            vectors = [np.array(x[part], order="C").reshape(-1) for x in inputs]
            places = [target[part] for target in targets]
            size = places[0].size if places else 0
            if not vectors:
                numbers = [np.broadcast_to(n, (size,)) for n in numbers]
            for place, result in zip(
                places, interpret(self.kernel, [*vectors, *numbers]), strict=True
            ):
                place[...] = np.broadcast_to(result, (size,)).reshape(place.shape)
        if reduction is not None:
            assert reduced is not None
            reduced[...] = _reduced(reduction, targets[-1], reduced.shape)


def blocks(shape: Shape) -> Iterator[tuple[slice, ...]]:
    """Parts of an array of this shape with about `BLOCK` elements or fewer."""
    size = int(np.prod(shape, dtype=np.int64))
    if size == 0:
        return
    if size <= BLOCK:
        yield (...,)  # type: ignore[misc]
        return
    axis = max(range(len(shape)), key=lambda a: shape[a])
    length = shape[axis]
    step = max(1, length * BLOCK // size)
    for start in range(0, length, step):
        part = [slice(None)] * len(shape)
        part[axis] = slice(start, start + step)
        yield tuple(part)


def _reduced(reduction: Reduction, values: HostArray, kept: Shape) -> HostArray:
    """Partial results combined in pairs, as the work items of a group do."""
    axes = [a for a, (n, k) in enumerate(zip(values.shape, kept)) if n != k]
    rest = [a for a in range(values.ndim) if a not in axes]
    rows = values.transpose(rest + axes).reshape([values.shape[a] for a in rest] + [-1])
    dtype = reduction.dtype
    # Half precision is too coarse to add up in.
    wide = np.dtype(np.float32) if dtype == np.float16 else dtype
    rows = rows.astype(wide, copy=False)
    kernel = combine_kernel(reduction.op, wide)
    while rows.shape[-1] > 1:
        half = rows.shape[-1] // 2
        left, right = rows[..., :half], rows[..., half : 2 * half]
        (paired,) = interpret(kernel, [left, right])
        if rows.shape[-1] % 2:
            paired = np.concatenate([paired, rows[..., -1:]], axis=-1)
        rows = paired
    with np.errstate(all="ignore"):
        return rows.astype(dtype).reshape(kept)
