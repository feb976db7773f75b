"""Reductions of arrays, fused with what makes their operand.

A reduction runs at its call: in one NumPy call where the operand is small or an option
asks for more than a plain reduction, else as the end of a group.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import numpy as np

from ..config import config, current
from ..dtypes import DType, is_recordable
from ..lazy import errstate
from ..lazy.graph import State
from ..lazy.route import auto_devices
from ..ops import elementwise as ops
from ..ops.reduction import SUM
from ..ops.spec import Op
from . import calls, named_reductions
from .fused import (
    accumulator_dtype,
    count_of,
    fused,
    is_temporary,
    normalised_axes,
    placed,
    presented,
    reduced_axes,
)
from .state import ArrayState, is_foreign, is_writeable

__all__ = ["mean", "reduction", "variance"]

_missing = np._NoValue

FEW = 1 << 20
"""Elements on the host that one thread reduces before several are at work."""

FEW_PASSES = 1 << 19
"""The same for a variance, for which NumPy writes two arrays."""


def _few(x: ArrayState, most: int = FEW) -> np.ndarray[Any, Any] | None:
    """The elements if there is nothing to fuse, and NumPy is done with them first."""
    below = current().whole_below
    if not below:
        return None
    host = x._settled()
    if host is None and x.size < below and len(auto_devices) == 1:
        host = x._array()  # two launches of the host are shorter than a new group
    return host if host is not None and host.size < max(below, most) else None


def _fuses(x: ArrayState, options: dict[str, Any], most: int = FEW) -> bool:
    if any(value is not None and value is not _missing for value in options.values()):
        return False
    if not is_recordable(x.dtype) or not x.size:
        return False
    if x._device.kind not in ("auto", "cpu"):
        return True
    if errstate.capture() == errstate.IMMEDIATE or x._is_shared():
        return False
    return _few(x, most) is None


_PLAIN = frozenset(("sum", "prod", "min", "max"))


def _ends(x: ArrayState, options: dict[str, Any]) -> bool:
    """Whether a reduction is the end of a group of the host that waits: the short way
    of `_fuses`."""
    binding = x._binding
    value = None if binding is None else binding._value
    if value is None or value.state is not State.PENDING or x._device.is_named:
        return False
    for option in options.values():
        if option is not _missing and option is not None:
            return False
    layout, kind = x._view  # type: ignore[misc]
    return (
        0 not in layout.shape
        and is_recordable(kind)
        and errstate.capture() != errstate.IMMEDIATE
    )


def _plain_axis(axis: Any) -> Any:
    return axis._array() if isinstance(axis, ArrayState) else axis


def reduction(
    x: ArrayState,
    op: Op,
    method: Callable[..., Any],
    axis: Any,
    keepdims: Any,
    out: Any = None,
    dtype: Any = None,
    **options: Any,
) -> Any:
    """``op`` over ``axis``.

    Parameters
    ----------
    x : ArrayState
    op : Op
        One of the rows SUM, PROD, MIN, MAX, ANY, ALL.
    method : callable
        NumPy's function, called with an array of the host where nothing fuses.
    axis, keepdims, out, dtype
        As in NumPy.
    **options
        ``initial`` and ``where``.
    """
    cls = type(x)
    if x._host is None and out is None and dtype is None and _ends(x, options):
        axes = reduced_axes(axis, x.ndim)
        keep = keepdims is not _missing and bool(keepdims)
        temporary = is_temporary(sys.getrefcount(x), x)
        return presented(cls, fused(x, op, axes, keep, temporary))
    host = _few(x)
    if (
        host is not None
        and out is None
        and dtype is None
        and op.name in _PLAIN
        and host.dtype.kind in "biufc"
        and all(value is _missing for value in options.values())
    ):
        # The short way: what NumPy's own method does.
        keep = bool(keepdims) if keepdims is not _missing else False
        axis = axis if type(axis) is int or axis is None else _plain_axis(axis)
        result = op.numpy.reduce(host, axis, None, None, keep)  # type: ignore[attr-defined]
        return calls.wrap(cls, result, x._device)
    keep = bool(keepdims) if keepdims is not _missing else False
    if x._device.kind not in ("auto", "cpu"):
        temporary = is_temporary(sys.getrefcount(x), x)
        return named_reductions.reduction(
            x, op, method, axis, keep, out, dtype, options, temporary
        )
    if dtype is not None and _same_result(op, x.dtype, np.dtype(dtype)):
        dtype = None
    if _fuses(x, {"dtype": dtype, **options}) and not is_foreign(out):
        axes = reduced_axes(axis, x.ndim)
        temporary = is_temporary(sys.getrefcount(x), x)
        result = fused(x, op, axes, keep, temporary)
        if out is None:
            return presented(cls, result)
        return placed(result, out)
    given = {
        k: _host(v) for k, v in options.items() if v is not _missing and v is not None
    }
    if keepdims is not _missing:
        given["keepdims"] = keepdims
    if dtype is not None:
        given["dtype"] = dtype
    return through_numpy(x, method, axis, out, given)


def through_numpy(
    x: ArrayState,
    method: Callable[..., Any],
    axis: Any,
    out: Any,
    given: dict[str, Any],
) -> Any:
    """One NumPy call on the host."""
    cls = type(x)
    host = x._array()
    if out is not None:
        if isinstance(out, ArrayState):
            if not is_writeable(out):
                raise ValueError("output array is read-only")
            method(host, axis=axis, out=out._writable_array(), **given)
        else:
            method(host, axis=axis, out=out, **given)
        return out
    result = method(host, axis=axis, **given)
    return calls.wrap(cls, result, x._device)


def _host(value: Any) -> Any:
    return value._array() if isinstance(value, ArrayState) else value


def _same_result(op: Op, dtype: DType, wanted: DType) -> bool:
    return accumulator_dtype(op, dtype) == wanted


# ---------------------------------------------------------------- mean and variance
def _averages(
    x: ArrayState, options: dict[str, Any], out: Any, most: int = FEW
) -> bool:
    """Whether mean and variance can be built from fused sums with NumPy's bits: NumPy
    converts float16 and integers in chunks while it adds."""
    return x.dtype.char in "fd" and out is None and _fuses(x, options, most)


def mean(
    x: ArrayState, axis: Any, dtype: Any, out: Any, keepdims: Any, where: Any
) -> Any:
    """`numpy.mean`."""
    keep = bool(keepdims) if keepdims is not _missing else False
    if x._device.kind not in ("auto", "cpu"):
        temporary = is_temporary(sys.getrefcount(x), x)
        return named_reductions.mean(x, axis, dtype, out, keep, where, temporary)
    if _averages(x, {"dtype": dtype, "where": where}, out):
        axes = normalised_axes(axis, x.ndim)
        temporary = is_temporary(sys.getrefcount(x), x)
        total = fused(x, SUM, axes, keep, temporary)
        return presented(type(x), _divided(total, count_of(x, axes)))
    given = _given(dtype, keepdims, where)
    return through_numpy(x, np.mean, axis, out, given)


def _given(dtype: Any, keepdims: Any, where: Any) -> dict[str, Any]:
    given: dict[str, Any] = {}
    if dtype is not None:
        given["dtype"] = dtype
    if keepdims is not _missing:
        given["keepdims"] = keepdims
    if where is not _missing:
        given["where"] = _host(where)
    return given


def _divided(total: ArrayState, count: float) -> Any:
    """A sum divided by a count, which NumPy takes for an integer of full width."""
    host = total._writable_array()
    divisor = np.intp(count) if float(count).is_integer() else np.float64(count)
    np.true_divide(host, divisor, out=host, casting="unsafe")
    return total


def variance(
    x: ArrayState,
    axis: Any,
    dtype: Any,
    out: Any,
    ddof: float,
    keepdims: Any,
    where: Any,
    given_mean: Any,
    root: bool = False,
) -> Any:
    """`numpy.var`, or `numpy.std` with ``root``."""
    cls = type(x)
    keep = bool(keepdims) if keepdims is not _missing else False
    if x._device.kind not in ("auto", "cpu"):
        return named_reductions.variance(
            x, axis, dtype, out, ddof, keep, where, given_mean, root
        )
    options = {"dtype": dtype, "where": where, "mean": given_mean}
    if _averages(x, options, out, FEW_PASSES) and ddof < count_of(
        x, normalised_axes(axis, x.ndim)
    ):
        axes = normalised_axes(axis, x.ndim)
        with config(scalars="array"):
            middle = _divided(fused(x, SUM, axes, True), count_of(x, axes))
            apart = calls.elementwise(cls, ops.SUBTRACT, (x, middle))
            squares = calls.elementwise(cls, ops.SQUARE, (apart,))
            del apart
            # A sum that fuses even where its operand is small, and stores no squares.
            total = fused(squares, SUM, axes, keep, True)
            result = _divided(total, max(count_of(x, axes) - ddof, 0))
            if root:  # in place, as NumPy does it: the strides stay
                result = calls.elementwise(cls, ops.SQRT, (result,), out=result)
        return presented(cls, result)
    given = _given(dtype, keepdims, where)
    if given_mean is not _missing:
        given["mean"] = _host(given_mean)
    return through_numpy(
        x, np.std if root else np.var, axis, out, {"ddof": ddof, **given}
    )
