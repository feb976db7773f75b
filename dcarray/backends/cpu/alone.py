"""Programs of one node: NumPy's loop, or NumPy itself, on slices in several threads.

Nothing is compiled for them.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from ...config import current
from ...ops.program import Inner, Program
from ...render.llvm_driver import MAX_AXES, Frame
from ...render.plan import Plan, Stride
from ..base import Raised
from .engine import Kernel, data_address, engine, flag_functions
from .geometry import geometry_of
from .interpreter import Recorder, evaluate, scalar_array, watching
from .launch import Bound, Built
from .loops import find_loop
from .sketch import may_fail
from .team import drive_all
from .threads import available_threads, run_slices

__all__ = ["Alone"]

HostArray = np.ndarray[Any, Any]

SMALL = 1 << 12
"""Elements below which one call of NumPy is as fast as anything."""

SLICE = 1 << 20
"""Most elements of a slice: Ctrl-C is seen in between."""


class Alone:
    """A program of one node.

    Parameters
    ----------
    program : Program
    """

    def __init__(self, program: Program) -> None:
        self.program = program
        self.node = program.nodes[0]
        first = len(program.leaves) + len(program.scalars)
        self.places = [program.outputs.index(first + k) for k in self._results()]
        self._dtypes = program.slot_dtypes()
        self.masks = [kind.alignment - 1 for kind in self._kinds()]
        self._bound: dict[Any, Bound | None] = {}

    def _results(self) -> range:
        return range(len(self.node.dtypes))

    def run(
        self,
        inputs: Sequence[HostArray],
        scalars: Sequence[Any],
        outputs: Sequence[HostArray],
        watch: int,
    ) -> Sequence[Raised]:
        """Run the node; the outputs are those of the program."""
        values: list[Any] = [*inputs, *map(scalar_array, scalars, self.program.scalars)]
        operands = [values[slot] for slot in self.node.inputs]
        targets = [outputs[place] for place in self.places]
        size = targets[0].size
        threads = available_threads() if size >= 2 * current().thread_work else 1
        if (
            size >= SMALL
            and current().engine == "auto"
            and self._loop(operands, targets, watch, threads)
        ):
            return ()
        if threads > 1:
            return self._pieces(operands, targets, watch, threads)
        recorder = Recorder()
        with watching(watch, recorder):
            evaluate(self.node, operands, targets)
        return [Raised(0, flags) for flags in recorder.found.values()]

    # ------------------------------------------------------------------ NumPy's loop
    def _loop(
        self,
        operands: Sequence[HostArray],
        targets: Sequence[HostArray],
        watch: int,
        threads: int,
    ) -> bool:
        """Call the loop on slices; False if NumPy has to do it, also to name flags."""
        shape = targets[0].shape
        rows = [a.strides if a.ndim else (0,) * len(shape) for a in operands]
        strides = (*rows, *(target.strides for target in targets))
        bound = self.bound(shape, strides)
        if bound is None:
            return False
        addresses = [data_address(operand) for operand in operands]
        ends = [data_address(target) for target in targets]
        if watch and any(end in addresses for end in ends):
            return False  # what raises a flag is run again
        addresses.extend(ends)
        for address, mask in zip(addresses, self.masks, strict=True):
            if address & mask:
                return False
        frame = bound.frame(addresses, (), watch)
        drive_all(bound, frame, bound.edges(1, threads), threads)
        return frame[Frame.FLAGS] == 0

    def bound(
        self, shape: tuple[int, ...], strides: tuple[tuple[int, ...], ...]
    ) -> Bound | None:
        """NumPy's loop for operands and results that lie so; None where NumPy itself
        has to do it."""
        key = (shape, strides)
        try:
            return self._bound[key]
        except KeyError:
            found = self._bound[key] = self._bind(shape, strides)
            return found

    def _kinds(self) -> list[np.dtype[Any]]:
        return [*(self._dtypes[slot] for slot in self.node.inputs), *self.node.dtypes]

    def _bind(
        self, shape: tuple[int, ...], strides: tuple[tuple[int, ...], ...]
    ) -> Bound | None:
        if len(self._bound) > 1024:
            self._bound.clear()
        node, kinds = self.node, self._kinds()
        inputs = tuple(kinds[: len(node.inputs)])
        flags = flag_functions()
        if not isinstance(node.op.numpy, np.ufunc) or may_fail(node, inputs):
            return None
        loop = find_loop(node.op.numpy, inputs, node.dtypes)
        machine = engine()
        if loop is None or machine is None or flags is None:
            return None
        geometry = geometry_of(shape, strides, strides[len(inputs)])
        if len(geometry.shape) > MAX_AXES or any(geometry.flips):
            return None
        for row, kind in zip(geometry.strides, kinds, strict=True):
            if any(step % kind.alignment for step in row):
                return None
        for row, kind, inner in zip(geometry.strides, kinds, node.inner, strict=False):
            if not _is_seen_as(row[-1], kind.itemsize, inner):
                return None
        # One row is cut into so many blocks that there is a slice for everybody.
        size = math.prod(geometry.shape)
        pieces = max(16, size // SLICE) if size >= 2 * current().thread_work else 1
        block = max(4096, -(-geometry.inner // pieces))
        plan = Plan(
            leaves=tuple((kind, Stride.GENERAL) for kind in kinds),
            outputs=(),
            scalars=(),
            buffers=(),
            steps=(),
            finish=(),
            block=-(-block // 64) * 64,
        )
        kernel = Kernel(machine.single, machine)
        return Bound(Built.of(plan, kernel, machine.drive, [loop], flags), geometry)

    # ------------------------------------------------------------------ NumPy itself
    def _pieces(
        self,
        operands: Sequence[HostArray],
        targets: Sequence[HostArray],
        watch: int,
        threads: int,
    ) -> Sequence[Raised]:
        """Call NumPy on slices along the slowest axis."""
        target = targets[0]
        strides, shape = target.strides, target.shape
        axis = max(range(target.ndim), key=lambda k: abs(strides[k]) * (shape[k] > 1))
        length = shape[axis]
        wanted = min(length, max(2 * threads, -(-target.size // SLICE)))
        before = (slice(None),) * axis
        recorder = Recorder()

        def task(number: int) -> None:
            piece = slice(length * number // wanted, length * (number + 1) // wanted)
            index = (*before, piece)
            mine = Recorder()
            with watching(watch, mine):
                evaluate(
                    self.node,
                    [
                        operand[index] if operand.ndim else operand
                        for operand in operands
                    ],
                    [result[index] for result in targets],
                )
            for flags in mine.found.values():
                recorder.add(flags)

        run_slices(task, wanted, threads)
        return [Raised(0, flags) for flags in recorder.found.values()]


def _is_seen_as(step: int, itemsize: int, inner: Inner) -> bool:
    if inner is Inner.CONTIGUOUS:
        return step == itemsize
    return (step == 0) == (inner is Inner.SCALAR) and step != itemsize
