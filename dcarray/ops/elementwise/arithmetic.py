"""Sums, products, quotients, powers, signs and divisors."""

from __future__ import annotations

import numpy as np

from ...kernel.language import (
    INFINITY,
    NAN,
    Scalar,
    absolute,
    as_unsigned,
    bits,
    cast,
    copysign,
    fmod,
    imag,
    is_complex,
    is_floating,
    is_integer,
    is_signed,
    is_single,
    is_unsigned,
    isinf,
    isnan,
    make_complex,
    real,
    smallest,
    sqrt,
    truncate_divide,
    truncate_remainder,
    widen,
)
from ...kernel.operators import divmod_any, floor_divide, power_any, remainder
from ..spec import Kind, Op


# ------------------------------------------------------------------------ bodies
def positive(x: Scalar) -> Scalar:
    return x


def hypot(x: Scalar, y: Scalar) -> Scalar:
    """C. Borges, "An Improved Algorithm for hypot(a, b)", 2019, without its fma."""
    a = absolute(widen(x))
    b = absolute(widen(y))
    high = a if a >= b else b
    low = b if a >= b else a
    # Scaled so that no square overflows, or vanishes beside the other.
    if is_single(a):
        scale = 2.0**-70 if high > 2.0**63 else (2.0**85 if low < 2.0**-50 else 1.0)
    else:
        scale = 2.0**-600 if high > 2.0**511 else (2.0**600 if low < 2.0**-459 else 1.0)
    scale = cast(scale, high)
    p = high * scale
    q = low * scale
    h = sqrt(p * p + q * q)
    if h <= 2.0 * q:
        delta = h - q
        error = p * (2.0 * delta - p) + (delta - 2.0 * (p - q)) * delta
    else:
        delta = h - p
        error = 2.0 * delta * (p - 2.0 * q) + ((4.0 * delta - q) * q + delta * delta)
    corrected = (h - error / (2.0 * h)) / scale
    # Beside a number this large, the other one only decides the rounding.
    alone = low <= high * (2.0**-27 if is_single(a) else 2.0**-54)
    result = high + low if alone else corrected
    return INFINITY if isinf(a) or isinf(b) else result


def fabs(x: Scalar) -> Scalar:
    return absolute(x)


def magnitude(x: Scalar) -> Scalar:
    if is_complex(x):
        return hypot(real(x), imag(x))
    return absolute(x)


def fmod_any(x: Scalar, y: Scalar) -> Scalar:
    if is_floating(x):
        return fmod(x, y)
    if is_unsigned(x):
        divisor = cast(1, y) if y == 0 else y
    else:
        divisor = cast(1, y) if y == 0 or y == -1 else y
    return truncate_remainder(x, divisor)


def sign(x: Scalar) -> Scalar:
    if is_complex(x):
        return sign_complex(x)
    if is_unsigned(x):
        return 1 if x > 0 else 0
    if is_integer(x):
        return 1 if x > 0 else (-1 if x < 0 else 0)
    return 1.0 if x > 0 else (-1.0 if x < 0 else (0.0 if x == 0 else x))


def sign_complex(x: Scalar) -> Scalar:
    """``x`` over its absolute value; where that is infinite, the sign of one part."""
    a = real(x)
    b = imag(x)
    zero = cast(0.0, a)
    length = hypot(a, b)
    p = copysign(cast(1.0, a), a) if isinf(a) else zero
    q = zero if isinf(a) else copysign(cast(1.0, b), b)
    p = p if isinf(length) else a / length
    q = q if isinf(length) else b / length
    nan = isnan(length) or (isinf(a) and isinf(b))
    p = NAN if nan else (zero if length == 0 else p)
    q = NAN if nan else (zero if length == 0 else q)
    return make_complex(p, q)


def square(x: Scalar) -> Scalar:
    return x * x


def reciprocal(x: Scalar) -> Scalar:
    if is_complex(x):
        a = real(x)
        b = imag(x)
        flat = absolute(b) <= absolute(a)
        ratio = b / a if flat else a / b
        length = a + b * ratio if flat else a * ratio + b
        p = 1.0 / length if flat else ratio / length
        q = -ratio / length if flat else -1.0 / length
        return make_complex(p, q)
    if is_integer(x):
        # NumPy converts the infinity 1.0 / 0 as the processor does.
        infinite = smallest(x) if is_signed(x) and bits(x) >= 32 else 0
        divisor = cast(1, x) if x == 0 else x
        return infinite if x == 0 else truncate_divide(cast(1, x), divisor)
    return 1.0 / x


def gcd(x: Scalar, y: Scalar) -> Scalar:
    """Euclid, on magnitudes without a sign: that of the smallest number fits."""
    a = as_unsigned(absolute(x))
    b = as_unsigned(absolute(y))
    while a != 0:
        rest = truncate_remainder(b, a)
        b = a
        a = rest
    return cast(b, x)


def lcm(x: Scalar, y: Scalar) -> Scalar:
    a = as_unsigned(absolute(x))
    b = as_unsigned(absolute(y))
    divisor = as_unsigned(gcd(x, y))
    safe = cast(1, a) if divisor == 0 else divisor
    return cast(0 if divisor == 0 else truncate_divide(a, safe) * b, x)


# -------------------------------------------------------------------------- rows
ADD = Op("add", Kind.ELEMENTWISE, np.add, 2)
SUBTRACT = Op("subtract", Kind.ELEMENTWISE, np.subtract, 2)
MULTIPLY = Op("multiply", Kind.ELEMENTWISE, np.multiply, 2)
DIVIDE = Op("divide", Kind.ELEMENTWISE, np.divide, 2)
FLOOR_DIVIDE = Op(
    "floor_divide", Kind.ELEMENTWISE, np.floor_divide, 2, body=floor_divide
)
REMAINDER = Op("remainder", Kind.ELEMENTWISE, np.remainder, 2, body=remainder)
DIVMOD = Op("divmod", Kind.ELEMENTWISE, np.divmod, 2, 2, body=divmod_any)
FMOD = Op("fmod", Kind.ELEMENTWISE, np.fmod, 2, body=fmod_any)
NEGATIVE = Op("negative", Kind.ELEMENTWISE, np.negative)
POSITIVE = Op("positive", Kind.ELEMENTWISE, np.positive, body=positive)
ABSOLUTE = Op("absolute", Kind.ELEMENTWISE, np.absolute, body=magnitude, ulp=2)
FABS = Op("fabs", Kind.ELEMENTWISE, np.fabs, body=fabs)
SIGN = Op("sign", Kind.ELEMENTWISE, np.sign, body=sign, ulp=2)
SQUARE = Op("square", Kind.ELEMENTWISE, np.square, body=square)
RECIPROCAL = Op("reciprocal", Kind.ELEMENTWISE, np.reciprocal, body=reciprocal)
POWER = Op("power", Kind.ELEMENTWISE, np.power, 2, body=power_any, ulp=16)
FLOAT_POWER = Op(
    "float_power", Kind.ELEMENTWISE, np.float_power, 2, body=power_any, ulp=16
)
HYPOT = Op("hypot", Kind.ELEMENTWISE, np.hypot, 2, body=hypot, ulp=4)
GCD = Op("gcd", Kind.ELEMENTWISE, np.gcd, 2, body=gcd)
LCM = Op("lcm", Kind.ELEMENTWISE, np.lcm, 2, body=lcm)
CONJUGATE = Op("conjugate", Kind.ELEMENTWISE, np.conjugate)

ROWS: tuple[Op, ...] = (
    *(ADD, SUBTRACT, MULTIPLY, DIVIDE, FLOOR_DIVIDE, REMAINDER, DIVMOD, FMOD),
    *(NEGATIVE, POSITIVE, ABSOLUTE, FABS, SIGN, SQUARE, RECIPROCAL),
    *(POWER, FLOAT_POWER, HYPOT, GCD, LCM, CONJUGATE),
)
