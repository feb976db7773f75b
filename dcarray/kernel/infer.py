"""Dtypes of scalar expressions: what NumPy would give for the same operands.

An *operand* is a typed scalar or a Python number, which is weak: it takes the dtype of
what it meets, as in NumPy.  What would be a Python int in a kernel that runs as Python,
a place in the grid or a length, is typed and yet weak where it meets floating-point
numbers: its dtype is `WEAK_INT`, which is equal to int64.
"""

from __future__ import annotations

from functools import cache
from typing import Any, TypeAlias, cast

import numpy as np

from . import nodes
from .language import LANES, PRIMITIVES

__all__ = [
    "TYPED",
    "WEAK_INT",
    "Operand",
    "apply",
    "convert",
    "default_dtype",
    "dtype_of",
    "is_typed",
    "kinds",
    "loop_dtypes",
    "promote",
    "select",
    "strong",
    "truth",
    "weak_dtype",
]

DType: TypeAlias = np.dtype[Any]
Number: TypeAlias = bool | int | float | complex
Operand: TypeAlias = nodes.Scalar | Number

BOOL = np.dtype(np.bool_)

_MARK = {"weak": True}
WEAK_INT: DType = np.dtype(np.int64, metadata=_MARK)
WEAK_FLOAT: DType = np.dtype(np.float64, metadata=_MARK)
WEAK_COMPLEX: DType = np.dtype(np.complex128, metadata=_MARK)
_WEAK = {"i": WEAK_INT, "f": WEAK_FLOAT, "c": WEAK_COMPLEX}
_STRONG = {kind: np.dtype(dtype.type) for kind, dtype in _WEAK.items()}
_PYTHON: dict[str, type] = {"i": int, "f": float, "c": complex}

TYPED = (
    nodes.Constant,
    nodes.Name,
    nodes.Apply,
    nodes.Cast,
    nodes.Select,
    nodes.Load,
    nodes.Index,
)

_DEFAULTS: dict[type, DType] = {
    bool: BOOL,
    int: np.dtype(np.int64),
    float: np.dtype(np.float64),
    complex: np.dtype(np.complex128),
}

# What an operation is for dtypes for which it is another one, or none at all.
_ON_BOOLS = {"add": "bitwise_or", "multiply": "bitwise_and"}
_NOTHING_TO_DO = {
    "absolute": "bu",
    "floor": "biu",
    "ceil": "biu",
    "trunc": "biu",
    "conjugate": "biuf",
    "real": "biuf",
}
_KNOWN = {"isnan": False, "isinf": False, "isfinite": True}


def is_typed(operand: object) -> bool:
    """Whether ``operand`` is an expression of the IR, and not a Python object."""
    return isinstance(operand, TYPED)


def default_dtype(value: Number) -> DType:
    """The dtype that NumPy gives to an array of this Python number."""
    return _DEFAULTS[type(value)]


def dtype_of(operand: Operand) -> DType:
    """Dtype of an operand; the default one for a Python number."""
    if isinstance(operand, (bool, int, float, complex)):
        return default_dtype(operand)
    return operand.dtype


def strong(dtype: DType) -> DType:
    """The dtype without the mark of a weak one."""
    return dtype if dtype.metadata is None else _STRONG[dtype.kind]


def _is_weak(operand: Operand) -> bool:
    """Whether it is a number to Python."""
    if isinstance(operand, (bool, int, float, complex)):
        return True
    return operand.dtype.metadata is not None


def weak_dtype(operand: object) -> DType | None:
    """What a number of Python is as a weak dtype; None for what is none."""
    if isinstance(operand, (int, float, complex)) and type(operand) is not bool:
        return _WEAK[default_dtype(operand).kind]
    if isinstance(operand, TYPED) and operand.dtype.metadata is not None:
        return operand.dtype
    return None


def kinds(operands: tuple[Operand, ...]) -> tuple[Any, ...]:
    """What `numpy.ufunc.resolve_dtypes` takes: dtypes, or int, float or complex.

    Weak ints give way to floating-point numbers and to uint64, with which int64 has no
    integer in common; to all other integers they are int64, and do not wrap round.
    """
    yields = False
    for item in operands:
        if not _is_weak(item):
            dtype = dtype_of(item)
            yields |= dtype.kind not in "biu" or dtype == np.uint64
    found: list[Any] = []
    for item in operands:
        if isinstance(item, bool):
            found.append(BOOL)
        elif isinstance(item, (int, float, complex)):
            found.append(type(item))
        elif item.dtype.metadata is None:
            found.append(item.dtype)
        elif yields:
            found.append(_PYTHON[item.dtype.kind])
        else:
            found.append(_STRONG[item.dtype.kind])
    return tuple(found)


def _strong_dtypes(operands: tuple[Operand, ...]) -> tuple[DType, ...] | None:
    """What `kinds` gives for operands none of which is weak; None for others."""
    found = []
    for item in operands:
        if isinstance(item, (bool, int, float, complex)):
            return None
        dtype = item.dtype
        if dtype.metadata is not None:
            return None
        found.append(dtype)
    return tuple(found)


def _marked(dtype: DType, operands: tuple[Operand, ...]) -> DType:
    """``dtype`` of what is made of operands: weak if all of them are."""
    if dtype != _STRONG.get(dtype.kind):
        return dtype
    if any([not _is_weak(item) for item in operands]):
        return dtype
    if all([isinstance(item, (int, float, complex)) for item in operands]):
        return dtype
    return _WEAK[dtype.kind]


def promote(*operands: Operand, weak: bool = False) -> DType:
    """The common dtype; with ``weak``, that of numbers of Python is a weak one."""
    if all(isinstance(item, (int, float, complex)) for item in operands):
        found = np.result_type(*[dtype_of(item) for item in operands])
        return _WEAK.get(found.kind, found) if weak else found
    examples = [
        item if isinstance(item, (int, float, complex)) else _EXAMPLES.get(kind, kind)
        for item, kind in zip(operands, kinds(operands))
    ]
    return _marked(np.result_type(*examples), operands)


def convert(operand: Operand, dtype: DType) -> nodes.Scalar:
    """``operand`` with this dtype; constants are converted at once.

    Raises
    ------
    TypeError
        A Python integer does not fit.
    """
    if isinstance(operand, (bool, int, float, complex)):
        if isinstance(operand, int) and dtype.kind in "iu":
            limits = np.iinfo(dtype)
            if not limits.min <= operand <= limits.max:
                raise TypeError(f"{operand} does not fit into {dtype}")
        operand = nodes.Constant(operand, default_dtype(operand))
        if dtype.kind in "iu":
            return nodes.Constant(int(cast(Any, operand.value)), dtype)
        if dtype is WEAK_FLOAT:
            return nodes.Constant(float(cast(Any, operand.value)), dtype)
        if dtype is WEAK_COMPLEX:
            return nodes.Constant(complex(operand.value), dtype)
    if operand.dtype == dtype:
        return operand
    if isinstance(operand, nodes.Constant):
        with np.errstate(all="ignore"):
            value = np.asarray(operand.value, operand.dtype).astype(dtype)
        return nodes.Constant(value.item(), dtype)
    return nodes.Cast(operand, dtype)


@cache
def loop_dtypes(name: str, operands: tuple[Any, ...]) -> tuple[DType, ...]:
    """Dtypes of the arguments and, last, of the result of a primitive.

    Parameters
    ----------
    name : str
    operands : tuple
        For each argument a dtype, or ``int``, ``float`` or ``complex`` for a weak one.

    Raises
    ------
    TypeError
        The primitive does not take these dtypes.
    """
    primitive = PRIMITIVES[name]
    if len(operands) != primitive.arity:
        raise TypeError(
            f"{name} takes {primitive.arity} arguments, got {len(operands)}"
        )
    if primitive.dtype is None:
        ufunc = cast(np.ufunc, primitive.numpy)
        try:
            return tuple(ufunc.resolve_dtypes((*operands, None)))
        except TypeError:
            listed = " and ".join([getattr(x, "__name__", str(x)) for x in operands])
            raise TypeError(f"{name} does not take {listed}") from None
    if name in LANES:
        return (*operands, primitive.dtype(*operands))
    examples = [_EXAMPLES.get(item, item) for item in operands]
    common = np.result_type(*examples)
    return (*([common] * len(operands)), primitive.dtype(*([common] * len(operands))))


_EXAMPLES: dict[Any, Number] = {int: 0, float: 0.0, complex: 0j}


def apply(name: str, *operands: Operand) -> nodes.Scalar:
    """The primitive ``name`` over operands, converted to what it takes.

    Raises
    ------
    TypeError
        The primitive does not take these dtypes.
    """
    found = _strong_dtypes(operands)
    if found is None:
        *inputs, result = loop_dtypes(name, kinds(operands))
        result = _marked(result, operands)
    else:
        *inputs, result = loop_dtypes(name, found)
    arguments = tuple([convert(item, dtype) for item, dtype in zip(operands, inputs)])
    kind = inputs[0].kind
    if kind == "b":
        name = _ON_BOOLS.get(name, name)
    if kind in _NOTHING_TO_DO.get(name, ""):
        return convert(arguments[0], result)
    if kind in "biu" and name in _KNOWN:
        return nodes.Constant(_KNOWN[name], result)
    return nodes.Apply(name, arguments, result)


def truth(operand: Operand) -> nodes.Scalar | bool:
    """Whether ``operand`` is other than zero, as a bool."""
    if isinstance(operand, (bool, int, float, complex)):
        return bool(operand)
    if operand.dtype == BOOL:
        return operand
    return apply("not_equal", operand, 0)


def select(
    condition: nodes.Scalar, x: Operand, y: Operand, weak: bool = False
) -> nodes.Scalar:
    """``x if condition else y``, with the common dtype; see `promote`."""
    dtype = promote(x, y, weak=weak)
    return nodes.Select(condition, convert(x, dtype), convert(y, dtype), dtype)
