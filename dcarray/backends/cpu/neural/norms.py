"""Softmax and norms on the CPU: each row once from memory, rows on all threads.

The kernel of softmax is that of `ops.kernels.rows`, norms are those of `moments`.
Where there is no machine code, NumPy computes the same in double precision.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Callable
from typing import Any

import numpy as np

from ....ops import wholes
from ....ops.kernels.rows import softmax_kernel
from ....ops.spec import Op
from ..engine import data_address, engine
from ..kernels import run_pieces
from ..threads import available_threads, run_slices
from ..wholes.radix import rented
from .moments import norm_code

__all__ = ["FUNCTIONS", "pieces_of"]

HostArray = np.ndarray[Any, Any]

PIECE = 1 << 15
"""Elements that are worth a piece of their own."""


def pieces_of(rows: int, elements: int) -> tuple[int, int]:
    """In how many pieces rows are cut, and how many rows each has but the last one."""
    threads = available_threads()
    wanted = min(rows, 8 * threads, max(1, elements // PIECE)) if threads > 1 else 1
    each = -(-rows // wanted)
    return -(-rows // each), each


def _softmax(x: HostArray, logarithm: bool) -> HostArray | None:
    machine = engine()
    if machine is None or not machine.has_fused:
        return None
    kernel = softmax_kernel(x.dtype, logarithm)
    found = rented(x.size, x.dtype).reshape(x.shape)
    rows = x.size // x.shape[-1]
    pieces, each = pieces_of(rows, x.size)
    done = run_pieces(kernel, pieces, (x, found, rows, each, x.shape[-1]))
    return found if done else None


def _norm(
    x: HostArray,
    weight: HostArray | None,
    bias: HostArray | None,
    centred: bool,
    single: bool,
    rows: int,
    sizes: tuple[int, ...],
    epsilon: float,
) -> HostArray | None:
    """The result of machine code (``sizes`` are those of its words), or None where
    there is none."""
    given = (weight is not None, bias is not None)
    code = norm_code(x.dtype, centred, *given, single)
    if code is None:
        return None
    found = rented(x.size, x.dtype).reshape(x.shape)
    arrays = [x if y is None else np.ascontiguousarray(y) for y in (weight, bias)]
    addresses = [data_address(y) for y in (x, *arrays, found)]
    pieces, each = pieces_of(rows, x.size)

    def run(piece: int) -> None:
        own = (piece * each, min(rows, piece * each + each))
        code(struct.pack("=13qd", *addresses, *own, *sizes, epsilon))

    run_slices(run, pieces, available_threads())
    return found


def _along_last(
    x: HostArray,
    weight: HostArray | None,
    bias: HostArray | None,
    epsilon: float,
    centred: bool,
) -> HostArray | None:
    length = x.shape[-1]
    sizes = (1, length, length, 0, 1, 0, 0)
    rows = x.size // length
    return _norm(x, weight, bias, centred, True, rows, sizes, epsilon)


def _layer_norm(
    x: HostArray,
    weight: HostArray | None = None,
    bias: HostArray | None = None,
    *,
    epsilon: float,
) -> HostArray | None:
    return _along_last(x, weight, bias, epsilon, True)


def _rms_norm(
    x: HostArray, weight: HostArray | None = None, *, epsilon: float
) -> HostArray | None:
    return _along_last(x, weight, None, epsilon, False)


def _group_norm(
    x: HostArray,
    weight: HostArray | None = None,
    bias: HostArray | None = None,
    *,
    groups: int,
    epsilon: float,
) -> HostArray | None:
    channels, positions = x.shape[1], math.prod(x.shape[2:])
    runs = channels // groups
    sizes = (runs, positions, runs * positions, positions, channels, runs, 1)
    rows = x.shape[0] * groups
    return _norm(x, weight, bias, True, False, rows, sizes, epsilon)


def _batch_norm(
    x: HostArray,
    weight: HostArray | None = None,
    bias: HostArray | None = None,
    *,
    epsilon: float,
) -> HostArray | None:
    channels, positions = x.shape[1], math.prod(x.shape[2:])
    sizes = (x.shape[0], positions, positions, channels * positions, channels, 1, 0)
    return _norm(x, weight, bias, True, False, channels, sizes, epsilon)


def _called(op: Op, function: Callable[..., HostArray | None]) -> Callable[..., Any]:
    """A function like the oracle of a row."""

    def call(*given: HostArray | None, **options: Any) -> HostArray:
        x = given[0]
        assert x is not None
        short = x.dtype.itemsize < 4
        operands = [
            None
            if y is None
            else np.ascontiguousarray(y, np.float32 if short else y.dtype)
            for y in given
        ]
        found = function(*operands, **options)
        if found is None:
            wide = [None if y is None else y.astype(np.float64) for y in given]
            found = op.numpy(*wide, **options)
        return found.astype(x.dtype, copy=False)

    return call


FUNCTIONS: dict[Op, Callable[..., Any]] = {
    wholes.BATCH_NORM: _called(wholes.BATCH_NORM, _batch_norm),
    wholes.GROUP_NORM: _called(wholes.GROUP_NORM, _group_norm),
    wholes.LAYER_NORM: _called(wholes.LAYER_NORM, _layer_norm),
    wholes.LOG_SOFTMAX: _called(wholes.LOG_SOFTMAX, lambda x: _softmax(x, True)),
    wholes.RMS_NORM: _called(wholes.RMS_NORM, _rms_norm),
    wholes.SOFTMAX: _called(wholes.SOFTMAX, lambda x: _softmax(x, False)),
}
"""The CPU's own way for rows of `ops.wholes`; called like their oracles."""
