"""How `nn` makes functions of others: composed rows, sums that keep their digits."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..array import DeviceArray, calls
from ..errors import DTypeError
from ..ops import composed, elementwise as ops
from ..ops.spec import Op

__all__ = ["accumulator", "applied", "floating", "narrowed", "summed_to", "total"]


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
    if any([x._device.kind not in ("auto", "cpu") for x in arrays]):
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
