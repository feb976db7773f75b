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
            return _doubles(x, y, z)
        return np.asarray(_to_odd(x, y, z), np.result_type(x, y, z))


def _to_odd(x: Any, y: Any, z: Any) -> Any:
    """The sum in double precision, where the product is exact.  What is between two
    numbers goes to the odd one, so that rounding it again is no second rounding
    (S. Boldo and G. Melquiond, 2008)."""
    product = np.asarray(x, np.float64) * np.asarray(y, np.float64)
    return _sum_to_odd(product, np.asarray(z, np.float64))


def _sum_to_odd(a: Any, b: Any) -> Any:
    total, lost = _sum(a, b)
    even = (total.view(np.int64) & 1) == 0
    moved = np.nextafter(total, np.where(lost > 0, np.inf, -np.inf))
    return np.where(np.isfinite(total) & (lost != 0) & even, moved, total)


def _sum(a: Any, b: Any) -> tuple[Any, Any]:
    """The rounded sum, and what rounding took from it (D. Knuth)."""
    total = np.asarray(a + b)
    part = total - a
    return total, (a - (total - part)) + (b - part)


def _product(a: Any, b: Any) -> tuple[Any, Any]:
    """The rounded product, and what rounding took from it (T. Dekker)."""
    total = a * b
    (a_high, a_low), (b_high, b_low) = _halves(a), _halves(b)
    rest = a_high * b_high - total + a_high * b_low + a_low * b_high
    return total, rest + a_low * b_low


def _halves(a: Any) -> tuple[Any, Any]:
    scaled = a * (2.0**27 + 1)
    high = scaled - (scaled - a)
    return high, a - high


def _doubles(x: Any, y: Any, z: Any) -> Any:
    """Of what is far from overflow and underflow, the product is exact in two numbers,
    and what is added to the larger one is rounded to odd (as above).  The few others
    are computed one by one, in whole numbers."""
    x, y, z = np.broadcast_arrays(*[np.asarray(item, np.float64) for item in (x, y, z)])
    high, low = _product(x, y)
    near, far = _sum(z, low)
    total, rest = _sum(high, near)
    found = np.asarray(total + _sum_to_odd(far, rest))
    sizes = np.abs(x), np.abs(y), np.abs(z)
    safe = (z == 0) | (sizes[2] > _SMALLEST**2) & (sizes[2] < _LARGEST**2)
    for size in sizes[:2]:
        safe &= (size > _SMALLEST) & (size < _LARGEST)
    if not safe.all():
        others = ~safe
        found[others] = _exactly(x[others], y[others], z[others])
    return found


_SMALLEST, _LARGEST = 2.0**-450, 2.0**450
"""Factors between them have products that are exact in two numbers."""


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
