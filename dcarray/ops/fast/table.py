"""Bodies by the name of the operation."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .circular import arccos, arcsin, arctan, arctan2, cos, sin, tan
from .error import erf
from .exponential import cosh, exp, exp2, expm1, sinh, tanh
from .logarithm import arccosh, arcsinh, arctanh, log, log1p, log2, log10
from .roots import cbrt, hypot, power

__all__ = ["BODIES"]

BODIES: dict[str, Callable[..., Any]] = {
    body.__name__: body
    for body in (
        *(exp, exp2, expm1, log, log2, log10, log1p),
        *(sin, cos, tan, arcsin, arccos, arctan, arctan2),
        *(sinh, cosh, tanh, arcsinh, arccosh, arctanh),
        *(cbrt, hypot, power, erf),
    )
}
