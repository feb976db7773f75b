"""What the bodies share: polynomials, whole numbers, powers of two, comparisons that
raise no flag.

A whole number that is added to 1.5 times the highest power of two whose units are ones
stands in the last bits of the sum; that way it becomes an integer, and an integer a
floating-point number, without an instruction that vectors may lack.
"""

from __future__ import annotations

from ...kernel.language import (
    INFINITY,
    Scalar,
    as_signed,
    as_unsigned,
    bits_to_float,
    cast,
    copysign,
    exponent_bits,
    float_to_bits,
    fma,
    fraction_bits,
    is_single,
)

__all__ = [
    "clamped",
    "is_infinite",
    "is_tiny",
    "magic",
    "magnitude",
    "number",
    "pattern",
    "polynomial",
    "power_of_two",
    "whole",
]


def polynomial(x: Scalar, coefficients: tuple[float, ...]) -> Scalar:
    """Coefficients of the highest powers first: Horner's scheme, or for many of them
    two sums that do not wait for each other (G. Estrin, 1960)."""
    count = len(coefficients)
    if count > 5:
        square = x * x
        low = 4 if count <= 8 else 8
        power = square * square
        power = power if low == 4 else power * power
        high = polynomial(x, coefficients[: count - low])
        return fma(high, power, polynomial(x, coefficients[count - low :]))
    result = cast(coefficients[0], x)
    for coefficient in coefficients[1:]:
        result = fma(result, x, cast(coefficient, x))
    return result


def pattern(x: Scalar) -> Scalar:
    """The bits of a number as a signed integer: below 0 for a negative number."""
    return as_signed(float_to_bits(x))


def magnitude(x: Scalar) -> Scalar:
    """The bits of the absolute value: they compare like numbers, and NaN is above all
    of them."""
    return pattern(x) & ((1 << (exponent_bits(x) + fraction_bits(x))) - 1)


def clamped(x: Scalar, limit: Scalar) -> Scalar:
    """``x`` between ``-limit`` and ``limit``; so is NaN."""
    if is_single(x):  # vectors have the smaller of two short integers
        edge = pattern(cast(limit, x))
        right = pattern(x) if pattern(x) < edge else edge
        bottom = float_to_bits(cast(-limit, x))
        both = as_unsigned(right) if as_unsigned(right) < bottom else bottom
        return bits_to_float(both)
    return copysign(cast(limit, x), x) if magnitude(x) > pattern(cast(limit, x)) else x


def is_tiny(x: Scalar) -> Scalar:
    """Whether x**2 is nothing beside 1."""
    return magnitude(x) < pattern(cast(2.0**-13 if is_single(x) else 2.0**-28, x))


def is_infinite(x: Scalar) -> Scalar:
    """Whether a number is plus or minus infinity."""
    return magnitude(x) == pattern(cast(INFINITY, x))


def magic(x: Scalar) -> Scalar:
    """The number that rounds by being added and subtracted."""
    return cast(12582912.0 if is_single(x) else 6755399441055744.0, x)


def whole(shifted: Scalar) -> Scalar:
    """The integer in a sum with `magic`."""
    return pattern(shifted) - pattern(magic(shifted))


def number(n: Scalar, x: Scalar) -> Scalar:
    """A small integer as a number of the dtype of ``x``."""
    return bits_to_float(as_unsigned(n + pattern(magic(x)))) - magic(x)


def power_of_two(n: Scalar, x: Scalar) -> Scalar:
    """2**n in the dtype of ``x``, for an integer of its width and a normal result."""
    bias = (1 << (exponent_bits(x) - 1)) - 1
    return bits_to_float(as_unsigned((n + bias) << fraction_bits(x)))
