"""Reductions and scans: rows that combine the elements along axes.

The oracle of a row whose ``numpy`` is a ufunc is that ufunc's ``reduce``, or its
``accumulate`` for a scan.  The body says how two partial results become one;
`IDENTITIES` has what an empty part gives.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..errors import DTypeError
from ..kernel.language import Scalar
from .elementwise.comparison import greater, isnan_any, less, maximum, minimum
from .elementwise.selection import promote
from .spec import Kind, Op, Signature

__all__ = [
    "ALL",
    "ANY",
    "ARGMAX",
    "ARGMIN",
    "CUMULATIVE_ALL",
    "CUMULATIVE_ANY",
    "CUMULATIVE_MAX",
    "CUMULATIVE_MIN",
    "CUMULATIVE_PROD",
    "CUMULATIVE_SUM",
    "IDENTITIES",
    "MAX",
    "MIN",
    "PROD",
    "SUM",
    "TABLE",
]


# ------------------------------------------------------------------------ bodies
def plus(x: Scalar, y: Scalar) -> Scalar:
    return x + y


def times(x: Scalar, y: Scalar) -> Scalar:
    return x * y


def either(x: Scalar, y: Scalar) -> Scalar:
    return x or y


def both(x: Scalar, y: Scalar) -> Scalar:
    return x and y


def pick(
    x: Scalar,
    x_index: Scalar,
    y: Scalar,
    y_index: Scalar,
    ahead: Scalar,
    behind: Scalar,
) -> tuple[Scalar, Scalar]:
    """``x`` if it is ahead of ``y``, or comes first of two that are neither."""
    first = ahead or (not behind and x_index < y_index)
    return (x if first else y, x_index if first else y_index)


def first_of_largest(
    x: Scalar, x_index: Scalar, y: Scalar, y_index: Scalar
) -> tuple[Scalar, Scalar]:
    """The largest value and its first place; NaN counts as the largest."""
    ahead = greater(x, y) or (isnan_any(x) and not isnan_any(y))
    behind = greater(y, x) or (isnan_any(y) and not isnan_any(x))
    return pick(x, x_index, y, y_index, ahead, behind)


def first_of_smallest(
    x: Scalar, x_index: Scalar, y: Scalar, y_index: Scalar
) -> tuple[Scalar, Scalar]:
    """The smallest value and its first place; NaN counts as the smallest."""
    ahead = less(x, y) or (isnan_any(x) and not isnan_any(y))
    behind = less(y, x) or (isnan_any(y) and not isnan_any(x))
    return pick(x, x_index, y, y_index, ahead, behind)


# --------------------------------------------------------------------- resolvers
def _sum_signature(operands: tuple[Any, ...]) -> Signature:
    """Integers narrower than the default one are added up in the default one."""
    dtype = promote(operands[0])
    if dtype.kind in "bi" and dtype.itemsize < np.dtype(np.int_).itemsize:
        dtype = np.dtype(np.int_)
    elif dtype.kind == "u" and dtype.itemsize < np.dtype(np.uint).itemsize:
        dtype = np.dtype(np.uint)
    elif dtype.kind not in "biufcmO":
        raise DTypeError(f"sum: got {dtype}, needs numbers")
    return Signature((dtype,), (dtype,))


def _same_signature(operands: tuple[Any, ...]) -> Signature:
    dtype = promote(operands[0])
    return Signature((dtype,), (dtype,))


def _truth_signature(operands: tuple[Any, ...]) -> Signature:
    boolean = np.dtype(np.bool_)
    return Signature((boolean,), (boolean,))


def _index_signature(operands: tuple[Any, ...]) -> Signature:
    return Signature((promote(operands[0]),), (np.dtype(np.intp),))


# ------------------------------------------------------------------------- rows
SUM = Op("sum", Kind.REDUCTION, np.add, body=plus, resolver=_sum_signature)
PROD = Op("prod", Kind.REDUCTION, np.multiply, body=times, resolver=_sum_signature)
MIN = Op("min", Kind.REDUCTION, np.minimum, body=minimum, resolver=_same_signature)
MAX = Op("max", Kind.REDUCTION, np.maximum, body=maximum, resolver=_same_signature)
ANY = Op("any", Kind.REDUCTION, np.logical_or, body=either, resolver=_truth_signature)
ALL = Op("all", Kind.REDUCTION, np.logical_and, body=both, resolver=_truth_signature)
ARGMIN = Op(
    "argmin",
    Kind.REDUCTION,
    np.argmin,
    body=first_of_smallest,
    resolver=_index_signature,
)
ARGMAX = Op(
    "argmax",
    Kind.REDUCTION,
    np.argmax,
    body=first_of_largest,
    resolver=_index_signature,
)

CUMULATIVE_SUM = Op(
    "cumulative_sum", Kind.SCAN, np.add, body=plus, resolver=_sum_signature
)
CUMULATIVE_PROD = Op(
    "cumulative_prod", Kind.SCAN, np.multiply, body=times, resolver=_sum_signature
)
CUMULATIVE_MIN = Op(
    "cumulative_min", Kind.SCAN, np.minimum, body=minimum, resolver=_same_signature
)
CUMULATIVE_MAX = Op(
    "cumulative_max", Kind.SCAN, np.maximum, body=maximum, resolver=_same_signature
)
CUMULATIVE_ANY = Op(
    "cumulative_any", Kind.SCAN, np.logical_or, body=either, resolver=_truth_signature
)
CUMULATIVE_ALL = Op(
    "cumulative_all", Kind.SCAN, np.logical_and, body=both, resolver=_truth_signature
)

IDENTITIES: dict[Op, bool | int] = {
    SUM: 0,
    PROD: 1,
    ANY: False,
    ALL: True,
    CUMULATIVE_SUM: 0,
    CUMULATIVE_PROD: 1,
    CUMULATIVE_ANY: False,
    CUMULATIVE_ALL: True,
}
"""What the combination of no elements gives; the other rows need an element."""

TABLE: dict[str, Op] = {
    row.name: row
    for row in (
        *(SUM, PROD, MIN, MAX, ANY, ALL, ARGMIN, ARGMAX),
        *(CUMULATIVE_SUM, CUMULATIVE_PROD, CUMULATIVE_MIN, CUMULATIVE_MAX),
        *(CUMULATIVE_ANY, CUMULATIVE_ALL),
    )
}
"""Rows by name."""
