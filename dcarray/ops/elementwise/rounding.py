"""Rounding, and the anatomy of floating-point numbers."""

from __future__ import annotations

import numpy as np

from ...kernel.language import (
    INFINITY,
    NAN,
    Scalar,
    bits,
    bits_to_float,
    cast,
    copysign,
    exponent_bits,
    float_to_bits,
    fraction_bits,
    imag,
    is_complex,
    is_narrow,
    isinf,
    isnan,
    make_complex,
    nextafter,
    real,
    rint,
    trunc,
)
from ..spec import Kind, Op


def rint_any(x: Scalar) -> Scalar:
    if is_complex(x):
        return make_complex(rint(real(x)), rint(imag(x)))
    return rint(x)


def signbit(x: Scalar) -> Scalar:
    return copysign(cast(1.0, x), x) < 0


def spacing(x: Scalar) -> Scalar:
    """Distance to the next number away from zero, negative below zero.

    For float16 NumPy goes to the next larger number instead.
    """
    if is_narrow(x):
        beyond = nextafter(x, cast(INFINITY, x))
    else:
        beyond = nextafter(x, cast(INFINITY if x >= 0 else -INFINITY, x))
    return NAN if isinf(x) else beyond - x


def modf(x: Scalar) -> tuple[Scalar, Scalar]:
    """Fraction and whole part, both with the sign of ``x``."""
    whole = trunc(x)
    fraction = cast(0.0, x) if isinf(x) else x - whole
    return copysign(fraction, x), whole


def frexp(x: Scalar) -> tuple[Scalar, Scalar]:
    """Mantissa in [0.5, 1) and exponent, read from the bits of ``x``."""
    # Subnormal numbers are made normal first.
    tiny = float_to_bits(x) << 1 < 1 << (fraction_bits(x) + 1)
    shift = fraction_bits(x) + 1
    pattern = float_to_bits(x * 2.0**shift if tiny else x)
    mask = ((1 << exponent_bits(x)) - 1) << fraction_bits(x)
    others = (1 << bits(x)) - 1 - mask
    bias = (1 << (exponent_bits(x) - 1)) - 2
    half = bias << fraction_bits(x)
    exponent = np.int32((pattern & mask) >> fraction_bits(x)) - bias
    exponent = exponent - shift if tiny else exponent
    mantissa = bits_to_float((pattern & others) | half)
    plain = x == 0 or isinf(x) or isnan(x)
    return (x if plain else mantissa, 0 if plain else exponent)


def heaviside(x: Scalar, at_zero: Scalar) -> Scalar:
    step = cast(0.0, x) if x < 0 else cast(1.0, x)
    return x if isnan(x) else (at_zero if x == 0 else step)


FLOOR = Op("floor", Kind.ELEMENTWISE, np.floor)
CEIL = Op("ceil", Kind.ELEMENTWISE, np.ceil)
TRUNC = Op("trunc", Kind.ELEMENTWISE, np.trunc)
RINT = Op("rint", Kind.ELEMENTWISE, np.rint, body=rint_any)
COPYSIGN = Op("copysign", Kind.ELEMENTWISE, np.copysign, 2)
NEXTAFTER = Op("nextafter", Kind.ELEMENTWISE, np.nextafter, 2)
SIGNBIT = Op("signbit", Kind.ELEMENTWISE, np.signbit, body=signbit)
SPACING = Op("spacing", Kind.ELEMENTWISE, np.spacing, body=spacing)
MODF = Op("modf", Kind.ELEMENTWISE, np.modf, 1, 2, body=modf)
FREXP = Op("frexp", Kind.ELEMENTWISE, np.frexp, 1, 2, body=frexp)
LDEXP = Op("ldexp", Kind.ELEMENTWISE, np.ldexp, 2)
HEAVISIDE = Op("heaviside", Kind.ELEMENTWISE, np.heaviside, 2, body=heaviside)

ROWS: tuple[Op, ...] = (
    *(FLOOR, CEIL, TRUNC, RINT, COPYSIGN, NEXTAFTER, SIGNBIT, SPACING),
    *(MODF, FREXP, LDEXP, HEAVISIDE),
)
