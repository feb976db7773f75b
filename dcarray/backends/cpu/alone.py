"""Programs of one node: NumPy itself, on slices of the operands, in several threads."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ...ops.program import Program
from ..base import Raised
from .interpreter import Recorder, evaluate, scalar_array, watching
from .threads import available_threads, run_slices

__all__ = ["run_alone"]

HostArray = np.ndarray[Any, Any]

THREADED = 1 << 17
"""Elements from which a second thread is worth its start."""

SLICE = 1 << 22
"""Most elements of a slice: Ctrl-C is seen in between."""


def run_alone(
    program: Program,
    inputs: Sequence[HostArray],
    scalars: Sequence[Any],
    outputs: Sequence[HostArray],
    watch: int,
) -> Sequence[Raised]:
    """Run the only node of a program.

    The operands are NumPy's own, so are strides and paths; they are only cut along the
    slowest axis.  What needs another order of outputs is a longer program.
    """
    node = program.nodes[0]
    values: list[Any] = [*inputs, *map(scalar_array, scalars, program.scalars)]
    operands = [values[slot] for slot in node.inputs]
    first = len(values)
    targets = [outputs[program.outputs.index(first + k)] for k in range(len(outputs))]
    recorder = Recorder()
    target = targets[0]
    if target.size < THREADED or any(dtype.hasobject for dtype in node.dtypes):
        with watching(watch, recorder):
            evaluate(node, operands, targets)
        return [Raised(0, flags) for flags in recorder.found.values()]
    strides = target.strides
    axis = max(
        range(target.ndim), key=lambda k: abs(strides[k]) * (target.shape[k] > 1)
    )
    length = target.shape[axis]
    wanted = min(length, max(4, -(-target.size // SLICE)))
    before = (slice(None),) * axis

    def task(number: int) -> None:
        piece = slice(length * number // wanted, length * (number + 1) // wanted)
        index = (*before, piece)
        mine = Recorder()
        with watching(watch, mine):
            evaluate(
                node,
                [operand[index] if operand.ndim else operand for operand in operands],
                [array[index] for array in targets],
            )
        for flags in mine.found.values():
            recorder.add(flags)

    run_slices(task, wanted, available_threads())
    return [Raised(0, flags) for flags in recorder.found.values()]
