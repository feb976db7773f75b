"""Dtypes of scalar expressions: what NumPy would give for the same operands.

An *operand* is a typed scalar or a Python number, which is weak: it takes the dtype of
what it meets, as in NumPy.
"""

from __future__ import annotations

from functools import cache
from typing import Any, TypeAlias, cast

import numpy as np

from . import nodes
from .language import PRIMITIVES

__all__ = [
    "Operand",
    "apply",
    "convert",
    "default_dtype",
    "dtype_of",
    "is_typed",
    "loop_dtypes",
    "promote",
    "select",
    "truth",
]

DType: TypeAlias = np.dtype[Any]
Number: TypeAlias = bool | int | float | complex
Operand: TypeAlias = nodes.Scalar | Number

BOOL = np.dtype(np.bool_)

_TYPED = (
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
    return isinstance(operand, _TYPED)


def default_dtype(value: Number) -> DType:
    """The dtype that NumPy gives to an array of this Python number."""
    return _DEFAULTS[type(value)]


def dtype_of(operand: Operand) -> DType:
    """Dtype of an operand; the default one for a Python number."""
    if isinstance(operand, (bool, int, float, complex)):
        return default_dtype(operand)
    return operand.dtype


def _weak(operand: Operand) -> Any:
    """What `numpy.ufunc.resolve_dtypes` takes: a dtype, or int, float or complex."""
    if isinstance(operand, bool):
        return BOOL
    if isinstance(operand, (int, float, complex)):
        return type(operand)
    return operand.dtype


def promote(*operands: Operand) -> DType:
    """The common dtype."""
    if all(isinstance(item, (int, float, complex)) for item in operands):
        return np.result_type(*[dtype_of(item) for item in operands])
    return np.result_type(
        *[
            item if isinstance(item, (int, float, complex)) else item.dtype
            for item in operands
        ]
    )


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
        return tuple(ufunc.resolve_dtypes((*operands, None)))
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
    *inputs, result = loop_dtypes(name, tuple(_weak(item) for item in operands))
    arguments = tuple(convert(item, dtype) for item, dtype in zip(operands, inputs))
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


def select(condition: nodes.Scalar, x: Operand, y: Operand) -> nodes.Scalar:
    """``x if condition else y``, with the common dtype."""
    dtype = promote(x, y)
    return nodes.Select(condition, convert(x, dtype), convert(y, dtype), dtype)
