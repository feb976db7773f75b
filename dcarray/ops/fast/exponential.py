"""Exponentials: 2**k exp(r), with r = x - k log 2 (W. J. Cody and W. Waite, 1980)."""

from __future__ import annotations

from ...kernel.language import LOG2E, Scalar, cast, copysign, fma, is_single
from .coefficients import EXP_DOUBLE, EXP_SINGLE
from .parts import magic, magnitude, pattern, polynomial, power_of_two, whole

__all__ = ["exp"]

# The logarithm of 2 in two parts; products of the first with k are exact.
_LN2_SINGLE = (0.693145751953125, 1.428606820309417e-06)
_LN2_DOUBLE = (0.6931471803691238, 1.9082149292705877e-10)


def scaled(x: Scalar, k: Scalar) -> Scalar:
    """``x`` about 1 times 2**k, in two steps: rounded once where it is subnormal, an
    infinity with its flag where it is too large."""
    bias = 4096
    half = ((k + bias) >> 1) - bias // 2
    return x * power_of_two(half, x) * power_of_two(k - half, x)


def clamped(x: Scalar, limit: float) -> Scalar:
    """``x`` between ``-limit`` and ``limit``; so is NaN."""
    return copysign(cast(limit, x), x) if magnitude(x) > pattern(cast(limit, x)) else x


def exp(x: Scalar) -> Scalar:
    inside = clamped(x, 104.0 if is_single(x) else 746.0)
    shifted = fma(inside, cast(LOG2E, x), magic(x))
    k = shifted - magic(x)
    if is_single(x):
        r = fma(k, cast(-_LN2_SINGLE[1], x), fma(k, cast(-_LN2_SINGLE[0], x), inside))
        rest = polynomial(r, EXP_SINGLE)
    else:
        r = fma(k, cast(-_LN2_DOUBLE[1], x), fma(k, cast(-_LN2_DOUBLE[0], x), inside))
        rest = polynomial(r, EXP_DOUBLE)
    found = scaled(1.0 + fma(r * r, rest, r), whole(shifted))
    return x if x != x else found
