"""Sums and products without rounding error, and lengths that rest on them.

T. J. Dekker, "A floating-point technique for extending the available precision", 1971.
Nothing here may be contracted to a fused multiply-add, nor reordered.
"""

from __future__ import annotations

from .language import (
    INFINITY,
    LN2,
    Scalar,
    absolute,
    cast,
    is_single,
    isinf,
    log,
    log1p,
    sqrt,
)

__all__ = ["excess", "length", "log_length", "scaled_length", "two_product", "two_sum"]


def two_sum(a: Scalar, b: Scalar) -> tuple[Scalar, Scalar]:
    """The sum, and what its rounding lost."""
    total = a + b
    part = total - a
    return total, (a - (total - part)) + (b - part)


def halves(a: Scalar) -> tuple[Scalar, Scalar]:
    """A number as the sum of two with half of the digits."""
    moved = a * (4097.0 if is_single(a) else 134217729.0)
    high = moved - (moved - a)
    return high, a - high


def two_product(a: Scalar, b: Scalar) -> tuple[Scalar, Scalar]:
    """The product, and what its rounding lost."""
    total = a * b
    a_high, a_low = halves(a)
    b_high, b_low = halves(b)
    lost = ((a_high * b_high - total) + a_high * b_low) + a_low * b_high
    return total, lost + a_low * b_low


def excess(a: Scalar, b: Scalar) -> Scalar:
    """``a * a + b * b - 1`` for numbers about 1, where that cancels."""
    high = a if absolute(a) >= absolute(b) else b
    low = b if absolute(a) >= absolute(b) else a
    p, p_lost = two_product(high, high)
    q, q_lost = two_product(low, low)
    one = cast(1.0, a)
    first, first_lost = two_sum(p, -one)
    second, second_lost = two_sum(first, q)
    third, third_lost = two_sum(p_lost, q_lost)
    total, total_lost = two_sum(second, third)
    return total + (((first_lost + second_lost) + third_lost) + total_lost)


def scaled_length(a: Scalar, b: Scalar) -> tuple[Scalar, Scalar]:
    """A length times a power of two, and that power: neither overflows."""
    first = absolute(a)
    second = absolute(b)
    high = first if first >= second else second
    low = second if first >= second else first
    # Beside a number this large, the other one only decides the rounding.
    alone = low <= high * (2.0**-27 if is_single(a) else 2.0**-54)
    # Scaled so that no square overflows, or vanishes beside the other.
    if is_single(a):
        up = 2.0**85 if low < 2.0**-50 and not alone else 1.0
        scale = cast(2.0**-70 if high > 2.0**62 else up, a)
    else:
        up = 2.0**600 if low < 2.0**-459 and not alone else 1.0
        scale = cast(2.0**-600 if high > 2.0**510 else up, a)
    p = high * scale
    q = low * scale
    root = precise_root(p, q) if is_single(a) else borges_root(p, q)
    return p + q if alone else root, scale


def precise_root(p: Scalar, q: Scalar) -> Scalar:
    """The root of ``p * p + q * q``, almost always the nearest number to it."""
    p_square, p_lost = two_product(p, p)
    q_square, q_lost = two_product(q, q)
    total, lost = two_sum(p_square, q_square)
    root = sqrt(total)
    square, square_lost = two_product(root, root)
    rest = ((total - square) - square_lost) + (lost + (p_lost + q_lost))
    return root + rest / (2.0 * root)


def borges_root(p: Scalar, q: Scalar) -> Scalar:
    """The same for ``p >= q``, within one place and to the bit what the C library gives
    for doubles: C. Borges, "An Improved Algorithm for hypot(a, b)", 2019, without its
    fma."""
    h = sqrt(p * p + q * q)
    if h <= 2.0 * q:
        delta = h - q
        error = p * (2.0 * delta - p) + (delta - 2.0 * (p - q)) * delta
    else:
        delta = h - p
        error = 2.0 * delta * (p - 2.0 * q) + ((4.0 * delta - q) * q + delta * delta)
    return h - error / (2.0 * h)


def length(a: Scalar, b: Scalar) -> Scalar:
    """The absolute value of ``a + ib``."""
    found, scale = scaled_length(a, b)
    return INFINITY if isinf(a) or isinf(b) else found / scale


def log_length(x: Scalar, y: Scalar) -> Scalar:
    """The logarithm of the absolute value."""
    size, scale = scaled_length(x, y)
    if is_single(x):
        shift = cast(70 * LN2, x) if scale < 1 else cast(-85 * LN2, x)
    else:
        shift = cast(600 * LN2, x) if scale < 1 else cast(-600 * LN2, x)
    far = log(size) + (cast(0.0, x) if scale == 1 else shift)
    near = scale == 1 and size >= 0.5 and size <= 2.0
    close = 0.5 * log1p(excess(x, y) if near else cast(0.0, x))
    return INFINITY if isinf(x) or isinf(y) else (close if near else far)
