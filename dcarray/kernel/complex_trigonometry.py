"""Circular and hyperbolic functions of complex numbers and their inverses, written over
the parts ``x`` and ``y`` of the argument.

The methods are those of Kahan, and of Hull, Fairgrieve and Tang, see
`complex_functions`.  The circular functions are the hyperbolic ones of ``iz``.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .double_word import excess, length, log_length, scaled_length
from .language import (
    INFINITY,
    LN2,
    NAN,
    PI,
    Scalar,
    absolute,
    arctan2,
    cast,
    copysign,
    cos,
    cosh,
    epsilon,
    exp,
    expm1,
    is_single,
    isfinite,
    isinf,
    isnan,
    log,
    log1p,
    sin,
    sinh,
    sqrt,
)

__all__ = ["TRIGONOMETRIC"]


# ------------------------------------------------------------------ hyperbolic
def hyperbolic(x: Scalar) -> tuple[Scalar, Scalar, Scalar]:
    """Sine and cosine, both to be multiplied by the last one, where they would
    overflow."""
    size = absolute(x)
    large = size > (88.0 if is_single(x) else 709.0)
    # Here both are half the exponential.
    root = exp((size if large else cast(0.0, x)) * 0.5)
    odd = copysign(root * 0.5, x) if large else sinh(x)
    even = root * 0.5 if large else cosh(x)
    return odd, even, root if large else cast(1.0, x)


def sinh_complex(x: Scalar, y: Scalar) -> tuple[Scalar, Scalar]:
    odd, even, factor = hyperbolic(x)
    real = odd * cos(y) * factor
    imag = even * sin(y) * factor
    real = odd * factor if y == 0 else real
    if not isfinite(y):
        real = x if x == 0 else (absolute(x) if isinf(x) else real)
    return real, y if y == 0 else imag


def cosh_complex(x: Scalar, y: Scalar) -> tuple[Scalar, Scalar]:
    odd, even, factor = hyperbolic(x)
    real = even * cos(y) * factor
    imag = odd * sin(y) * factor
    real = even * factor if y == 0 else real
    real = absolute(x) if isinf(x) and not isfinite(y) else real
    signed = y if isnan(x) else copysign(cast(1.0, x), x) * y
    imag = signed if y == 0 else imag
    return real, cast(0.0, x) if x == 0 and not isfinite(y) else imag


def tanh_complex(x: Scalar, y: Scalar) -> tuple[Scalar, Scalar]:
    """From one exponential ``e``, and ``f = 1 - e``, and no difference of others."""
    double = -2.0 * absolute(x)
    outer = double < -0.7
    f = -expm1(double)
    e = exp(double) if outer else 1.0 - f
    f = 1.0 - e if outer else f
    s = sin(y)
    c = cos(y)
    over = f * f + 4.0 * e * (c * c)
    real = copysign(f * (1.0 + e) / over, x)
    imag = 4.0 * e * (s * c) / over
    imag = y if y == 0 else imag
    real = x if x == 0 else real
    if isinf(x):
        real = copysign(cast(1.0, x), x)
        imag = copysign(cast(0.0, y), s * c if isfinite(y) else y)
    return real, imag


def sin_complex(x: Scalar, y: Scalar) -> tuple[Scalar, Scalar]:
    imag, real = sinh_complex(y, x)
    return real, imag


def cos_complex(x: Scalar, y: Scalar) -> tuple[Scalar, Scalar]:
    return cosh_complex(-y, x)


def tan_complex(x: Scalar, y: Scalar) -> tuple[Scalar, Scalar]:
    imag, real = tanh_complex(y, x)
    return real, imag


# ------------------------------------------------------------------- inverses
def gap(y: Scalar, c: Scalar, h: Scalar) -> Scalar:
    """``h - c`` where ``h`` is the length of ``c + iy``."""
    positive = c > 0
    return y * (y / (h + c if positive else cast(1.0, h))) if positive else h - c


def inverse(x: Scalar, y: Scalar) -> tuple[Scalar, Scalar, Scalar]:
    """For the arcsine and the arccosine of ``x + iy`` in the first quadrant: two
    numbers whose angle, or its complement, is the real part, and the imaginary part.

    The point lies on an ellipse about -1 and 1 with the half axis ``a``; the
    differences ``2a - 2`` and ``2a - 2x`` are computed without cancellation.
    """
    large = x > 0.5 / epsilon(x) or y > 0.5 / epsilon(x)
    tiny = y < epsilon(x) * absolute(1.0 - x)
    r = length(x + 1.0, y)
    s = length(x - 1.0, y)
    a = 0.5 * (r + s)
    above_one = gap(y, 1.0 + x, r) + gap(y, 1.0 - x, s)
    above_x = gap(y, x + 1.0, r) + gap(y, x - 1.0, s)
    other = sqrt(above_x * (0.5 * (a + x)))
    imag = log1p(0.5 * above_one + sqrt(above_one * (0.5 * (a + 1.0))))
    imag = imag if a < 10.0 else log(a + sqrt(a * a - 1.0))
    # Next to the axis, squares of y would vanish.
    root = sqrt(absolute(1.0 - x) * (1.0 + x))
    root = cast(1.0, x) if root == 0 else root
    other = (root if x < 1 else y * (x / root)) if tiny else other
    axis = y / root if x < 1 else log1p((x - 1.0) + root)
    imag = axis if tiny else imag
    other = y if large else other
    imag = log_length(x, y) + LN2 if large else imag
    return x, other, imag


def arcsin_complex(x: Scalar, y: Scalar) -> tuple[Scalar, Scalar]:
    along, across, imag = inverse(absolute(x), absolute(y))
    real = copysign(arctan2(along, across), x)
    if isnan(x) or isnan(y):
        real = x if x == 0 else cast(NAN, x)
        imag = infinite_or_nan(x, y)
    return real, copysign(imag, y)


def arccos_complex(x: Scalar, y: Scalar) -> tuple[Scalar, Scalar]:
    along, across, imag = inverse(absolute(x), absolute(y))
    real = arctan2(across, copysign(along, x))
    if isnan(x) or isnan(y):
        real = cast(PI / 2.0, x) if x == 0 else cast(NAN, x)
        imag = infinite_or_nan(x, y)
    return real, -copysign(imag, y)


def infinite_or_nan(x: Scalar, y: Scalar) -> Scalar:
    return cast(INFINITY, x) if isinf(x) or isinf(y) else cast(NAN, x)


def arcsinh_complex(x: Scalar, y: Scalar) -> tuple[Scalar, Scalar]:
    imag, real = arcsin_complex(y, x)
    return real, imag


def arccosh_complex(x: Scalar, y: Scalar) -> tuple[Scalar, Scalar]:
    angle, size = arccos_complex(x, y)
    return absolute(size), copysign(angle, y)


def arctanh_complex(x: Scalar, y: Scalar) -> tuple[Scalar, Scalar]:
    a = absolute(x)
    b = absolute(y)
    large = a > 0.5 / epsilon(x) or b > 0.5 / epsilon(x)
    p = cast(0.0, x) if large else a
    q = cast(1.0, x) if large else b
    over = (p - 1.0) * (p - 1.0) + q * q
    at_pole = p == 1 and q < epsilon(x)
    real = 0.25 * log1p(4.0 * p / (cast(1.0, x) if at_pole else over))
    real = 0.5 * (LN2 - log(q)) if at_pole else real
    # Far out it is the real part of the reciprocal.
    size, scale = scaled_length(a, b)
    safe = size if large else cast(1.0, x)
    real = (a * scale / safe) * (scale / safe) if large else real
    # No -0.0 for the sum: the angle of a number on the negative axis is PI.
    imag = 0.5 * arctan2(2.0 * q, 0.0 - excess(p, q))
    imag = cast(PI / 2.0, y) if large else imag
    vanishes = isinf(x) or isinf(y)
    real = cast(0.0, x) if vanishes else real
    if isnan(x) or isnan(y):
        real = cast(0.0, x) if vanishes or x == 0 else cast(NAN, x)
        imag = cast(PI / 2.0, y) if isinf(y) else cast(NAN, y)
    return copysign(real, x), copysign(imag, y)


def arctan_complex(x: Scalar, y: Scalar) -> tuple[Scalar, Scalar]:
    imag, real = arctanh_complex(y, x)
    return real, imag


TRIGONOMETRIC: dict[str, Callable[..., Any]] = {
    "sin": sin_complex,
    "cos": cos_complex,
    "tan": tan_complex,
    "arcsin": arcsin_complex,
    "arccos": arccos_complex,
    "arctan": arctan_complex,
    "sinh": sinh_complex,
    "cosh": cosh_complex,
    "tanh": tanh_complex,
    "arcsinh": arcsinh_complex,
    "arccosh": arccosh_complex,
    "arctanh": arctanh_complex,
}
"""Functions by the name of the primitive whose complex meaning they have."""
