"""Python's operators on arrays."""

from __future__ import annotations

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

from .. import native
from ..config import limits
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
from .calls import elementwise, library
from .container import Container
from .rows import multiplied
from .state import ArrayState, writable
from .ways import Way, compare, forward, in_place, product, reflected, refuses, unary

__all__ = ["Operators", "lightened"]

_IPOW = Way(POWER, ipow)
_POWER = Way(POWER, power)
_ADD = Way(ADD, add)
_IADD = Way(ADD, iadd)
_SUB = Way(SUBTRACT, sub)
_ISUB = Way(SUBTRACT, isub)
_MUL = Way(MULTIPLY, mul)
_IMUL = Way(MULTIPLY, imul)
_TRUEDIV = Way(DIVIDE, truediv)
_ITRUEDIV = Way(DIVIDE, itruediv)
_FLOORDIV = Way(FLOOR_DIVIDE, floordiv)
_IFLOORDIV = Way(FLOOR_DIVIDE, ifloordiv)
_MOD = Way(REMAINDER, mod)
_IMOD = Way(REMAINDER, imod)
_AND = Way(BITWISE_AND, and_)
_IAND = Way(BITWISE_AND, iand)
_OR = Way(BITWISE_OR, or_)
_IOR = Way(BITWISE_OR, ior)
_XOR = Way(BITWISE_XOR, xor)
_IXOR = Way(BITWISE_XOR, ixor)
_LSHIFT = Way(LEFT_SHIFT, lshift)
_ILSHIFT = Way(LEFT_SHIFT, ilshift)
_RSHIFT = Way(RIGHT_SHIFT, rshift)
_IRSHIFT = Way(RIGHT_SHIFT, irshift)
_DIVMOD = Way(DIVMOD, divmod)
_EQ = Way(EQUAL, eq)
_NE = Way(NOT_EQUAL, ne)
_LT = Way(LESS, lt)
_LE = Way(LESS_EQUAL, le)
_GT = Way(GREATER, gt)
_GE = Way(GREATER_EQUAL, ge)
_NEG = Way(NEGATIVE, neg)
_POS = Way(POSITIVE, pos)
_ABSOLUTE = Way(ABSOLUTE, absolute)
_INVERT = Way(INVERT, invert)


def _power(x: ArrayState, other: Any, into: bool = False) -> Any:
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
            return elementwise(type(x), simpler, (x,), out=x if into else None)
    if into:
        return in_place(x, _IPOW, other)
    return forward(x, _POWER, other)


class Operators(Container):
    """The operators of an array."""

    __slots__ = ()

    def __add__(self, other: Any) -> Any:
        return forward(self, _ADD, other)

    def __radd__(self, other: Any) -> Any:
        return reflected(self, _ADD, other)

    def __iadd__(self, other: Any) -> Any:
        return in_place(self, _IADD, other)

    def __sub__(self, other: Any) -> Any:
        return forward(self, _SUB, other)

    def __rsub__(self, other: Any) -> Any:
        return reflected(self, _SUB, other)

    def __isub__(self, other: Any) -> Any:
        return in_place(self, _ISUB, other)

    def __mul__(self, other: Any) -> Any:
        return forward(self, _MUL, other)

    def __rmul__(self, other: Any) -> Any:
        return reflected(self, _MUL, other)

    def __imul__(self, other: Any) -> Any:
        return in_place(self, _IMUL, other)

    def __truediv__(self, other: Any) -> Any:
        return forward(self, _TRUEDIV, other)

    def __rtruediv__(self, other: Any) -> Any:
        return reflected(self, _TRUEDIV, other)

    def __itruediv__(self, other: Any) -> Any:
        return in_place(self, _ITRUEDIV, other)

    def __floordiv__(self, other: Any) -> Any:
        return forward(self, _FLOORDIV, other)

    def __rfloordiv__(self, other: Any) -> Any:
        return reflected(self, _FLOORDIV, other)

    def __ifloordiv__(self, other: Any) -> Any:
        return in_place(self, _IFLOORDIV, other)

    def __mod__(self, other: Any) -> Any:
        return forward(self, _MOD, other)

    def __rmod__(self, other: Any) -> Any:
        return reflected(self, _MOD, other)

    def __imod__(self, other: Any) -> Any:
        return in_place(self, _IMOD, other)

    def __and__(self, other: Any) -> Any:
        return forward(self, _AND, other)

    def __rand__(self, other: Any) -> Any:
        return reflected(self, _AND, other)

    def __iand__(self, other: Any) -> Any:
        return in_place(self, _IAND, other)

    def __or__(self, other: Any) -> Any:
        return forward(self, _OR, other)

    def __ror__(self, other: Any) -> Any:
        return reflected(self, _OR, other)

    def __ior__(self, other: Any) -> Any:
        return in_place(self, _IOR, other)

    def __xor__(self, other: Any) -> Any:
        return forward(self, _XOR, other)

    def __rxor__(self, other: Any) -> Any:
        return reflected(self, _XOR, other)

    def __ixor__(self, other: Any) -> Any:
        return in_place(self, _IXOR, other)

    def __lshift__(self, other: Any) -> Any:
        return forward(self, _LSHIFT, other)

    def __rlshift__(self, other: Any) -> Any:
        return reflected(self, _LSHIFT, other)

    def __ilshift__(self, other: Any) -> Any:
        return in_place(self, _ILSHIFT, other)

    def __rshift__(self, other: Any) -> Any:
        return forward(self, _RSHIFT, other)

    def __rrshift__(self, other: Any) -> Any:
        return reflected(self, _RSHIFT, other)

    def __irshift__(self, other: Any) -> Any:
        return in_place(self, _IRSHIFT, other)

    def __pow__(self, other: Any, modulus: None = None) -> Any:
        if modulus is not None:
            return NotImplemented
        return _power(self, other)

    def __rpow__(self, other: Any, modulus: None = None) -> Any:
        if modulus is not None:
            return NotImplemented
        return reflected(self, _POWER, other)

    def __ipow__(self, other: Any) -> Any:  # type: ignore[misc]
        return _power(self, other, into=True)

    def __divmod__(self, other: Any) -> Any:
        return forward(self, _DIVMOD, other)

    def __rdivmod__(self, other: Any) -> Any:
        return reflected(self, _DIVMOD, other)

    def __matmul__(self, other: Any) -> Any:
        made = product(self, other)
        if made is not None:
            return made
        if self._device.is_named and type(other) is type(self):
            found = multiplied(self, other)
            if found is not None:
                return found
        if refuses(other):
            return NotImplemented
        return library(type(self), MATMUL, (self, other))

    def __rmatmul__(self, other: Any) -> Any:
        if refuses(other):
            return NotImplemented
        return library(type(self), MATMUL, (other, self))

    def __imatmul__(self, other: Any) -> Any:
        if refuses(other):
            return NotImplemented
        other = other._array() if isinstance(other, ArrayState) else other
        target: Any = writable(self)
        target @= other
        return self

    def __eq__(self, other: Any) -> Any:
        return compare(self, _EQ, other)

    def __ne__(self, other: Any) -> Any:
        return compare(self, _NE, other)

    def __lt__(self, other: Any) -> Any:
        return compare(self, _LT, other)

    def __le__(self, other: Any) -> Any:
        return compare(self, _LE, other)

    def __gt__(self, other: Any) -> Any:
        return compare(self, _GT, other)

    def __ge__(self, other: Any) -> Any:
        return compare(self, _GE, other)

    def __neg__(self) -> Any:
        return unary(self, _NEG)

    def __pos__(self) -> Any:
        return unary(self, _POS)

    def __abs__(self) -> Any:
        return unary(self, _ABSOLUTE)

    def __invert__(self) -> Any:
        return unary(self, _INVERT)


def lightened(cls: type[Operators]) -> None:
    """Have a class that adds no operators and fields use these as they are."""
    native.take_operators(cls, Operators)
    native.take_memory(cls, ArrayState)  # which refers to arrays but weakly
