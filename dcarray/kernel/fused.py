"""The fused multiply-add as a function of NumPy arrays, for where there is no processor
instruction: a product and a sum that are rounded once."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

__all__ = ["fused"]


def fused(x: Any, y: Any, z: Any) -> Any:
    """``x * y + z`` for float16, float32 and float64, rounded once."""
    with np.errstate(all="ignore"):
        if np.result_type(x, y, z).itemsize == 8:
            return np.asarray(_exactly(x, y, z), np.float64)
        return np.asarray(_to_odd(x, y, z), np.result_type(x, y, z))


def _to_odd(x: Any, y: Any, z: Any) -> Any:
    """The sum in double precision, where the product is exact.  What is between two
    numbers goes to the odd one, so that rounding it again is no second rounding
    (S. Boldo and G. Melquiond, 2008)."""
    product = np.asarray(x, np.float64) * np.asarray(y, np.float64)
    addend = np.asarray(z, np.float64)
    total = np.asarray(product + addend)
    part = total - product
    lost = (product - (total - part)) + (addend - part)
    even = (total.view(np.int64) & 1) == 0
    moved = np.nextafter(total, np.where(lost > 0, np.inf, -np.inf))
    return np.where(np.isfinite(total) & (lost != 0) & even, moved, total)


def _one(x: float, y: float, z: float) -> float:
    from fractions import Fraction  # loads slowly, and processors have the instruction

    if math.isfinite(x) and math.isfinite(y) and not math.isfinite(z):
        return z
    total = x * y + z
    if not (math.isfinite(x) and math.isfinite(y)) or 0 in (x, y):
        return total
    exact = Fraction(x) * Fraction(y) + Fraction(z)
    if exact == 0:
        return total
    try:
        return float(exact)
    except OverflowError:
        return math.inf if exact > 0 else -math.inf


_exactly = np.frompyfunc(_one, 3, 1)
