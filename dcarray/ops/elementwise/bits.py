"""Bitwise operations and shifts."""

from __future__ import annotations

import numpy as np

from ...kernel.language import (
    Scalar,
    absolute,
    as_unsigned,
    bits,
    cast,
    is_unsigned,
    popcount,
)
from ..spec import Kind, Op


def left_shift(x: Scalar, y: Scalar) -> Scalar:
    """A count that is negative or too large shifts everything out."""
    inside = as_unsigned(y) < bits(x)
    count = y if inside else cast(0, y)
    return x << count if inside else cast(0, x)


def right_shift(x: Scalar, y: Scalar) -> Scalar:
    """A count that is negative or too large leaves only the sign."""
    inside = as_unsigned(y) < bits(x)
    count = y if inside else cast(bits(y) - 1, y)
    if is_unsigned(x):
        return x >> count if inside else cast(0, x)
    return x >> count


def bitwise_count(x: Scalar) -> Scalar:
    """Ones in the magnitude."""
    return popcount(as_unsigned(absolute(x)))


BITWISE_AND = Op("bitwise_and", Kind.ELEMENTWISE, np.bitwise_and, 2)
BITWISE_OR = Op("bitwise_or", Kind.ELEMENTWISE, np.bitwise_or, 2)
BITWISE_XOR = Op("bitwise_xor", Kind.ELEMENTWISE, np.bitwise_xor, 2)
INVERT = Op("invert", Kind.ELEMENTWISE, np.invert)
LEFT_SHIFT = Op("left_shift", Kind.ELEMENTWISE, np.left_shift, 2, body=left_shift)
RIGHT_SHIFT = Op("right_shift", Kind.ELEMENTWISE, np.right_shift, 2, body=right_shift)
BITWISE_COUNT = Op(
    "bitwise_count", Kind.ELEMENTWISE, np.bitwise_count, body=bitwise_count
)

ROWS: tuple[Op, ...] = (
    *(BITWISE_AND, BITWISE_OR, BITWISE_XOR, INVERT),
    *(LEFT_SHIFT, RIGHT_SHIFT, BITWISE_COUNT),
)
