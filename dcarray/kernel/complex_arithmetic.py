"""Arithmetic and comparison of complex numbers, written over their parts.

Each function takes real and imaginary parts one after the other, and gives what NumPy
gives for the complex numbers.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .language import Scalar, absolute, isfinite, isinf, isnan, rint

__all__ = ["ARITHMETIC"]


def add(a: Scalar, b: Scalar, c: Scalar, d: Scalar) -> tuple[Scalar, Scalar]:
    return a + c, b + d


def subtract(a: Scalar, b: Scalar, c: Scalar, d: Scalar) -> tuple[Scalar, Scalar]:
    return a - c, b - d


def multiply(a: Scalar, b: Scalar, c: Scalar, d: Scalar) -> tuple[Scalar, Scalar]:
    return a * c - b * d, a * d + b * c


def divide(a: Scalar, b: Scalar, c: Scalar, d: Scalar) -> tuple[Scalar, Scalar]:
    """R. Smith, "Algorithm 116: Complex division", 1962, as NumPy has it."""
    flat = absolute(c) >= absolute(d)
    ratio = d / c if flat else c / d
    scale = 1.0 / (c + d * ratio if flat else d + c * ratio)
    real = (a + b * ratio if flat else a * ratio + b) * scale
    imag = (b - a * ratio if flat else b * ratio - a) * scale
    zero = c == 0 and d == 0
    size = absolute(c)
    return (a / size if zero else real, b / size if zero else imag)


def negative(a: Scalar, b: Scalar) -> tuple[Scalar, Scalar]:
    return -a, -b


def conjugate(a: Scalar, b: Scalar) -> tuple[Scalar, Scalar]:
    return a, -b


def whole(a: Scalar, b: Scalar) -> tuple[Scalar, Scalar]:
    return rint(a), rint(b)


def real(a: Scalar, b: Scalar) -> Scalar:
    return a


def imag(a: Scalar, b: Scalar) -> Scalar:
    return b


def equal(a: Scalar, b: Scalar, c: Scalar, d: Scalar) -> Scalar:
    return a == c and b == d


def not_equal(a: Scalar, b: Scalar, c: Scalar, d: Scalar) -> Scalar:
    return a != c or b != d


def comparable(b: Scalar, d: Scalar) -> Scalar:
    """Neither imaginary part is NaN."""
    return b == b and d == d


def less(a: Scalar, b: Scalar, c: Scalar, d: Scalar) -> Scalar:
    return (a < c and comparable(b, d)) or (a == c and b < d)


def less_equal(a: Scalar, b: Scalar, c: Scalar, d: Scalar) -> Scalar:
    return (a < c and comparable(b, d)) or (a == c and b <= d)


def greater(a: Scalar, b: Scalar, c: Scalar, d: Scalar) -> Scalar:
    return less(c, d, a, b)


def greater_equal(a: Scalar, b: Scalar, c: Scalar, d: Scalar) -> Scalar:
    return less_equal(c, d, a, b)


def isnan_any(a: Scalar, b: Scalar) -> Scalar:
    return isnan(a) or isnan(b)


def isinf_any(a: Scalar, b: Scalar) -> Scalar:
    return isinf(a) or isinf(b)


def isfinite_all(a: Scalar, b: Scalar) -> Scalar:
    return isfinite(a) and isfinite(b)


ARITHMETIC: dict[str, Callable[..., Any]] = {
    "add": add,
    "subtract": subtract,
    "multiply": multiply,
    "divide": divide,
    "negative": negative,
    "conjugate": conjugate,
    "rint": whole,
    "real": real,
    "imag": imag,
    "equal": equal,
    "not_equal": not_equal,
    "less": less,
    "less_equal": less_equal,
    "greater": greater,
    "greater_equal": greater_equal,
    "isnan": isnan_any,
    "isinf": isinf_any,
    "isfinite": isfinite_all,
}
"""Functions by the name of the primitive whose complex meaning they have."""
