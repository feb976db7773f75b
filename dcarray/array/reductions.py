"""Reductions of arrays, fused with what makes their operand.

A reduction runs at its call: in one NumPy call where the operand is small or an option
asks for more than a plain reduction, else as the end of a group.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from ..config import config, current
from ..dtypes import DType, is_recordable
from ..layout import Layout
from ..lazy import errstate, execute, graph
from ..lazy.graph import Read
from ..ops import elementwise as ops
from ..ops.reduction import ALL, ANY, PROD, SUM
from ..ops.spec import Op, Signature
from . import calls
from .state import ArrayState

__all__ = ["mean", "reduction", "variance"]

_missing = np._NoValue


def normalised_axes(axis: Any, ndim: int) -> tuple[int, ...]:
    """Axes as numbers from 0, in order.

    Raises
    ------
    numpy.exceptions.AxisError
        An axis that is not there.
    ValueError
        An axis twice.
    TypeError
        An axis that is no integer.
    """
    if axis is None:
        return tuple(range(ndim))
    if not isinstance(axis, tuple):
        axis = (axis,)
    return tuple(sorted(np.lib.array_utils.normalize_axis_tuple(axis, ndim)))


def _accumulator_dtype(op: Op, dtype: DType) -> DType | None:
    """The dtype that the reduction works in; None if NumPy would convert in chunks."""
    if op is SUM or op is PROD:
        if dtype.kind in "bi" and dtype.itemsize < np.dtype(np.int_).itemsize:
            return np.dtype(np.int_)
        if dtype.kind == "u" and dtype.itemsize < np.dtype(np.uint).itemsize:
            return np.dtype(np.uint)
    if op is ANY or op is ALL:
        return np.dtype(np.bool)
    return dtype


def _fuses(x: ArrayState, options: dict[str, Any]) -> bool:
    if any(value is not None and value is not _missing for value in options.values()):
        return False
    if not is_recordable(x.dtype) or not x.size:
        return False
    if x._device.kind not in ("auto", "cpu"):
        return True
    if errstate.capture() == errstate.IMMEDIATE or x._is_shared():
        return False
    host = x._host
    return host is None or host.size >= current().eager_below


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
    keep = bool(keepdims) if keepdims is not _missing else False
    if dtype is not None and _same_result(op, x.dtype, np.dtype(dtype)):
        dtype = None
    if _fuses(x, {"dtype": dtype, **options}) and not isinstance(out, np.ndarray):
        axes = normalised_axes(axis, x.ndim)
        result = _fused(x, op, axes, keep)
        if out is None:
            return _presented(cls, result)
        return _placed(result, out)
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
            if not calls.is_writeable(out):
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
    return _accumulator_dtype(op, dtype) == wanted


def _presented(cls: type[Any], result: ArrayState) -> Any:
    if not result.shape and current().scalars == "numpy":
        return result._array()[()]
    return result


def _placed(result: ArrayState, out: ArrayState) -> Any:
    if result.shape != out.shape:
        raise ValueError(
            f"output parameter for reduction operation has shape {out.shape}, "
            f"the result has {result.shape}"
        )
    if not np.can_cast(result.dtype, out.dtype, "same_kind"):
        raise TypeError(
            f"Cannot cast reduction result from {result.dtype!r} to {out.dtype!r} with "
            "casting rule 'same_kind'"
        )
    (value,) = graph.record(
        ops.CAST,
        (result._read(),),
        out._device,
        signature=Signature((result.dtype,), (out.dtype,)),
    )
    calls.write(out, value)
    return out


def _fused(x: ArrayState, op: Op, axes: tuple[int, ...], keep: bool) -> Any:
    cls = type(x)
    mask = max(errstate.capture(), 0)
    dtype = _accumulator_dtype(op, x.dtype)
    assert dtype is not None
    if not axes:  # nothing to reduce: a converted copy
        result = calls.cast(cls, x, dtype)
        return result
    read = x._read()
    if dtype != x.dtype:
        (value,) = graph.record(
            ops.CAST, (read,), x._device, 0, Signature((x.dtype,), (dtype,))
        )
        read = Read(value, value.layout, value.dtype)
    frame = graph.user_frame()
    buffer, layout = execute.reduce(op, read, axes, x._device, mask, frame)
    array = cls._of_buffer(buffer, layout, dtype, x._device)
    if keep:
        return array
    shape = tuple([n for axis, n in enumerate(layout.shape) if axis not in axes])
    strides = tuple([n for axis, n in enumerate(layout.strides) if axis not in axes])
    return cls._of_buffer(buffer, Layout(shape, strides), dtype, x._device)


# ---------------------------------------------------------------- mean and variance
def _count(x: ArrayState, axes: tuple[int, ...]) -> int:
    return math.prod([x.shape[axis] for axis in axes])


def _averages(x: ArrayState, options: dict[str, Any], out: Any) -> bool:
    """Whether mean and variance can be built from fused sums with NumPy's bits: NumPy
    converts float16 and integers in chunks while it adds."""
    return x.dtype.char in "fd" and out is None and _fuses(x, options)


def mean(
    x: ArrayState, axis: Any, dtype: Any, out: Any, keepdims: Any, where: Any
) -> Any:
    """`numpy.mean`."""
    keep = bool(keepdims) if keepdims is not _missing else False
    on_device = x._device.kind not in ("auto", "cpu")
    if on_device and x.dtype.kind in "biu" and where is _missing and dtype is None:
        x = calls.cast(type(x), x, np.dtype(np.float64))
    if _averages(x, {"dtype": dtype, "where": where}, out) or (
        on_device and x.dtype.kind in "fc" and out is None and dtype is None
    ):
        axes = normalised_axes(axis, x.ndim)
        total = _fused(x, SUM, axes, keep)
        return _presented(type(x), _divided(total, _count(x, axes)))
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
    with config(scalars="array"):
        return calls.elementwise(
            type(total), ops.DIVIDE, (total, total.dtype.type(count))
        )


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
    on_device = x._device.kind not in ("auto", "cpu")
    plain = where is _missing and dtype is None and given_mean is _missing
    if on_device and x.dtype.kind in "biu" and plain:
        x = calls.cast(cls, x, np.dtype(np.float64))
    options = {"dtype": dtype, "where": where, "mean": given_mean}
    if _averages(x, options, out) and ddof < _count(x, normalised_axes(axis, x.ndim)):
        axes = normalised_axes(axis, x.ndim)
        with config(scalars="array"):
            middle = _divided(_fused(x, SUM, axes, True), _count(x, axes))
            apart = calls.elementwise(cls, ops.SUBTRACT, (x, middle))
            squares = calls.elementwise(cls, ops.SQUARE, (apart,))
            del apart
            total = _reduced(squares, axes, keep)
            result = _divided(total, max(_count(x, axes) - ddof, 0))
            if root:
                result = calls.elementwise(cls, ops.SQRT, (result,))
        return _presented(cls, result)
    given = _given(dtype, keepdims, where)
    if given_mean is not _missing:
        given["mean"] = _host(given_mean)
    return through_numpy(
        x, np.std if root else np.var, axis, out, {"ddof": ddof, **given}
    )


def _reduced(x: ArrayState, axes: tuple[int, ...], keep: bool) -> Any:
    """A sum that fuses even where its operand is small."""
    return _fused(x, SUM, axes, keep)
