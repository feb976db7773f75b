"""The short way to the graph, for most operations of most programs.

What an operation on arrays of one plain layout comes to is found once for each shape
and dtypes, and known from then on.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeVar

import numpy as np

from .. import native
from ..backends.registry import AUTO, Device
from ..config import current
from ..dtypes import is_recordable
from ..lazy.callers import Place, user_place
from ..lazy.cutting import keep_within_bounds
from ..lazy.errstate import IMMEDIATE, capture
from ..lazy.graph import Form, State, Value, View
from ..lazy.record import converted, scalar_for, written, written_one
from ..ops.elementwise import BY_UFUNC, POWER
from ..ops.fast import FUNCTIONS, in_force
from ..ops.spec import Op
from .forms import (
    element_of,
    forget,
    form_on_device,
    on_devices,
    on_hosts,
    spread_beside,
    worked_out,
)
from .immediate import SCALARS, at_once, number_first
from .state import ArrayState, check_dtype, known, showing

__all__ = [
    "Function",
    "finish",
    "on_ufunc",
    "record_on_device",
    "record_quickly",
    "updated_on_device",
    "updated_on_host",
]

Array = TypeVar("Array", bound=ArrayState)

_STORED = State.STORED

_float64 = np.dtype(np.float64)
_rows = dict(BY_UFUNC)


def finish(cls: type[Array], values: Sequence[Value]) -> Any:
    """Arrays for values that were recorded."""
    arrays: list[Any] = []
    for value in values:
        array = cls._of_value(value)
        if not value.layout.shape and current().scalars == "numpy":
            arrays.append(array._array()[()])
            continue
        keep_within_bounds(value)
        arrays.append(array)
    return arrays[0] if len(arrays) == 1 else tuple(arrays)


def record_quickly(op: Op, *operands: Any) -> Any:
    """The short way to the graph: arrays on one device, and numbers.

    None where that is not all there is; then `elementwise` decides.
    """
    last = operands[-1]
    if len(operands) == 2 and isinstance(last, ArrayState) and last._host is None:
        number = operands[0]
        if last._device.is_named and not isinstance(number, ArrayState):
            value = _written_on_device(op, last, number, _REFLECTED)
            if value is not None:
                return _shown(type(last), value)
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
            dtype = x.dtype
            if dtype is not _float64 and not is_recordable(dtype):
                return None
            value = known(array)
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
    forms = on_devices if named else on_hosts
    name = tuple(key)
    form = forms.get(name)
    if form is None or not (named or form.plain or _are_aligned(operands)):
        form = worked_out(op, operands, key, named)
        if form is None:
            return None
        if len(forms) > 1 << 16:
            forget()
            forms.clear()
        forms[name] = form
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


def _are_aligned(operands: tuple[Any, ...]) -> bool:
    """Whether what lies in memory of the host begins where its dtype asks for."""
    for x in operands:
        if isinstance(x, ArrayState):
            array = x
            host = array._host
            if host is not None and not native.is_aligned(host):
                return False
    return True


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
            row = self.row
            first = operands[0]
            if row is not None and type(first) is cls and first._host is None:
                made = _function_on_device(row, first, operands)
                if made is not None:
                    return made
            made = at_once(cls, self.numpy, operands)
            if made is not None:
                return made
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
    row = _rows.get(ufunc) if method == "__call__" else None
    if row is not None:
        cls: Any = type(x)
        if not keywords and len(operands) == 2 and operands[1] is x:
            made = number_first(x, ufunc, operands[0])
            if made is not None:
                return made
        out: Any = None
        if len(keywords) == 1:
            out = keywords.get("out")
            if type(out) is tuple and len(out) == 1:
                out = out[0]
        if not keywords or type(out) is cls:
            made = at_once(cls, ufunc, operands, out)
            if made is None and not keywords:
                made = record_quickly(row, *operands)
            if made is not None:
                return made
    return x._on_ufunc(row, ufunc, method, operands, keywords)


def record_on_device(op: Op, x: Any, other: Any) -> Any:
    """The shortest way, for an operator: ``x`` is on a named device.

    None where it was not gone before; then `record_quickly` decides.
    """
    value = _written_on_device(op, x, other, _FORWARD)
    return None if value is None else _shown(type(x), value)


def updated_on_device(op: Op, x: Any, other: Any) -> Value | None:
    """The same for an operator in place, if the result has the shape and dtype of
    ``x``; gone for the first time, too."""
    value = _written_on_device(op, x, other, _IN_PLACE)
    if value is None and _learned(op, x, other):
        value = _written_on_device(op, x, other, _IN_PLACE)
    return value


_FORWARD, _REFLECTED, _IN_PLACE = 0, 1, 2


def _function_on_device(op: Op, x: Any, operands: tuple[Any, ...]) -> Any:
    """The shortest way of a function whose first operand is no array of the host."""
    if not x._device.is_named:
        return None
    if len(operands) == 2:
        return record_on_device(op, x, operands[1])
    if len(operands) > 2:
        return None
    device: Device = x._device
    value = x._binding._value
    shown = x._view
    if value.expr is not None and shown is not None and not native.item(shown, 0).shape:
        return None
    form = form_on_device(op, shown, None, device)
    if form is None or len(form.outputs) > 1:
        return None
    buffer = value.buffer
    if buffer is not None and buffer._sharer is not None:
        return None
    mask = max(capture(), 0)
    made = written_one(form, (value,), device, mask, user_place())
    return _shown(type(x), made)


def _learned(op: Op, x: Any, other: Any) -> bool:
    """Have `_written_on_device` know the way, if there is one."""
    kind: Any = type(other)
    if kind is type(x):
        array = other
        if array._device is not x._device:
            return False
        kind = array._view
        element = element_of(array._binding._value, kind)
        if element is not None:
            kind = element[1]
    elif kind is not float and kind is not int and kind not in SCALARS:
        return False
    shown = x._view
    if kind is None or shown is None:
        return False
    element = element_of(x._binding._value, shown)
    if element is not None:
        shown = element[1]
    key = [op, shown, kind]
    form = worked_out(op, (x, other), key, True)
    if form is None:
        return False
    for _, dtype in form.outputs:
        check_dtype(dtype, x._device)
    form.device = x._device
    if len(on_devices) > 1 << 16:
        forget()
        on_devices.clear()
    on_devices[tuple(key)] = form
    return True


def _written_on_device(op: Op, x: Any, other: Any, way: int) -> Value | None:
    """What an operator records, if it was recorded before for operands that lie so."""
    device: Device = x._device
    first = x._binding._value
    shown = x._view
    if first.expr is not None:
        element = element_of(first, shown)
        if element is not None:
            first, shown = element
    sources: Any
    if type(other) is type(x):
        right = other
        if right._device is not device:
            return None
        second = right._binding._value
        view = right._view
        if second.expr is not None:
            element = element_of(second, view)
            if element is not None:
                second, view = element
        spread = spread_beside(op, first, shown, second, view)
        if spread is not None:
            first, shown, second, view = spread
        form = form_on_device(op, shown, view, device)
        if form is None:
            return None
        buffer = second.buffer
        if buffer is not None and buffer._sharer is not None:
            return None
        sources = (first, second)
    else:
        kind = type(other)
        one, two = (kind, shown) if way == _REFLECTED else (shown, kind)
        form = form_on_device(op, one, two, device)
        if form is None:
            return None
        try:
            number = scalar_for(form, other, 0 if way == _REFLECTED else 1)
        except OverflowError:
            return None
        sources = (number, first) if way == _REFLECTED else (first, number)
    buffer = first.buffer
    if buffer is not None and buffer._sharer is not None:
        return None
    if len(form.outputs) > 1 or (way == _IN_PLACE and not _fits(form.outputs[0], x)):
        return None
    mask = max(capture(), 0)
    return written_one(form, sources, device, mask, user_place())


def _recorded(
    cls: Any,
    form: Form,
    sources: tuple[Any, ...],
    device: Device,
    mask: int,
    place: Place,
) -> Any:
    """Arrays for an operation of which all is known."""
    if len(form.outputs) > 1:
        return finish(cls, written(form, sources, device, mask, place))
    return _shown(cls, written_one(form, sources, device, mask, place))


def _shown(cls: Any, value: Value) -> Any:
    """An array that shows what was recorded."""
    expr = value.expr  # None where another thread had to run it at once
    if expr is None or not expr.form.shape:
        return finish(cls, (value,))
    array = showing(cls, value)
    keep_within_bounds(value)
    return array
