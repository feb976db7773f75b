"""Narrow floating-point numbers and their bits, in float32 and integer arithmetic of
the kernel language.

A narrow number is a float32 here that the format can hold.  Except for bfloat16, whose
exponents are those of float32, their subnormal numbers are nothing special in it.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from .language import (
    NAN,
    Scalar,
    absolute,
    bits_to_float,
    cast,
    copysign,
    float_to_bits,
    isinf,
    isnan,
    rint,
)

__all__ = ["HALF", "Format", "format_of", "is_narrow", "rounded_to_odd"]

DType: TypeAlias = np.dtype[Any]

_HIDDEN = 23  # digits of a float32 behind the point
_INFINITY = 0x7F800000
_NAN = 0x7FC00000


class Format(NamedTuple):
    """Functions in the kernel language about one format."""

    from_bits: Callable[..., Any]
    """Unsigned integer → float32."""
    to_bits: Callable[..., Any]
    """float32 that the format can hold → unsigned integer."""
    rounded: Callable[..., Any]
    """float32 → the nearest one that the format can hold, of two the even one."""
    following: Callable[..., Any]
    """`numpy.nextafter`; of two equal zeros the second, as C has it and NumPy since
    2.5."""


def _format(exponent: int, fraction: int, bias: int, kind: str = "ieee") -> Format:
    """The format with these numbers of bits.

    Of a ``kind`` without infinities, "fn" has NaN where all bits are ones, and "fnuz"
    in the place of -0.0.
    """
    shift = _HIDDEN - fraction
    sign = exponent + fraction
    unsigned = np.uint16 if sign > 7 else np.uint8
    offset = (127 - bias) << _HIDDEN
    lowest = 1 - bias
    same_exponents = bias == 127
    smallest = 2.0**lowest
    step = 1.0 if same_exponents else 2.0 ** (lowest - fraction)
    ones = (1 << sign) - 1
    top = ((1 << exponent) - 1) << fraction  # what infinity would be
    ieee = kind == "ieee"
    fn = kind == "fn"
    unsigned_zero = kind == "fnuz"
    last = top - 1 if ieee else (ones - 1 if fn else ones)
    limit = (last << shift) + offset  # the largest number, as float32
    beyond = _INFINITY if ieee else _NAN
    nan = top | 1 << (fraction - 1) if ieee else (ones if fn else 1 << sign)

    def from_bits(pattern: Scalar) -> Scalar:
        wide = np.uint32(pattern)
        magnitude = wide & ones
        found = (magnitude << shift) + offset
        if not same_exponents:
            small = float_to_bits(np.float32(magnitude) * step)
            found = small if magnitude < (1 << fraction) else found
        if ieee:
            special = (magnitude << shift) | _INFINITY
            found = special if magnitude >= top else found
        elif fn:
            found = cast(_NAN, wide) if magnitude == ones else found
        else:
            found = cast(_NAN, wide) if wide == nan else found
        return bits_to_float(found | ((wide >> sign) << 31))

    def to_bits(x: Scalar) -> Scalar:
        pattern = float_to_bits(x)
        magnitude = pattern & 0x7FFFFFFF
        found = (magnitude - offset) >> shift
        if not same_exponents:
            size = absolute(x)
            small = size < smallest
            count = np.uint32((size if small else cast(0, x)) / step)
            found = count if small else found
            found = cast(top, pattern) if ieee and isinf(x) else found
        whole = found | ((pattern >> 31) << sign)
        return unsigned(cast(nan, whole) if isnan(x) else whole)

    def rounded(x: Scalar) -> Scalar:
        pattern = float_to_bits(x)
        magnitude = pattern & 0x7FFFFFFF
        odd = (magnitude >> shift) & 1
        even = ((magnitude + ((1 << (shift - 1)) - 1) + odd) >> shift) << shift
        even = cast(beyond, even) if even > limit else even
        if not same_exponents:
            size = absolute(x)
            small = rint((size if size < smallest else cast(0, x)) / step) * step
            even = float_to_bits(small) if size < smallest else even
        found = bits_to_float(even | ((pattern >> 31) << 31))
        if unsigned_zero:
            found = cast(0.0, x) if found == 0 else found
        return x if isnan(x) else found

    def following(x: Scalar, y: Scalar) -> Scalar:
        pattern = to_bits(absolute(x))
        away = (y > x) == (x > 0)
        moved = copysign(from_bits(pattern + 1 if away else pattern - 1), x)
        if unsigned_zero:
            moved = cast(0.0, x) if moved == 0 else moved
        least = from_bits(cast(1, pattern))
        least = least if y > 0 else -least
        found = y if x == y else (least if x == 0 else moved)
        return cast(NAN, x) if isnan(x) or isnan(y) else found

    return Format(from_bits, to_bits, rounded, following)


HALF = _format(5, 10, 15)
_FORMATS = {
    "float16": HALF,
    "bfloat16": _format(8, 7, 127),
    "float8_e3m4": _format(3, 4, 3),
    "float8_e4m3": _format(4, 3, 7),
    "float8_e4m3b11fnuz": _format(4, 3, 11, "fnuz"),
    "float8_e4m3fn": _format(4, 3, 7, "fn"),
    "float8_e4m3fnuz": _format(4, 3, 8, "fnuz"),
    "float8_e5m2": _format(5, 2, 15),
    "float8_e5m2fnuz": _format(5, 2, 16, "fnuz"),
}


@cache
def format_of(dtype: DType) -> Format | None:
    """The format of float16 or of a dtype of ml_dtypes, if there is one."""
    return _FORMATS.get(dtype.name) if is_narrow(dtype) else None


@cache
def is_narrow(dtype: DType) -> bool:
    """Whether ``dtype`` is float16 or one of ml_dtypes."""
    return dtype == np.float16 or dtype.type.__module__.startswith("ml_dtypes")


def rounded_to_odd(x: Scalar) -> Scalar:
    """A float64 as a float32 that can be rounded again as if it had not been before.

    Its last bit is odd where it is not exact (S. Boldo and G. Melquiond, "Emulation of
    FMA and correctly rounded sums", 2008).
    """
    single = np.float32(x)
    back = np.float64(single)
    pattern = float_to_bits(single)
    # The very small ones are far below all that is not rounded to 0.
    inexact = back != x and (pattern & 1) == 0 and absolute(single) >= 2.0**-100
    outward = absolute(back) < absolute(x)
    odd = bits_to_float(pattern + 1 if outward else pattern - 1)
    return odd if inexact else single
