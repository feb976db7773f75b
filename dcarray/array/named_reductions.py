"""Reductions of arrays on named devices.

They are made of fused reductions and elementwise operations, so that nothing but the
device touches the elements.  What NumPy says about arrays without elements, it says
about an empty array of the host.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from typing import Any

import numpy as np

from ..backends.registry import backend_for
from ..config import config, current
from ..dtypes import DType
from ..ops import elementwise as ops
from ..ops.reduction import ALL, ANY, IDENTITIES, SUM
from ..ops.spec import Op
from ..ops.wholes import MEAN, VARIANCE
from . import calls
from .fallback import call_numpy
from .fused import (
    count_of,
    fused,
    normalised_axes,
    placed,
    presented,
    reduced_axes,
)
from .library import library
from .movement import moved
from .state import ArrayState

__all__ = ["mean", "reduction", "variance"]

_missing: Any = np._NoValue

_NOTHING: AbstractContextManager[None] = nullcontext()


def _as_arrays() -> AbstractContextManager[Any]:
    """Results are arrays as long as the block lasts: settings are only made where they
    are others."""
    return _NOTHING if current().scalars == "array" else config(scalars="array")


def reduction(
    x: ArrayState,
    op: Op,
    method: Callable[..., Any],
    axis: Any,
    keep: bool,
    out: Any,
    dtype: Any,
    options: dict[str, Any],
    temporary: bool = False,
) -> Any:
    """``op`` over ``axis``; parameters as for `reductions.reduction`.

    ``temporary`` is what `is_temporary` says of ``x``.
    """
    initial = options.get("initial", _missing)
    where = options.get("where", _missing)
    if initial is None:
        initial = _missing
    if not x.size:
        return _of_nothing(x, method, axis, out, keepdims=keep, dtype=dtype, **options)
    axes = reduced_axes(axis, x.ndim)
    if out is not None and out.dtype.kind == "b" and x.dtype.kind == "b":
        dtype = dtype or out.dtype  # NumPy's loop is that of ``out``
    if axes and dtype is None and initial is _missing and where is _missing:
        return _given_back(fused(x, op, axes, keep, temporary), out)
    with _as_arrays():
        given = x
        if dtype is not None:
            calls.warn_of_parts(x.dtype, np.dtype(dtype))
            x = calls.cast(type(x), x, np.dtype(dtype))
        if where is not _missing and where is not True:
            x = _masked(x, op, where, initial)
        result = fused(x, op, axes, keep, temporary or x is not given)
        if initial is not _missing:
            result = calls.elementwise(
                type(x),
                ops.BY_UFUNC[op.numpy],  # type: ignore[index]
                (result, initial),
                dtype=result.dtype,
                casting="unsafe",
            )
        if dtype is not None and result.dtype != dtype:
            # Narrow integers were added up in wide ones, which end in the same bits.
            result = calls.cast(type(x), result, np.dtype(dtype))
    return _given_back(result, out)


def _given_back(result: ArrayState, out: Any) -> Any:
    if out is None:
        return presented(type(result), result)
    if isinstance(out, ArrayState):
        return placed(result, out)
    raise TypeError(
        f"out: got {type(out).__name__}, takes an array on {result._device}"
    )


def _of_nothing(
    x: ArrayState, method: Callable[..., Any], axis: Any, out: Any, **options: Any
) -> Any:
    """The reduction of no elements: there is nothing to be read."""
    given = {
        name: value
        for name, value in options.items()
        if value is not _missing and value is not None and name != "where"
    }
    result = method(np.empty(x.shape, x.dtype), axis=axis, **given)
    return _given_back(type(x)._of_host(np.asarray(result), x._device), out)


def _masked(x: ArrayState, op: Op, where: Any, initial: Any) -> ArrayState:
    """``x``, and what changes nothing where the mask is false."""
    if op in IDENTITIES:
        other: Any = IDENTITIES[op]
    elif initial is not _missing:
        other = initial
    else:
        raise ValueError(
            f"reduction operation '{op.numpy.__name__}' does not have an identity, so "
            "to use a where mask one has to specify 'initial'"
        )
    if op is ANY or op is ALL:
        x = calls.cast(type(x), x, np.dtype(np.bool))
    other = x.dtype.type(other)
    chosen: ArrayState = calls.elementwise(type(x), ops.WHERE, (where, x, other))
    if chosen.shape != x.shape:
        raise ValueError(
            f"where: got shape {np.shape(where)}, which does not broadcast to {x.shape}"
        )
    return chosen


# ------------------------------------------------------------------ mean and variance
def _working_dtype(x: ArrayState, dtype: Any) -> DType:
    if dtype is None:
        dtype = np.float64 if x.dtype.kind in "biu" else x.dtype
    working: DType = np.dtype(dtype)
    return working


def _averaged_axes(axis: Any, ndim: int, where: Any) -> tuple[int, ...]:
    """NumPy counts elements itself unless there is a mask, and is stricter then."""
    if where is _missing or where is True:
        return normalised_axes(axis, ndim)
    return reduced_axes(axis, ndim)


def _divided(total: ArrayState, count: Any) -> Any:
    if not isinstance(count, ArrayState):
        if total.dtype.kind in "fc":
            return calls.elementwise(type(total), ops.DIVIDE, (total, count))
        count = total.dtype.type(count)
    return calls.elementwise(
        type(total), ops.DIVIDE, (total, count), dtype=total.dtype, casting="unsafe"
    )


def _number(x: ArrayState, axes: tuple[int, ...], keep: bool, where: Any) -> Any:
    """How many elements make each result: a number, or an array if there is a mask."""
    if where is _missing or where is True:
        return count_of(x, axes)
    cls = type(x)
    mask = where
    if not isinstance(mask, ArrayState):
        mask = cls._of_host(np.asarray(mask, np.bool), x._device)
    spread = moved(mask, lambda array: np.broadcast_to(array, x.shape))
    return fused(calls.cast(cls, spread, np.dtype(np.intp)), SUM, axes, keep, True)


def mean(
    x: ArrayState,
    axis: Any,
    dtype: Any,
    out: Any,
    keep: bool,
    where: Any,
    temporary: bool = False,
) -> Any:
    """`numpy.mean`; ``temporary`` is what `is_temporary` says of ``x``."""
    if not x.size:
        return _of_nothing(x, np.mean, axis, out, keepdims=keep, dtype=dtype)
    if _rounds(x, dtype, out):
        given = {"keepdims": keep, "where": True if where is _missing else where}
        return call_numpy(type(x), np.mean, x, axis, dtype, out, **given)
    axes = _averaged_axes(axis, x.ndim, where)
    with _as_arrays():
        if (
            axes
            and (where is _missing or where is True)
            and x.dtype == _working_dtype(x, dtype)
            and not x._is_pending()  # what is pending is better reduced at once
            and _has(x, MEAN)
        ):
            result = library(type(x), MEAN, (x,), axes=axes, keepdims=keep)
        else:
            result = _mean(x, axes, dtype, keep, where, temporary)
    return _given_back(result, out)


def _rounds(x: ArrayState, dtype: Any, out: Any) -> bool:
    """Whether a mean is wanted in integers, or in complex numbers of real ones, which
    NumPy converts between its steps."""
    wanted = [
        np.dtype(y) for y in (dtype, getattr(out, "dtype", None)) if y is not None
    ]
    kinds = "biu" if x.dtype.kind == "c" else "biuc"
    return any([y.kind in kinds for y in wanted])


def _mean(
    x: ArrayState,
    axes: tuple[int, ...],
    dtype: Any,
    keep: bool,
    where: Any,
    temporary: bool = False,
) -> Any:
    working = _working_dtype(x, dtype)
    # Half precision is too coarse to add up in.
    wide = np.dtype(np.float32) if working == np.float16 else working
    number = _number(x, axes, keep, where)
    given = x
    calls.warn_of_parts(x.dtype, wide)
    if x.dtype != wide:
        x = calls.cast(type(x), x, wide)
    if where is not _missing and where is not True:
        x = _masked(x, SUM, where, _missing)
    result = _divided(fused(x, SUM, axes, keep, temporary or x is not given), number)
    return result if wide == working else calls.cast(type(x), result, working)


def variance(
    x: ArrayState,
    axis: Any,
    dtype: Any,
    out: Any,
    ddof: float,
    keep: bool,
    where: Any,
    given_mean: Any,
    root: bool,
) -> Any:
    """`numpy.var`, or `numpy.std` with ``root``."""
    if not x.size:
        method = np.std if root else np.var
        return _of_nothing(x, method, axis, out, keepdims=keep, dtype=dtype, ddof=ddof)
    if _rounds(x, dtype, out):
        given = {"keepdims": keep, "where": True if where is _missing else where}
        if given_mean is not _missing:
            given["mean"] = given_mean
        function = np.std if root else np.var
        return call_numpy(type(x), function, x, axis, dtype, out, ddof, **given)
    cls = type(x)
    axes = _averaged_axes(axis, x.ndim, where)
    working = _working_dtype(x, dtype)
    wide = np.dtype(np.float32) if working == np.float16 else working
    with _as_arrays():
        number = _number(x, axes, keep, where)
        if (
            axes
            and given_mean is _missing
            and not isinstance(number, ArrayState)
            and x.dtype == working
            and _has(x, VARIANCE)
        ):
            rest = float(max(number - ddof, 0))
            options = {"axes": axes, "keepdims": keep, "number": rest, "root": root}
            return _given_back(library(cls, VARIANCE, (x,), **options), out)
        middle = given_mean
        if middle is _missing:
            middle = _mean(x, axes, wide, True, where)
        squares = _squares(x, wide, middle)
        if where is not _missing and where is not True:
            squares = _masked(squares, SUM, where, _missing)
        total = fused(squares, SUM, axes, keep, True)
        if isinstance(number, ArrayState):
            rest = calls.elementwise(cls, ops.SUBTRACT, (number, ddof))
            rest = calls.elementwise(cls, ops.MAXIMUM, (rest, 0))
        else:
            rest = max(number - ddof, 0)
        result = _divided(total, rest)
        if root:
            result = calls.elementwise(cls, ops.SQRT, (result,))
        if wide != working:
            result = calls.cast(cls, result, working)
    return _given_back(result, out)


def _squares(x: ArrayState, dtype: DType, middle: Any) -> ArrayState:
    """Squares of the distances from the middle: nothing holds what they are made of."""
    cls = type(x)
    if x.dtype != dtype:
        x = calls.cast(cls, x, dtype)
    found: ArrayState = _squared_length(
        calls.elementwise(cls, ops.SUBTRACT, (x, middle))
    )
    return found


def _has(x: ArrayState, op: Op) -> bool:
    """Whether an operation is one on the device; it takes floating-point numbers."""
    return x.dtype.char in "efd" and op.name in backend_for(str(x._device)).native


def _squared_length(x: ArrayState) -> Any:
    """``abs(x) ** 2``, without the root in between."""
    cls = type(x)
    if x.dtype.kind != "c":
        return calls.elementwise(cls, ops.SQUARE, (x,))
    parts = [
        calls.elementwise(cls, ops.SQUARE, (calls.elementwise(cls, part, (x,)),))
        for part in (ops.REAL, ops.IMAG)
    ]
    return calls.elementwise(cls, ops.ADD, parts)
