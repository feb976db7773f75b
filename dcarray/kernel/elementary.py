"""Elementary functions of real numbers, for dialects that lack them.

Written in the kernel language for float32 and float64, after the methods of fdlibm (Sun
Microsystems, 1993), from arithmetic and bits alone: what a device's own exponential
and logarithm are worth does not matter.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from .anatomy import scaled, two_to
from .language import (
    INFINITY,
    LN2,
    LOG2E,
    NAN,
    Scalar,
    absolute,
    bits_to_float,
    cast,
    copysign,
    exponent_bits,
    float_to_bits,
    floor,
    fraction_bits,
    is_single,
    isfinite,
    isnan,
    sqrt,
)

__all__ = ["ELEMENTARY"]

# The logarithm of 2 in two parts: the first may be multiplied by an exponent exactly.
_LN2_SINGLE = (0.693145751953125, 1.428606765330187e-06)
_LN2_DOUBLE = (0.6931471803691238, 1.9082149292705877e-10)

_FACTORIALS = (
    *(2.0, 6.0, 24.0, 120.0, 720.0, 5040.0, 40320.0, 362880.0, 3628800.0),
    *(39916800.0, 479001600.0, 6227020800.0, 87178291200.0),
)
_ODD = (3.0, 5.0, 7.0, 9.0, 11.0, 13.0, 15.0, 17.0, 19.0, 21.0, 23.0, 25.0)


def series(x: Scalar, divisors: tuple[float, ...], over: float) -> Scalar:
    """The sum of ``over * x ** i / divisors[i]`` by Horner's scheme."""
    result = cast(over / divisors[-1], x)
    for divisor in divisors[-2::-1]:
        result = result * x + over / divisor
    return result


# ---------------------------------------------------------------- exponentials
def exponential_parts(x: Scalar) -> tuple[Scalar, Scalar]:
    """``m`` and ``k`` with exp(x) = (1 + m) * 2 ** k, where ``m`` is small."""
    k = floor(x * LOG2E + 0.5)
    if is_single(x):
        r = (x - k * _LN2_SINGLE[0]) - k * _LN2_SINGLE[1]
        return r + r * r * series(r, _FACTORIALS[:7], 1.0), np.int32(k)
    r = (x - k * _LN2_DOUBLE[0]) - k * _LN2_DOUBLE[1]
    return r + r * r * series(r, _FACTORIALS, 1.0), np.int32(k)


def expm1(x: Scalar) -> Scalar:
    low = -18.0 if is_single(x) else -40.0
    high = 89.0 if is_single(x) else 710.0
    inside = x if x > low else cast(low, x)
    inside = inside if inside < high else cast(high, x)
    m, k = exponential_parts(inside)
    small = two_to(-k if k < 100 else cast(-100, k), x)
    found = scaled(m + (1.0 - small), k)
    found = m if k == 0 else found
    found = cast(INFINITY, x) if x > high else found
    return x if x == 0 or isnan(x) else found


def half_exponential(x: Scalar) -> Scalar:
    """exp(x) / 2 for a large number, which does not overflow before its time."""
    high = 90.0 if is_single(x) else 711.0
    m, k = exponential_parts(x if x < high else cast(high, x))
    return cast(INFINITY, x) if x > high else scaled(1.0 + m, k - 1)


def sinh(x: Scalar) -> Scalar:
    size = absolute(x)
    large = size > 20.0
    e = expm1(cast(1.0, x) if large else size)
    near = e - 0.5 * e * (e / (e + 1.0)) if size < 1.0 else 0.5 * (e + e / (e + 1.0))
    far = half_exponential(size if large else cast(20.0, x))
    return x if isnan(x) else copysign(far if large else near, x)


def cosh(x: Scalar) -> Scalar:
    size = absolute(x)
    large = size > 20.0
    e = expm1(cast(1.0, x) if large else size)
    near = 1.0 + 0.5 * e * (e / (1.0 + e))
    far = half_exponential(size if large else cast(20.0, x))
    return x if isnan(x) else (far if large else near)


def tanh(x: Scalar) -> Scalar:
    size = absolute(x)
    size = size if size < 22.0 else cast(22.0, x)
    far = 1.0 - 2.0 / (expm1(2.0 * size) + 2.0)
    t = expm1(-2.0 * size)
    found = far if size >= 1.0 else -t / (t + 2.0)
    return x if isnan(x) else copysign(found, x)


# ------------------------------------------------------------------ logarithms
def log1p(x: Scalar) -> Scalar:
    near = x > -0.29 and x < 0.41
    inside = x > -1.0 and isfinite(x)
    u = 1.0 + (x if inside else cast(1.0, x))
    # What the sum lost, over the sum.
    lost = (1.0 - (u - x) if x >= 1.0 else x - (u - 1.0)) / u
    pattern = float_to_bits(u)
    one = float_to_bits(cast(1.0, u))
    root = float_to_bits(cast(0.7071067811865476, u))
    k = np.int32((pattern + (one - root)) >> fraction_bits(x))
    k = k - ((1 << (exponent_bits(x) - 1)) - 1)
    reduced = bits_to_float(pattern - (cast(k, pattern) << fraction_bits(x)))
    k = cast(0, k) if near else k
    f = x if near else reduced - 1.0
    lost = cast(0.0, x) if near else lost
    half = 0.5 * f * f
    s = f / (2.0 + f)
    z = s * s
    count = cast(k, x)
    if is_single(x):
        high, low = _LN2_SINGLE
        rest = z * series(z, _ODD[:5], 2.0)
    else:
        high, low = _LN2_DOUBLE
        rest = z * series(z, _ODD, 2.0)
    small = half - (s * (half + rest) + (count * low + lost))
    found = count * high - (small - f)
    found = f - (half - s * (half + rest)) if near else found
    edge = cast(-INFINITY, x) if x == -1 else cast(NAN, x)
    edge = x if x > 0 else edge
    return found if inside else edge


def arcsinh(x: Scalar) -> Scalar:
    size = absolute(x)
    large = size > 2.0**28
    a = cast(1.0, x) if large else size
    square = a * a
    near = a + square / (1.0 + sqrt(1.0 + square))
    found = log1p(size - 1.0 if large else near)
    return x if isnan(x) else copysign(found + LN2 if large else found, x)


def arccosh(x: Scalar) -> Scalar:
    large = x > 2.0**28
    t = cast(1.0, x) if large else x - 1.0
    found = log1p(x - 1.0 if large else t + sqrt(t * (t + 2.0)))
    found = found + LN2 if large else found
    return found if x >= 1 else cast(NAN, x)


def arctanh(x: Scalar) -> Scalar:
    size = absolute(x)
    double = size + size
    near = double + double * size / (1.0 - size)
    argument = near if size < 0.5 else double / (1.0 - size)
    found = copysign(0.5 * log1p(argument), x)
    return found if size <= 1 else cast(NAN, x)


# ------------------------------------------------------------------------ roots
def cbrt(x: Scalar) -> Scalar:
    """A third of the exponent to begin with (W. Kahan), then E. Halley's method."""
    size = absolute(x)
    # Away from both ends of the range; the factors are cubes.
    if is_single(x):
        up, down, tiny, huge = 2.0**24, 2.0**-24, 2.0**-100, 2.0**100
    else:
        up, down, tiny, huge = 2.0**54, 2.0**-54, 2.0**-1000, 2.0**1000
    a = size * (up if size < tiny else (down if size > huge else cast(1.0, x)))
    a = a if isfinite(x) and x != 0 else cast(1.0, x)
    third = float_to_bits(a) // 3
    if is_single(x):
        guess = bits_to_float(third + 709958130)
    else:
        guess = bits_to_float(third + (715094163 << 32))
    for _ in (1, 2, 3):
        cube = guess * guess * guess
        guess = guess + guess * ((a - cube) / (cube + cube + a))
    if is_single(x):
        up, down = 2.0**8, 2.0**-8
    else:
        up, down = 2.0**18, 2.0**-18
    found = guess * (down if size < tiny else (up if size > huge else cast(1.0, x)))
    return copysign(found, x) if isfinite(x) and x != 0 else x


ELEMENTARY: dict[str, Callable[..., Any]] = {
    "expm1": expm1,
    "log1p": log1p,
    "cbrt": cbrt,
    "sinh": sinh,
    "cosh": cosh,
    "tanh": tanh,
    "arcsinh": arcsinh,
    "arccosh": arccosh,
    "arctanh": arctanh,
}
"""Functions by the name of the primitive that they stand for."""
