"""Contractions: products that sum over axes.

Those that are ufuncs (`matmul` ...) are in `elementwise`.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..array import DeviceArray, calls, whole
from ..array.fallback import on_host
from ..array.library import oracle
from ..array.movement import moved
from ..array.rows import multiplied
from ..backends.registry import AUTO
from ..config import config
from ..ops import contraction as rows
from . import calling, elementwise
from .calling import presented, served
from .conversion import as_array
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


def _of_rows(a: Any, b: Any, out: Any = None) -> Any:
    """The product of two rows, if their device has a way of its own for it."""
    if out is not None or type(a) is not DeviceArray or type(b) is not DeviceArray:
        return None
    return presented(multiplied(a, b))


dot = served(rows.DOT, exact=True, recorded=_of_rows)
vdot = served(rows.VDOT)
inner = served(rows.INNER)
kron = served(rows.KRON)
tensordot = served(rows.TENSORDOT)
cross = served(rows.CROSS)


@whole.function(np.outer)
@native
def outer(a: Any, b: Any, out: Any = None) -> Any:
    """Products of every element of one array with every one of another, as
    `numpy.outer`; recorded like ``a[:, None] * b``.

    Parameters
    ----------
    a, b : array_like
        Of whatever shapes; their elements in C order count.
    out : array, optional
        Where the result goes, of shape ``(a.size, b.size)``.
    """
    x, y = as_array(a).reshape(-1, 1), as_array(b).reshape(1, -1)
    if out is None:
        return elementwise.multiply(x, y)
    return elementwise.multiply(x, y, out)


@whole.function(np.einsum)
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
    if out is None and len(arrays) == 1 and isinstance(arrays[0], DeviceArray):
        one = np.empty((1,) * arrays[0].ndim, np.bool)
        shown = np.einsum(text, one)
        # A view, or the one element, whatever the options say.
        if not one.ndim:
            return calling.presented(arrays[0].copy())
        if np.may_share_memory(one, shown):
            return moved(arrays[0], lambda a: np.einsum(text, a))
    if out is None and not options and isinstance(optimize, (bool, str)):
        return calling.call_row(rows.EINSUM, arrays, subscripts=text, optimize=optimize)
    arrays = [calls.as_operand(x) for x in arrays]
    _check(text, arrays, out, optimize, options)
    dtype = options.get("dtype")
    if dtype is None and out is not None:
        dtype = np.result_type(*arrays, out.dtype)
    if dtype is not None:
        arrays = [as_array(x).astype(dtype) for x in arrays]
    with config(scalars="array"):
        found = calling.call_row(rows.EINSUM, arrays, subscripts=text)
    order = (options.get("order") or "K").upper()
    if order == "A":
        given = [x for x in arrays if isinstance(x, DeviceArray)]
        turned = all([x.flags.f_contiguous for x in given])
        order = "F" if turned else "C"
    if order != "K" and not found.flags[f"{order}_CONTIGUOUS"]:
        found = found.copy(order)
    return calling.stored_in(out, found, "unsafe")


def _check(
    text: str, arrays: list[Any], out: Any, optimize: Any, options: dict[str, Any]
) -> None:
    """Let NumPy say what is wrong, if anything is, with arrays of no elements."""

    def empty(x: Any) -> Any:
        return np.empty((0,) * x.ndim, x.dtype) if hasattr(x, "dtype") else x

    if out is not None:
        options = {**options, "out": empty(out)}
    np.einsum(text, *[empty(x) for x in arrays], optimize=optimize, **options)


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
    found = []
    for x in subscripts:
        if x is not Ellipsis and not 0 <= int(x) < len(names):
            raise ValueError("subscript is not within the valid range [0, 52)")
        found.append("..." if x is Ellipsis else names[int(x)])
    return "".join(found)


einsum_path = fallback(np.einsum_path)


@whole.function(np.trace)
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


@whole.function(np.matrix_transpose)
@native
def matrix_transpose(x: Any, /) -> Any:
    """Matrices with their last two axes exchanged, a view."""
    if not isinstance(x, DeviceArray):
        return on_host(DeviceArray, np.matrix_transpose, x)
    return moved(x, lambda a: np.matrix_transpose(a))
