"""Dtypes and promotion: NumPy's own objects, and the questions asked of them."""

from __future__ import annotations

from typing import Any

import numpy as np

__all__ = ["DType", "is_recordable"]

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
