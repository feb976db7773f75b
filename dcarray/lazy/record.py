"""Recording: an operation on operands becomes an `Expr` with pending results.

What NumPy would decide when it runs is decided here: dtypes, shape, the strides of the
results, and the stride at which its inner loop would step through each operand.
"""

from __future__ import annotations

import math
import weakref
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from ..backends.registry import Device
from ..dtypes import DType
from ..layout import (
    Layout,
    Shape,
    Strides,
    broadcast_shapes,
    broadcast_strides,
    copied_strides,
    inner_axis,
    result_strides,
)
from ..ops.elementwise import CAST
from ..ops.fast import FUNCTIONS, in_force
from ..ops.program import Inner
from ..ops.spec import Op, Signature
from .graph import Expr, Operand, Read, Value, is_pending, lock

__all__ = ["Alike", "record", "record_alike"]

_CONTIGUOUS = Inner.CONTIGUOUS
_SCALAR = Inner.SCALAR


def record(
    op: Op,
    operands: Sequence[Operand],
    device: Device,
    errstate: int = 0,
    signature: Signature | None = None,
) -> tuple[Value, ...]:
    """Write an elementwise operation down; nothing runs.

    Parameters
    ----------
    op : Op
        A row of the elementwise table.
    operands : sequence
        `Read`s and numbers.
    device : Device
        Label of the result, see `common_device`.
    errstate : int
        See `watched_flags`.
    signature : Signature, optional
        The loop's dtypes, if the caller has chosen them (``dtype=``, a cast).

    Returns
    -------
    tuple of Value
        One for each output.

    Raises
    ------
    ValueError
        The shapes do not broadcast.
    DTypeError
        No loop takes these dtypes.
    OverflowError
        A Python int does not fit the loop's dtype.
    """
    if signature is None:
        signature = op.resolve(
            tuple([x.dtype if type(x) is Read else _kind(x) for x in operands])
        )
    if op.name in FUNCTIONS:
        op = in_force(op, device.kind)
    inputs: list[Any] = []
    inner: list[Inner] = []
    shape: Shape | None = None
    plain = True
    for x, dtype in zip(operands, signature.inputs, strict=True):
        if type(x) is Read:
            layout = x.layout
            if not layout.plain or (shape is not None and layout.shape != shape):
                plain = False
            shape = layout.shape
            inputs.append(x)
            inner.append(_CONTIGUOUS)
        else:
            inputs.append(_converted(x, dtype))
            inner.append(_SCALAR)
    assert shape is not None
    axis = None
    if plain:
        layouts = [Layout.plain_for(shape, d.itemsize) for d in signature.outputs]
    else:
        shape = broadcast_shapes([x.layout.shape for x in operands if type(x) is Read])
        strides, axis = _ordered(op, shape, operands, signature, inner)
        layouts = [
            _known_layout(shape, s, d.itemsize)
            for s, d in zip(strides, signature.outputs, strict=True)
        ]
    expr = Expr(
        op, tuple(inputs), signature, shape, tuple(inner), axis, errstate, plain
    )
    outputs = signature.outputs
    if len(outputs) == 1:
        values: tuple[Value, ...] = (Value(layouts[0], outputs[0], device, expr),)
        expr.results = (weakref.ref(values[0]),)
    else:
        values = tuple(
            [
                Value(layout, dtype, device, expr, index)
                for index, (layout, dtype) in enumerate(
                    zip(layouts, outputs, strict=True)
                )
            ]
        )
        expr.results = tuple([weakref.ref(value) for value in values])
    _link(expr)
    return values


class Alike(NamedTuple):
    """An operation on arrays of one and the same plain layout, and numbers.

    ``layout`` and ``inner`` are what `record` finds for such operands: they depend on
    nothing but the operation, the shape and the operands' types.
    """

    op: Op
    signature: Signature
    shape: Shape
    layout: Layout
    inner: tuple[Inner, ...]

    @classmethod
    def of(cls, value: Value) -> Alike | None:
        """What was found when this value was recorded; None if it was not alike."""
        expr = value.expr
        if expr is None or not expr.plain or len(expr.results) != 1:
            return None
        return cls(expr.op, expr.signature, expr.shape, value.layout, expr.inner)


def record_alike(
    known: Alike, operands: Sequence[Operand], device: Device, errstate: int
) -> Value:
    """`record` for operands of which all is known; it has one output."""
    op, signature, shape, layout, inner = known
    inputs = tuple(
        [
            x if type(x) is Read else _converted(x, dtype)
            for x, dtype in zip(operands, signature.inputs, strict=True)
        ]
    )
    expr = Expr(op, inputs, signature, shape, inner, None, errstate, True)
    value = Value(layout, signature.outputs[0], device, expr)
    expr.results = (weakref.ref(value),)
    _link(expr)
    return value


def _link(expr: Expr) -> None:
    """Register the results as readers of the inputs, and count what they need."""
    results = expr.results
    nodes = 1
    held = 0
    with lock:
        for x in expr.inputs:
            if type(x) is Read:
                read = x[0]
                source = read.expr
                if source is not None:
                    nodes += source.nodes
                    held += source.held
                elif read.buffer is not None:
                    held += read.buffer.nbytes
                if read.readers is None:
                    read.readers = list(results)
                else:
                    _add_reader(read.readers, results)
    expr.nodes = nodes
    expr.held = held


def _known_layout(shape: Shape, strides: Strides, itemsize: int) -> Layout:
    plain = Layout.plain_for(shape, itemsize)
    return plain if plain.strides == strides else Layout(shape, strides)


def _kind(number: object) -> Any:
    kind = type(number)
    if kind is int or kind is float or kind is complex:
        return kind
    return number.dtype  # type: ignore[attr-defined]


_numbers: dict[tuple[type, Any, DType], Any] = {}


def _converted(number: Any, dtype: DType) -> Any:
    """A number as a scalar of the loop's dtype; Python ints that do not fit raise."""
    kind = type(number)
    if kind is not int and kind is not float:
        return np.asarray(number).astype(dtype)[()]
    key = (kind, number, dtype)
    found = _numbers.get(key)
    if found is None or not number:  # zeros have a sign that the key does not tell
        if kind is int:
            found = np.asarray(number, dtype=dtype)[()]
        else:
            found = np.asarray(number).astype(dtype)[()]
            if np.isinf(found) and not math.isinf(number):
                return found  # NumPy warns each time
        if len(_numbers) > 4096:
            _numbers.clear()
        _numbers[key] = found
    return found


def _ordered(
    op: Op,
    shape: Shape,
    operands: Sequence[Operand],
    signature: Signature,
    inner: list[Inner],
) -> tuple[list[Strides], int | None]:
    """Strides of the results, and what NumPy's inner loop sees (into ``inner``)."""
    reads = [x for x in operands if type(x) is Read]
    rows = [broadcast_strides(x.layout, shape) for x in reads]
    if op is CAST:
        (read,) = reads
        size = signature.outputs[0].itemsize
        return [copied_strides(read.layout, read.dtype.itemsize, size)], None
    described = [
        (x.layout.shape, x.layout.strides, x.dtype.itemsize, x.dtype != dtype)
        for x, dtype in zip(operands, signature.inputs, strict=True)
        if type(x) is Read
    ]
    short = op.outputs == 1 and isinstance(op.numpy, np.ufunc)
    strides = [
        result_strides(shape, described, d.itemsize, short) for d in signature.outputs
    ]
    axis = inner_axis(shape, rows)
    if axis is None:
        return strides, None
    sensitive = False
    remaining = iter(rows)
    for position, (x, dtype) in enumerate(zip(operands, signature.inputs, strict=True)):
        if type(x) is not Read:
            continue
        stride = next(remaining)[axis]
        if stride == 0:
            inner[position] = Inner.SCALAR
            sensitive = True
        elif stride != x.dtype.itemsize and x.dtype == dtype:
            # A converted operand goes through NumPy's buffer, which is contiguous.
            inner[position] = Inner.STRIDED
            sensitive = True
    return strides, axis if sensitive else None


def _add_reader(
    known: list[weakref.ref[Value]], readers: tuple[weakref.ref[Value], ...]
) -> None:
    if len(known) > 16 and len(known) & (len(known) - 1) == 0:
        known[:] = [reference for reference in known if is_pending(reference())]
    known.extend(readers)
