"""A program on the CPU: which way it runs, and how a launch is split among threads."""

from __future__ import annotations

import functools
import math
from array import array
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ...config import current, logger
from ...ops.program import Program
from ...render.llvm import render
from ...render.llvm_columns import render_columns
from ...render.llvm_driver import MAX_AXES, MAX_OPERANDS
from ...render.plan import Stride
from ..base import Raised
from .alone import Alone
from .engine import data_address, engine, flag_functions
from .geometry import Geometry, geometry_of, view_through
from .interpreter import BLOCK, Interpreter, Tiles, scalar_array
from .launch import Bound, Built
from .loops import Loop, find_loop
from .plan import FoldKind, plan_for
from .sketch import Sketch, is_inlined_fast, signals, sketch_of
from .team import drive_all
from .threads import available_threads, cut, run_slices

__all__ = ["Executable"]


INVALID = 8
"""NumPy's bit of the flag."""

NARROW = 256
"""Elements of a row up to which several of them share a block."""

HostArray = np.ndarray[Any, Any]
Strides = tuple[int, ...]


class Executable:
    """A program and the kernels that were built for it.

    Parameters
    ----------
    program : Program
    """

    def __init__(self, program: Program) -> None:
        self.program = program
        self.interpreter = Interpreter(program)
        self._dtypes = program.slot_dtypes()
        self.alone = Alone(program) if self._is_alone() else None
        self.alignments = [dtype.alignment - 1 for dtype in program.leaves]
        self._sketches: dict[bool, Sketch | None] = {}
        self._strict: dict[int, Bound | None] = {}
        self._signals = any(
            signals(node, tuple(self._dtypes[slot] for slot in node.inputs))
            for node in program.nodes
        )
        self._built: dict[Any, Built | None] = {}
        self._bound: dict[Any, Bound | None] = {}
        self.folds: dict[Any, Any] = {}  # see `fold`

    def _is_alone(self) -> bool:
        """Whether the program is one node, all that it gives is wanted, and a loop of
        NumPy's is to compute it."""
        program = self.program
        if len(program.nodes) != 1 or program.reduction is not None:
            return False
        node = program.nodes[0]
        first = len(program.leaves) + len(program.scalars)
        wanted = list(range(first, first + len(node.dtypes)))
        given = tuple([self._dtypes[slot] for slot in node.inputs])
        return sorted(program.outputs) == wanted and not is_inlined_fast(node, given)

    # --------------------------------------------------------------------- launching
    def run(
        self,
        shape: tuple[int, ...],
        inputs: Sequence[HostArray],
        scalars: Sequence[Any],
        outputs: Sequence[HostArray],
        watch: int = 0,
        slots: tuple[int, ...] | None = None,
    ) -> Sequence[Raised]:
        """Compute the program's outputs, or the given slots, over ``shape``."""
        if 0 in shape or not outputs:
            return ()
        if slots is None:
            slots = self.program.outputs
        if self.alone is not None:
            return self.alone.run(inputs, scalars, outputs, watch)
        if current().engine == "auto":
            addresses = [data_address(array) for array in inputs]
            targets = [data_address(array) for array in outputs]
            aliased = tuple([target in addresses for target in targets])
            strides = tuple([array.strides for array in (*inputs, *outputs)])
            bound = self.bound(shape, strides, len(inputs), aliased, slots)
            if bound is not None and self.aligned(addresses):
                addresses.extend(targets)
                return self.launch(
                    bound,
                    addresses,
                    scalars,
                    watch,
                    slots,
                    aliased,
                    lambda: (inputs, outputs),
                )
        return self._interpret(shape, inputs, scalars, outputs, watch, slots)

    def bound(
        self,
        shape: tuple[int, ...],
        strides: tuple[Strides, ...],
        inputs: int,
        aliased: tuple[bool, ...],
        slots: tuple[int, ...],
    ) -> Bound | None:
        """The kernel for operands, the first of which are inputs, that lie so; None
        where the interpreter has to do it.  ``aliased`` says of each output whether it
        begins where an input does."""
        key = (shape, strides, aliased, slots)
        try:
            return self._bound[key]
        except KeyError:
            walk = geometry_of(shape, strides, strides[inputs])
            found = self._bound[key] = self._bind(walk, aliased, slots)
            return found

    def aligned(self, addresses: Sequence[int]) -> bool:
        """Whether inputs begin where kernels can read them."""
        for address, mask in zip(addresses, self.alignments, strict=True):
            if address & mask:
                return False
        return True

    def launch(
        self,
        bound: Bound,
        addresses: Sequence[int],
        scalars: Sequence[Any],
        watch: int,
        slots: tuple[int, ...],
        aliased: tuple[bool, ...],
        arrays: Callable[[], tuple[Sequence[HostArray], Sequence[HostArray]]],
    ) -> Sequence[Raised]:
        """Run a kernel on operands at these addresses; ``arrays`` gives inputs and
        outputs where it comes to computing blocks node by node."""
        frame = bound.frame(addresses, scalars, watch)
        threads = available_threads()
        edges = bound.edges(len(self.program.nodes), threads)
        reached = drive_all(bound, frame, edges, threads)
        slices = [
            range(place, stop)
            for place, stop in zip(reached, edges[1:], strict=True)
            if place != stop
        ]
        if not slices:
            return ()
        return self.repaired(
            slices, bound, addresses, scalars, watch, slots, aliased, arrays
        )

    def repaired(
        self,
        slices: Sequence[range],
        bound: Bound,
        addresses: Sequence[int],
        scalars: Sequence[Any],
        watch: int,
        slots: tuple[int, ...],
        aliased: tuple[bool, ...],
        arrays: Callable[[], tuple[Sequence[HostArray], Sequence[HostArray]]],
    ) -> Sequence[Raised]:
        """The rest of a launch: blocks of which the first of each slice was not done,
        since it raised flags."""
        repair = None
        if watch or bound.built.doubts:
            inputs, outputs = arrays()
            repair = functools.partial(
                self._repair,
                bound.geometry,
                bound.tiles,
                inputs,
                scalars,
                outputs,
                watch,
                slots,
            )
        flags: list[dict[int, int]] = []
        strict = self._strictly(bound, aliased, slots) if watch & INVALID else None
        rest = bound if strict is None else strict
        frame = rest.frame(addresses, scalars, watch)

        def task(number: int) -> None:
            found = rest.run(frame, slices[number], repair)
            if found:
                flags.append(found)

        run_slices(task, len(slices), available_threads())
        return merged(flags)

    def _strictly(
        self, bound: Bound, aliased: tuple[bool, ...], slots: tuple[int, ...]
    ) -> Bound | None:
        """The same blocks by a kernel that raises no flag but NumPy's."""
        if not self._signals:
            return None
        key = id(bound)
        if key not in self._strict:
            plan = bound.built.plan
            built = self._build(
                [stride for _, stride in plan.leaves],
                [stride for _, stride in plan.outputs],
                aliased,
                slots,
                plan.rowwise,
                block=plan.block,
            )
            self._strict[key] = None if built is None else Bound(built, bound.geometry)
        return self._strict[key]

    def fold_block(
        self, ufunc: np.ufunc, walk: Geometry, kind: FoldKind, rowwise: bool = False
    ) -> int:
        """Elements of a block if the reduction is part of the kernel; 0 if it cannot
        be."""
        built = self._folding(ufunc, walk, kind, rowwise)
        return 0 if built is None else built.plan.block

    def bind_fold(
        self,
        ufunc: np.ufunc,
        walk: Geometry,
        kind: FoldKind,
        edges: array[int],
        spread: int = 0,
        run: int = 0,
        advance: int = 0,
        rowwise: bool = False,
    ) -> Bound | None:
        """A kernel that reduces its blocks; see `Frame` for the last arguments."""
        built = self._folding(ufunc, walk, kind, rowwise)
        return (
            None if built is None else Bound(built, walk, edges, spread, run, advance)
        )

    def _folding(
        self, ufunc: np.ufunc, walk: Geometry, kind: FoldKind, rowwise: bool
    ) -> Built | None:
        reduction = self.program.reduction
        if current().engine != "auto" or reduction is None:
            return None
        slots = self.program.outputs
        classes = self._classes(walk, (*slots, reduction.slot))
        if classes is None:
            return None
        classes = classes[:-1]  # the result's place is the kernel's own business
        key = (tuple(classes), ufunc, kind, rowwise)
        if key not in self._built:
            dtype = reduction.dtype
            loop = find_loop(ufunc, (dtype, dtype), (dtype,))
            built = None
            if loop is not None:
                leaves = len(self.program.leaves)
                built = self._build(
                    classes[:leaves],
                    classes[leaves:],
                    (False,) * len(slots),
                    slots,
                    rowwise or kind == "columns",
                    (loop, kind),
                    name=ufunc.__name__,
                )
            self._built[key] = built
        return self._built[key]

    def _repair(
        self,
        geometry: Geometry,
        tiles: Tiles,
        inputs: Sequence[HostArray],
        scalars: Sequence[Any],
        outputs: Sequence[HostArray],
        watch: int,
        slots: tuple[int, ...],
        blocks: range,
    ) -> dict[int, int]:
        """Compute blocks node by node."""
        joined = self.interpreter.joined or tiles.runs > 1
        return self.interpreter.run(
            tiles.pieces(blocks, BLOCK, joined),
            max(BLOCK, tiles.runs * tiles.length),
            [view_through(geometry, array) for array in inputs],
            self._scalars(scalars),
            [view_through(geometry, array) for array in outputs],
            watch,
            slots,
        )

    def _interpret(
        self,
        shape: tuple[int, ...],
        inputs: Sequence[HostArray],
        scalars: Sequence[Any],
        outputs: Sequence[HostArray],
        watch: int,
        slots: tuple[int, ...],
    ) -> Sequence[Raised]:
        strides = tuple([array.strides for array in (*inputs, *outputs)])
        geometry = geometry_of(shape, strides, outputs[0].strides)
        tiles = Tiles.of(geometry, BLOCK, self.interpreter.joined)
        threads = available_threads()
        elements = math.prod(geometry.shape)
        slices = cut(tiles.count, elements, len(self.program.nodes), threads)
        flags: list[dict[int, int]] = []

        def task(number: int) -> None:
            found = self._repair(
                geometry, tiles, inputs, scalars, outputs, watch, slots, slices[number]
            )
            if found:
                flags.append(found)

        run_slices(task, len(slices), threads)
        return merged(flags)

    def _scalars(self, scalars: Sequence[Any]) -> list[HostArray]:
        return list(map(scalar_array, scalars, self.program.scalars))

    # ---------------------------------------------------------------------- building
    def _bind(
        self,
        geometry: Geometry,
        aliased: tuple[bool, ...],
        slots: tuple[int, ...],
    ) -> Bound | None:
        """The kernel for these strides; None where the interpreter has to do it."""
        if len(self._bound) > 4096:
            self._bound.clear()
            self._strict.clear()
        classes = self._classes(geometry, slots)
        if classes is None:
            return None
        leaves = len(self.program.leaves)
        for rowwise in (True, False) if is_narrow(geometry) else (False,):
            key = (tuple(classes), aliased, slots, rowwise)
            if key not in self._built:
                self._built[key] = self._build(
                    classes[:leaves], classes[leaves:], aliased, slots, rowwise
                )
            built = self._built[key]
            if built is not None:
                return Bound(built, geometry)
        return None

    def _classes(
        self, geometry: Geometry, slots: tuple[int, ...]
    ) -> list[Stride] | None:
        """The stride classes of all operands; None if no kernel takes them."""
        if len(geometry.strides) > MAX_OPERANDS or len(geometry.shape) > MAX_AXES:
            return None
        dtypes = [*self.program.leaves, *(self._dtypes[slot] for slot in slots)]
        classes = []
        for row, dtype in zip(geometry.strides, dtypes, strict=True):
            if any(step % dtype.alignment for step in row):
                return None
            classes.append(_class_of(row[-1], dtype.itemsize, geometry.inner))
        return classes

    def _build(
        self,
        leaves: Sequence[Stride],
        outputs: Sequence[Stride],
        aliased: tuple[bool, ...],
        slots: tuple[int, ...],
        rowwise: bool,
        fold: tuple[Loop, FoldKind] | None = None,
        block: int = 0,
        name: str = "",
    ) -> Built | None:
        """A kernel; a strict one (see `_strictly`) if the ``block`` is given.  ``name``
        is that of the ufunc that a fold is of."""
        strict = block > 0
        if strict not in self._sketches:
            self._sketches[strict] = sketch_of(self.program, strict)
        sketch = self._sketches[strict]
        flags = flag_functions()
        if sketch is None or flags is None:
            return None
        kind = None if fold is None else fold[1]
        plan = plan_for(sketch, leaves, outputs, slots, aliased, kind, rowwise, block)
        machine = None if plan is None else engine()
        if plan is None or machine is None:
            return None
        text = render_columns(plan, name) if kind == "columns" else render(plan)
        if text is None:
            return None
        try:
            kernel = machine.kernel(text, label=self.program.describe())
        except RuntimeError as error:
            if current().validate:
                raise
            logger().warning(
                "cpu: %s did not compile (%s); it runs block by block",
                self.program.describe(),
                error,
            )
            return None
        loops = sketch.loops if fold is None else (*sketch.loops, fold[0])
        return Built.of(plan, kernel, machine.drive, loops, flags)


def is_narrow(geometry: Geometry) -> bool:
    """Whether the rows are so short that several should share a block."""
    return len(geometry.shape) > 1 and 1 < geometry.inner <= NARROW


def _class_of(step: int, itemsize: int, length: int) -> Stride:
    if step == itemsize or length == 1:
        return Stride.CONTIGUOUS
    if step == 2 * itemsize:
        return Stride.PAIRS
    return Stride.ZERO if step == 0 else Stride.GENERAL


def merged(found: Sequence[dict[int, int]]) -> list[Raised]:
    """The flags of all slices, by node."""
    total: dict[int, int] = {}
    for flags in found:
        for node, bits in flags.items():
            total[node] = total.get(node, 0) | bits
    return [Raised(node, bits) for node, bits in sorted(total.items())]
