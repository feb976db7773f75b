"""Rounding and the anatomy of floating-point numbers, by integer arithmetic.

For dialects that do not have these functions, or not with NumPy's meaning; written in
the kernel language, for float32 and float64.
"""

from __future__ import annotations

import numpy as np

from .language import (
    NAN,
    Scalar,
    absolute,
    as_unsigned,
    bits,
    bits_to_float,
    cast,
    copysign,
    exponent_bits,
    float_to_bits,
    floor,
    fraction_bits,
    isfinite,
    isnan,
    truncate_remainder,
)

__all__ = [
    "copied_sign",
    "floating_remainder",
    "next_number",
    "ones",
    "scaled",
    "to_nearest",
    "two_to",
]


def two_to(n: Scalar, x: Scalar) -> Scalar:
    """The power of two in the dtype of ``x``, for a normal exponent."""
    bias = (1 << (exponent_bits(x) - 1)) - 1
    return bits_to_float(cast(n + bias, float_to_bits(x)) << fraction_bits(x))


def scaled(x: Scalar, n: Scalar) -> Scalar:
    """``ldexp``: ``x`` times a power of two, rounded once."""
    top = (1 << (exponent_bits(x) - 1)) - 1
    # The lowest step leaves room, so that only the last product is subnormal.
    down = top - 1 - (fraction_bits(x) + 1)
    count = np.int32(max(min(n, 4 * top), -4 * top))
    result = x
    for _ in (1, 2):
        high = count > top
        low = count < 1 - top
        factor = cast(2.0**top, x) if high else cast(2.0**-down, x)
        result = result * factor if high or low else result
        count = count - top if high else (count + down if low else count)
    count = max(min(count, top), 1 - top)
    return result * two_to(count, x)


def to_nearest(x: Scalar) -> Scalar:
    """``rint``: the nearest whole number, of two the even one."""
    size = absolute(x)
    whole = floor(size)
    rest = size - whole
    odd = whole - 2.0 * floor(whole * 0.5) != 0
    result = whole + 1.0 if rest > 0.5 or (rest == 0.5 and odd) else whole
    return copysign(result, x) if isfinite(x) else x


def next_number(x: Scalar, y: Scalar) -> Scalar:
    """``nextafter``: the next number after ``x`` on the way to ``y``."""
    pattern = float_to_bits(x)
    away = (y > x) == (x > 0)
    moved = bits_to_float(pattern + 1 if away else pattern - 1)
    least = copysign(bits_to_float(cast(1, pattern)), y)
    found = y if x == y else (least if x == 0 else moved)
    return cast(NAN, x) if isnan(x) or isnan(y) else found


def copied_sign(x: Scalar, y: Scalar) -> Scalar:
    """``copysign``: the size of ``x`` with the sign of ``y``."""
    sign = cast(1, float_to_bits(x)) << (bits(x) - 1)
    return bits_to_float((float_to_bits(x) & ~sign) | (float_to_bits(y) & sign))


def significand(x: Scalar) -> tuple[Scalar, Scalar]:
    """A size as a whole number and the exponent that it is to be scaled with, counted
    from that of the subnormal numbers."""
    pattern = float_to_bits(x)
    exponent = np.int32(pattern >> fraction_bits(x))
    rest = pattern & ((1 << fraction_bits(x)) - 1)
    normal = rest | (1 << fraction_bits(x))
    return (rest if exponent == 0 else normal), (
        cast(0, exponent) if exponent == 0 else exponent - 1
    )


def floating_remainder(x: Scalar, y: Scalar) -> Scalar:
    """``fmod``: exact, by long division."""
    a = absolute(x)
    b = absolute(y)
    defined = isfinite(x) and b > 0
    plain = defined and isfinite(y) and a >= b
    number, exponent = significand(a if plain else cast(1.0, x))
    divisor, last = significand(b if plain else cast(1.0, y))
    rest = truncate_remainder(number, divisor)
    while exponent > last:
        rest = rest << 1
        rest = rest - divisor if rest >= divisor else rest
        exponent = exponent - 1
    lowest = 2 - (1 << (exponent_bits(x) - 1)) - fraction_bits(x)
    found = copysign(scaled(cast(rest, x), last + lowest), x)
    found = found if plain else x
    return found if defined and not isnan(y) else cast(NAN, x)


def ones(x: Scalar) -> Scalar:
    """``bitwise_count``: the ones in the magnitude."""
    size = as_unsigned(absolute(x))
    if bits(size) < 32:
        return counted(np.uint32(size))
    return counted(size)


def counted(x: Scalar) -> Scalar:
    """Sums of neighbours: of bits, of pairs of bits, and so on."""
    every = (1 << bits(x)) - 1
    pairs = x - ((x >> 1) & (every // 3))
    fours = (pairs & (every // 5)) + ((pairs >> 2) & (every // 5))
    eights = (fours + (fours >> 4)) & (every // 17)
    return np.uint8((eights * (every // 255)) >> (bits(x) - 8))
