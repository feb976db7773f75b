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


SQRT = Op("sqrt", Kind.ELEMENTWISE, np.sqrt)
CBRT = Op("cbrt", Kind.ELEMENTWISE, np.cbrt)
EXP = Op("exp", Kind.ELEMENTWISE, np.exp)
EXP2 = Op("exp2", Kind.ELEMENTWISE, np.exp2)
EXPM1 = Op("expm1", Kind.ELEMENTWISE, np.expm1)
LOG = Op("log", Kind.ELEMENTWISE, np.log)
LOG2 = Op("log2", Kind.ELEMENTWISE, np.log2)
LOG10 = Op("log10", Kind.ELEMENTWISE, np.log10)
LOG1P = Op("log1p", Kind.ELEMENTWISE, np.log1p)
LOGADDEXP = Op("logaddexp", Kind.ELEMENTWISE, np.logaddexp, 2, body=logaddexp)
LOGADDEXP2 = Op("logaddexp2", Kind.ELEMENTWISE, np.logaddexp2, 2, body=logaddexp2)

ROWS: tuple[Op, ...] = (
    *(SQRT, CBRT, EXP, EXP2, EXPM1, LOG, LOG2, LOG10, LOG1P),
    *(LOGADDEXP, LOGADDEXP2),
)
