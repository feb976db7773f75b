"""Reductions: the bits of ``ufunc.reduce`` over the array that NumPy would make."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from ..base import Raised
from ..pool import Pool
from . import memory
from .execute import Executable
from .interpreter import Recorder, watching

__all__ = ["launch_reduction", "reduce", "reduction_ufunc"]

HostArray = np.ndarray[Any, Any]

_UFUNCS = {
    "sum": np.add,
    "prod": np.multiply,
    "min": np.minimum,
    "max": np.maximum,
    "any": np.logical_or,
    "all": np.logical_and,
}


def reduction_ufunc(op: Any) -> np.ufunc | None:
    """The ufunc whose ``reduce`` an op means, if there is one."""
    if isinstance(op.numpy, np.ufunc):
        return op.numpy
    return _UFUNCS.get(op.name)


def reduced_axes(shape: tuple[int, ...], target: HostArray) -> tuple[int, ...]:
    """The axes that a result with length 1 along them says are reduced."""
    axes = tuple(
        axis for axis, length in enumerate(shape) if length != target.shape[axis]
    )
    if axes:
        return axes
    return tuple(axis for axis, length in enumerate(shape) if length == 1)[:1]


def launch_reduction(
    executable: Executable,
    pool: Pool[HostArray],
    shape: tuple[int, ...],
    inputs: Sequence[HostArray],
    scalars: Sequence[np.generic],
    outputs: Sequence[HostArray],
    reduced: HostArray,
    order: tuple[int, ...] | None,
    watch: int,
) -> Sequence[Raised]:
    """Run a program that ends in a reduction; see `Backend.launch`."""
    program = executable.program
    reduction = program.reduction
    assert reduction is not None
    axes = reduced_axes(shape, reduced)
    raised: Sequence[Raised] = ()
    if reduction.slot < len(inputs) and not outputs:
        source = inputs[reduction.slot]
    else:
        source = _temporary(pool, shape, reduction.dtype, order)
        raised = executable.run(
            shape,
            inputs,
            scalars,
            (source, *outputs),
            watch,
            (reduction.slot, *program.outputs),
        )
    recorder = Recorder()
    recorder.node = len(program.nodes)
    with watching(watch, recorder):
        ufunc = reduction_ufunc(reduction.op)
        if ufunc is not None:
            reduce(ufunc, source, axes, reduced)
        else:
            axis = None if len(axes) == len(shape) else axes[0]
            np.copyto(reduced, reduction.op.numpy(source, axis=axis, keepdims=True))
    return [*raised, *(Raised(n, bits) for n, bits in recorder.found.items())]


def _temporary(
    pool: Pool[HostArray],
    shape: tuple[int, ...],
    dtype: np.dtype[Any],
    order: tuple[int, ...] | None,
) -> HostArray:
    block = memory.rent(pool, max(1, math.prod(shape)) * dtype.itemsize)
    return np.ndarray(shape, dtype, block, 0, order)


def reduce(
    ufunc: np.ufunc, source: HostArray, axes: tuple[int, ...], target: HostArray
) -> None:
    """``ufunc.reduce`` into ``target``, which has length 1 along ``axes``."""
    ufunc.reduce(source, axis=axes, out=target, keepdims=True, dtype=target.dtype)
