"""Operations that pick, place, order and join elements.

Operands are arrays; everything else is a keyword option.  Nothing here writes to its
operands: a row that places elements gives a changed copy.  Rows with ``inputs`` 0 take
any number of operands.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np

from .spec import Kind, Op

__all__ = [
    "ADD_AT",
    "ARGPARTITION",
    "ARGSORT",
    "ARGWHERE",
    "CHOOSE",
    "COMPRESS",
    "CONCATENATE",
    "COUNT_NONZERO",
    "DIFF",
    "EXTRACT",
    "FLATNONZERO",
    "GET",
    "INTERSECT1D",
    "ISIN",
    "LEXSORT",
    "NONZERO",
    "PAD",
    "PARTITION",
    "PUT",
    "PUT_ALONG_AXIS",
    "PUT_FLAT",
    "REPEAT",
    "ROLL",
    "SEARCHSORTED",
    "SETDIFF1D",
    "SETXOR1D",
    "SORT",
    "STACK",
    "TABLE",
    "TAKE",
    "TAKE_ALONG_AXIS",
    "TILE",
    "TRIL",
    "TRIU",
    "UNION1D",
    "UNIQUE",
    "UNIQUE_ALL",
    "UNIQUE_COUNTS",
    "UNIQUE_INVERSE",
    "UNIQUE_VALUES",
    "Slot",
    "filled",
]

NDArray: TypeAlias = np.ndarray[Any, np.dtype[Any]]


# -------------------------------------------------------------------------- keys
@dataclass(frozen=True, slots=True)
class Slot:
    """Where an operand belongs in a key.

    Attributes
    ----------
    number : int
        Which of the index arrays among the operands it is.
    """

    number: int


def filled(key: Any, arrays: Sequence[Any]) -> Any:
    """A key with index arrays in their slots."""
    if type(key) is tuple:
        return tuple([filled(item, arrays) for item in key])
    return arrays[key.number] if type(key) is Slot else key


# ----------------------------------------------------------------------- oracles
def _get(x: NDArray, *arrays: NDArray, key: Any) -> Any:
    """``x[key]`` as a copy."""
    return x[filled(key, arrays)]


def _put(x: NDArray, value: NDArray, *arrays: NDArray, key: Any) -> NDArray:
    """``x`` with ``x[key] = value`` done."""
    changed = x.copy()
    changed[filled(key, arrays)] = value
    return changed


def _add_at(x: NDArray, value: NDArray, *arrays: NDArray, key: Any) -> NDArray:
    """``x`` after ``numpy.add.at(x, key, value)``."""
    changed = x.copy()
    np.add.at(changed, filled(key, arrays), value)
    return changed


def _put_flat(x: NDArray, indices: Any, values: Any, *, mode: Any) -> NDArray:
    """``x`` after `numpy.put`."""
    changed = x.copy()
    np.put(changed, indices, values, mode=mode)
    return changed


def _put_along_axis(
    x: NDArray, indices: NDArray, values: NDArray, *, axis: int | None
) -> NDArray:
    """``x`` after `numpy.put_along_axis`."""
    changed = x.copy()
    np.put_along_axis(changed, indices, values, axis)
    return changed


def _sort(x: NDArray, *, descending: bool = False, **options: Any) -> NDArray:
    """`numpy.sort`; descending order keeps equal elements in their order."""
    if not descending:
        return np.asarray(np.sort(x, **options))
    axis = options.get("axis", -1)
    if axis is None:
        x, axis = x.reshape(-1), 0
    order = _argsort(x, descending=True, **{**options, "axis": axis})
    return np.asarray(np.take_along_axis(x, order, axis))


def _argsort(x: NDArray, *, descending: bool = False, **options: Any) -> NDArray:
    """`numpy.argsort`; descending order keeps equal elements in their order."""
    if not descending:
        return np.asarray(np.argsort(x, **options))
    axis = options.pop("axis", -1)
    if axis is None:
        x, axis = x.reshape(-1), 0
    if not x.ndim:
        return np.asarray(np.argsort(x, axis=axis))
    # Sorted backwards and turned round twice, a stable order stays stable.
    options["kind"] = "stable"
    options.pop("stable", None)
    order = np.flip(np.argsort(np.flip(x, axis), axis=axis, **options), axis)
    return np.asarray(x.shape[axis] - 1 - order)


def _concatenate(*arrays: NDArray, **options: Any) -> NDArray:
    return np.concatenate(arrays, **options)


def _stack(*arrays: NDArray, **options: Any) -> NDArray:
    return np.stack(arrays, **options)


def _lexsort(*keys: NDArray, **options: Any) -> NDArray:
    return np.asarray(np.lexsort(keys, **options))


def _choose(index: NDArray, *choices: NDArray, **options: Any) -> NDArray:
    return np.asarray(np.choose(index, choices, **options))


# -------------------------------------------------------------------------- rows
GET = Op("get", Kind.INDEXING, _get, 0)
PUT = Op("put", Kind.INDEXING, _put, 0)
ADD_AT = Op("add_at", Kind.INDEXING, _add_at, 0)
PUT_FLAT = Op("put_flat", Kind.INDEXING, _put_flat, 3)
TAKE = Op("take", Kind.INDEXING, np.take, 2)
TAKE_ALONG_AXIS = Op("take_along_axis", Kind.INDEXING, np.take_along_axis, 2)
PUT_ALONG_AXIS = Op("put_along_axis", Kind.INDEXING, _put_along_axis, 3)
CHOOSE = Op("choose", Kind.INDEXING, _choose, 0)
COMPRESS = Op("compress", Kind.INDEXING, np.compress, 2)
EXTRACT = Op("extract", Kind.INDEXING, np.extract, 2)
NONZERO = Op("nonzero", Kind.INDEXING, np.nonzero)
FLATNONZERO = Op("flatnonzero", Kind.INDEXING, np.flatnonzero)
ARGWHERE = Op("argwhere", Kind.INDEXING, np.argwhere)
COUNT_NONZERO = Op("count_nonzero", Kind.INDEXING, np.count_nonzero)
SORT = Op("sort", Kind.INDEXING, _sort)
ARGSORT = Op("argsort", Kind.INDEXING, _argsort)
LEXSORT = Op("lexsort", Kind.INDEXING, _lexsort, 0)
PARTITION = Op("partition", Kind.INDEXING, np.partition)
ARGPARTITION = Op("argpartition", Kind.INDEXING, np.argpartition)
SEARCHSORTED = Op("searchsorted", Kind.INDEXING, np.searchsorted, 2)
ISIN = Op("isin", Kind.INDEXING, np.isin, 2)
UNIQUE = Op("unique", Kind.INDEXING, np.unique)
UNIQUE_ALL = Op("unique_all", Kind.INDEXING, np.unique_all, 1, 4)
UNIQUE_COUNTS = Op("unique_counts", Kind.INDEXING, np.unique_counts, 1, 2)
UNIQUE_INVERSE = Op("unique_inverse", Kind.INDEXING, np.unique_inverse, 1, 2)
UNIQUE_VALUES = Op("unique_values", Kind.INDEXING, np.unique_values)
UNION1D = Op("union1d", Kind.INDEXING, np.union1d, 2)
INTERSECT1D = Op("intersect1d", Kind.INDEXING, np.intersect1d, 2)
SETDIFF1D = Op("setdiff1d", Kind.INDEXING, np.setdiff1d, 2)
SETXOR1D = Op("setxor1d", Kind.INDEXING, np.setxor1d, 2)
REPEAT = Op("repeat", Kind.INDEXING, np.repeat)
TILE = Op("tile", Kind.INDEXING, np.tile)
ROLL = Op("roll", Kind.INDEXING, np.roll)
PAD = Op("pad", Kind.INDEXING, np.pad)
TRIL = Op("tril", Kind.INDEXING, np.tril)
TRIU = Op("triu", Kind.INDEXING, np.triu)
DIFF = Op("diff", Kind.INDEXING, np.diff)
CONCATENATE = Op("concatenate", Kind.INDEXING, _concatenate, 0)
STACK = Op("stack", Kind.INDEXING, _stack, 0)

TABLE: dict[str, Op] = {
    row.name: row
    for row in (
        *(GET, PUT, ADD_AT, PUT_FLAT, TAKE, TAKE_ALONG_AXIS, PUT_ALONG_AXIS),
        *(CHOOSE, COMPRESS, EXTRACT),
        *(NONZERO, FLATNONZERO, ARGWHERE, COUNT_NONZERO),
        *(SORT, ARGSORT, LEXSORT, PARTITION, ARGPARTITION, SEARCHSORTED, ISIN),
        *(UNIQUE, UNIQUE_ALL, UNIQUE_COUNTS, UNIQUE_INVERSE, UNIQUE_VALUES),
        *(UNION1D, INTERSECT1D, SETDIFF1D, SETXOR1D),
        *(REPEAT, TILE, ROLL, PAD, TRIL, TRIU, DIFF, CONCATENATE, STACK),
    )
}
"""Rows by name."""
