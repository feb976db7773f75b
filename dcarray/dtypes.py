"""Dtypes and promotion: NumPy's own objects, and the questions asked of them."""

from __future__ import annotations

from typing import Any

import numpy as np

__all__ = ["DType", "is_host_only", "is_recordable", "weak_type"]

DType = np.dtype[Any]

_recordable: dict[DType, bool] = {}


def is_recordable(dtype: DType) -> bool:
    """Whether operations on this dtype can be deferred and fused: the numbers in
    native byte order."""
    found = _recordable.get(dtype)
    if found is None:
        found = dtype.kind in "biufc" and dtype.isnative
        _recordable[dtype] = found
    return found


def is_host_only(dtype: DType) -> bool:
    """Whether only NumPy knows this dtype: objects, strings, dates, records, extended
    precision and foreign byte order."""
    return dtype.kind not in "biufc" or not dtype.isnative or dtype.char in "gG"


def weak_type(value: object) -> type | None:
    """``int``, ``float`` or ``complex`` for a Python number, which adapts its dtype to
    the arrays that it meets; None for anything else.

    A bool is no weak number: NumPy treats it as an array of dtype bool.
    """
    kind = type(value)
    return kind if kind in (int, float, complex) else None
