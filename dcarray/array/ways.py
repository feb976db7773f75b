"""How an operator is applied: small arrays of the host go to NumPy at once."""

from __future__ import annotations

from collections.abc import Callable
from operator import matmul
from typing import Any

import numpy as np

from .. import native, native_arrays
from ..backends.registry import common_device
from ..config import limits
from ..lazy.joining import may_join
from ..lazy.route import auto_devices
from ..ops.elementwise import DIVMOD, POWER
from ..ops.spec import Op
from .calls import device_of, elementwise, wrap
from .choice import runs_at_once
from .immediate import small, wrapped
from .quick import (
    record_on_device,
    record_quickly,
    updated_on_device,
    updated_on_host,
)
from .small import UNCACHED
from .state import ArrayState, is_writeable, settled, writable
from .updating import update

__all__ = [
    "PRIORITY",
    "Way",
    "compare",
    "forward",
    "in_place",
    "product",
    "reflected",
    "refuses",
    "unary",
]

_matmul = np.matmul

PRIORITY = 1000.0
"""Of arrays, before other libraries' types."""

STACKED = 1 << 17
"""Elements of two stacks of factors from which threads may share them."""

MATRIX = 1024
"""Elements of a factor below which NumPy's product is the shortest way, always."""


class Way:
    """An operator: its row, Python's function for it, and NumPy's.

    ``ufunc`` is None where NumPy's operator is not always that function.
    """

    __slots__ = ("function", "op", "ufunc")

    def __init__(self, op: Op, function: Callable[..., Any]) -> None:
        self.op = op
        self.function = function
        self.ufunc: Any = None if op is POWER or op is DIVMOD else op.numpy


def refuses(other: Any) -> bool:
    """Whether the other operand wants to handle the operation itself."""
    if isinstance(other, ArrayState):
        return False
    kind = type(other)
    if kind in (int, float, complex, bool, list, tuple) or isinstance(
        other, (np.ndarray, np.generic)
    ):
        return False
    handler = getattr(kind, "__array_ufunc__", False)
    if handler is None:
        return True
    return handler is False and (getattr(kind, "__array_priority__", -1e6) > PRIORITY)


def forward(x: ArrayState, way: Way, other: Any) -> Any:
    a = x._host
    if a is None:
        if x._device.is_named:
            made = record_on_device(way.op, x, other)
            if made is not None:
                return made
        else:
            a = settled(x)
    if a is not None:
        force = limits()
        limit = force.small
        size = native_arrays.size_of(a)
        if size < force.parts or (size < limit and native.is_contiguous(a)):
            b = small(way.op, x, a, size, other, limit)
            if b is not None:
                return wrapped(x, native_arrays.applied(way.ufunc, way.function, a, b))
    made = record_quickly(way.op, x, other)
    if made is not None:
        return made
    if refuses(other):
        return NotImplemented
    return _slowly(x, way, x, other)


def reflected(x: ArrayState, way: Way, other: Any) -> Any:
    a = x._host
    if a is None:
        a = settled(x)
    if a is not None:
        force = limits()
        limit = force.small
        size = native_arrays.size_of(a)
        if size < force.parts or (size < limit and native.is_contiguous(a)):
            b = small(way.op, x, a, size, other, limit)
            if b is not None:
                return wrapped(x, native_arrays.applied(way.ufunc, way.function, b, a))
    if not isinstance(other, ArrayState):
        made = record_quickly(way.op, other, x)
        if made is not None:
            return made
    if refuses(other):
        return NotImplemented
    return _slowly(x, way, other, x)


def unary(x: ArrayState, way: Way) -> Any:
    a = x._host
    if a is None:
        a = settled(x)
    if a is not None and native_arrays.size_of(a) < limits().small:
        return wrapped(x, native_arrays.applied_alone(way.ufunc, way.function, a))
    made = record_quickly(way.op, x)
    return elementwise(type(x), way.op, (x,)) if made is None else made


def _slowly(self: ArrayState, way: Way, left: Any, right: Any) -> Any:
    cls = type(self)
    op = way.op
    if isinstance(left, (list, tuple)) or isinstance(right, (list, tuple)):
        return elementwise(cls, op, (left, right))
    device = device_of((left, right), op.name)
    if runs_at_once(op, (left, right), device):
        a = left._array() if isinstance(left, ArrayState) else left
        b = right._array() if isinstance(right, ArrayState) else right
        return wrap(cls, way.function(a, b), device)
    return elementwise(cls, op, (left, right))


def in_place(x: ArrayState, way: Way, other: Any) -> Any:
    op = way.op
    a = x._host
    if a is not None:
        limit = limits().small
        size = native_arrays.size_of(a)
        if size < limit:
            b = small(op, x, a, size, other, limit)
            if b is not None:
                native_arrays.changed(way.ufunc, way.function, writable(x), b)
                return x
    elif x._device.is_named and not x._locked:
        value = updated_on_device(op, x, other)
        if value is not None:
            update(x, value, other)
            return x
    if refuses(other):
        return NotImplemented
    if a is not None and a.size < limits().small and a.flags.writeable:
        b = other
        if isinstance(other, ArrayState):
            common_device((x._device, other._device), op.name)
            b = other._array()
        way.function(writable(x), b)
        return x
    if not is_writeable(x):
        raise ValueError("output array is read-only")
    if not x._device.is_named:
        value = updated_on_host(op, x, other)
        if value is not None:
            update(x, value, other)
            return x
    elementwise(type(x), op, (x, other), out=x)
    return x


def product(x: ArrayState, other: Any) -> Any:
    """A product by NumPy here and now; None where another way may be shorter."""
    a = x._host
    if a is None or type(other) is not type(x) or len(auto_devices) > 1:
        return None
    y = other
    b = y._host
    if b is None or y._device is not x._device:
        return None
    first = native_arrays.size_of(a)
    if first >= MATRIX and (a.dtype.char not in "fdFD" or may_join()):
        return None
    second = native_arrays.size_of(b)
    if second >= UNCACHED:
        return None
    if first + second >= STACKED and (a.ndim > 2 or b.ndim > 2):
        return None
    return wrapped(x, native_arrays.product(_matmul, matmul, a, b))


def compare(x: ArrayState, way: Way, other: Any) -> Any:
    """Comparisons also take what is no number: NumPy knows what that means."""
    if other is None or isinstance(other, (str, bytes)):
        return wrap(type(x), way.function(x._array(), other), x._device)
    return forward(x, way, other)
