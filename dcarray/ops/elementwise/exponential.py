"""Roots, exponentials and logarithms."""

from __future__ import annotations

import numpy as np

from ...kernel.language import (
    LN2,
    LOG2E,
    Scalar,
    exp,
    exp2,
    log1p,
    widen,
)
from ..spec import Kind, Op


def logaddexp(x: Scalar, y: Scalar) -> Scalar:
    a = widen(x)
    b = widen(y)
    difference = a - b
    if difference > 0:
        result = a + log1p(exp(-difference))
    else:
        result = b + log1p(exp(difference))
    return a + LN2 if a == b else result


def logaddexp2(x: Scalar, y: Scalar) -> Scalar:
    a = widen(x)
    b = widen(y)
    difference = a - b
    if difference > 0:
        result = a + LOG2E * log1p(exp2(-difference))
    else:
        result = b + LOG2E * log1p(exp2(difference))
    return a + 1.0 if a == b else result


SQRT = Op("sqrt", Kind.ELEMENTWISE, np.sqrt, ulp=3)
CBRT = Op("cbrt", Kind.ELEMENTWISE, np.cbrt, ulp=4)
EXP = Op("exp", Kind.ELEMENTWISE, np.exp, ulp=4)
EXP2 = Op("exp2", Kind.ELEMENTWISE, np.exp2, ulp=4)
EXPM1 = Op("expm1", Kind.ELEMENTWISE, np.expm1, ulp=4)
LOG = Op("log", Kind.ELEMENTWISE, np.log, ulp=4)
LOG2 = Op("log2", Kind.ELEMENTWISE, np.log2, ulp=4)
LOG10 = Op("log10", Kind.ELEMENTWISE, np.log10, ulp=4)
LOG1P = Op("log1p", Kind.ELEMENTWISE, np.log1p, ulp=4)
LOGADDEXP = Op(
    *("logaddexp", Kind.ELEMENTWISE, np.logaddexp, 2),
    body=logaddexp,
    ulp=8,
    cancelling=2,
)
LOGADDEXP2 = Op(
    *("logaddexp2", Kind.ELEMENTWISE, np.logaddexp2, 2),
    body=logaddexp2,
    ulp=8,
    cancelling=2,
)

ROWS: tuple[Op, ...] = (
    *(SQRT, CBRT, EXP, EXP2, EXPM1, LOG, LOG2, LOG10, LOG1P),
    *(LOGADDEXP, LOGADDEXP2),
)
