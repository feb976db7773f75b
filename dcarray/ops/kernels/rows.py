"""Kernels of whole rows for a few fast cores: softmax, norms, gradients of attention.

Each group has some rows, and one work item that takes them one after the other: a row
stays in the cache, so that going through it several times costs little.  Sums are made
of parts of `PART` numbers, which are added up in any order; the parts are added in
double precision.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np

from ...kernel import nodes
from ...kernel.grid import global_id
from ...kernel.language import (
    Scalar,
    accumulate,
    as_signed,
    as_unsigned,
    bits,
    bits_to_float,
    cast,
    float_to_bits,
    fma,
    fraction_bits,
    is_single,
    largest,
    log,
)
from ..fast.coefficients import EXP_DOUBLE, EXP_SINGLE
from ..fast.exponential import reduced
from ..fast.parts import pattern, polynomial
from .searching import array, built

__all__ = [
    "PART",
    "slopes_kernel",
    "softmax_kernel",
]

DType = np.dtype[Any]

FLOAT64 = np.dtype(np.float64)

PART = 512
"""Numbers that are summed in their own precision."""


def ordered(x: Scalar) -> Scalar:
    """An integer for a number, the greater the greater it is; also the other way round.
    NaN is beyond all numbers."""
    found = as_signed(float_to_bits(x))
    return found ^ ((found >> (bits(x) - 1)) & largest(found))


def unordered(key: Scalar) -> Scalar:
    """The number for an integer of `ordered`."""
    return bits_to_float(as_unsigned(key ^ ((key >> (bits(key) - 1)) & largest(key))))


def falling(x: Scalar) -> Scalar:
    """``exp(x)`` for ``x <= 0``, or NaN: 0 where it were subnormal."""
    low = cast(-88.0 if is_single(x) else -709.0, x)
    r, _, shifted = reduced(low if x < low else x)
    if is_single(x):
        rest = polynomial(r, EXP_SINGLE)
    else:
        rest = polynomial(r, EXP_DOUBLE)
    one = cast(1.0, x)
    power = bits_to_float(as_unsigned(pattern(shifted) << fraction_bits(x)))
    return fma(fma(rest, r, one), r, one) * power


@cache
def softmax_kernel(dtype: DType, logarithm: bool) -> nodes.Kernel:
    """Softmax of rows, or its logarithm.

    Parameters are the elements, the result, and: how many rows there are and a group
    has, and their length.
    """
    number = dtype.type

    def softmax(
        x: Scalar, out: Scalar, rows: Scalar, each: Scalar, length: Scalar
    ) -> None:
        start = global_id(0) * each
        for row in range(start, min(start + each, rows)):
            base = row * length
            last = base + length
            top = ordered(x[base])
            for i in range(base, last):
                key = ordered(x[i])
                top = key if key > top else top
            peak = unordered(top)
            total = np.float64(0)
            for begin in range(base, last, PART):
                part = number(0)
                for i in range(begin, min(begin + PART, last)):
                    power = falling(x[i] - peak)
                    if not logarithm:
                        out[i] = power
                    part = accumulate(part, power)
                total = total + np.float64(part)
            if logarithm:
                less = number(log(total))
                for i in range(base, last):
                    out[i] = (x[i] - peak) - less
            else:
                factor = number(1 / total)
                for i in range(base, last):
                    out[i] = out[i] * factor

    return built(softmax, array(dtype), array(dtype, True), numbers=3)


@cache
def slopes_kernel(dtype: DType) -> nodes.Kernel:
    """Blocks of scores as shares of each row's sum, and the gradient in these as that
    in the scores.

    Parameters are the scores and the gradient, which the results take the place of;
    the logarithm of each row's sum, and its mean gradient; and: how many rows and
    columns there are; and how many columns the first row sees, where each row sees one
    more than that before it.
    """
    number = dtype.type

    def slopes(
        scores: Scalar,
        gradient: Scalar,
        logs: Scalar,
        means: Scalar,
        rows: Scalar,
        columns: Scalar,
        first: Scalar,
    ) -> None:
        for row in range(rows):
            base = row * columns
            last = base + max(0, min(first + row, columns))
            whole = logs[row]
            mean = means[row]
            for i in range(base, last):
                share = falling(scores[i] - whole)
                scores[i] = share
                gradient[i] = (gradient[i] - mean) * share
            for i in range(last, base + columns):
                scores[i] = number(0)
                gradient[i] = number(0)

    own, given = array(dtype, True), array(dtype)
    return built(slopes, own, own, given, given, numbers=3)
