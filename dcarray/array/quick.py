"""The short way to the graph, for most operations of most programs.

What an operation on arrays of one plain layout comes to is found once for each shape
and dtypes, and known from then on.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeVar

import numpy as np

from ..backends.registry import AUTO, Device, when_removed
from ..config import current
from ..dtypes import is_recordable
from ..lazy.callers import Place, user_place
from ..lazy.counting import within_bounds
from ..lazy.errstate import IMMEDIATE, capture
from ..lazy.execute import evaluate
from ..lazy.graph import Form, State, Value, View
from ..lazy.record import as_scalar, converted, form_of, written, written_one
from ..ops.elementwise import BY_UFUNC, CAST, POWER
from ..ops.fast import FUNCTIONS, in_force
from ..ops.spec import Op
from .choice import is_choosy
from .immediate import SCALARS, at_once
from .state import ArrayState, check_dtype, showing

__all__ = [
    "SCALARS",
    "Function",
    "element_of",
    "finish",
    "on_ufunc",
    "record_on_device",
    "record_quickly",
    "updated_on_device",
    "updated_on_host",
]

Array = TypeVar("Array", bound=ArrayState)

_STORED = State.STORED


def finish(cls: type[Array], values: Sequence[Value]) -> Any:
    """Arrays for values that were recorded."""
    arrays: list[Any] = []
    for value in values:
        array = cls._of_value(value)
        if not value.layout.shape and current().scalars == "numpy":
            arrays.append(array._array()[()])
            continue
        if not within_bounds(value):
            evaluate((value,))
        arrays.append(array)
    return arrays[0] if len(arrays) == 1 else tuple(arrays)


_on_hosts: dict[tuple[Any, ...], Form] = {}
_on_devices: dict[tuple[Any, ...], Form] = {}
"""What is known, by operation and the views and types of the operands."""


def record_quickly(op: Op, *operands: Any) -> Any:
    """The short way to the graph: arrays on one device, and numbers.

    None where that is not all there is; then `elementwise` decides.
    """
    return _quickly(op, operands)


def updated_on_host(op: Op, x: Any, other: Any) -> Value | None:
    """What an operator in place makes of a large array of the host, if the result has
    the shape and dtype of ``x``; None where `elementwise` decides."""
    try:
        value: Value | None = _quickly(op, (x, other), x)
    except ValueError:
        return None  # casts that are refused come before shapes that do not fit
    return value


def _quickly(op: Op, operands: tuple[Any, ...], target: Any = None) -> Any:
    """Arrays; or the value that is to be stored in ``target``."""
    mask = capture()
    sources: list[Any] = []
    key: list[Any] = [op]
    cls: Any = None
    device: Any = None
    for x in operands:
        kind = type(x)
        if kind is float or kind is int or kind in SCALARS:
            sources.append(x)
            key.append(kind)
            continue
        if not isinstance(x, ArrayState):
            return None
        array = x
        if array._device is not device:
            if device is not None:
                if target is not None:
                    return None
                numbers = _with_numbers(operands)
                return None if numbers is None else _quickly(op, numbers)
            device = array._device
        cls = kind
        binding = array._binding
        view = array._view
        if binding is None or view is None:
            if not is_recordable(x.dtype):
                return None
            value = array._read()[0]
            view = array._view
        else:
            value = binding._value or binding.value
        if value.expr is not None and device.is_named:
            element = element_of(value, view)
            if element is not None:
                value, view = element
        buffer = value.buffer
        if buffer is not None and buffer._sharer is not None and buffer.is_shared:
            return None
        sources.append(value)
        key.append(view)
    assert cls is not None and device is not None
    named = device.is_named
    if not named and op.name in FUNCTIONS and op is not POWER:
        op = key[0] = in_force(op, device.kind)
    if mask == IMMEDIATE:
        if not named:
            return None
        mask = 0
    known = _on_devices if named else _on_hosts
    name = tuple(key)
    form = known.get(name)
    if form is None:
        form = _form(op, operands, key, named)
        if form is None:
            return None
        if named or form.plain:
            if len(known) > 1 << 16:
                forget()
                known.clear()
            known[name] = form
    try:
        given = converted(form, sources)
    except OverflowError:
        return None
    if named and form.device is not device:
        for _, dtype in form.outputs:
            check_dtype(dtype, device)
        form.device = device
    if target is None:
        return _recorded(cls, form, given, device, mask, user_place())
    if len(form.outputs) > 1 or not _fits(form.outputs[0], target):
        return None
    return written_one(form, given, device, mask, user_place())


def _fits(view: View, x: Any) -> bool:
    """Whether a result has the shape and dtype of an array."""
    shown = x._view
    return view is shown or (view[0].shape == shown[0].shape and view[1] == shown[1])


def _with_numbers(operands: tuple[Any, ...]) -> tuple[Any, ...] | None:
    """Operands on different devices, with numbers in the place of arrays of the host
    without axes; None where there are none."""
    given: list[Any] = []
    changed = False
    for x in operands:
        if isinstance(x, ArrayState) and x._device is AUTO:
            host = x._host
            if host is not None and not host.ndim:
                x = host[()]
                if type(x) not in SCALARS:
                    return None
                changed = True
        given.append(x)
    return tuple(given) if changed else None


class Function:
    """A function whose calls take the short ways first, see `api.ufunc.UFunc`.

    Attributes
    ----------
    arrays : type
        The class of the library's arrays.
    numpy : numpy.ufunc
    nin : int
        How many operands it takes.
    row : Op or None
        Its row in the table of elementwise operations, if it is there.
    """

    __slots__ = ("arrays", "nin", "numpy", "row")

    arrays: type[ArrayState]
    numpy: np.ufunc
    nin: int
    row: Op | None

    def __call__(self, *operands: Any, **keywords: Any) -> Any:
        """Apply the function, see the class."""
        cls = self.arrays
        if keywords or len(operands) != self.nin:
            made = _with_out(self, operands, keywords)
            if made is not None:
                return made
        else:
            made = at_once(cls, self.numpy, operands)
            if made is not None:
                return made
            row = self.row
            if row is not None and (
                type(operands[0]) is cls or type(operands[-1]) is cls
            ):
                made = _quickly(row, operands)
                if made is not None:
                    return made
        return self._slowly(operands, keywords)

    def _slowly(self, operands: tuple[Any, ...], keywords: dict[str, Any]) -> Any:
        """The result in all other cases."""
        raise TypeError(f"{type(self).__name__} has no other way")


def _with_out(
    function: Function, operands: tuple[Any, ...], keywords: dict[str, Any]
) -> Any:
    """The shortest way where ``out`` is the one option; None for all else."""
    row, number = function.row, function.nin
    if row is None or row.outputs > 1:
        return None
    out: Any = None
    if not keywords:
        if len(operands) == number + 1:
            out = operands[number]
            operands = operands[:number]
    elif len(keywords) == 1 and len(operands) == number:
        out = keywords.get("out")
    if type(out) is not function.arrays:
        return None
    return at_once(function.arrays, function.numpy, operands, out)


def on_ufunc(
    x: Any, ufunc: np.ufunc, method: str, *operands: Any, **keywords: Any
) -> Any:
    """`__array_ufunc__`: NumPy was called with an array, as a number of its own does
    that stands on the left of an operator."""
    row = BY_UFUNC.get(ufunc) if method == "__call__" else None
    if row is not None:
        cls: Any = type(x)
        out: Any = None
        if len(keywords) == 1:
            out = keywords.get("out")
            if type(out) is tuple and len(out) == 1:
                out = out[0]
        if not keywords or type(out) is cls:
            made = at_once(cls, ufunc, operands, out)
            if made is None and not keywords:
                made = _quickly(row, operands)
            if made is not None:
                return made
    return x._on_ufunc(row, ufunc, method, operands, keywords)


def record_on_device(op: Op, x: Any, other: Any) -> Any:
    """The shortest way, for an operator: ``x`` is on a named device.

    None where it was not gone before; then `record_quickly` decides.
    """
    known = _known_on_device(op, x, other)
    if known is None:
        return None
    form, sources = known
    mask = max(capture(), 0)
    return _recorded(type(x), form, sources, x._device, mask, user_place())


def updated_on_device(op: Op, x: Any, other: Any) -> Value | None:
    """The same for an operator in place, if the result has the shape and dtype of
    ``x``; gone for the first time, too."""
    known = _known_on_device(op, x, other) or _learned(op, x, other)
    if known is None:
        return None
    form, sources = known
    if len(form.outputs) > 1 or not _fits(form.outputs[0], x):
        return None
    mask = max(capture(), 0)
    return written_one(form, sources, x._device, mask, user_place())


def element_of(value: Value, view: Any) -> tuple[Value, View] | None:
    """What a pending element is a copy of, and how that is seen: it can be read where
    it is, for who writes there has what reads it run before."""
    expr = value.expr
    if expr is None or view is not value.view or view[0].shape:
        return None
    form = expr.form
    if form.op is not CAST:
        return None
    source, seen = expr.sources[0], form.inputs[0]
    if seen is None or seen[1] is not view[1] or source.state != _STORED:
        return None
    return source, seen


def _learned(op: Op, x: Any, other: Any) -> tuple[Form, Any] | None:
    """`_known_on_device` from now on."""
    kind: Any = type(other)
    if kind is type(x):
        array = other
        if array._device is not x._device:
            return None
        kind = array._view
        element = element_of(array._binding._value, kind)
        if element is not None:
            kind = element[1]
    elif kind is not float and kind is not int and kind not in SCALARS:
        return None
    shown = x._view
    if kind is None or shown is None:
        return None
    element = element_of(x._binding._value, shown)
    if element is not None:
        shown = element[1]
    key = [op, shown, kind]
    form = _form(op, (x, other), key, True)
    if form is None:
        return None
    for _, dtype in form.outputs:
        check_dtype(dtype, x._device)
    form.device = x._device
    if len(_on_devices) > 1 << 16:
        forget()
        _on_devices.clear()
    _on_devices[tuple(key)] = form
    return _known_on_device(op, x, other)


def _known_on_device(op: Op, x: Any, other: Any) -> tuple[Form, Any] | None:
    device: Device = x._device
    cls = type(x)
    first = x._binding._value
    shown = x._view
    if first.expr is not None:
        element = element_of(first, shown)
        if element is not None:
            first, shown = element
    sources: Any
    if type(other) is cls:
        right = other
        if right._device is not device:
            return None
        second = right._binding._value
        view = right._view
        if second.expr is not None:
            element = element_of(second, view)
            if element is not None:
                second, view = element
        form = _on_devices.get((op, shown, view))
        if form is None or form.device is not device:
            return None
        buffer = second.buffer
        if buffer is not None and buffer._sharer is not None:
            return None
        sources = (first, second)
    else:
        form = _on_devices.get((op, shown, type(other)))
        if form is None or form.device is not device:
            return None
        try:
            sources = (first, as_scalar(other, form.signature.inputs[1]))
        except OverflowError:
            return None
    buffer = first.buffer
    if buffer is not None and buffer._sharer is not None:
        return None
    return form, sources


def _recorded(
    cls: Any,
    form: Form,
    sources: tuple[Any, ...],
    device: Device,
    mask: int,
    place: Place,
) -> Any:
    """Arrays for an operation of which all is known."""
    if len(form.outputs) > 1 or not form.shape:
        return finish(cls, written(form, sources, device, mask, place))
    value = written_one(form, sources, device, mask, place)
    array = showing(cls, value)
    if not within_bounds(value):
        evaluate((value,))
    return array


def _form(
    op: Op, operands: Sequence[Any], key: Sequence[Any], named: bool
) -> Form | None:
    """What the operation comes to, if NumPy has one loop for operands that lie so."""
    views = key[1:]
    for x, view in zip(operands, views, strict=True):
        if type(view) is not View:
            continue
        layout, dtype = view
        if not is_recordable(dtype):
            return None
        if named:  # such a device has one loop for all
            continue
        if not layout.shape or op is POWER:
            return None
        if layout.plain and dtype.kind != "c":  # contiguous: the one loop that is meant
            continue
        if not layout.plain and x._host is not None and not x._host.flags.aligned:
            return None
        if is_choosy(op, dtype, layout.shape, layout.strides):
            return None
    kinds = [x if type(x) is View else _kind(x) for x in views]
    form = form_of(op, kinds)
    if op is POWER and form.signature.inputs[1].kind == "i":
        return None  # the loop may raise: an exponent below zero
    return form


def _kind(kind: Any) -> Any:
    """A number's type as the dtype rules take it."""
    return kind if kind in (int, float, complex) else np.dtype(kind)


def forget(label: str = "") -> None:
    """Look again which dtypes devices have: one may come back as another one."""
    for form in list(_on_devices.values()):
        form.device = None


when_removed(forget)
