"""The error function, by the polynomials of `ops.error_function`."""

from __future__ import annotations

from ...kernel.language import Scalar, absolute, cast, copysign, fma, is_single
from ..error_function import FAR_DOUBLE, FAR_SINGLE, NEAR_DOUBLE, NEAR_SINGLE
from .exponential import exp
from .parts import clamped, magnitude, pattern, polynomial

__all__ = ["erf"]


def erf(x: Scalar) -> Scalar:
    near = magnitude(x) < pattern(cast(1.0, x))
    small = x if near else cast(0.0, x)
    # From 6 on, erf is 1 to the last place.
    far = cast(1.0, x) if near else absolute(clamped(x, 6.0))
    z = small * small
    t = (far - 3.0) / (far + 3.0)
    if is_single(x):
        close = polynomial(z, NEAR_SINGLE)
        ratio = polynomial(t, FAR_SINGLE) / (1.0 + 2.0 * far)
    else:
        close = polynomial(z, NEAR_DOUBLE)
        ratio = polynomial(t, FAR_DOUBLE) / (1.0 + 2.0 * far)
    tail = copysign(fma(-exp(-far * far), ratio, cast(1.0, x)), x)
    found = fma(small, close, small) if near else tail
    return x if x != x else found
