"""Contractions: products that sum over axes.

Those that are ufuncs (`matmul` ...) are in `elementwise`.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..array import DeviceArray
from ..array.fallback import on_host
from ..array.library import oracle
from ..array.movement import moved
from ..backends.registry import AUTO
from ..ops import contraction as rows
from . import calling
from .calling import served
from .coverage import fallback, native

__all__ = [
    "cross",
    "dot",
    "einsum",
    "einsum_path",
    "inner",
    "kron",
    "matrix_transpose",
    "outer",
    "tensordot",
    "trace",
    "vdot",
]


dot = served(rows.DOT)
vdot = served(rows.VDOT)
inner = served(rows.INNER)
outer = served(rows.OUTER)
kron = served(rows.KRON)
tensordot = served(rows.TENSORDOT)
cross = served(rows.CROSS)


@native
def einsum(
    *operands: Any, out: Any = None, optimize: Any = False, **options: Any
) -> Any:
    """Sums of products by Einstein's convention, as `numpy.einsum`.

    Parameters
    ----------
    *operands
        ``"ij,jk->ik", a, b``, or ``a, [0, 1], b, [1, 2], [0, 2]``.
    out : array, optional
    optimize : bool, str or list
        How to order the contractions.
    **options
        ``dtype``, ``order`` and ``casting``.
    """
    if calling.named_device(operands, {}) is AUTO:
        if out is not None:
            options["out"] = out
        options["optimize"] = optimize
        if operands and isinstance(operands[0], str):
            text, *arrays = operands
            function = oracle(rows.EINSUM)
            return on_host(DeviceArray, function, *arrays, subscripts=text, **options)
        return on_host(DeviceArray, np.einsum, *operands, **options)
    text, arrays = _parsed(operands)
    return calling.call_row(
        rows.EINSUM, arrays, out, subscripts=text, optimize=optimize, **options
    )


def _parsed(operands: tuple[Any, ...]) -> tuple[str, list[Any]]:
    """Subscripts and arrays."""
    if isinstance(operands[0], str):
        return operands[0], list(operands[1:])
    arrays = list(operands[: len(operands) // 2 * 2 : 2])
    lists = [_letters(x) for x in operands[1::2]]
    text = ",".join(lists)
    if len(operands) % 2:
        text += "->" + _letters(operands[-1])
    return text, arrays


def _letters(subscripts: Any) -> str:
    names = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
    return "".join(["..." if x is Ellipsis else names[int(x)] for x in subscripts])


einsum_path = fallback(np.einsum_path)


@native
def trace(
    a: Any,
    offset: int = 0,
    axis1: int = 0,
    axis2: int = 1,
    dtype: Any = None,
    out: Any = None,
) -> Any:
    """Sum along a diagonal, as `numpy.trace`."""
    if calling.named_device((a,), {}) is AUTO:
        return on_host(DeviceArray, np.trace, a, offset, axis1, axis2, dtype, out)
    return a.trace(offset, axis1, axis2, dtype, out)


@native
def matrix_transpose(x: Any, /) -> Any:
    """Matrices with their last two axes exchanged, a view."""
    if not isinstance(x, DeviceArray):
        return on_host(DeviceArray, np.matrix_transpose, x)
    return moved(x, lambda a: np.matrix_transpose(a))
