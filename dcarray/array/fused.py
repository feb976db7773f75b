"""A reduction as the end of a group, and what is done with its result."""

from __future__ import annotations

import math
import sys
from typing import Any

import numpy as np

from ..config import current
from ..dtypes import DType
from ..layout import view_host
from ..lazy import errstate, execute
from ..lazy.callers import user_place
from ..lazy.graph import value_of
from ..lazy.record import record
from ..ops import elementwise as ops
from ..ops.reduction import ALL, ANY, PROD, SUM
from ..ops.spec import Op, Signature
from . import calls
from .state import ArrayState, of_host, showing
from .whole import method

__all__ = [
    "accumulator_dtype",
    "count_of",
    "fused",
    "is_temporary",
    "normalised_axes",
    "placed",
    "presented",
    "reduced_axes",
]


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
    if type(axis) is int and -ndim <= axis < ndim:
        return (axis % ndim,)
    named: tuple[Any, ...] = axis if isinstance(axis, tuple) else (axis,)
    last = -1
    for one in named:  # most name them from 0, in order
        if type(one) is not int or not last < one < ndim:
            return tuple(sorted(np.lib.array_utils.normalize_axis_tuple(named, ndim)))
        last = one
    return named


def reduced_axes(axis: Any, ndim: int) -> tuple[int, ...]:
    """`normalised_axes`, but an array without axes counts as one with one axis."""
    return () if not ndim and axis in (0, -1) else normalised_axes(axis, ndim)


def accumulator_dtype(op: Op, dtype: DType) -> DType | None:
    """The dtype that the reduction works in; None if NumPy would convert in chunks."""
    if op is SUM or op is PROD:
        if dtype.kind in "bi" and dtype.itemsize < np.dtype(np.int_).itemsize:
            return np.dtype(np.int_)
        if dtype.kind == "u" and dtype.itemsize < np.dtype(np.uint).itemsize:
            return np.dtype(np.uint)
    if op is ANY or op is ALL:
        return np.dtype(np.bool)
    return dtype


def presented(cls: type[Any], result: ArrayState) -> Any:
    """The result, or a NumPy scalar where the settings want one."""
    if not result.shape and current().scalars == "numpy":
        return result._array()[()]
    return result


def placed(result: ArrayState, out: ArrayState) -> Any:
    """Store a result in an array that the caller gave."""
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
    (value,) = record(
        ops.CAST,
        (result._read(),),
        out._device,
        signature=Signature((result.dtype,), (out.dtype,)),
    )
    calls.write(out, value)
    return out


class _Probe:
    @method
    def sum(self) -> int:
        return _references(self)


def _references(x: object) -> int:
    return sys.getrefcount(x)


_ONLY_THE_CALL = _Probe().sum()
"""References to an object that a method hands to a function, if nobody else has it."""


def is_temporary(references: int, x: ArrayState) -> bool:
    """Whether an array dies with the method call that it is used in, as the product in
    ``(a * b).sum()`` does: its elements need not be stored.

    ``references`` is `sys.getrefcount` of ``x`` in the function that the method called.
    A wrong answer costs time, never a result: what is not stored stays pending.
    """
    binding = x._binding
    return (
        references <= _ONLY_THE_CALL
        and binding is not None
        and sys.getrefcount(binding) <= 3
    )


def fused(
    x: ArrayState,
    op: Op,
    axes: tuple[int, ...],
    keep: bool,
    temporary: bool = False,
) -> Any:
    """``op`` over axes, fused with what makes ``x``; runs now."""
    cls = type(x)
    mask = max(errstate.capture(), 0)
    dtype = accumulator_dtype(op, x.dtype)
    assert dtype is not None
    if not axes:  # nothing to reduce: a converted copy
        result = calls.cast(cls, x, dtype)
        if op is SUM and dtype.kind in "fc":  # NumPy starts with 0, which -0.0 is not
            return calls.elementwise(cls, ops.ADD, (result, 0))
        if op is PROD and dtype.kind == "c":  # and with 1, times which infinity is NaN
            return calls.elementwise(cls, ops.MULTIPLY, (result, 1))
        return result
    binding = x._binding
    if binding is None or x._view is None:
        x._read()
        binding = x._bind()
    shown = value = binding.value
    view = seen = x._view
    assert view is not None and seen is not None
    if dtype != view[1]:
        signature = Signature((view[1],), (dtype,))
        (value,) = record(ops.CAST, (x._read(),), x._device, 0, signature)
        view = value.view
    place = user_place()
    held = shown.binding
    if temporary and shown.expr is not None:
        shown.binding = None
    try:
        ending = (op, axes, seen)
        buffer, reduced = execute.reduce(value, view, ending, x._device, mask, place)
    finally:
        shown.binding = held
    view = reduced.kept if keep else reduced.dropped
    if buffer._valid is None and not x._device.is_named:
        assert buffer.root is not None  # on the host, and nowhere else
        return of_host(cls, view_host(buffer.root, *view), x._device)
    return showing(cls, value_of(view, x._device, None, 0, buffer))


def count_of(x: ArrayState, axes: tuple[int, ...]) -> int:
    """Elements that make one result."""
    return math.prod([x.shape[axis] for axis in axes])
