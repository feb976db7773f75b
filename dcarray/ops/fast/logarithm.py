"""Logarithms and the inverse hyperbolic functions.

log(x) = k log 2 + log(1 + f) with 1 + f = 2**-k x between the roots of 1/2 and 2, and
log(1 + f) = 2 atanh(f / (2 + f)), in the order of operations of fdlibm (Sun
Microsystems, 1993), in which f itself, the largest part, is not rounded.
"""

from __future__ import annotations

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
    exponent_bits,
    fma,
    fraction_bits,
    is_single,
    sqrt,
)
from .coefficients import (
    ATANH_DOUBLE,
    ATANH_SINGLE,
    LN2_DOUBLE,
    LN2_SINGLE,
    LOG2E_DOUBLE,
    LOG2E_SINGLE,
    LOG10_2_DOUBLE,
    LOG10_2_SINGLE,
    LOG10E_DOUBLE,
    LOG10E_SINGLE,
    LOG_DOUBLE,
    LOG_SINGLE,
)
from .parts import magnitude, number, pattern, polynomial, power_of_two

__all__ = ["arccosh", "arcsinh", "arctanh", "log", "log10", "log1p", "log2", "split"]


def split(x: Scalar) -> tuple[Scalar, Scalar]:
    """k as an integer and 2**-k x, for a normal positive number."""
    # Raised by a power of two, so that no number on the way is negative.
    raised = 1 << (exponent_bits(x) - 1)
    root = pattern(cast(0.7071067811865476, x))
    moved = as_unsigned(pattern(x) + ((raised << fraction_bits(x)) - root))
    k = as_signed(moved >> fraction_bits(x)) - raised
    return k, bits_to_float(as_unsigned(pattern(x) - (k << fraction_bits(x))))


def normal(x: Scalar) -> tuple[Scalar, Scalar]:
    """``x``, multiplied by a power of two if it is subnormal, and that power."""
    least = 1.1754943508222875e-38 if is_single(x) else 2.2250738585072014e-308
    digits = 24 if is_single(x) else 54
    small = magnitude(x) < pattern(cast(least, x))
    power = cast(digits, pattern(x)) if small else cast(0, pattern(x))
    return x * (cast(2.0**digits, x) if small else cast(1.0, x)), power


def rest_of(f: Scalar) -> Scalar:
    """log(1 + f) - f, for 1 + f between the roots of 1/2 and 2."""
    s = f / (2.0 + f)
    z = s * s
    half = 0.5 * f * f
    if is_single(f):
        series = z * polynomial(z, LOG_SINGLE)
    else:
        series = z * polynomial(z, LOG_DOUBLE)
    return fma(s, fma(series, cast(2.0, f), half), -half)


def together(k: Scalar, f: Scalar, rest: Scalar) -> Scalar:
    """k log 2 + f + rest."""
    count = number(k, f)
    high, low = LN2_SINGLE if is_single(f) else LN2_DOUBLE
    return fma(count, cast(high, f), f + fma(count, cast(low, f), rest))


def ended(x: Scalar, found: Scalar) -> Scalar:
    """A logarithm at the ends of its range and beyond."""
    found = x if pattern(x) >= pattern(cast(INFINITY, x)) else found
    found = cast(NAN, x) if pattern(x) < 0 else found
    return cast(-INFINITY, x) if x == 0 else found


def log(x: Scalar) -> tuple[Scalar, Scalar]:
    inside, power = normal(x)
    k, m = split(inside)
    f = m - 1.0
    found = together(k - power, f, rest_of(f))
    return ended(x, found), pattern(x) <= 0 and x == x


def in_two(x: Scalar, factor: tuple[float, float]) -> tuple[Scalar, Scalar, Scalar]:
    """k, and log(1 + f) times a factor in two parts."""
    inside, power = normal(x)
    k, m = split(inside)
    f = m - 1.0
    rest = rest_of(f)
    high = f + rest
    low = (f - high) + rest
    product = high * factor[0]
    lost = fma(high, cast(factor[0], x), -product)
    more = fma(low, cast(factor[0], x), high * factor[1])
    return number(k - power, x), product, lost + more


def log2(x: Scalar) -> tuple[Scalar, Scalar]:
    k, product, lost = in_two(x, LOG2E_SINGLE if is_single(x) else LOG2E_DOUBLE)
    total = k + product
    found = total + (((k - total) + product) + lost)
    return ended(x, found), pattern(x) <= 0 and x == x


def log10(x: Scalar) -> tuple[Scalar, Scalar]:
    k, product, lost = in_two(x, LOG10E_SINGLE if is_single(x) else LOG10E_DOUBLE)
    high, low = LOG10_2_SINGLE if is_single(x) else LOG10_2_DOUBLE
    most = k * high
    total = most + product
    found = total + (((most - total) + product) + fma(k, cast(low, x), lost))
    return ended(x, found), pattern(x) <= 0 and x == x


def of_sum(u: Scalar, lost: Scalar, more: Scalar) -> Scalar:
    """log(u + lost) + more log 2, where ``lost`` is small beside u."""
    k, m = split(u)
    f = m - 1.0
    # What is lost beside a large number does not matter.
    limit = 30 if is_single(u) else 60
    scale = power_of_two(-(k if k < limit else cast(limit, k)), u)
    total = fma(lost, scale, f)
    rest = fma(lost, scale, f - total)
    return together(k + more, total, rest_of(total) + rest)


def log1p(x: Scalar) -> tuple[Scalar, Scalar]:
    one = pattern(cast(1.0, x))
    beyond = pattern(x) < 0 and magnitude(x) >= one
    ended = pattern(x) >= pattern(cast(INFINITY, x))
    inside = cast(0.0, x) if beyond or ended else x
    u = 1.0 + inside
    large = magnitude(x) >= one
    lost = 1.0 - (u - inside) if large else inside - (u - 1.0)
    found = of_sum(u, lost, cast(0, pattern(x)))
    found = x if ended or x == 0 else found
    edge = cast(-INFINITY, x) if magnitude(x) == one else cast(NAN, x)
    return edge if beyond else found, beyond and x == x


def arcsinh(x: Scalar) -> Scalar:
    """log(t + 1), where t = a + a**2 / (1 + sqrt(1 + a**2)); log(2 a) for a large a."""
    a = absolute(x)
    large = magnitude(x) >= pattern(cast(2.0**13 if is_single(x) else 2.0**28, x))
    v = cast(1.0, x) if large else a
    more = v * v / (1.0 + sqrt(fma(v, v, cast(1.0, x))))
    t = v + more
    t_lost = (v - t) + more
    u = 1.0 + t
    lost = (1.0 - (u - t) if t >= 1.0 else t - (u - 1.0)) + t_lost
    n = pattern(x)
    found = of_sum(
        a if large else u,
        cast(0.0, x) if large else lost,
        cast(1, n) if large else cast(0, n),
    )
    finite = magnitude(x) < pattern(cast(INFINITY, x))
    return copysign(found, x) if finite else x


def arccosh(x: Scalar) -> tuple[Scalar, Scalar]:
    """log(1 + t + sqrt(t**2 + 2 t)), where t = x - 1; log(2 x) for a large x."""
    one = pattern(cast(1.0, x))
    large = pattern(x) >= pattern(cast(2.0**13 if is_single(x) else 2.0**28, x))
    below = pattern(x) < one
    v = cast(1.0, x) if large or below else x
    t = v - 1.0
    root = sqrt(fma(t, t, t + t))
    u = v + root
    lost = (v - u) + root
    n = pattern(x)
    found = of_sum(
        x if large else u,
        cast(0.0, x) if large else lost,
        cast(1, n) if large else cast(0, n),
    )
    found = x if pattern(x) >= pattern(cast(INFINITY, x)) else found
    return cast(NAN, x) if below else found, below and x == x


def arctanh(x: Scalar) -> tuple[Scalar, Scalar]:
    """log((1 + a) / (1 - a)) / 2 with the quotient near 2**k."""
    one = pattern(cast(1.0, x))
    beyond = magnitude(x) >= one
    a = cast(0.0, x) if beyond else absolute(x)
    up = 1.0 + a
    up_lost = a - (up - 1.0)
    down = 1.0 - a
    down_lost = (1.0 - down) - a
    # The bits of a positive number are nearly its logarithm.
    half = 1 << (fraction_bits(x) - 1)
    k = as_signed(as_unsigned(pattern(up) - pattern(down) + half) >> fraction_bits(x))
    scale = power_of_two(k, x)
    top = fma(-scale, down, up) + fma(-scale, down_lost, up_lost)
    bottom = fma(scale, down, up) + fma(scale, down_lost, up_lost)
    inverse = 1.0 / bottom
    s = top * inverse
    s_lost = fma(-s, bottom, top) * inverse
    z = s * s
    count = number(k, x)
    if is_single(x):
        rest = s * z * polynomial(z, ATANH_SINGLE)
        high, low = LN2_SINGLE
    else:
        rest = s * z * polynomial(z, ATANH_DOUBLE)
        high, low = LN2_DOUBLE
    most = count * (0.5 * high)
    total = most + s
    lost = ((most - total) + s) + fma(count, cast(0.5 * low, x), s_lost + rest)
    found = total + lost
    edge = cast(INFINITY, x) if magnitude(x) == one else cast(NAN, x)
    return copysign(edge if beyond else found, x), beyond and x == x
