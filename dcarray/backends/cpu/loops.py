"""NumPy's inner loops: where they are, and with which data they are called.

A ufunc keeps the addresses of its loops in a C struct that NumPy documents
(``numpy/ufuncobject.h``).  Before any address is believed, `struct_agrees` compares
what the struct says with what Python says, for every numeric ufunc of NumPy.
"""

from __future__ import annotations

import ctypes
from dataclasses import dataclass
from functools import cache, lru_cache
from typing import Any

import numpy as np

__all__ = ["Loop", "find_loop", "numeric_ufuncs", "struct_agrees"]

DType = np.dtype[Any]

NUMERIC = "?bBhHiIlLqQefdgFDG"
"""Type characters of the dtypes that loops are used for."""


class _UFuncHead(ctypes.Structure):
    """The first fields of ``PyUFuncObject``."""

    _fields_ = (
        ("header", ctypes.c_byte * object.__basicsize__),
        ("nin", ctypes.c_int),
        ("nout", ctypes.c_int),
        ("nargs", ctypes.c_int),
        ("identity", ctypes.c_int),
        ("functions", ctypes.POINTER(ctypes.c_void_p)),
        ("data", ctypes.POINTER(ctypes.c_void_p)),
        ("ntypes", ctypes.c_int),
        ("flags", ctypes.c_int),
        ("name", ctypes.c_char_p),
        ("types", ctypes.POINTER(ctypes.c_char)),
    )


@dataclass(frozen=True, slots=True)
class Loop:
    """One row of a ufunc: ``function(args, dimensions, steps, data)``."""

    function: int
    data: int


def numeric_ufuncs() -> list[np.ufunc]:
    """NumPy's elementwise ufuncs that have a loop over numbers."""
    allowed = frozenset(NUMERIC + "->")
    found = {
        id(value): value
        for value in vars(np).values()
        if isinstance(value, np.ufunc)
        and value.signature is None
        and any(allowed.issuperset(row) for row in value.types)
    }
    return list(found.values())


@lru_cache(1)
def struct_agrees() -> bool:
    """Whether the struct is what we take it for, on this interpreter and NumPy."""
    ufuncs = numeric_ufuncs()
    return len(ufuncs) > 50 and all(map(_agrees, ufuncs))


def _agrees(ufunc: np.ufunc) -> bool:
    if type(ufunc).__basicsize__ < ctypes.sizeof(_UFuncHead):
        return False
    head = _UFuncHead.from_address(id(ufunc))
    counts = (head.nin, head.nout, head.nargs, head.ntypes)
    if counts != (ufunc.nin, ufunc.nout, ufunc.nargs, ufunc.ntypes):
        return False
    if head.name != ufunc.__name__.encode() and ufunc.__name__ not in _RENAMED:
        return False
    if not head.functions or not head.types:
        return False
    kinds = "".join(ufunc.types).replace("->", "")
    return list(head.types[: len(kinds)]) == list(map(_number, kinds))


@cache
def _number(kind: str) -> int:
    """NumPy's number for a type character."""
    return np.dtype(kind).num


_RENAMED = frozenset({"conj"})


def find_loop(
    ufunc: np.ufunc, inputs: tuple[DType, ...], outputs: tuple[DType, ...]
) -> Loop | None:
    """The loop that NumPy runs for these dtypes: the *first* row that matches.

    None if there is no such row, or if NumPy would run a row of Python objects.
    """
    dtypes = (*inputs, *outputs)
    if not all(dtype.char in NUMERIC and dtype.isnative for dtype in dtypes):
        return None
    if not struct_agrees():
        return None
    # Some rows exist for one of two equal integer types only.
    return _row(ufunc, tuple(dtype.num for dtype in dtypes)) or _row(
        ufunc, tuple(_TWINS.get(dtype.num, dtype.num) for dtype in dtypes)
    )


_TWINS = {
    np.dtype(one).num: np.dtype(other).num
    for one, other in ("lq", "LQ", "li", "LI")
    if np.dtype(one) == np.dtype(other)
}


@lru_cache(4096)
def _row(ufunc: np.ufunc, kinds: tuple[int, ...]) -> Loop | None:
    head = _UFuncHead.from_address(id(ufunc))
    nargs = len(kinds)
    for row in range(ufunc.ntypes):
        if all(ord(head.types[row * nargs + k]) == kinds[k] for k in range(nargs)):
            function = head.functions[row]
            if not function:
                return None
            data = head.data[row] if head.data else 0
            return Loop(function, data or 0)
    return None
