"""Halves and their bits, in float32 and integer arithmetic of the kernel language.

A half is a float32 here that float16 can hold.  float32 has its exponents from -126 on,
so that the subnormal halves, multiples of 2**-24, are nothing special in it.
"""

from __future__ import annotations

import numpy as np

from .language import (
    NAN,
    Scalar,
    absolute,
    bits_to_float,
    cast,
    float_to_bits,
    isnan,
    rint,
    round_to_half,
)

__all__ = [
    "bits_to_half",
    "double_to_half",
    "half_to_bits",
    "next_half",
    "rounded_to_half",
]

_SMALLEST = 2.0**-14  # the smallest normal half
_SHIFT = 112 << 23  # between the exponents of the two dtypes


def half_to_bits(x: Scalar) -> Scalar:
    """The bits of a half as uint16."""
    pattern = float_to_bits(x)
    sign = (pattern >> 16) & 0x8000
    size = absolute(x)
    small = size < _SMALLEST
    count = np.uint32((size if small else cast(0, x)) * 2.0**24)
    magnitude = pattern & 0x7FFFFFFF
    normal = (magnitude - _SHIFT) >> 13
    # Infinity's exponent is the largest one in both.
    found = 0x7C00 if magnitude == 0x7F800000 else (count if small else normal)
    return np.uint16(sign | (0x7E00 if isnan(x) else found))


def bits_to_half(pattern: Scalar) -> Scalar:
    """The half with these bits, a uint16."""
    wide = np.uint32(pattern)
    magnitude = wide & 0x7FFF
    small = float_to_bits(np.float32(magnitude) * 2.0**-24)
    normal = (magnitude << 13) + _SHIFT
    special = (magnitude << 13) | 0x7F800000
    found = small if magnitude < 0x400 else normal
    found = special if magnitude >= 0x7C00 else found
    return bits_to_float(found | ((wide & 0x8000) << 16))


def next_half(x: Scalar, y: Scalar) -> Scalar:
    """The next half after ``x`` on the way to ``y``."""
    pattern = half_to_bits(x)
    away = (y > x) == (x > 0)
    moved = bits_to_half(pattern + 1 if away else pattern - 1)
    least = cast(2.0**-24 if y > 0 else -(2.0**-24), x)
    found = x if x == y else (least if x == 0 else moved)
    return NAN if isnan(x) or isnan(y) else found


def double_to_half(x: Scalar) -> Scalar:
    """A float64, rounded once.

    Rounded to a float32 with an odd last bit where that is not exact (S. Boldo and
    G. Melquiond, "Emulation of FMA and correctly rounded sums", 2008), it can be
    rounded again as if the first time had not been.
    """
    single = np.float32(x)
    back = np.float64(single)
    pattern = float_to_bits(single)
    inexact = back != x and (pattern & 1) == 0 and absolute(single) >= 2.0**-30
    outward = absolute(back) < absolute(x)
    odd = bits_to_float(pattern + 1 if outward else pattern - 1)
    return round_to_half(odd if inexact else single)


def rounded_to_half(x: Scalar) -> Scalar:
    """What `round_to_half` means: the nearest half, of two the even one."""
    pattern = float_to_bits(x)
    magnitude = pattern & 0x7FFFFFFF
    even = (magnitude + 0xFFF + ((magnitude >> 13) & 1)) & 0xFFFFE000
    even = 0x7F800000 if even >= 0x47800000 else even
    size = absolute(x)
    small = rint((size if size < _SMALLEST else cast(0, x)) * 2.0**24) * 2.0**-24
    found = float_to_bits(small) if size < _SMALLEST else even
    return x if isnan(x) else bits_to_float(found | (pattern & 0x80000000))
