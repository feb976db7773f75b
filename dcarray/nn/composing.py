"""How `nn` makes functions of others: composed rows, sums that keep their digits."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import cache
from typing import Any

import numpy as np

from ..array import DeviceArray, calls
from ..backends.registry import backend_for
from ..errors import DTypeError
from ..lazy import route
from ..ops import composed, elementwise as ops
from ..ops.fast import FUNCTIONS, in_force
from ..ops.spec import Op

__all__ = [
    "accumulator",
    "applied",
    "by_channel",
    "by_row",
    "floating",
    "narrowed",
    "summed_to",
    "takes_short",
    "total",
]

LEAST, MOST = 128, 1 << 15
"""Elements of a row that kernels of rows take."""

FEW = 1 << 15
"""Rows that may be shorter: one launch takes less time than several."""

LONG = 1 << 17
"""Elements of a row that the CPU's caches hold."""

PLANE = 16
"""Positions of a channel from which they are worth a loop."""


def _run(op: Op, *operands: Any) -> Any:
    """One operation of a body; a cast has its dtype for second operand."""
    if op is not ops.CAST:
        return calls.elementwise(DeviceArray, op, operands)
    x, dtype = operands
    return x.astype(dtype)


def applied(op: Op, arrays: Sequence[Any], parameters: Sequence[float]) -> Any:
    """A composed row: on the CPU recorded as the operations that its body is made of,
    on other devices as one operation."""
    operands = [*arrays, *parameters]
    if any([x._device.kind not in ("auto", "cpu") for x in arrays]) or (
        # A body of its own, under ``config(math="fast")``.
        op.name in FUNCTIONS
        and arrays[0].dtype.char in "fd"
        and in_force(op, "cpu") is not op
    ):
        return calls.elementwise(DeviceArray, op, operands)
    dtypes = [*[x.dtype for x in arrays], *map(type, parameters)]
    (result,) = composed.trace(op, _run, operands, dtypes)
    return result


def floating(name: str, x: Any) -> Any:
    """Real numbers in a dtype to compute in: float32 for shorter floats, float64 for
    integers.

    Raises
    ------
    DTypeError
        Complex numbers and what is no number.
    """
    if x.dtype.kind in "biu":
        return x.astype(np.float64)
    if x.dtype.kind in "cOSUMmT" or x.dtype.names is not None:
        raise DTypeError(f"{name}: got {x.dtype}, takes real numbers")
    return x if x.dtype.itemsize >= 4 else x.astype(np.float32)


def narrowed(x: Any, like: Any) -> Any:
    """A result in the dtype of an operand, if that has floats."""
    dtype = np.dtype(np.float64) if like.dtype.kind in "biu" else like.dtype
    return x if x.dtype == dtype else x.astype(dtype)


def by_row(
    op: Op, x: Any, axes: Any, *others: Any, alike: Sequence[Any] = (), **options: Any
) -> Any:
    """An operation of `ops.wholes` along the last axis of an array, where its device
    has a kernel for it; None where it is to be made of others.

    Parameters
    ----------
    op : Op
    x : DeviceArray
    axes : int, tuple of int or None
        The last one alone is what such kernels do.
    *others : DeviceArray or None
        Further operands, as long as a row.
    alike : sequence of DeviceArray
        Those before them, of the shape of x.
    """
    if not x.ndim or axes not in (-1, x.ndim - 1, (-1,), (x.ndim - 1,)):
        return None
    length = x.shape[-1]
    if route.candidates(x._device) == ["cpu"]:
        fits = length <= LONG
    else:
        fits = length <= MOST and (length >= LEAST or x.size <= FEW * length)
    if not fits or any(y is not None and y.shape != (length,) for y in others):
        return None
    return _whole(op, x, alike, others, options)


def by_channel(
    op: Op, x: Any, *others: Any, alike: Sequence[Any] = (), **options: Any
) -> Any:
    """As `by_row`, for an operation on the channels of (batch, channels, \\*positions);
    further operands have a number for each channel."""
    if math.prod(x.shape[2:]) < PLANE:
        return None
    if any(y is not None and y.shape != x.shape[1:2] for y in others):
        return None
    return _whole(op, x, alike, others, options)


def _whole(
    op: Op,
    x: Any,
    alike: Sequence[Any],
    others: Sequence[Any],
    options: dict[str, Any],
) -> Any:
    """An operation in one piece, if all devices that come into question can do it."""
    if x.dtype.char not in "efd" or not x.size:
        return None
    if any(y.shape != x.shape for y in alike):
        return None
    if any(y is not None and y.dtype != x.dtype for y in (*alike, *others)):
        return None
    for label in route.candidates(x._device):
        if label != "cpu" and op.name not in backend_for(label).native:
            return None
    operands = [x, *alike, *others]
    while operands[-1] is None:
        operands.pop()
    return calls.library(DeviceArray, op, operands, **options)


@cache
def _is_short(dtype: np.dtype[Any]) -> bool:
    return dtype.name in ("float16", "bfloat16")


def takes_short(op: Op, dtype: np.dtype[Any], *operands: Any) -> bool:
    """Whether the operands' device has a row for an operation that takes a float
    shorter than float32 as it is, and sums in float32."""
    if not _is_short(dtype):
        return False
    devices = {x._device.label for x in operands if x._device.is_named}
    if len(devices) != 1:
        return False
    return op.name in getattr(backend_for(devices.pop()), "short", ())


def accumulator(x: Any) -> np.dtype[Any]:
    """The dtype in which sums of an array are made: float64, but not where that may be
    slow or missing."""
    if x.dtype.kind != "f" or x._device.kind not in ("auto", "cpu"):
        return x.dtype  # type: ignore[no-any-return]
    return np.dtype(np.float64)


def total(x: Any, axes: Any, keepdims: bool = True) -> Any:
    """Sums along axes, in the dtype of `accumulator`."""
    return x.astype(accumulator(x)).sum(axes, keepdims=keepdims)


def summed_to(x: Any, shape: Sequence[int]) -> Any:
    """The adjoint of broadcasting from a shape: sums along the axes that were
    repeated."""
    extra = x.ndim - len(shape)
    axes = tuple(range(extra)) + tuple(
        [extra + k for k, n in enumerate(shape) if n == 1 and x.shape[extra + k] != 1]
    )
    if not axes:
        return x
    return total(x, axes).reshape(tuple(shape)).astype(x.dtype)
