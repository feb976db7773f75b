"""What Python's ``//``, ``%`` and ``**`` mean in a kernel: what they mean in NumPy.

The functions are written in the kernel language themselves, from primitives; `parse`
inlines them where it meets the operator, and the table of operations uses them too.
"""

from __future__ import annotations

from .language import (
    Scalar,
    cast,
    copysign,
    floor,
    fmod,
    is_floating,
    is_integer,
    is_unsigned,
    power,
    truncate_divide,
    truncate_remainder,
    widen,
)

__all__ = ["divmod_any", "floor_divide", "power_any", "remainder"]


def divmod_floating(x: Scalar, y: Scalar) -> tuple[Scalar, Scalar]:
    """Quotient rounded down, remainder with the divisor's sign (``npy_divmod``)."""
    a = widen(x)
    b = widen(y)
    rest = fmod(a, b)
    quotient = (a - rest) / b
    adjust = rest != 0 and (b < 0) != (rest < 0)
    signed = rest + b if adjust else rest
    whole = quotient - 1.0 if adjust else quotient
    rounded = floor(whole)
    rounded = rounded + 1.0 if whole - rounded > 0.5 else rounded
    rounded = rounded if whole != 0 else copysign(cast(0, a), a / b)
    signed = signed if rest != 0 else copysign(cast(0, a), b)
    return (a / b if b == 0 else rounded, rest if b == 0 else signed)


def divmod_integer(x: Scalar, y: Scalar) -> tuple[Scalar, Scalar]:
    """Rounded down; both results are 0 where the divisor is."""
    zero = cast(0, x)
    if is_unsigned(x):
        divisor = cast(1, y) if y == 0 else y
        quotient = truncate_divide(x, divisor)
        rest = truncate_remainder(x, divisor)
        return (zero if y == 0 else quotient, zero if y == 0 else rest)
    # The smallest number has no positive counterpart: division by -1 is negation.
    divisor = cast(1, y) if y == 0 or y == -1 else y
    quotient = truncate_divide(x, divisor)
    rest = truncate_remainder(x, divisor)
    adjust = rest != 0 and (rest < 0) != (divisor < 0)
    quotient = quotient - 1 if adjust else quotient
    rest = rest + divisor if adjust else rest
    quotient = -x if y == -1 else quotient
    return (zero if y == 0 else quotient, rest)


def divmod_any(x: Scalar, y: Scalar) -> tuple[Scalar, Scalar]:
    """Quotient and remainder of one kind of number."""
    if is_floating(x) or is_floating(y):
        return divmod_floating(x, y)
    return divmod_integer(x, y)


def floor_divide(x: Scalar, y: Scalar) -> Scalar:
    """``x // y``."""
    return divmod_any(x, y)[0]


def remainder(x: Scalar, y: Scalar) -> Scalar:
    """``x % y``."""
    return divmod_any(x, y)[1]


def power_integer(x: Scalar, y: Scalar) -> Scalar:
    """Repeated squaring, for an exponent that is not negative."""
    base = x
    exponent = y
    result = x if (y & 1) != 0 else cast(1, x)
    exponent = exponent >> 1
    while exponent > 0:
        base = base * base
        result = result * base if (exponent & 1) != 0 else result
        exponent = exponent >> 1
    return result


def power_any(x: Scalar, y: Scalar) -> Scalar:
    """``x ** y``."""
    if is_integer(x) and is_integer(y):
        return power_integer(x, y)
    return power(x, y)
