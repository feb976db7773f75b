"""Python's operators on arrays, with the short way for small ones."""

from __future__ import annotations

from collections.abc import Callable
from operator import (
    abs as absolute,
    add,
    and_,
    eq,
    floordiv,
    ge,
    gt,
    iadd,
    iand,
    ifloordiv,
    ilshift,
    imod,
    imul,
    invert,
    ior,
    ipow,
    irshift,
    isub,
    itruediv,
    ixor,
    le,
    lshift,
    lt,
    matmul,
    mod,
    mul,
    ne,
    neg,
    or_,
    pos,
    pow as power,
    rshift,
    sub,
    truediv,
    xor,
)
from typing import Any

import numpy as np

from ..backends.registry import common_device
from ..config import limits
from ..lazy.joining import may_join
from ..lazy.route import auto_devices
from ..ops.contraction import MATMUL
from ..ops.elementwise import (
    ABSOLUTE,
    ADD,
    BITWISE_AND,
    BITWISE_OR,
    BITWISE_XOR,
    DIVIDE,
    DIVMOD,
    EQUAL,
    FLOOR_DIVIDE,
    GREATER,
    GREATER_EQUAL,
    INVERT,
    LEFT_SHIFT,
    LESS,
    LESS_EQUAL,
    MULTIPLY,
    NEGATIVE,
    NOT_EQUAL,
    POSITIVE,
    POWER,
    RECIPROCAL,
    REMAINDER,
    RIGHT_SHIFT,
    SQRT,
    SQUARE,
    SUBTRACT,
)
from ..ops.spec import Op
from .calls import device_of, elementwise, library, wrap
from .choice import runs_at_once
from .container import Container
from .immediate import small, wrapped
from .quick import (
    record_on_device,
    record_quickly,
    updated_on_device,
    updated_on_host,
)
from .state import ArrayState, is_writeable, settled, writable
from .updating import update

__all__ = ["PRIORITY", "Operators"]

_Function = Callable[[Any, Any], Any]

PRIORITY = 1000.0
"""Of arrays, before other libraries' types."""

MATRIX = 1024
"""Elements of a factor below which NumPy's product is the shortest way, always."""


def _refuses(other: Any) -> bool:
    """Whether the other operand wants to handle the operation itself."""
    kind = type(other)
    if kind in (int, float, complex, bool, list, tuple) or isinstance(
        other, (ArrayState, np.ndarray, np.generic)
    ):
        return False
    handler = getattr(kind, "__array_ufunc__", False)
    if handler is None:
        return True
    return handler is False and (getattr(kind, "__array_priority__", -1e6) > PRIORITY)


def _forward(x: ArrayState, op: Op, function: _Function, other: Any) -> Any:
    a = x._host
    if a is None:
        if x._device.is_named:
            made = record_on_device(op, x, other)
            if made is not None:
                return made
        else:
            a = settled(x)
    if a is not None:
        limit = limits().small
        size = a.size
        if size < limit:
            b = small(op, x, a, size, other, limit)
            if b is not None:
                return wrapped(x, function(a, b))
    made = record_quickly(op, x, other)
    if made is not None:
        return made
    if _refuses(other):
        return NotImplemented
    return _slowly(x, op, function, x, other)


def _reflected(x: ArrayState, op: Op, function: _Function, other: Any) -> Any:
    a = x._host
    if a is None:
        a = settled(x)
    if a is not None:
        limit = limits().small
        size = a.size
        if size < limit:
            b = small(op, x, a, size, other, limit)
            if b is not None:
                return wrapped(x, function(b, a))
    if not isinstance(other, ArrayState):
        made = record_quickly(op, other, x)
        if made is not None:
            return made
    if _refuses(other):
        return NotImplemented
    return _slowly(x, op, function, other, x)


def _unary(x: ArrayState, op: Op, function: Callable[[Any], Any]) -> Any:
    a = x._host
    if a is None:
        a = settled(x)
    if a is not None and a.size < limits().small:
        return wrapped(x, function(a))
    made = record_quickly(op, x)
    return elementwise(type(x), op, (x,)) if made is None else made


def _slowly(
    self: ArrayState, op: Op, function: _Function, left: Any, right: Any
) -> Any:
    cls = type(self)
    if isinstance(left, (list, tuple)) or isinstance(right, (list, tuple)):
        return elementwise(cls, op, (left, right))
    device = device_of((left, right), op.name)
    if runs_at_once(op, (left, right), device):
        a = left._array() if isinstance(left, ArrayState) else left
        b = right._array() if isinstance(right, ArrayState) else right
        return wrap(cls, function(a, b), device)
    return elementwise(cls, op, (left, right))


def _in_place(x: ArrayState, op: Op, function: _Function, other: Any) -> Any:
    a = x._host
    if a is not None:
        limit = limits().small
        size = a.size
        if size < limit:
            b = small(op, x, a, size, other, limit)
            if b is not None:
                function(writable(x), b)
                return x
    elif x._device.is_named and not x._locked:
        value = updated_on_device(op, x, other)
        if value is not None:
            update(x, value, other)
            return x
    if _refuses(other):
        return NotImplemented
    if a is not None and a.size < limits().small and a.flags.writeable:
        b = other
        if isinstance(other, ArrayState):
            common_device((x._device, other._device), op.name)
            b = other._array()
        function(writable(x), b)
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


def _product(x: ArrayState, other: Any) -> Any:
    """A product by NumPy here and now; None where another way may be shorter."""
    a = x._host
    if a is None or type(other) is not type(x) or len(auto_devices) > 1:
        return None
    y = other
    b = y._host
    if b is None or y._device is not x._device:
        return None
    if a.size >= MATRIX and (a.dtype.char not in "fdFD" or may_join()):
        return None
    return wrapped(x, matmul(a, b))


def _compare(x: ArrayState, op: Op, function: _Function, other: Any) -> Any:
    """Comparisons also take what is no number: NumPy knows what that means."""
    if other is None or isinstance(other, (str, bytes)):
        return wrap(type(x), function(x._array(), other), x._device)
    return _forward(x, op, function, other)


def _power(x: ArrayState, other: Any, in_place: bool = False) -> Any:
    """``**``: NumPy computes some powers by simpler operations."""
    simpler = None
    kind = type(other)
    if kind is int and other == 2:
        simpler = SQUARE
    elif x.dtype.kind in "fc":
        if kind is int and other == -1:
            simpler = RECIPROCAL
        elif kind is float and other == 0.5:
            simpler = SQRT
    if simpler is not None and x.dtype.kind in "biufc":
        host = x._host
        if host is None or host.size >= limits().small:
            return elementwise(type(x), simpler, (x,), out=x if in_place else None)
    if in_place:
        return _in_place(x, POWER, ipow, other)
    return _forward(x, POWER, power, other)


class Operators(Container):
    """The operators of an array."""

    __slots__ = ()

    def __add__(self, other: Any) -> Any:
        return _forward(self, ADD, add, other)

    def __radd__(self, other: Any) -> Any:
        return _reflected(self, ADD, add, other)

    def __iadd__(self, other: Any) -> Any:
        return _in_place(self, ADD, iadd, other)

    def __sub__(self, other: Any) -> Any:
        return _forward(self, SUBTRACT, sub, other)

    def __rsub__(self, other: Any) -> Any:
        return _reflected(self, SUBTRACT, sub, other)

    def __isub__(self, other: Any) -> Any:
        return _in_place(self, SUBTRACT, isub, other)

    def __mul__(self, other: Any) -> Any:
        return _forward(self, MULTIPLY, mul, other)

    def __rmul__(self, other: Any) -> Any:
        return _reflected(self, MULTIPLY, mul, other)

    def __imul__(self, other: Any) -> Any:
        return _in_place(self, MULTIPLY, imul, other)

    def __truediv__(self, other: Any) -> Any:
        return _forward(self, DIVIDE, truediv, other)

    def __rtruediv__(self, other: Any) -> Any:
        return _reflected(self, DIVIDE, truediv, other)

    def __itruediv__(self, other: Any) -> Any:
        return _in_place(self, DIVIDE, itruediv, other)

    def __floordiv__(self, other: Any) -> Any:
        return _forward(self, FLOOR_DIVIDE, floordiv, other)

    def __rfloordiv__(self, other: Any) -> Any:
        return _reflected(self, FLOOR_DIVIDE, floordiv, other)

    def __ifloordiv__(self, other: Any) -> Any:
        return _in_place(self, FLOOR_DIVIDE, ifloordiv, other)

    def __mod__(self, other: Any) -> Any:
        return _forward(self, REMAINDER, mod, other)

    def __rmod__(self, other: Any) -> Any:
        return _reflected(self, REMAINDER, mod, other)

    def __imod__(self, other: Any) -> Any:
        return _in_place(self, REMAINDER, imod, other)

    def __and__(self, other: Any) -> Any:
        return _forward(self, BITWISE_AND, and_, other)

    def __rand__(self, other: Any) -> Any:
        return _reflected(self, BITWISE_AND, and_, other)

    def __iand__(self, other: Any) -> Any:
        return _in_place(self, BITWISE_AND, iand, other)

    def __or__(self, other: Any) -> Any:
        return _forward(self, BITWISE_OR, or_, other)

    def __ror__(self, other: Any) -> Any:
        return _reflected(self, BITWISE_OR, or_, other)

    def __ior__(self, other: Any) -> Any:
        return _in_place(self, BITWISE_OR, ior, other)

    def __xor__(self, other: Any) -> Any:
        return _forward(self, BITWISE_XOR, xor, other)

    def __rxor__(self, other: Any) -> Any:
        return _reflected(self, BITWISE_XOR, xor, other)

    def __ixor__(self, other: Any) -> Any:
        return _in_place(self, BITWISE_XOR, ixor, other)

    def __lshift__(self, other: Any) -> Any:
        return _forward(self, LEFT_SHIFT, lshift, other)

    def __rlshift__(self, other: Any) -> Any:
        return _reflected(self, LEFT_SHIFT, lshift, other)

    def __ilshift__(self, other: Any) -> Any:
        return _in_place(self, LEFT_SHIFT, ilshift, other)

    def __rshift__(self, other: Any) -> Any:
        return _forward(self, RIGHT_SHIFT, rshift, other)

    def __rrshift__(self, other: Any) -> Any:
        return _reflected(self, RIGHT_SHIFT, rshift, other)

    def __irshift__(self, other: Any) -> Any:
        return _in_place(self, RIGHT_SHIFT, irshift, other)

    def __pow__(self, other: Any, modulus: None = None) -> Any:
        if modulus is not None:
            return NotImplemented
        return _power(self, other)

    def __rpow__(self, other: Any, modulus: None = None) -> Any:
        if modulus is not None:
            return NotImplemented
        return _reflected(self, POWER, power, other)

    def __ipow__(self, other: Any) -> Any:  # type: ignore[misc]
        return _power(self, other, in_place=True)

    def __divmod__(self, other: Any) -> Any:
        return _forward(self, DIVMOD, divmod, other)

    def __rdivmod__(self, other: Any) -> Any:
        return _reflected(self, DIVMOD, divmod, other)

    def __matmul__(self, other: Any) -> Any:
        made = _product(self, other)
        if made is not None:
            return made
        if _refuses(other):
            return NotImplemented
        return library(type(self), MATMUL, (self, other))

    def __rmatmul__(self, other: Any) -> Any:
        if _refuses(other):
            return NotImplemented
        return library(type(self), MATMUL, (other, self))

    def __imatmul__(self, other: Any) -> Any:
        if _refuses(other):
            return NotImplemented
        other = other._array() if isinstance(other, ArrayState) else other
        target: Any = writable(self)
        target @= other
        return self

    def __eq__(self, other: Any) -> Any:
        return _compare(self, EQUAL, eq, other)

    def __ne__(self, other: Any) -> Any:
        return _compare(self, NOT_EQUAL, ne, other)

    def __lt__(self, other: Any) -> Any:
        return _compare(self, LESS, lt, other)

    def __le__(self, other: Any) -> Any:
        return _compare(self, LESS_EQUAL, le, other)

    def __gt__(self, other: Any) -> Any:
        return _compare(self, GREATER, gt, other)

    def __ge__(self, other: Any) -> Any:
        return _compare(self, GREATER_EQUAL, ge, other)

    def __neg__(self) -> Any:
        return _unary(self, NEGATIVE, neg)

    def __pos__(self) -> Any:
        return _unary(self, POSITIVE, pos)

    def __abs__(self) -> Any:
        return _unary(self, ABSOLUTE, absolute)

    def __invert__(self) -> Any:
        return _unary(self, INVERT, invert)
