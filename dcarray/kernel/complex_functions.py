"""Elementary functions of complex numbers, written over their parts.

Branch cuts and special values are those of C99, Annex G, as the C library that NumPy
calls has them.  ``x`` and ``y`` are the parts of the argument.

* W. Kahan, "Branch cuts for complex elementary functions", 1987;
* T. Hull, T. Fairgrieve, P. Tang, "Implementing complex elementary functions using
  exception handling", 1994, and "Implementing the complex arcsine and arccosine
  functions using exception handling", 1997.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from .complex_arithmetic import divide, multiply
from .complex_trigonometry import TRIGONOMETRIC
from .double_word import length, log_length
from .language import (
    INFINITY,
    LN2,
    LOG2E,
    NAN,
    Scalar,
    absolute,
    arctan2,
    cast,
    copysign,
    cos,
    exp,
    expm1,
    is_single,
    isfinite,
    isinf,
    isnan,
    log,
    sin,
    sqrt,
    trunc,
)

__all__ = ["FUNCTIONS"]

LOG10E = 0.43429448190325182765


# ------------------------------------------------------- powers and logarithms
def square_root(x: Scalar, y: Scalar) -> tuple[Scalar, Scalar]:
    """P. Friedland, "Algorithm 312: Absolute value and square root of a complex
    number", 1967, scaled."""
    size = absolute(x) if absolute(x) >= absolute(y) else absolute(y)
    # Scaled by an even power of two, away from both ends of the range.
    if is_single(x):
        down, up, large, small = 2.0**-4, 2.0**48, 2.0**120, 2.0**-80
    else:
        down, up, large, small = 2.0**-4, 2.0**108, 2.0**1016, 2.0**-900
    scale = cast(down if size > large else (up if size < small else 1.0), x)
    back = cast(down**-0.5 if size > large else (up**-0.5 if size < small else 1.0), x)
    a = x * scale
    b = y * scale
    t = sqrt((absolute(a) + length(a, b)) * 0.5)
    other = absolute(b) / (2.0 * t) * back
    t = t * back
    real = t if x >= 0 else other
    imag = other if x >= 0 else t
    zero = cast(0.0, x)
    flat = x == 0 and y == 0
    infinite = isinf(x)
    real = zero if flat else real
    imag = zero if flat else imag
    real = (absolute(y - y) if x < 0 else x) if infinite else real
    imag = (absolute(x) if x < 0 else absolute(y - y)) if infinite else imag
    real = NAN if isnan(x) else real
    imag = NAN if isnan(x) else imag
    real = INFINITY if isinf(y) else real
    return real, copysign(absolute(y) if isinf(y) else imag, y)


def exponential(x: Scalar, y: Scalar) -> tuple[Scalar, Scalar]:
    # Where the exponential overflows, its product with a cosine need not.
    large = x > (88.0 if is_single(x) else 709.0)
    size = exp(x * 0.5 if large else x)
    factor = size if large else cast(1.0, x)
    real = size * cos(y) * factor
    imag = size * sin(y) * factor
    real = size * factor if y == 0 else real
    imag = y if y == 0 else imag
    lost = isinf(x) and not isfinite(y)
    real = (INFINITY if x > 0 else cast(0.0, x)) if lost else real
    imag = (NAN if x > 0 else copysign(cast(0.0, y), y)) if lost else imag
    return real, imag


def exponential2(x: Scalar, y: Scalar) -> tuple[Scalar, Scalar]:
    """As NumPy has it: no more exact than the products are."""
    return exponential(x * LN2, y * LN2)


def exponential_m1(x: Scalar, y: Scalar) -> tuple[Scalar, Scalar]:
    """As NumPy has it."""
    half = sin(y / 2.0)
    return expm1(x) * cos(y) - 2.0 * half * half, exp(x) * sin(y)


def logarithm(x: Scalar, y: Scalar) -> tuple[Scalar, Scalar]:
    return log_length(x, y), arctan2(y, x)


def logarithm2(x: Scalar, y: Scalar) -> tuple[Scalar, Scalar]:
    return log_length(x, y) * LOG2E, arctan2(y, x) * LOG2E


def logarithm10(x: Scalar, y: Scalar) -> tuple[Scalar, Scalar]:
    return log_length(x, y) * LOG10E, arctan2(y, x) * LOG10E


def logarithm_1p(x: Scalar, y: Scalar) -> tuple[Scalar, Scalar]:
    """As NumPy has it, which does not care for small arguments."""
    return log(length(x + 1.0, y)), arctan2(y, x + 1.0)


def whole_power(x: Scalar, y: Scalar, n: Scalar) -> tuple[Scalar, Scalar]:
    """A power between -100 and 100, by repeated squaring as NumPy has it."""
    real = cast(1.0, x)
    imag = cast(0.0, x)
    factor_real = x
    factor_imag = y
    rest = -n if n < 0 else n
    while rest > 0:
        next_real, next_imag = multiply(real, imag, factor_real, factor_imag)
        real = next_real if (rest & 1) != 0 else real
        imag = next_imag if (rest & 1) != 0 else imag
        factor_real, factor_imag = multiply(
            factor_real, factor_imag, factor_real, factor_imag
        )
        rest = rest >> 1
    # The small powers treat infinities better.
    x2, y2 = multiply(x, y, x, y)
    x3, y3 = multiply(x, y, x2, y2)
    real = x if n == 1 else (x2 if n == 2 else (x3 if n == 3 else real))
    imag = y if n == 1 else (y2 if n == 2 else (y3 if n == 3 else imag))
    inverse_real, inverse_imag = divide(cast(1.0, x), cast(0.0, x), real, imag)
    return inverse_real if n < 0 else real, inverse_imag if n < 0 else imag


def boxed(a: Scalar) -> Scalar:
    """A finite number with the sign of ``a``: 1 for an infinity, else 0."""
    return copysign(cast(1.0, a) if isinf(a) else cast(0.0, a), a)


def known(a: Scalar) -> Scalar:
    return copysign(cast(0.0, a), a) if isnan(a) else a


def multiply_c99(a: Scalar, b: Scalar, c: Scalar, d: Scalar) -> tuple[Scalar, Scalar]:
    """A product in which infinities survive NaN: C99, G.5.1."""
    real, imag = multiply(a, b, c, d)
    first = isinf(a) or isinf(b)
    second = isinf(c) or isinf(d)
    products = isinf(a * c) or isinf(b * d) or isinf(a * d) or isinf(b * c)
    p = boxed(a) if first else known(a)
    q = boxed(b) if first else known(b)
    r = boxed(c) if second else known(c)
    s = boxed(d) if second else known(d)
    again_real, again_imag = multiply(p, q, r, s)
    again = isnan(real) and isnan(imag) and (first or second or products)
    real = again_real * INFINITY if again else real
    imag = again_imag * INFINITY if again else imag
    return real, imag


def general_power(x: Scalar, y: Scalar, a: Scalar, b: Scalar) -> tuple[Scalar, Scalar]:
    """The exponential of a multiple of the logarithm."""
    real, imag = multiply_c99(a, b, log_length(x, y), arctan2(y, x))
    real, imag = exponential(real, imag)
    nothing = x == 0 and y == 0
    zero = cast(0.0 if a > 0 else NAN, x)
    return zero if nothing else real, zero if nothing else imag


def power(x: Scalar, y: Scalar, a: Scalar, b: Scalar) -> tuple[Scalar, Scalar]:
    """``(x + iy) ** (a + ib)``."""
    whole = b == 0 and absolute(a) < 100 and trunc(a) == a
    n = np.int32(a if whole else cast(0.0, a))
    nothing = x == 0 and y == 0
    if whole and (n == 0 or not nothing):
        real, imag = whole_power(x, y, n)
    else:
        real, imag = general_power(x, y, a, b)
    return real, imag


FUNCTIONS: dict[str, Callable[..., Any]] = {
    "absolute": length,
    "sqrt": square_root,
    "exp": exponential,
    "exp2": exponential2,
    "expm1": exponential_m1,
    "log": logarithm,
    "log2": logarithm2,
    "log10": logarithm10,
    "log1p": logarithm_1p,
    "power": power,
    **TRIGONOMETRIC,
}
"""Functions by the name of the primitive whose complex meaning they have."""
