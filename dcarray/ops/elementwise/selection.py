"""Elementwise operations for which NumPy has no ufunc: casts, choice, complex parts."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...errors import DTypeError
from ...kernel.language import Scalar, cast, imag, is_complex, real
from ..spec import DType, Kind, Op, Signature

_EXAMPLES: dict[Any, Any] = {int: 0, float: 0.0, complex: 0j}
"""A Python scalar in the place of its type, as `numpy.result_type` wants it."""


def promote(*operands: Any) -> DType:
    """The common dtype of dtypes and of Python's ``int``, ``float``, ``complex``."""
    return np.result_type(*[_EXAMPLES.get(item, item) for item in operands])


# ------------------------------------------------------------------------ bodies
def where(condition: Scalar, x: Scalar, y: Scalar) -> Scalar:
    return x if condition else y


def real_any(x: Scalar) -> Scalar:
    if is_complex(x):
        return real(x)
    return x


def imag_any(x: Scalar) -> Scalar:
    if is_complex(x):
        return imag(x)
    return cast(0, x)


# --------------------------------------------------------------------- resolvers
def _cast_signature(operands: tuple[Any, ...]) -> Signature:
    """From a dtype to itself: the target of a cast is said by the node, not by this."""
    dtype = promote(operands[0])
    return Signature((dtype,), (dtype,))


def _where_signature(operands: tuple[Any, ...]) -> Signature:
    try:
        dtype = promote(*operands[1:])
    except TypeError as error:
        raise DTypeError(f"where: {error}") from None
    return Signature((np.dtype(np.bool_), dtype, dtype), (dtype,))


def _part_signature(operands: tuple[Any, ...]) -> Signature:
    dtype = promote(operands[0])
    return Signature((dtype,), (np.empty(0, dtype).real.dtype,))


def _astype(x: Any, dtype: Any) -> Any:
    return np.asarray(x).astype(dtype)


CAST = Op("cast", Kind.ELEMENTWISE, _astype, resolver=_cast_signature)
WHERE = Op(
    "where", Kind.ELEMENTWISE, np.where, 3, body=where, resolver=_where_signature
)
REAL = Op("real", Kind.ELEMENTWISE, np.real, body=real_any, resolver=_part_signature)
IMAG = Op("imag", Kind.ELEMENTWISE, np.imag, body=imag_any, resolver=_part_signature)

ROWS: tuple[Op, ...] = (CAST, WHERE, REAL, IMAG)
