"""Powers, roots and lengths."""

from __future__ import annotations

import numpy as np

from ...kernel.language import (
    INFINITY,
    NAN,
    Scalar,
    absolute,
    as_signed,
    as_unsigned,
    bits_to_float,
    cast,
    copysign,
    fma,
    fraction_bits,
    is_single,
    rint,
    sqrt,
)
from .coefficients import (
    CBRT_DOUBLE,
    CBRT_SINGLE,
    EXP2_DOUBLE,
    LOG_DOUBLE,
    POWER_DOUBLE,
    THIRD_DOUBLE,
    TWO_LOG2E_DOUBLE,
)
from .exponential import biased, scaled
from .logarithm import normal, split
from .parts import (
    clamped,
    is_infinite,
    magic,
    magnitude,
    number,
    pattern,
    polynomial,
    power_of_two,
    whole,
)

__all__ = ["cbrt", "hypot", "power"]


# ---------------------------------------------------------------------------- powers
def log2_in_two(x: Scalar) -> tuple[Scalar, Scalar]:
    """log2 of a positive double in two parts, with some 66 digits: the first two terms
    of the series in double words (T. J. Dekker, 1971)."""
    inside, power = normal(x)
    k, m = split(inside)
    count = number(k - power, x)
    f = m - 1.0
    d = m + 1.0
    d_lost = m - (d - 1.0)
    inverse = 1.0 / d
    s = f * inverse
    s_lost = (fma(-s, d, f) - s * d_lost) * inverse
    z = s * s
    z_lost = fma(s, s, -z) + 2.0 * s * s_lost
    third = cast(THIRD_DOUBLE[0], x)
    u = z * third
    u_lost = fma(z, third, -u) + fma(z_lost, third, z * THIRD_DOUBLE[1])
    w = 1.0 + u
    w_lost = ((1.0 - w) + u) + fma(z * z, polynomial(z, POWER_DOUBLE), u_lost)
    p = s * w
    p_lost = fma(s, w, -p) + fma(s, w_lost, s_lost * w)
    factor = cast(TWO_LOG2E_DOUBLE[0], x)
    q = p * factor
    q_lost = fma(p, factor, -q) + fma(p_lost, factor, p * TWO_LOG2E_DOUBLE[1])
    total = count + q
    rest = ((count - total) + q) + q_lost
    high = total + rest
    return high, (total - high) + rest


def power_of(x: Scalar, y: Scalar) -> Scalar:
    """x**y for positive, finite doubles x."""
    high, low = log2_in_two(x)
    # Beyond this any logarithm but 0 gives 0 or infinity.
    exponent = clamped(y, 2.0**64)
    product = exponent * high
    lost = fma(exponent, high, -product) + exponent * low
    inside = clamped(product, 1100.0)
    lost = lost if inside == product else cast(0.0, x)
    shifted = inside + biased(x)
    r = (inside - (shifted - biased(x))) + lost
    found = fma(r, polynomial(r, EXP2_DOUBLE), cast(1.0, x))
    return scaled(found, shifted)


def single_power_of(x: Scalar, y: Scalar) -> Scalar:
    """The same where the result is going to be a float32."""
    k, m = split(x)
    s = (m - 1.0) / (m + 1.0)
    z = s * s
    series = fma(z, polynomial(z, LOG_DOUBLE), cast(1.0, x))
    logarithm = fma(s * TWO_LOG2E_DOUBLE[0], series, number(k, x))
    inside = clamped(clamped(y, 2.0**64) * logarithm, 300.0)
    shifted = inside + magic(x)
    r = inside - (shifted - magic(x))
    found = fma(r, polynomial(r, EXP2_DOUBLE), cast(1.0, x))
    return found * power_of_two(whole(shifted), x)


def power(x: Scalar, y: Scalar) -> tuple[Scalar, Scalar]:
    a = absolute(x)
    defined = x == x and y == y
    endless = is_infinite(x)
    plain = a if x != 0 and defined and not endless else cast(1.0, x)
    if is_single(x):
        found = cast(single_power_of(np.float64(plain), np.float64(y)), x)
    else:
        found = power_of(plain, y)
    growing = pattern(y) >= 0
    none, endless_too = cast(0.0, x), cast(INFINITY, x)
    found = (endless_too if growing else none) if endless else found
    found = (none if growing else endless_too) if x == 0 else found
    integer = rint(y) == y
    half = 0.5 * y
    odd = integer and rint(half) != half
    below = pattern(x) < 0
    found = -found if below and odd else found
    # No power of a negative number, but of -0 and minus infinity.
    wrong = below and x != 0 and not endless and not integer
    found = cast(NAN, x) if wrong or not defined else found
    found = cast(1.0, x) if x == 1 or y == 0 else found
    wrong = (wrong and defined) or (x == 0 and not growing and y == y and y != 0)
    return found, wrong


# ----------------------------------------------------------------------------- roots
def halley(y: Scalar, b: Scalar) -> Scalar:
    """A better cube root of b (E. Halley, 1694), with an exact residual."""
    square = y * y
    square_lost = fma(y, y, -square)
    rest = fma(-square, y, b) - square_lost * y
    return y + y * rest / fma(2.0 * square, y, b)


def cbrt(x: Scalar) -> Scalar:
    """2**q times the root of b, where x = 2**(3 q) b with 1/2 <= b < 4."""
    a, power = normal(x)
    digits = fraction_bits(x)
    size = magnitude(a)
    exponent = as_signed(as_unsigned(size) >> digits)
    count = number(exponent - power - (pattern(cast(1.0, x)) >> digits), x)
    third = fma(count, cast(0.3333333333333333, x), magic(x))
    q = third - magic(x)
    # The fraction, with an exponent of -1, 0 or 1.
    rest = whole(fma(q, cast(-3.0, x), count) + magic(x))
    b = bits_to_float(
        as_unsigned(size - (exponent << digits) + pattern(cast(1.0, x)))
    ) * power_of_two(rest, x)
    if is_single(x):
        y = halley(polynomial(b, CBRT_SINGLE), b)
    else:
        y = halley(halley(polynomial(b, CBRT_DOUBLE), b), b)
    ended = x == 0 or magnitude(x) >= pattern(cast(INFINITY, x))
    return x if ended else copysign(y * power_of_two(whole(third), x), x)


def hypot(x: Scalar, y: Scalar) -> Scalar:
    """With squares that neither overflow nor vanish."""
    greater = magnitude(x) > magnitude(y)
    a = absolute(x if greater else y)
    b = absolute(y if greater else x)
    if is_single(x):
        up, down, huge, small = 2.0**90, 2.0**-90, 2.0**60, 2.0**-40
    else:
        up, down, huge, small = 2.0**600, 2.0**-600, 2.0**500, 2.0**-400
    large = pattern(a) > pattern(cast(huge, x))
    tiny = pattern(a) < pattern(cast(small, x))
    one = cast(1.0, x)
    scale = cast(down, x) if large else (cast(up, x) if tiny else one)
    back = cast(up, x) if large else (cast(down, x) if tiny else one)
    p = a * scale
    q = b * scale
    found = sqrt(fma(p, p, q * q)) * back
    return cast(INFINITY, x) if is_infinite(x) or is_infinite(y) else found
