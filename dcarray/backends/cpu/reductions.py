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
from .fold import fold_inside
from .geometry import geometry_of, view_through
from .interpreter import Recorder, watching
from .pairwise import branches, join_branches
from .rules import (
    has_minus_zero,
    is_any_order,
    is_doubtful,
    is_pairwise,
    reduction_ufunc,
)
from .threads import available_threads, run_slices

__all__ = ["folds_inside", "launch_reduction", "reduce", "stored_reduction"]

HostArray = np.ndarray[Any, Any]

THREADED = 1 << 17
"""Elements from which a reduction of stored values is split among threads."""

_SILENT = frozenset((np.maximum, np.minimum, np.fmax, np.fmin))
"""A NaN is no reason for a flag to NumPy, whatever the processor says."""

WIDE = 512
"""Columns that are worth a call for each row; and bytes that only rows are apart."""


def reduced_axes(shape: tuple[int, ...], target: HostArray) -> tuple[int, ...]:
    """The axes that a result with length 1 along them says are reduced."""
    axes = tuple(
        axis for axis, length in enumerate(shape) if length != target.shape[axis]
    )
    if axes:
        return axes
    return tuple(axis for axis, length in enumerate(shape) if length == 1)[:1]


# -------------------------------------------------------------------- with a prologue
Arrays = Callable[[], tuple[Sequence[HostArray], Sequence[HostArray]]]
"""Gives inputs and outputs as arrays."""


def launch_reduction(
    executable: Executable,
    pool: Pool,
    shape: tuple[int, ...],
    strides: tuple[tuple[int, ...], ...],
    addresses: list[int],
    arrays: Arrays,
    scalars: Sequence[Any],
    reduced: HostArray,
    order: tuple[int, ...] | None,
    watch: int,
) -> Sequence[Raised]:
    """Run a program that ends in a reduction; see `Backend.launch`.

    The operand is not stored where `fold_inside` can do without.  ``strides`` and
    ``addresses`` are those of inputs and outputs.
    """
    ufunc, is_silent = folds_inside(executable, shape, order)
    if ufunc is not None and order is not None:
        recorder = Recorder()
        recorder.node = len(executable.program.nodes)
        if fold_inside(
            executable,
            ufunc,
            shape,
            strides,
            addresses,
            arrays,
            scalars,
            reduced,
            order,
            0 if is_silent else watch,
            recorder,
        ):
            return merged([recorder.found])
    return stored_reduction(
        executable, pool, shape, arrays, scalars, reduced, order, watch
    )


def folds_inside(
    executable: Executable,
    shape: tuple[int, ...],
    order: tuple[int, ...] | None,
) -> tuple[np.ufunc | None, bool]:
    """The ufunc whose ``reduce`` may be part of the kernel, if there is one; and
    whether its flags are no matter."""
    program = executable.program
    assert program.reduction is not None
    ufunc = reduction_ufunc(program.reduction.op)
    stored = program.reduction.slot < len(program.leaves) and not program.outputs
    if order is None or 0 in shape or (stored and math.prod(shape) < THREADED):
        return None, False
    return ufunc, stored and ufunc in _SILENT


def stored_reduction(
    executable: Executable,
    pool: Pool,
    shape: tuple[int, ...],
    arrays: Arrays,
    scalars: Sequence[Any],
    reduced: HostArray,
    order: tuple[int, ...] | None,
    watch: int,
) -> Sequence[Raised]:
    """The same, with the operand in memory."""
    program = executable.program
    reduction = program.reduction
    assert reduction is not None
    recorder = Recorder()
    recorder.node = len(program.nodes)
    inputs, outputs = arrays()
    raised: Sequence[Raised] = ()
    if reduction.slot < len(inputs) and not outputs:
        source = inputs[reduction.slot]
    else:
        source, raised = _stored(
            executable, pool, shape, inputs, scalars, outputs, order, watch
        )
    ufunc = reduction_ufunc(reduction.op)
    axes = reduced_axes(shape, reduced)
    with watching(watch, recorder):
        if ufunc is not None:
            reduce(ufunc, source, axes, reduced)
        else:
            axis = None if len(axes) == source.ndim else axes[0]
            found = reduction.op.numpy(source, axis=axis, keepdims=True)
            np.copyto(reduced, found)
    return merged([recorder.found, *({r.node: r.flags} for r in raised)])


def _stored(
    executable: Executable,
    pool: Pool,
    shape: tuple[int, ...],
    inputs: Sequence[HostArray],
    scalars: Sequence[Any],
    outputs: Sequence[HostArray],
    order: tuple[int, ...] | None,
    watch: int,
) -> tuple[HostArray, Sequence[Raised]]:
    """What the reduction reads, as NumPy would have made it, and flags on the way."""
    program = executable.program
    assert program.reduction is not None
    slot = program.reduction.slot
    for place, output in zip(program.outputs, outputs, strict=True):
        if place == slot and order in (None, output.strides):
            return output, executable.run(shape, inputs, scalars, outputs, watch)
    dtype = program.reduction.dtype
    block = memory.rent(pool, max(1, math.prod(shape)) * dtype.itemsize)
    source: HostArray = np.ndarray(shape, dtype, block, 0, order)
    targets = (source, *outputs)
    slots = (slot, *program.outputs)
    return source, executable.run(shape, inputs, scalars, targets, watch, slots)


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
        if abs(source.strides[long]) < WIDE:  # pieces of rows, which are in any order
            count = min(threads, length // WIDE)
            if count < 2:
                return False
        before = (slice(None),) * long

        def part(number: int) -> None:
            piece = slice(length * number // count, length * (number + 1) // count)
            index = (*before, piece)
            out = target[index]
            ufunc.reduce(
                source[index], axis=axes, out=out, keepdims=True, dtype=out.dtype
            )

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
        out = parts[number : number + 1]
        ufunc.reduce(piece, out=out, keepdims=True, dtype=dtype)

    share(branch, len(parts))
    result = np.empty(target.shape, dtype)
    _join(ufunc, parts, result)
    if is_doubtful(ufunc, result) and has_minus_zero(source):
        return False
    np.copyto(target, result)
    return True


def _join(ufunc: np.ufunc, parts: HostArray, target: HostArray) -> None:
    """Combine the results of a run's pieces."""
    if is_pairwise(ufunc, parts.dtype):
        np.copyto(target, join_branches(parts))
    else:
        np.copyto(target, ufunc.reduce(parts, dtype=parts.dtype))
