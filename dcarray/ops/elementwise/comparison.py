"""Comparisons, logic, and the choice of the larger or smaller.

Complex numbers are ordered by their real parts, then by their imaginary parts.  A
signed and an unsigned 64-bit integer have no common dtype, and NumPy compares their
values all the same.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ...kernel.language import (
    Scalar,
    as_unsigned,
    imag,
    is_boolean,
    is_complex,
    is_integer,
    is_narrow,
    is_signed,
    is_unsigned,
    isfinite,
    isinf,
    isnan,
    real,
)
from ..spec import Kind, Op, Signature


# ------------------------------------------------------------------------- order
def comparable(x: Scalar, y: Scalar) -> Scalar:
    """Neither imaginary part is NaN."""
    return imag(x) == imag(x) and imag(y) == imag(y)


def less(x: Scalar, y: Scalar) -> Scalar:
    if is_complex(x):
        tie = real(x) == real(y) and imag(x) < imag(y)
        return (real(x) < real(y) and comparable(x, y)) or tie
    if is_signed(x) and is_unsigned(y):
        return x < 0 or as_unsigned(x) < y
    if is_unsigned(x) and is_signed(y):
        return y > 0 and x < as_unsigned(y)
    return x < y


def less_equal(x: Scalar, y: Scalar) -> Scalar:
    if is_complex(x):
        tie = real(x) == real(y) and imag(x) <= imag(y)
        return (real(x) < real(y) and comparable(x, y)) or tie
    if is_signed(x) and is_unsigned(y):
        return x < 0 or as_unsigned(x) <= y
    if is_unsigned(x) and is_signed(y):
        return y >= 0 and x <= as_unsigned(y)
    return x <= y


def greater(x: Scalar, y: Scalar) -> Scalar:
    return less(y, x)


def greater_equal(x: Scalar, y: Scalar) -> Scalar:
    return less_equal(y, x)


def equal(x: Scalar, y: Scalar) -> Scalar:
    if is_signed(x) and is_unsigned(y):
        return x >= 0 and as_unsigned(x) == y
    if is_unsigned(x) and is_signed(y):
        return y >= 0 and x == as_unsigned(y)
    return x == y


def not_equal(x: Scalar, y: Scalar) -> Scalar:
    if is_integer(x) and is_integer(y):
        return not equal(x, y)
    return x != y


# ------------------------------------------------------------------------- logic
def logical_and(x: Scalar, y: Scalar) -> Scalar:
    return x != 0 and y != 0


def logical_or(x: Scalar, y: Scalar) -> Scalar:
    return x != 0 or y != 0


def logical_xor(x: Scalar, y: Scalar) -> Scalar:
    return (x != 0) != (y != 0)


def logical_not(x: Scalar) -> Scalar:
    return x == 0


# ---------------------------------------------------------------- classification
def isnan_any(x: Scalar) -> Scalar:
    if is_complex(x):
        return isnan(real(x)) or isnan(imag(x))
    return isnan(x)


def isinf_any(x: Scalar) -> Scalar:
    if is_complex(x):
        return isinf(real(x)) or isinf(imag(x))
    return isinf(x)


def isfinite_any(x: Scalar) -> Scalar:
    if is_complex(x):
        return isfinite(real(x)) and isfinite(imag(x))
    return isfinite(x)


# ----------------------------------------------------------- larger and smaller
def maximum(x: Scalar, y: Scalar) -> Scalar:
    """NaN wins.  Of two equal operands, NumPy's vector loops take the second."""
    if is_boolean(x):
        return x | y
    if is_narrow(x) or is_complex(x):
        return x if less_equal(y, x) or isnan_any(x) else y
    return x if x > y or isnan_any(x) else y


def minimum(x: Scalar, y: Scalar) -> Scalar:
    """NaN wins.  Of two equal operands, NumPy's vector loops take the second."""
    if is_boolean(x):
        return x & y
    if is_narrow(x) or is_complex(x):
        return x if less_equal(x, y) or isnan_any(x) else y
    return x if x < y or isnan_any(x) else y


def fmax(x: Scalar, y: Scalar) -> Scalar:
    """NaN loses.  Of 0.0 and -0.0, NumPy takes either, by position in the array."""
    if is_boolean(x):
        return x | y
    if is_narrow(x) or is_complex(x):
        return x if less_equal(y, x) or isnan_any(y) else y
    return x if x > y or isnan(y) else y


def fmin(x: Scalar, y: Scalar) -> Scalar:
    """NaN loses.  Of 0.0 and -0.0, NumPy takes either, by position in the array."""
    if is_boolean(x):
        return x & y
    if is_narrow(x) or is_complex(x):
        return x if less_equal(x, y) or isnan_any(y) else y
    return x if x < y or isnan(y) else y


def clip(x: Scalar, low: Scalar, high: Scalar) -> Scalar:
    """Not below ``low`` and, which counts more, not above ``high``; NaN wins."""
    if is_complex(x):
        raised = x if isnan_any(x) or ahead(x, low) else low
        return raised if isnan_any(raised) or ahead(high, raised) else high
    if is_narrow(x):
        raised = x if x >= low or isnan(x) else low
        return raised if raised <= high or isnan(raised) else high
    raised = x if x > low or isnan(x) else low
    return raised if raised < high or isnan(raised) else high


def ahead(x: Scalar, y: Scalar) -> Scalar:
    """``x > y`` without regard to NaN, as NumPy's clip compares complex numbers."""
    return imag(x) > imag(y) if real(x) == real(y) else real(x) > real(y)


# -------------------------------------------------------------------------- rows
EQUAL = Op("equal", Kind.ELEMENTWISE, np.equal, 2, body=equal)
NOT_EQUAL = Op("not_equal", Kind.ELEMENTWISE, np.not_equal, 2, body=not_equal)
LESS = Op("less", Kind.ELEMENTWISE, np.less, 2, body=less)
LESS_EQUAL = Op("less_equal", Kind.ELEMENTWISE, np.less_equal, 2, body=less_equal)
GREATER = Op("greater", Kind.ELEMENTWISE, np.greater, 2, body=greater)
GREATER_EQUAL = Op(
    "greater_equal", Kind.ELEMENTWISE, np.greater_equal, 2, body=greater_equal
)
LOGICAL_AND = Op("logical_and", Kind.ELEMENTWISE, np.logical_and, 2, body=logical_and)
LOGICAL_OR = Op("logical_or", Kind.ELEMENTWISE, np.logical_or, 2, body=logical_or)
LOGICAL_XOR = Op("logical_xor", Kind.ELEMENTWISE, np.logical_xor, 2, body=logical_xor)
LOGICAL_NOT = Op("logical_not", Kind.ELEMENTWISE, np.logical_not, body=logical_not)
ISNAN = Op("isnan", Kind.ELEMENTWISE, np.isnan, body=isnan_any)
ISINF = Op("isinf", Kind.ELEMENTWISE, np.isinf, body=isinf_any)
ISFINITE = Op("isfinite", Kind.ELEMENTWISE, np.isfinite, body=isfinite_any)
# Only datetimes are "not a time", and they stay on the host: there is no body.
ISNAT = Op("isnat", Kind.ELEMENTWISE, np.isnat)
MAXIMUM = Op("maximum", Kind.ELEMENTWISE, np.maximum, 2, body=maximum)
MINIMUM = Op("minimum", Kind.ELEMENTWISE, np.minimum, 2, body=minimum)
FMAX = Op("fmax", Kind.ELEMENTWISE, np.fmax, 2, body=fmax)
FMIN = Op("fmin", Kind.ELEMENTWISE, np.fmin, 2, body=fmin)


def _clip_signature(operands: tuple[Any, ...]) -> Signature:
    """Through `numpy.maximum`, for a NumPy that keeps its clip ufunc elsewhere."""
    x, low, high = operands
    lower = MAXIMUM.resolve((x, low)).outputs[0]
    dtype = MAXIMUM.resolve((lower, high)).outputs[0]
    return Signature((dtype, dtype, dtype), (dtype,))


def _clip_row() -> Op:
    """NumPy's clip is a ufunc, though not under a public name."""
    umath = getattr(getattr(np, "_core", None), "umath", None)
    ufunc = getattr(umath, "clip", None)
    if isinstance(ufunc, np.ufunc):
        return Op("clip", Kind.ELEMENTWISE, ufunc, 3, body=clip)
    return Op("clip", Kind.ELEMENTWISE, np.clip, 3, body=clip, resolver=_clip_signature)


CLIP = _clip_row()

ROWS: tuple[Op, ...] = (
    *(EQUAL, NOT_EQUAL, LESS, LESS_EQUAL, GREATER, GREATER_EQUAL),
    *(LOGICAL_AND, LOGICAL_OR, LOGICAL_XOR, LOGICAL_NOT),
    *(ISNAN, ISINF, ISFINITE, ISNAT),
    *(MAXIMUM, MINIMUM, FMAX, FMIN, CLIP),
)
