"""Circular functions and their inverses.

r = x - k pi / 2 with pi / 2 in three parts (Cody and Waite).  With a fused multiply-add
the first difference is exact, whatever k is: both sides are multiples of the last place
of the first part.  Beyond a limit NumPy computes the block.
"""

from __future__ import annotations

from ...kernel.language import (
    Scalar,
    absolute,
    as_unsigned,
    bits,
    bits_to_float,
    cast,
    copysign,
    float_to_bits,
    fma,
    is_single,
    sqrt,
)
from .coefficients import (
    ASIN_DOUBLE,
    ASIN_SINGLE,
    ATAN_DOUBLE,
    ATAN_SINGLE,
    COS_DOUBLE,
    COS_SINGLE,
    HALF_PI_DOUBLE,
    HALF_PI_SINGLE,
    PI_DOUBLE,
    PI_SINGLE,
    QUARTER_PI_DOUBLE,
    QUARTER_PI_SINGLE,
    SIN_DOUBLE,
    SIN_SINGLE,
    THREE_QUARTERS_PI_DOUBLE,
    THREE_QUARTERS_PI_SINGLE,
)
from .parts import is_infinite, is_tiny, magic, magnitude, pattern, polynomial, whole

__all__ = ["arccos", "arcsin", "arctan", "arctan2", "cos", "sin", "tan"]

TWO_OVER_PI = 0.6366197723675814
TAN_PI_8 = 0.41421356237309503


def is_far(x: Scalar) -> Scalar:
    """Whether the reduction is not good enough, or there is none: infinity and NaN."""
    return magnitude(x) >= pattern(cast(2.0**16 if is_single(x) else 2.0**40, x))


def negated(x: Scalar, condition: Scalar) -> Scalar:
    """``-x`` where the lowest bit of ``condition`` is 1."""
    sign = as_unsigned(condition) << (bits(x) - 1)
    return bits_to_float(float_to_bits(x) ^ sign)


def series(r: Scalar) -> tuple[Scalar, Scalar]:
    """(sin(r) / r - 1) / r**2 and (cos(r) - 1) / r**2."""
    z = r * r
    if is_single(r):
        return polynomial(z, SIN_SINGLE), polynomial(z, COS_SINGLE)
    return polynomial(z, SIN_DOUBLE), polynomial(z, COS_DOUBLE)


def both(x: Scalar) -> tuple[Scalar, Scalar, Scalar]:
    """sin(r), cos(r) and k."""
    inside = cast(0.0, x) if is_far(x) else x
    shifted = fma(inside, cast(TWO_OVER_PI, x), magic(x))
    k = shifted - magic(x)
    first, second, third = HALF_PI_SINGLE if is_single(x) else HALF_PI_DOUBLE
    r = fma(k, cast(-first, x), inside)
    r = fma(k, cast(-third, x), fma(k, cast(-second, x), r))
    z = r * r
    odd, even = series(r)
    return fma(r * z, odd, r), fma(z, even, cast(1.0, x)), whole(shifted)


def sin(x: Scalar) -> tuple[Scalar, Scalar, Scalar]:
    s, c, k = both(x)
    found = negated(c if k & 1 == 1 else s, (k >> 1) & 1)
    far = is_far(x)
    return x if is_tiny(x) or x != x else found, False, far and x == x


def cos(x: Scalar) -> tuple[Scalar, Scalar, Scalar]:
    s, c, k = both(x)
    found = negated(s if k & 1 == 1 else c, ((k + 1) >> 1) & 1)
    return x if x != x else found, False, is_far(x) and x == x


def tan(x: Scalar) -> tuple[Scalar, Scalar, Scalar]:
    """The quotient; all that rounding has lost on the way is put in at the end."""
    far = is_far(x)
    inside = cast(0.0, x) if far else x
    shifted = fma(inside, cast(TWO_OVER_PI, x), magic(x))
    k = shifted - magic(x)
    first, second, third = HALF_PI_SINGLE if is_single(x) else HALF_PI_DOUBLE
    exact = fma(k, cast(-first, x), inside)
    product = k * second
    product_lost = fma(k, cast(second, x), -product)
    near = exact - product
    part = near - exact
    near_lost = (exact - (near - part)) - (product + part)
    rest = fma(k, cast(-third, x), near_lost - product_lost)
    r = near + rest
    r_lost = (near - r) + rest
    z = r * r
    z_lost = fma(r, r, -z)
    odd, even = series(r)
    s_rest = fma(r * z, odd, fma(-0.5 * z, r_lost, r_lost))
    s = r + s_rest
    s_lost = (r - s) + s_rest
    c_rest = fma(z, even, fma(-r, r_lost, -0.5 * z_lost))
    c = 1.0 + c_rest
    c_lost = (1.0 - c) + c_rest
    turned = whole(shifted) & 1 == 1
    top = -c if turned else s
    top_lost = -c_lost if turned else s_lost
    bottom = s if turned else c
    bottom_lost = s_lost if turned else c_lost
    inverse = 1.0 / bottom
    found = top * inverse
    lost = fma(-found, bottom, top) + fma(-found, bottom_lost, top_lost)
    found = fma(lost, inverse, found)
    return x if is_tiny(x) or x != x else found, False, far and x == x


# -------------------------------------------------------------------------- inverses
def half_angle(x: Scalar) -> tuple[Scalar, Scalar, Scalar]:
    """s and asin(s) - s, where s is x, or sqrt((1 - abs(x)) / 2) from abs(x) = 0.5 on;
    and whether it is that."""
    a = absolute(x)
    large = magnitude(x) >= pattern(cast(0.5, x))
    z = fma(a, cast(-0.5, x), cast(0.5, x)) if large else a * a
    s = sqrt(z) if large else x
    if is_single(x):
        return s, s * z * polynomial(z, ASIN_SINGLE), large
    return s, s * z * polynomial(z, ASIN_DOUBLE), large


def is_beyond(x: Scalar) -> Scalar:
    """Whether a number has no arcsine."""
    return magnitude(x) > pattern(cast(1.0, x)) and x == x


def difference(a: Scalar, b: Scalar, more: Scalar) -> Scalar:
    """``a - b + more`` rounded once, where ``a`` is 0 or larger than b."""
    total = a - b
    return total + (((a - total) - b) + more)


def arcsin(x: Scalar) -> tuple[Scalar, Scalar]:
    s, rest, large = half_angle(x)
    high, low, _ = HALF_PI_SINGLE if is_single(x) else HALF_PI_DOUBLE
    far = copysign(difference(cast(high, x), 2.0 * s, low - 2.0 * rest), x)
    return far if large else s + rest, is_beyond(x)


def arccos(x: Scalar) -> tuple[Scalar, Scalar]:
    s, rest, large = half_angle(x)
    high, low, _ = HALF_PI_SINGLE if is_single(x) else HALF_PI_DOUBLE
    pi_high, pi_low = PI_SINGLE if is_single(x) else PI_DOUBLE
    right = 2.0 * (s + rest)
    left = difference(cast(pi_high, x), 2.0 * s, pi_low - 2.0 * rest)
    near = difference(cast(high, x), s, low - rest)
    far = left if pattern(x) < 0 else right
    return far if large else near, is_beyond(x)


def arctangent_rest(t: Scalar) -> Scalar:
    """atan(t) - t for abs(t) <= tan(pi / 8)."""
    z = t * t
    if is_single(t):
        return t * z * polynomial(z, ATAN_SINGLE)
    return t * z * polynomial(z, ATAN_DOUBLE)


def arctan(x: Scalar) -> Scalar:
    """atan(t), or pi / 4 or pi / 2 more, with one division."""
    a = absolute(x)
    size = magnitude(x)
    steep = size > pattern(cast(2.414213562373095, x))
    flat = size <= pattern(cast(TAN_PI_8, x))
    top = cast(-1.0, x) if steep else (a if flat else a - 1.0)
    bottom = a if steep else (cast(1.0, x) if flat else a + 1.0)
    inverse = 1.0 / bottom
    t = top * inverse
    # In the middle bottom - 1 is exact; what is lost elsewhere does not matter.
    divisor = cast(1.0, x) if steep else bottom  # which may be infinite
    part = cast(0.0, x) if steep else a
    t_lost = fma(t, (divisor - 1.0) - part, fma(-t, divisor, top)) * inverse
    t_lost = cast(0.0, x) if steep or flat else t_lost
    half_high, half_low, _ = HALF_PI_SINGLE if is_single(x) else HALF_PI_DOUBLE
    high, low = QUARTER_PI_SINGLE if is_single(x) else QUARTER_PI_DOUBLE
    base = half_high if steep else (cast(0.0, x) if flat else cast(high, x))
    more = half_low if steep else (cast(0.0, x) if flat else cast(low, x))
    return copysign(difference(base, -t, arctangent_rest(t) + (more + t_lost)), x)


def sum_lost(a: Scalar, b: Scalar, total: Scalar) -> Scalar:
    """What a sum has lost by being rounded (D. E. Knuth, 1969)."""
    part = total - a
    return (a - (total - part)) + (b - part)


def arctan2(y: Scalar, x: Scalar) -> Scalar:
    """The same for a quotient that is not formed."""
    alike = is_infinite(x) and is_infinite(y)
    b = cast(1.0, x) if alike else absolute(x)
    a = cast(1.0, y) if alike else absolute(y)
    # Sums that do not overflow, products of subnormal numbers that keep their digits,
    # and a divisor that is not 0.
    if is_single(x):
        huge, tiny, up = 2.0**100, 2.0**-100, 2.0**40
    else:
        huge, tiny, up = 2.0**1000, 2.0**-1000, 2.0**100
    least = pattern(cast(tiny, x))
    small = pattern(a) < least and pattern(b) < least
    large = pattern(a) > pattern(cast(huge, x)) or pattern(b) > pattern(cast(huge, x))
    scale = cast(0.25, x) if large else (cast(up, x) if small else cast(1.0, x))
    a = a * scale
    b = b * scale
    steep = pattern(a) > pattern(2.414213562373095 * b)
    flat = pattern(a) <= pattern(TAN_PI_8 * b)
    top = -b if steep else (a if flat else a - b)
    bottom = a if steep else (b if flat else a + b)
    middle = not (steep or flat)
    top_lost = sum_lost(a, -b, top) if middle else cast(0.0, x)
    bottom_lost = sum_lost(a, b, bottom) if middle else cast(0.0, x)
    divisor = cast(1.0, x) if bottom == 0 else bottom
    t = top / divisor
    finite = bottom if middle else cast(1.0, x)
    t_lost = (fma(-t, finite, top) + fma(-t, bottom_lost, top_lost)) / divisor
    left = pattern(x) < 0
    rest = arctangent_rest(t)
    half_high, half_low, _ = HALF_PI_SINGLE if is_single(x) else HALF_PI_DOUBLE
    quarter, quarter_low = QUARTER_PI_SINGLE if is_single(x) else QUARTER_PI_DOUBLE
    three, three_low = (
        THREE_QUARTERS_PI_SINGLE if is_single(x) else THREE_QUARTERS_PI_DOUBLE
    )
    pi_high, pi_low = PI_SINGLE if is_single(x) else PI_DOUBLE
    zero = cast(0.0, x)
    high_flat = cast(pi_high, x) if left else zero
    low_flat = cast(pi_low, x) if left else zero
    high_middle = cast(three, x) if left else cast(quarter, x)
    low_middle = cast(three_low, x) if left else cast(quarter_low, x)
    high = cast(half_high, x) if steep else (high_flat if flat else high_middle)
    low = cast(half_low, x) if steep else (low_flat if flat else low_middle)
    # What is lost does not matter beside what is not near 1, and may be no number.
    rest = rest + t_lost if middle else rest
    more = (-rest if left else rest) + low
    return copysign(difference(high, t if left else -t, more), y)
