"""Recording: an operation on operands becomes an `Expr` with pending results.

What NumPy would decide when it runs is decided here: dtypes, shape, the strides of the
results, and the stride at which its inner loop would step through each operand.
"""

from __future__ import annotations

import math
import weakref
from collections.abc import Sequence
from typing import Any

import numpy as np

from .. import native
from ..backends.registry import Device
from ..dtypes import DType
from ..layout import (
    Layout,
    Shape,
    Strides,
    broadcast_shapes,
    broadcast_strides,
    copied_strides,
    dense_strides,
    inner_axis,
    result_strides,
)
from ..ops.elementwise import CAST
from ..ops.fast import FUNCTIONS, in_force
from ..ops.program import Inner
from ..ops.spec import Op, Signature
from .callers import Place, user_place
from .graph import (
    Expr,
    Form,
    Operand,
    Read,
    State,
    Value,
    View,
    expr_of,
    lock,
    value_of,
)
from .models import lying, moved, views_of

__all__ = [
    "as_scalar",
    "converted",
    "form_of",
    "scalar_for",
    "read_again",
    "record",
    "written",
    "written_one",
]

_CONTIGUOUS = Inner.CONTIGUOUS
_SCALAR = Inner.SCALAR

_forms: dict[tuple[Any, ...], Form] = {}
"""By operation, signature if it was asked for, and the operands' views and types."""

_models: dict[tuple[Any, ...], Form] = {}
"""The same, wherever the operands begin."""


def record(
    op: Op,
    operands: Sequence[Operand],
    device: Device,
    errstate: int = 0,
    signature: Signature | None = None,
    order: str | None = None,
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
    order : {"C", "F"}, optional
        How the results lie, if not as NumPy's would.

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
    kinds = [View.of(x[1], x[2]) if type(x) is Read else _kind(x) for x in operands]
    if op.name in FUNCTIONS:
        op = in_force(op, device.kind, operands[-1])
    form = form_of(op, kinds, signature, order)
    sources = converted(form, [x[0] if type(x) is Read else x for x in operands])
    return written(form, sources, device, errstate, user_place())


def form_of(
    op: Op,
    kinds: Sequence[Any],
    signature: Signature | None = None,
    order: str | None = None,
) -> Form:
    """What an operation comes to; it is worked out once.

    ``kinds`` are the operands' `View`s, and for numbers dtypes or Python's types; the
    rest is as for `record`.
    """
    key = (op, signature, order, *kinds)
    found = _forms.get(key)
    if found is None:
        if len(_forms) > 1 << 16:
            _forms.clear()
        found = _forms[key] = _form_like(op, kinds, signature, order)
    return found


def _form_like(
    op: Op, kinds: Sequence[Any], signature: Signature | None, order: str | None
) -> Form:
    """A copy of the form of operands that lie alike but for where they begin."""
    name = (op, signature, order, *lying(kinds))
    model = _models.get(name)
    if model is not None:
        return moved(model, views_of(kinds))
    if len(_models) > 1 << 14:
        _models.clear()
    model = _models[name] = _form(op, kinds, signature, order)
    return model


def _form(
    op: Op, kinds: Sequence[Any], signature: Signature | None, order: str | None
) -> Form:
    if signature is None:
        signature = op.resolve(tuple([x[1] if type(x) is View else x for x in kinds]))
    inner: list[Inner] = []
    shape: Shape | None = None
    plain = True
    for x in kinds:
        if type(x) is View:
            layout = x[0]
            if not layout.plain or (shape is not None and layout.shape != shape):
                plain = False
            shape = layout.shape
            inner.append(_CONTIGUOUS)
        else:
            inner.append(_SCALAR)
    assert shape is not None
    axis = None
    if order == "F":
        plain = False
    if plain:
        layouts = [Layout.plain_for(shape, d.itemsize) for d in signature.outputs]
    else:
        shape = broadcast_shapes([x[0].shape for x in kinds if type(x) is View])
        if order is None:
            strides, axis = _ordered(op, shape, kinds, signature, inner)
        else:
            strides = [
                dense_strides(shape, d.itemsize, order) for d in signature.outputs
            ]
        layouts = [
            _known_layout(shape, s, d.itemsize)
            for s, d in zip(strides, signature.outputs, strict=True)
        ]
    views = [View.of(*pair) for pair in zip(layouts, signature.outputs, strict=True)]
    return Form(
        op,
        signature,
        shape,
        views_of(kinds),
        tuple(inner),
        axis,
        tuple(views),
        plain,
    )


def converted(form: Form, sources: Sequence[Any]) -> tuple[Any, ...]:
    """Values, and numbers as scalars of the loop's dtypes.

    Raises
    ------
    OverflowError
        A Python int does not fit the loop's dtype.
    """
    if len(form.arrays) == len(sources):
        return tuple(sources)
    given: list[Any] = []
    dtypes = form.signature.inputs
    for place in range(len(sources)):
        x = sources[place]
        if form.inputs[place] is None:
            x = as_scalar(x, dtypes[place])
        given.append(x)
    return tuple(given)


def written(
    form: Form,
    sources: tuple[Any, ...],
    device: Device,
    errstate: int,
    place: Place,
) -> tuple[Value, ...]:
    """Write down an operation of which all is known."""
    if len(form.outputs) == 1:
        return (written_one(form, sources, device, errstate, place),)
    expr = expr_of(form, sources, errstate, place)
    values = tuple(
        [value_of(view, device, expr, index) for index, view in enumerate(form.outputs)]
    )
    _link(expr, tuple([native.reference(value) for value in values]))
    return values


def written_one(
    form: Form,
    sources: tuple[Any, ...],
    device: Device,
    errstate: int,
    place: Place,
) -> Value:
    """`written` for an operation with one result."""
    expr = expr_of(form, sources, errstate, place)
    value = value_of(form.outputs[0], device, expr)
    _link(expr, (native.reference(value),))
    return value


def read_again(value: Value, form: Form, source: Value, place: Place) -> None:
    """Let a value without memory be an operation on another one.  The caller holds the
    lock."""
    expr = expr_of(form, (source,), 0, place)
    value.expr = expr
    value.state = State.PENDING
    _link(expr, (native.reference(value),))


def _link(expr: Expr, results: tuple[weakref.ref[Value], ...]) -> None:
    """Register the results as readers of the inputs, and count what they need."""
    expr.results = results
    sources = expr.sources
    nodes = 1
    held = widest = 0
    global _serial
    _lock.acquire()
    try:
        first = expr.serial = _serial
        _serial += 1
        for index in expr.form.arrays:
            read = sources[index]
            source = read.expr
            if source is not None:
                nodes += source.nodes
                held += source.held
                if source.widest > widest:
                    widest = source.widest
                if source.first < first:
                    first = source.first
            elif read.buffer is not None:
                nbytes = read.buffer.nbytes
                held += nbytes
                if nbytes > widest:
                    widest = nbytes
            readers = read.readers
            if readers is None:
                readers = read.readers = []
            count = len(readers)
            if count > 16 and count & (count - 1) == 0:
                readers[:] = [x for x in readers if native.referent(x) is not None]
            for reference in results:
                readers.append(reference)
    finally:
        _lock.release()
    expr.count(nodes, held, widest, first)


_lock = lock

_serial = 0
"""Of the next expression."""


def scalar_for(form: Form, number: Any, place: int) -> Any:
    """A number as a scalar of an operation's loop: the same object as the last time
    where it is the same number.

    Raises
    ------
    OverflowError
        A Python int does not fit the loop's dtype.
    """
    last = form.number
    if last is not None and last[0] is number:
        return last[1]
    dtype = form.signature.inputs[place]
    scalar = as_scalar(number, dtype)
    is_small = type(number) is float and -6e4 < number < 6e4 and dtype.kind == "f"
    if is_small or not np.isinf(scalar):  # what overflows NumPy warns of each time
        form.number = (number, scalar)
    return scalar


def _known_layout(shape: Shape, strides: Strides, itemsize: int) -> Layout:
    plain = Layout.plain_for(shape, itemsize)
    return plain if plain.strides == strides else Layout(shape, strides)


def _kind(number: object) -> Any:
    kind = type(number)
    if kind is int or kind is float or kind is complex:
        return kind
    return number.dtype  # type: ignore[attr-defined]


_numbers: dict[tuple[Any, ...], Any] = {}
"""Python's numbers as scalars."""

_scalars: dict[tuple[DType, int, bytes], Any] = {}
"""One object for each scalar: groups are known again by the identity of theirs."""


def as_scalar(number: Any, dtype: DType) -> Any:
    """A number as a scalar of the loop's dtype; Python ints that do not fit raise."""
    kind = type(number)
    if kind is not int and kind is not float:
        return _the_one(np.asarray(number).astype(dtype)[()])
    key: tuple[Any, ...] = (kind, number, dtype)
    if kind is float and not number:
        key = (kind, math.copysign(1.0, number), dtype, "zero")
    found = _numbers.get(key)
    if found is None:
        if kind is int:
            found = np.asarray(number, dtype=dtype)[()]
        else:
            found = np.asarray(number).astype(dtype)[()]
            if np.isinf(found) and not math.isinf(number):
                return found  # NumPy warns each time
        if len(_numbers) > 4096:
            _numbers.clear()
        found = _numbers[key] = _the_one(found)
    return found


def _the_one(scalar: Any) -> Any:
    """The first scalar that had these bytes."""
    dtype = scalar.dtype
    if len(_scalars) > 4096:
        _scalars.clear()
    return _scalars.setdefault((dtype, dtype.num, scalar.tobytes()), scalar)


def _ordered(
    op: Op,
    shape: Shape,
    kinds: Sequence[Any],
    signature: Signature,
    inner: list[Inner],
) -> tuple[list[Strides], int | None]:
    """Strides of the results, and what NumPy's inner loop sees (into ``inner``)."""
    views = [x for x in kinds if type(x) is View]
    rows = [broadcast_strides(layout, shape) for layout, _ in views]
    if op is CAST:
        ((layout, dtype),) = views
        size = signature.outputs[0].itemsize
        return [copied_strides(layout, dtype.itemsize, size)], None
    described = [
        (x[0].shape, x[0].strides, x[1].itemsize, x[1] != dtype)
        for x, dtype in zip(kinds, signature.inputs, strict=True)
        if type(x) is View
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
    for position, (x, dtype) in enumerate(zip(kinds, signature.inputs, strict=True)):
        if type(x) is not View:
            continue
        stride = next(remaining)[axis]
        if stride == 0:
            inner[position] = Inner.SCALAR
            sensitive = True
        elif stride != x[1].itemsize and x[1] == dtype:
            # A converted operand goes through NumPy's buffer, which is contiguous.
            inner[position] = Inner.STRIDED
            sensitive = True
    return strides, axis if sensitive else None
