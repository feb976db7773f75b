"""Sums, products, quotients, powers, signs and divisors."""

from __future__ import annotations

import numpy as np

from ...kernel.language import (
    INFINITY,
    Scalar,
    absolute,
    as_unsigned,
    bits,
    cast,
    copysign,
    floor,
    fmod,
    imag,
    is_complex,
    is_floating,
    is_integer,
    is_unsigned,
    isinf,
    isnan,
    make_complex,
    power,
    real,
    sqrt,
    truncate_divide,
    truncate_remainder,
    widen,
)
from ..spec import Kind, Op


# ------------------------------------------------------------------------ bodies
def positive(x: Scalar) -> Scalar:
    return x


def hypot(x: Scalar, y: Scalar) -> Scalar:
    """The method of C. Borges, "An Improved Algorithm for hypot(a, b)" (2019)."""
    a = absolute(widen(x))
    b = absolute(widen(y))
    high = a if a >= b else b
    low = b if a >= b else a
    # The squares of what is scaled so neither overflow nor vanish beside each other.
    big = 2.0 ** (2 ** (4 if bits(high) == 32 else 7) * 4 - 4)
    large = high > big
    small = low < 1.0 / big
    scale = 1.0 / (big * 4.0) if large else (big * 4.0 if small else cast(1.0, high))
    p = high * scale
    q = low * scale
    h = sqrt(p * p + q * q)
    near = h <= 2.0 * q
    delta = h - q if near else h - p
    first = p * (2.0 * delta - p) if near else 2.0 * delta * (p - 2.0 * q)
    if near:
        second = (delta - 2.0 * (p - q)) * delta
    else:
        second = (4.0 * delta - q) * q + delta * delta
    corrected = h - (first + second) / (2.0 * h)
    apart = q <= p * 2.0**-60
    result = high + low if apart else corrected / scale
    return INFINITY if isinf(a) or isinf(b) else result


def fabs(x: Scalar) -> Scalar:
    return absolute(x)


def magnitude(x: Scalar) -> Scalar:
    if is_complex(x):
        return hypot(real(x), imag(x))
    return absolute(x)


def divmod_floating(x: Scalar, y: Scalar) -> tuple[Scalar, Scalar]:
    """Quotient rounded down, remainder with the divisor's sign (``npy_divmod``)."""
    a = widen(x)
    b = widen(y)
    remainder = fmod(a, b)
    quotient = (a - remainder) / b
    adjust = remainder != 0 and (b < 0) != (remainder < 0)
    signed = remainder + b if adjust else remainder
    whole = quotient - 1.0 if adjust else quotient
    rounded = floor(whole)
    rounded = rounded + 1.0 if whole - rounded > 0.5 else rounded
    rounded = rounded if whole != 0 else copysign(cast(0, a), a / b)
    signed = signed if remainder != 0 else copysign(cast(0, a), b)
    return (a / b if b == 0 else rounded, remainder if b == 0 else signed)


def divmod_integer(x: Scalar, y: Scalar) -> tuple[Scalar, Scalar]:
    """Rounded down; both results are 0 where the divisor is."""
    zero = cast(0, x)
    if is_unsigned(x):
        divisor = cast(1, y) if y == 0 else y
        quotient = truncate_divide(x, divisor)
        remainder = truncate_remainder(x, divisor)
        return (zero if y == 0 else quotient, zero if y == 0 else remainder)
    # The smallest number has no positive counterpart: division by -1 is negation.
    divisor = cast(1, y) if y == 0 or y == -1 else y
    quotient = truncate_divide(x, divisor)
    remainder = truncate_remainder(x, divisor)
    adjust = remainder != 0 and (remainder < 0) != (divisor < 0)
    quotient = quotient - 1 if adjust else quotient
    remainder = remainder + divisor if adjust else remainder
    quotient = -x if y == -1 else quotient
    return (zero if y == 0 else quotient, remainder)


def divmod_any(x: Scalar, y: Scalar) -> tuple[Scalar, Scalar]:
    if is_floating(x):
        return divmod_floating(x, y)
    return divmod_integer(x, y)


def floor_divide(x: Scalar, y: Scalar) -> Scalar:
    return divmod_any(x, y)[0]


def remainder(x: Scalar, y: Scalar) -> Scalar:
    return divmod_any(x, y)[1]


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
    a = real(x)
    b = imag(x)
    length = hypot(a, b)
    zero = cast(0.0, a)
    divisor = cast(1.0, a) if length == 0 else length
    a_sign = copysign(cast(1.0, a), a) if isinf(a) else zero
    b_sign = copysign(cast(1.0, b), b) if isinf(b) else zero
    both = isinf(a) and isinf(b)
    nan = a - a + (b - b)
    p = a_sign if isinf(length) else a / divisor
    q = b_sign if isinf(length) else b / divisor
    lost = both or isnan(length)
    return make_complex(nan if lost else p, nan if lost else q)


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
        divisor = cast(1, x) if x == 0 else x
        return 0 if x == 0 else truncate_divide(cast(1, x), divisor)
    return 1.0 / x


def power_any(x: Scalar, y: Scalar) -> Scalar:
    if is_integer(x):
        return power_integer(x, y)
    return power(x, y)


def power_integer(x: Scalar, y: Scalar) -> Scalar:
    """Repeated squaring; an exponent below 0 is refused where the op is called."""
    base = x
    exponent = y
    result = x if (y & 1) != 0 else cast(1, x)
    exponent = exponent >> 1
    while exponent > 0:
        base = base * base
        result = result * base if (exponent & 1) != 0 else result
        exponent = exponent >> 1
    return result


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
ABSOLUTE = Op("absolute", Kind.ELEMENTWISE, np.absolute, body=magnitude)
FABS = Op("fabs", Kind.ELEMENTWISE, np.fabs, body=fabs)
SIGN = Op("sign", Kind.ELEMENTWISE, np.sign, body=sign)
SQUARE = Op("square", Kind.ELEMENTWISE, np.square, body=square)
RECIPROCAL = Op("reciprocal", Kind.ELEMENTWISE, np.reciprocal, body=reciprocal)
POWER = Op("power", Kind.ELEMENTWISE, np.power, 2, body=power_any)
FLOAT_POWER = Op("float_power", Kind.ELEMENTWISE, np.float_power, 2, body=power_any)
HYPOT = Op("hypot", Kind.ELEMENTWISE, np.hypot, 2, body=hypot)
GCD = Op("gcd", Kind.ELEMENTWISE, np.gcd, 2, body=gcd)
LCM = Op("lcm", Kind.ELEMENTWISE, np.lcm, 2, body=lcm)
CONJUGATE = Op("conjugate", Kind.ELEMENTWISE, np.conjugate)

ROWS: tuple[Op, ...] = (
    *(ADD, SUBTRACT, MULTIPLY, DIVIDE, FLOOR_DIVIDE, REMAINDER, DIVMOD, FMOD),
    *(NEGATIVE, POSITIVE, ABSOLUTE, FABS, SIGN, SQUARE, RECIPROCAL),
    *(POWER, FLOAT_POWER, HYPOT, GCD, LCM, CONJUGATE),
)
