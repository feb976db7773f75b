"""Coefficients of polynomials, those of the highest powers first.

Made by ``tests/stress/fast_coefficients.py``, which says how; for each
polynomial the largest relative error of the result that is due to it, before
the coefficients were rounded."""

from __future__ import annotations

__all__ = [
    "EXP_DOUBLE",
    "EXP_SINGLE",
]


# (exp(r) - 1 - r) / r**2 on abs(r) <= log(2) / 2: 2**-28.3
EXP_SINGLE = (
    0.0013814223930239677,
    0.008368776179850101,
    0.041668396443128586,
    0.1666651964187622,
    0.4999999403953552,
)

# (exp(r) - 1 - r) / r**2 on abs(r) <= log(2) / 2: 2**-57.9
EXP_DOUBLE = (
    2.500023142500953e-08,
    2.7630386293353363e-07,
    2.7557586473160208e-06,
    2.4801492738089004e-05,
    0.00019841269505796002,
    0.0013888888943951018,
    0.008333333333495103,
    0.04166666666652905,
    0.1666666666666641,
    0.5000000000000011,
)
