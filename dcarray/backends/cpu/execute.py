"""A compiled program, and how a launch is split into slices for the threads."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from ...ops.program import Program
from ..base import Raised
from .geometry import Geometry, geometry_of, view_through
from .interpreter import BLOCK, Interpreter, Tiles, scalar_array
from .threads import available_threads, run_slices

__all__ = ["Executable"]

HostArray = np.ndarray[Any, Any]

THREADED = 1 << 16
"""Elements × operations from which a second thread is worth its start."""


class Executable:
    """A program and the kernels that were built for it.

    Parameters
    ----------
    program : Program
    """

    def __init__(self, program: Program) -> None:
        self.program = program
        self.interpreter = Interpreter(program)

    def run(
        self,
        shape: tuple[int, ...],
        inputs: Sequence[HostArray],
        scalars: Sequence[np.generic],
        outputs: Sequence[HostArray],
        watch: int = 0,
        slots: Sequence[int] | None = None,
    ) -> Sequence[Raised]:
        """Compute the outputs, or the given slots, over ``shape``."""
        if 0 in shape or not outputs:
            return ()
        operands = (*inputs, *outputs)
        geometry = geometry_of(
            shape, tuple([array.strides for array in operands]), outputs[0].strides
        )
        return self._interpret(geometry, inputs, scalars, outputs, watch, slots)

    def _interpret(
        self,
        geometry: Geometry,
        inputs: Sequence[HostArray],
        scalars: Sequence[np.generic],
        outputs: Sequence[HostArray],
        watch: int,
        slots: Sequence[int] | None,
    ) -> Sequence[Raised]:
        views = [view_through(geometry, array) for array in inputs]
        targets = [view_through(geometry, array) for array in outputs]
        numbers = [
            scalar_array(value, dtype)
            for value, dtype in zip(scalars, self.program.scalars, strict=True)
        ]
        tiles = Tiles.of(geometry, BLOCK, self.interpreter.joined)
        found: list[dict[int, int]] = []
        slices = cut(tiles.count, math.prod(geometry.shape), len(self.program.nodes))

        def task(number: int) -> None:
            flags = self.interpreter.run(
                tiles, slices[number], views, numbers, targets, watch, slots
            )
            if flags:
                found.append(flags)

        run_slices(task, len(slices), available_threads() if len(slices) > 1 else 1)
        return merged(found)


def cut(count: int, elements: int, operations: int) -> list[range]:
    """Split ``count`` blocks into slices: one where threads do not pay, else many
    enough that the threads end together and Ctrl-C is seen."""
    work = elements * max(1, operations)
    if work < THREADED:
        return [range(count)]
    wanted = min(count, max(8, work // (1 << 24)))
    edges = [count * k // wanted for k in range(wanted + 1)]
    return [range(a, b) for a, b in itertools.pairwise(edges)]


def merged(found: Sequence[dict[int, int]]) -> list[Raised]:
    """The flags of all slices, by node."""
    total: dict[int, int] = {}
    for flags in found:
        for node, bits in flags.items():
            total[node] = total.get(node, 0) | bits
    return [Raised(node, bits) for node, bits in sorted(total.items())]
