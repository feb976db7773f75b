"""Circular and hyperbolic functions, and angles."""

from __future__ import annotations

import numpy as np

from ...kernel.language import PI, Scalar, cast, widen
from ..spec import Kind, Op


def radians(x: Scalar) -> Scalar:
    """The factor is a quotient rounded to the dtype of ``x``, as NumPy's is."""
    wide = widen(x)
    return wide * (cast(PI, wide) / 180.0)


def degrees(x: Scalar) -> Scalar:
    """The factor is a quotient rounded to the dtype of ``x``, as NumPy's is."""
    wide = widen(x)
    return wide * (180.0 / cast(PI, wide))


SIN = Op("sin", Kind.ELEMENTWISE, np.sin, ulp=4)
COS = Op("cos", Kind.ELEMENTWISE, np.cos, ulp=4)
TAN = Op("tan", Kind.ELEMENTWISE, np.tan, ulp=5)
ARCSIN = Op("arcsin", Kind.ELEMENTWISE, np.arcsin, ulp=4)
ARCCOS = Op("arccos", Kind.ELEMENTWISE, np.arccos, ulp=4)
ARCTAN = Op("arctan", Kind.ELEMENTWISE, np.arctan, ulp=5)
ARCTAN2 = Op("arctan2", Kind.ELEMENTWISE, np.arctan2, 2, ulp=6)
SINH = Op("sinh", Kind.ELEMENTWISE, np.sinh, ulp=5)
COSH = Op("cosh", Kind.ELEMENTWISE, np.cosh, ulp=5)
TANH = Op("tanh", Kind.ELEMENTWISE, np.tanh, ulp=5)
ARCSINH = Op("arcsinh", Kind.ELEMENTWISE, np.arcsinh, ulp=5)
ARCCOSH = Op("arccosh", Kind.ELEMENTWISE, np.arccosh, ulp=5)
ARCTANH = Op("arctanh", Kind.ELEMENTWISE, np.arctanh, ulp=5)
DEG2RAD = Op("deg2rad", Kind.ELEMENTWISE, np.deg2rad, body=radians)
RADIANS = Op("radians", Kind.ELEMENTWISE, np.radians, body=radians)
RAD2DEG = Op("rad2deg", Kind.ELEMENTWISE, np.rad2deg, body=degrees)
DEGREES = Op("degrees", Kind.ELEMENTWISE, np.degrees, body=degrees)

ROWS: tuple[Op, ...] = (
    *(SIN, COS, TAN, ARCSIN, ARCCOS, ARCTAN, ARCTAN2),
    *(SINH, COSH, TANH, ARCSINH, ARCCOSH, ARCTANH),
    *(DEG2RAD, RADIANS, RAD2DEG, DEGREES),
)
