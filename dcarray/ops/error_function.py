"""The error function and its complement, written in the kernel language.

Below 1, erf(x) / x - 1 is a polynomial in x².  Above, the complement is

    erfc(x) = exp(-x²) g(t) / (1 + 2x),    t = (x - 3) / (x + 3),

where g is smooth, of order 1 and a polynomial to within the last place (M. M. Shepherd
and J. G. Laframboise, "Chebyshev Approximation of (1 + 2x) exp(x²) erfc x", 1981).  The
coefficients were fitted for this file, at 40 digits, on 0 ≤ x² ≤ 1 and 0.5 ≤ x ≤ 28.
"""

from __future__ import annotations

from ..kernel.language import Scalar, absolute, cast, copysign, exp, is_single, widen

__all__ = [
    "FAR_DOUBLE",
    "FAR_SINGLE",
    "NEAR_DOUBLE",
    "NEAR_SINGLE",
    "erf",
    "erfc",
]

# Coefficients, those of the highest powers first.
NEAR_SINGLE = (
    7.875875063e-05,
    -0.0008016864287,
    0.005189087423,
    -0.02685421201,
    0.1128359472,
    -0.3761262667,
    0.1283791658,
)
NEAR_DOUBLE = (
    -7.795898827002142e-10,
    1.3720064546777686e-08,
    -1.6208483801871705e-07,
    1.6447424703317362e-06,
    -1.492473690741966e-05,
    0.00012055294904839707,
    -0.0008548325975389692,
    0.0052239776071164225,
    -0.02686617064323777,
    0.11283791670945006,
    -0.37612638903183543,
    0.12837916709551256,
)
FAR_SINGLE = (
    -0.0006572571826,
    0.001761750594,
    0.002490225472,
    -0.02371583187,
    0.06831055505,
    -0.1192832681,
    0.129645682,
    -0.04756170857,
    -0.1356211472,
    1.253008053,
)
FAR_DOUBLE = (
    -1.541055292474667e-08,
    2.292393009921899e-08,
    1.1177528463195771e-07,
    -1.2169240627639653e-07,
    -6.299129103282541e-07,
    3.4482536968247793e-07,
    3.481686983452046e-06,
    -7.270603109882931e-07,
    -2.0104454851557477e-05,
    4.9484535339192485e-06,
    0.00012510037313823361,
    -0.0001051596522473519,
    -0.0007798324398793133,
    0.0018886903466049378,
    0.002529391832675186,
    -0.023770514918036445,
    0.06830802734307077,
    -0.11927366341532432,
    0.1296451587027835,
    -0.04756229435345058,
    -0.13562110612458134,
    1.2530080582697296,
)


def polynomial(x: Scalar, coefficients: tuple[float, ...]) -> Scalar:
    """Horner's scheme."""
    result = cast(coefficients[0], x)
    for coefficient in coefficients[1:]:
        result = result * x + coefficient
    return result


def near(x: Scalar) -> Scalar:
    """erf(x) where abs(x) <= 1."""
    if is_single(x):
        return x + x * polynomial(x * x, NEAR_SINGLE)
    return x + x * polynomial(x * x, NEAR_DOUBLE)


def scaled(x: Scalar) -> Scalar:
    """exp(x²) erfc(x) where x >= 0.5."""
    t = (x - 3.0) / (x + 3.0)
    if is_single(x):
        return polynomial(t, FAR_SINGLE) / (1.0 + 2.0 * x)
    return polynomial(t, FAR_DOUBLE) / (1.0 + 2.0 * x)


def erf(x: Scalar) -> Scalar:
    """The error function."""
    a = widen(x)
    size = absolute(a)
    # From 6 on, erf is 1 to the last place.
    far = 6.0 if size > 6.0 else (1.0 if size < 1.0 else size)
    tail = copysign(1.0 - exp(-far * far) * scaled(far), a)
    small = a if size < 1.0 else cast(0.0, a)
    return near(small) if size < 1.0 else (tail if size >= 1.0 else a)


def erfc(x: Scalar) -> Scalar:
    """1 - erf(x), which does not lose its digits where erf(x) is close to 1."""
    a = widen(x)
    size = absolute(a)
    last = 11.0 if is_single(a) else 28.0
    far = last if size > last else (0.5 if size < 0.5 else size)
    # The square in two parts: what the product loses matters to the exponential.
    splitter = 4097.0 if is_single(a) else 134217729.0
    moved = far * splitter
    high = moved - (moved - far)
    low = far - high
    square = far * far
    lost = ((high * high - square) + 2.0 * high * low) + low * low
    # Shifted, so that the exponential itself is not too small to be exact.
    limit = 60.0 if is_single(a) else 600.0
    shift = cast(32.0 if square > limit else 0.0, a)
    back = 1.2664165549094176e-14 if square > limit else cast(1.0, a)
    power = exp(shift - square)
    tail = (power - power * lost) * scaled(far) * back
    small = a if size < 1.0 else cast(0.0, a)
    inner = 1.0 - near(small)
    outer = 2.0 - tail if a < 0 else tail
    if a < 0.5:
        result = inner if a > -1.0 else outer
    else:
        result = outer
    return a if a != a else result
