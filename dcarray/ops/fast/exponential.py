"""Exponentials and hyperbolic functions.

exp(x) = 2**k exp(r), with r = x - k log 2 (W. J. Cody and W. Waite, 1980).  What is a
difference of exponentials is put together from 2**k, 2**-k, sinh(r) and cosh(r) - 1,
which lose no digits.
"""

from __future__ import annotations

from ...kernel.language import (
    INFINITY,
    LOG2E,
    Scalar,
    absolute,
    as_unsigned,
    bits_to_float,
    cast,
    copysign,
    fma,
    fraction_bits,
    is_single,
)
from .coefficients import (
    COSH_DOUBLE,
    COSH_SINGLE,
    EXP2_DOUBLE,
    EXP2_SINGLE,
    EXP_DOUBLE,
    EXP_SINGLE,
    LN2_DOUBLE,
    LN2_SINGLE,
    SINH_DOUBLE,
    SINH_SINGLE,
)
from .parts import (
    clamped,
    is_tiny,
    magnitude,
    pattern,
    polynomial,
    power_of_two,
)

__all__ = ["biased", "cosh", "exp", "exp2", "expm1", "scaled", "sinh", "tanh"]


def biased(x: Scalar) -> Scalar:
    """`magic` with 2**k in the bits of the sum: the exponent of 1 is added already."""
    return cast(12583039.0 if is_single(x) else 6755399441056767.0, x)


def scaled(x: Scalar, shifted: Scalar) -> Scalar:
    """``x`` about 1 times 2**k, where ``shifted`` is the sum of k and `biased`; in two
    steps: rounded once where it is subnormal, an infinity with its flag where it is too
    large."""
    down = cast(2.0**-64 if is_single(x) else 2.0**-512, x)
    up = cast(2.0**64 if is_single(x) else 2.0**512, x)
    factor = down if pattern(shifted - biased(x)) < 0 else up
    moved = (pattern(shifted) << fraction_bits(x)) - pattern(factor)
    return bits_to_float(as_unsigned(pattern(x) + moved)) * factor


def reduced(x: Scalar) -> tuple[Scalar, Scalar, Scalar]:
    """r, what it has lost by being rounded, and the sum of k and `biased`."""
    shifted = fma(x, cast(LOG2E, x), biased(x))
    k = shifted - biased(x)
    high, low = LN2_SINGLE if is_single(x) else LN2_DOUBLE
    most = fma(k, cast(-high, x), x)
    r = fma(k, cast(-low, x), most)
    return r, fma(k, cast(-low, x), most - r), shifted


def defined(x: Scalar) -> Scalar:
    """``x``, or 0 for NaN, which would be clamped to what overflows."""
    return x if x == x else cast(0.0, x)


def exp(x: Scalar) -> Scalar:
    inside = clamped(defined(x), 104.0 if is_single(x) else 746.0)
    r, _, shifted = reduced(inside)
    if is_single(x):
        rest = polynomial(r, EXP_SINGLE)
    else:
        rest = polynomial(r, EXP_DOUBLE)
    one = cast(1.0, x)
    return scaled(fma(fma(rest, r, one), r, one), shifted) if x == x else x


def exp2(x: Scalar) -> Scalar:
    inside = clamped(defined(x), 151.0 if is_single(x) else 1076.0)
    shifted = inside + biased(x)
    r = inside - (shifted - biased(x))
    if is_single(x):
        rest = polynomial(r, EXP2_SINGLE)
    else:
        rest = polynomial(r, EXP2_DOUBLE)
    return scaled(fma(r, rest, cast(1.0, x)), shifted) if x == x else x


def expm1(x: Scalar) -> Scalar:
    low = 20.0 if is_single(x) else 40.0
    high = 89.0 if is_single(x) else 710.0
    limit = cast(low, x) if pattern(x) < 0 else cast(high, x)
    r, lost, shifted = reduced(clamped(defined(x), limit))
    if is_single(x):
        rest = polynomial(r, EXP_SINGLE)
    else:
        rest = polynomial(r, EXP_DOUBLE)
    more = fma(r * r, rest, lost)
    m = r + more
    m_lost = (r - m) + more
    # Half of it, because 2**k itself may be too large.
    scale = power_of_two(pattern(shifted) - pattern(biased(x)) - 1, x)
    found = 2.0 * (fma(scale, m, scale - 0.5) + scale * m_lost)
    tiny = magnitude(x) < pattern(cast(2.0**-26 if is_single(x) else 2.0**-55, x))
    return x if x != x or tiny else found


def parts(a: Scalar) -> tuple[Scalar, Scalar, Scalar, Scalar]:
    """Half of sinh(a) and half of cosh(a) for ``a >= 0``, each in two parts.

    With d = (2**k - 2**-k) / 4, t = (2**k + 2**-k) / 4, s = sinh(r), c = cosh(r) - 1
    they are d + (d c + t s) and t + (t c + d s).
    """
    r, lost, shifted = reduced(a)
    k = pattern(shifted) - pattern(biased(a))
    z = r * r
    if is_single(a):
        s = r + fma(r * z, polynomial(z, SINH_SINGLE), lost)
        c = z * polynomial(z, COSH_SINGLE)
    else:
        s = r + fma(r * z, polynomial(z, SINH_DOUBLE), lost)
        c = z * polynomial(z, COSH_DOUBLE)
    up = power_of_two(k - 2, a)
    down = power_of_two(-2 - (k if k < 60 else cast(60, k)), a)
    d = up - down
    t = up + down
    d_rest = fma(t, s, d * c) + ((up - d) - down)
    t_rest = fma(d, s, t * c) + ((up - t) + down)
    return d, d_rest, t, t_rest


def sinh(x: Scalar) -> Scalar:
    limit = 89.6 if is_single(x) else 710.6
    ended = magnitude(x) >= pattern(cast(INFINITY, x))
    inside = cast(0.0, x) if ended else x
    d, d_rest, _, _ = parts(absolute(clamped(inside, limit)))
    return x if ended or is_tiny(x) else copysign(2.0 * (d + d_rest), x)


def cosh(x: Scalar) -> Scalar:
    limit = 89.6 if is_single(x) else 710.6
    ended = magnitude(x) >= pattern(cast(INFINITY, x))
    inside = cast(0.0, x) if ended else x
    _, _, t, t_rest = parts(absolute(clamped(inside, limit)))
    return absolute(x) if ended else 2.0 * (t + t_rest)


def tanh(x: Scalar) -> Scalar:
    """The quotient of both, each with what its rounding lost."""
    inside = absolute(clamped(x, 10.0 if is_single(x) else 20.0))
    d, d_rest, t, t_rest = parts(inside)
    top = d + d_rest
    top_lost = (d - top) + d_rest
    bottom = t + t_rest
    bottom_lost = (t - bottom) + t_rest
    inverse = 1.0 / bottom
    found = top * inverse
    rest = fma(-found, bottom, top) + fma(-found, bottom_lost, top_lost)
    found = fma(rest, inverse, found)
    return x if x != x or is_tiny(x) else copysign(found, x)
