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
from .norm_gradients import norm_gradient_code

__all__ = ["FUNCTIONS", "pieces_of"]

HostArray = np.ndarray[Any, Any]

PIECE = 1 << 15
"""Elements that are worth a piece of their own."""


BLOCKS = 64
"""Blocks of rows whose shares in the gradient of weights are added up at the end."""

BLOCK = 16
"""Rows of such a block."""


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


def _norm_gradient(
    x: HostArray,
    gradient: HostArray,
    weight: HostArray | None,
    single: bool,
    rows: int,
    sizes: tuple[int, ...],
    epsilon: float,
) -> tuple[HostArray, HostArray, HostArray] | None:
    """As `_norm`: the gradient in x, and the shares in those in weight and bias, of
    blocks of rows that do not depend on the number of threads, or of each row."""
    code = norm_gradient_code(x.dtype, True, weight is not None, single)
    if code is None:
        return None
    found = rented(x.size, x.dtype).reshape(x.shape)
    each = max(BLOCK, -(-rows // BLOCKS)) if single else max(1, rows // BLOCKS)
    blocks = -(-rows // each)
    if single:
        shares = np.zeros((2, blocks, x.shape[-1]), x.dtype)
    else:
        shares = np.empty((2, rows, sizes[0]), np.float64)
    arrays = [x, gradient, x if weight is None else weight, found]
    addresses = [data_address(y) for y in arrays]

    def run(block: int) -> None:
        own = (block * each, min(rows, block * each + each))
        targets = [data_address(y[block] if single else y) for y in shares]
        code(struct.pack("=15qd", *addresses, *targets, *own, *sizes, epsilon))

    run_slices(run, blocks, available_threads())
    return found, shares[0], shares[1]


def _layer_norm_gradient(
    x: HostArray,
    gradient: HostArray,
    weight: HostArray | None = None,
    *,
    epsilon: float,
) -> tuple[HostArray, HostArray, HostArray] | None:
    length = x.shape[-1]
    sizes = (1, length, length, 0, 1, 0, 0)
    rows = x.size // length
    made = _norm_gradient(x, gradient, weight, True, rows, sizes, epsilon)
    if made is None:
        return None
    found, of_weight, of_bias = made
    return found, of_weight.sum(0, np.float64), of_bias.sum(0, np.float64)


def _group_norm_gradient(
    x: HostArray,
    gradient: HostArray,
    weight: HostArray | None = None,
    *,
    groups: int,
    epsilon: float,
) -> tuple[HostArray, HostArray, HostArray] | None:
    channels, positions = x.shape[1], math.prod(x.shape[2:])
    runs = channels // groups
    sizes = (runs, positions, runs * positions, positions, channels, runs, 1)
    rows = x.shape[0] * groups
    made = _norm_gradient(x, gradient, weight, False, rows, sizes, epsilon)
    if made is None:
        return None
    found, *shares = made
    of_weight, of_bias = [y.reshape(x.shape[:2]).sum(0) for y in shares]
    return found, of_weight, of_bias


def _batch_norm_gradient(
    x: HostArray,
    gradient: HostArray,
    weight: HostArray | None = None,
    *,
    epsilon: float,
) -> tuple[HostArray, HostArray, HostArray] | None:
    channels, positions = x.shape[1], math.prod(x.shape[2:])
    sizes = (x.shape[0], positions, positions, channels * positions, channels, 1, 0)
    made = _norm_gradient(x, gradient, weight, False, channels, sizes, epsilon)
    if made is None:
        return None
    found, *shares = made
    of_weight, of_bias = [y.sum(1) for y in shares]
    return found, of_weight, of_bias


def _called(op: Op, function: Callable[..., Any]) -> Callable[..., Any]:
    """A function like the oracle of a row."""

    def call(*given: HostArray | None, **options: Any) -> Any:
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
        if op.outputs > 1:
            return tuple([y.astype(x.dtype, copy=False) for y in found])
        return found.astype(x.dtype, copy=False)

    return call


FUNCTIONS: dict[Op, Callable[..., Any]] = {
    wholes.BATCH_NORM: _called(wholes.BATCH_NORM, _batch_norm),
    wholes.BATCH_NORM_GRADIENT: _called(
        wholes.BATCH_NORM_GRADIENT, _batch_norm_gradient
    ),
    wholes.GROUP_NORM_GRADIENT: _called(
        wholes.GROUP_NORM_GRADIENT, _group_norm_gradient
    ),
    wholes.LAYER_NORM_GRADIENT: _called(
        wholes.LAYER_NORM_GRADIENT, _layer_norm_gradient
    ),
    wholes.GROUP_NORM: _called(wholes.GROUP_NORM, _group_norm),
    wholes.LAYER_NORM: _called(wholes.LAYER_NORM, _layer_norm),
    wholes.LOG_SOFTMAX: _called(wholes.LOG_SOFTMAX, lambda x: _softmax(x, True)),
    wholes.RMS_NORM: _called(wholes.RMS_NORM, _rms_norm),
    wholes.SOFTMAX: _called(wholes.SOFTMAX, lambda x: _softmax(x, False)),
}
"""The CPU's own way for rows of `ops.wholes`; called like their oracles."""
