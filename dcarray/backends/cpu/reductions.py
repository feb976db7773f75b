"""Reductions: the bits of ``ufunc.reduce`` over the array that NumPy would make.

NumPy walks a reduction as it walks any array: axes ordered by stride, and joined.
Along an inner reduced axis a floating-point sum follows a pairwise tree (see
`pairwise`) and everything else goes in order; along an outer one whole rows are
combined in order.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ..base import Raised
from ..pool import Pool
from . import memory
from .execute import Executable, merged
from .fill import Filler, chunk_memory
from .fold import as_walked, fold_inside, walk_of
from .geometry import Geometry, geometry_of, view_through
from .interpreter import Recorder, watching
from .pairwise import branches, join_branches
from .rules import (
    continues,
    is_any_order,
    is_doubtful,
    is_pairwise,
    reduction_ufunc,
)
from .threads import available_threads, run_slices

__all__ = ["launch_reduction", "reduce"]

HostArray = np.ndarray[Any, Any]

CHUNK = 1 << 16
"""Elements that are computed before they are reduced: they stay in the L2 cache."""

THREADED = 1 << 17
"""Elements from which a reduction of stored values is split among threads."""


def reduced_axes(shape: tuple[int, ...], target: HostArray) -> tuple[int, ...]:
    """The axes that a result with length 1 along them says are reduced."""
    axes = tuple(
        axis for axis, length in enumerate(shape) if length != target.shape[axis]
    )
    if axes:
        return axes
    return tuple(axis for axis, length in enumerate(shape) if length == 1)[:1]


# -------------------------------------------------------------------- with a prologue
def launch_reduction(
    executable: Executable,
    pool: Pool[HostArray],
    shape: tuple[int, ...],
    inputs: Sequence[HostArray],
    scalars: Sequence[Any],
    outputs: Sequence[HostArray],
    reduced: HostArray,
    order: tuple[int, ...] | None,
    watch: int,
) -> Sequence[Raised]:
    """Run a program that ends in a reduction; see `Backend.launch`."""
    program = executable.program
    reduction = program.reduction
    assert reduction is not None
    ufunc = reduction_ufunc(reduction.op)
    recorder = Recorder()
    recorder.node = len(program.nodes)
    found: list[dict[int, int]] = [recorder.found]
    axes = reduced_axes(shape, reduced)
    slot = reduction.slot
    if slot < len(inputs) and not outputs:
        with watching(watch, recorder):
            _finish(reduction.op, ufunc, inputs[slot], axes, reduced)
        return merged(found)
    if ufunc is not None and not outputs and 0 not in shape and order is not None:
        if fold_inside(
            executable, ufunc, shape, inputs, scalars, reduced, order, watch, recorder
        ):
            return merged(found)
        recorder.found.clear()
        geometry = walk_of(
            shape, _strides(inputs), reduced.shape, reduced.strides, order
        )
        if geometry is not None:
            target = as_walked(geometry, reduced)
            fused = _Fused.of(executable, geometry, inputs, scalars, target, watch)
            if fused is not None:
                fused.recorder = recorder
                if fused.run():
                    return merged([*found, *fused.filler.raised])
                recorder.found.clear()
    if slot in program.outputs and outputs:
        raised = executable.run(shape, inputs, scalars, outputs, watch)
        source = outputs[program.outputs.index(slot)]
        if order is not None and source.strides != order:
            copy = _temporary(pool, shape, reduction.dtype, order)
            np.copyto(copy, source)
            source = copy
    else:
        source = _temporary(pool, shape, reduction.dtype, order)
        slots = (slot, *program.outputs)
        raised = executable.run(
            shape, inputs, scalars, (source, *outputs), watch, slots
        )
    with watching(watch, recorder):
        _finish(reduction.op, ufunc, source, axes, reduced)
    found.extend({entry.node: entry.flags} for entry in raised)
    return merged(found)


def _finish(
    op: Any,
    ufunc: np.ufunc | None,
    source: HostArray,
    axes: tuple[int, ...],
    target: HostArray,
) -> None:
    if ufunc is not None:
        reduce(ufunc, source, axes, target)
        return
    axis = None if len(axes) == source.ndim else axes[0]
    np.copyto(target, op.numpy(source, axis=axis, keepdims=True))


def _temporary(
    pool: Pool[HostArray],
    shape: tuple[int, ...],
    dtype: np.dtype[Any],
    order: tuple[int, ...] | None,
) -> HostArray:
    block = memory.rent(pool, max(1, math.prod(shape)) * dtype.itemsize)
    return np.ndarray(shape, dtype, block, 0, order)


def _strides(inputs: Sequence[HostArray]) -> tuple[tuple[int, ...], ...]:
    return tuple([array.strides for array in inputs])


class _Fused:
    """A reduction whose operand is computed chunk by chunk and never stored whole."""

    def __init__(
        self,
        ufunc: np.ufunc,
        filler: Filler,
        geometry: Geometry,
        target: HostArray,
        watch: int,
        width: int,
    ) -> None:
        self.ufunc = ufunc
        self.filler = filler
        self.geometry = geometry
        self.target = target
        self.watch = watch
        self.width = width
        self.recorder = Recorder()
        self.axes = tuple(k for k, mark in enumerate(geometry.reduced) if mark)
        self.dtype = filler.dtype

    @classmethod
    def of(
        cls,
        executable: Executable,
        geometry: Geometry,
        inputs: Sequence[HostArray],
        scalars: Sequence[Any],
        target: HostArray,
        watch: int,
    ) -> _Fused | None:
        """None where the whole array has to be made first."""
        program = executable.program
        assert program.reduction is not None
        ufunc = reduction_ufunc(program.reduction.op)
        assert ufunc is not None
        dtype = program.reduction.dtype
        pattern = "".join("R" if mark else "K" for mark in geometry.reduced)
        inner = math.prod(geometry.shape[1:])
        width = geometry.shape[-1]
        if pattern in ("R", "KR") and width > CHUNK:
            if not (is_pairwise(ufunc, dtype) or is_any_order(ufunc, dtype)):
                return None
            if pattern == "KR":
                return None
        elif pattern == "RK":
            if not (is_any_order(ufunc, dtype) or continues(ufunc, dtype)):
                return None
            width = min(width, CHUNK // 16)
        elif not (pattern.startswith("K") and inner <= CHUNK) and pattern != "R":
            return None
        filler = Filler(
            executable,
            program.reduction.slot,
            geometry,
            inputs,
            scalars,
            watch,
            width,
        )
        return cls(ufunc, filler, geometry, target, watch, width)

    def run(self) -> bool:
        """Reduce; False if the result is doubtful and has to be made by NumPy."""
        reduced = self.geometry.reduced
        if not reduced[0]:
            self._pieces()
            return True
        if len(reduced) == 1:
            return self._run()
        self._columns()
        return True

    def _buffer(self, elements: int) -> HostArray:
        return chunk_memory(elements * self.dtype.itemsize)

    def _threaded(self, task: Callable[[int, Recorder], None], count: int) -> None:
        def watched(number: int) -> None:
            recorder = Recorder()
            with watching(self.watch, recorder):
                task(number, recorder)
            for flags in recorder.found.values():
                self.recorder.add(flags)

        run_slices(watched, count, available_threads() if count > 1 else 1)

    def _pieces(self) -> None:
        """A kept axis comes first: some of its indices at a time."""
        shape = self.geometry.shape
        inner = math.prod(shape[1:])
        step = max(1, CHUNK // max(1, inner))
        count = -(-shape[0] // step)

        def task(number: int, recorder: Recorder) -> None:
            first = range(number * step, min(shape[0], (number + 1) * step))
            chunk = self.filler.fill(self._buffer(len(first) * inner), first)
            out = self.target[first.start : first.stop]
            self.ufunc.reduce(chunk, axis=self.axes, out=out, keepdims=True)

        self._threaded(task, count)

    def _run(self) -> bool:
        """One run, all of it reduced."""
        length = self.geometry.shape[0]
        unit = 2 if self.dtype.kind == "c" else 1
        edges = branches(length, CHUNK, unit)
        sums = np.empty(len(edges) - 1, self.dtype)

        def task(number: int, recorder: Recorder) -> None:
            first = range(edges[number], edges[number + 1])
            chunk = self.filler.fill(self._buffer(len(first)), first)
            self.ufunc.reduce(chunk, out=sums[number : number + 1], keepdims=True)

        self._threaded(task, len(sums))
        with watching(self.watch, self.recorder):
            _join(self.ufunc, sums, self.target)
        return len(sums) == 1 or not is_doubtful(self.ufunc, self.target)

    def _columns(self) -> None:
        """Whole rows are combined in order; the columns are shared out."""
        rows, columns = self.geometry.shape
        width = self.width
        # Of even widths: a single column would be a run, which goes another way.
        count = -(-columns // width)
        step = max(1, CHUNK // width - 1)
        ufunc = self.ufunc

        def task(number: int, recorder: Recorder) -> None:
            last = range(columns * number // count, columns * (number + 1) // count)
            out = self.target[:, last.start : last.stop]
            # The result so far is the row before the chunk's first.
            whole = self._buffer((step + 1) * width)
            before = self.filler.chunk(whole, (1, len(last)))
            below = whole[width * self.dtype.itemsize :]
            for start in range(0, rows, step):
                first = range(start, min(rows, start + step))
                chunk = self.filler.fill(below, first, last)
                if start:
                    np.copyto(before, out)
                    chunk = self.filler.chunk(whole, (len(first) + 1, len(last)))
                ufunc.reduce(chunk, axis=0, out=out, keepdims=True)

        self._threaded(task, count)


def _join(ufunc: np.ufunc, parts: HostArray, target: HostArray) -> None:
    """Combine the results of a run's pieces."""
    if is_pairwise(ufunc, parts.dtype):
        np.copyto(target, join_branches(parts))
    else:
        np.copyto(target, ufunc.reduce(parts))


# --------------------------------------------------------------------- stored values
def reduce(
    ufunc: np.ufunc, source: HostArray, axes: tuple[int, ...], target: HostArray
) -> None:
    """``ufunc.reduce`` into ``target``, which has length 1 along ``axes``."""
    if source.dtype == target.dtype and source.size >= THREADED:
        threads = available_threads()
        if threads > 1 and _reduce_in_parts(ufunc, source, axes, target, threads):
            return
    ufunc.reduce(source, axis=axes, out=target, keepdims=True, dtype=target.dtype)


def _reduce_in_parts(
    ufunc: np.ufunc,
    source: HostArray,
    axes: tuple[int, ...],
    target: HostArray,
    threads: int,
) -> bool:
    """Share a reduction out; False if the bits do not allow it."""
    state = np.geterr()
    call: Any = np.geterrcall()

    def share(task: Callable[[int], None], count: int) -> None:
        def watched(number: int) -> None:
            with np.errstate(call=call, **state):
                task(number)

        run_slices(watched, count, threads)

    kept = [k for k in range(source.ndim) if k not in axes]
    long = max(kept, key=lambda k: source.shape[k], default=None)
    if long is not None and source.shape[long] > 3:
        length = source.shape[long]
        # A single column would be a run, which has another order of additions.
        count = min(length // 2, 4 * threads)
        before = (slice(None),) * long

        def part(number: int) -> None:
            piece = slice(length * number // count, length * (number + 1) // count)
            index = (*before, piece)
            ufunc.reduce(source[index], axis=axes, out=target[index], keepdims=True)

        share(part, count)
        return True
    marks = tuple(k in axes for k in range(source.ndim))
    walk = geometry_of(source.shape, (source.strides,), source.strides, marks)
    dtype = source.dtype
    if len(walk.shape) != 1 or any(walk.flips):
        return False
    if not (is_pairwise(ufunc, dtype) or is_any_order(ufunc, dtype)):
        return False
    run = view_through(walk, source)
    unit = 2 if dtype.kind == "c" else 1
    edges = branches(len(run), max(1024, -(-len(run) // (2 * threads))), unit)
    parts = np.empty(len(edges) - 1, dtype)

    def branch(number: int) -> None:
        piece = run[edges[number] : edges[number + 1]]
        ufunc.reduce(piece, out=parts[number : number + 1], keepdims=True)

    share(branch, len(parts))
    result = np.empty(target.shape, dtype)
    _join(ufunc, parts, result)
    if is_doubtful(ufunc, result):
        return False
    np.copyto(target, result)
    return True
