"""Numbers of a counter: Philox 4x32 with 10 rounds (Salmon et al. 2011).

A work item makes the four words of one block, whose number is the counter.  Numbers
lie so that 32 neighbours among the items store side by side: a page is 32 blocks, first
all their first numbers, then all second ones, and so on.

Functions of four words give the numbers of a block, as many as their name says of how
many bits each takes.  Logarithms, sines and cosines are polynomials with fused
multiply-adds and no other rounding, so that devices differ in no bit.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ...kernel.grid import global_id
from ...kernel.language import (
    Scalar,
    as_signed,
    as_unsigned,
    bits_to_float,
    cast,
    dtype_of,
    float_to_bits,
    fma,
    is_single,
    plain_sqrt,
)
from ..fast.circular import series
from ..fast.logarithm import rest_of, split, together
from ..fast.parts import pattern, polynomial
from .drawing import upper_half

__all__ = [
    "PAGE",
    "TURNS",
    "bounded_64",
    "bounded_128",
    "draw_by_counter",
    "draw_by_page",
    "exponential_32",
    "exponential_64",
    "normal_32",
    "normal_64",
    "uniform_32",
    "uniform_64",
    "words_32",
    "words_64",
]

PAGE = 32
"""Blocks of a page."""

TURNS = (0, 1, 2, 3)
"""Pages of which a work item makes blocks: what they share is computed once."""

LAST = np.uint64((1 << 64) - PAGE * len(TURNS))
"""A counter from which on that of another block of an item may begin again."""

LOW = np.uint64(0xFFFFFFFF)
FIRST_MULTIPLIER, SECOND_MULTIPLIER = np.uint64(0xD2511F53), np.uint64(0xCD9E8D57)
FIRST_WEYL, SECOND_WEYL = np.uint32(0x9E3779B9), np.uint32(0xBB67AE85)
ROUNDS = tuple(range(10))

HALF_PI = math.pi / 2
LOG = (
    8.7125973042899920e-2,
    -1.4560278454124997e-1,
    1.5050533779365390e-1,
    -1.6535069772058092e-1,
    1.9941419361311072e-1,
    -2.5003215742919155e-1,
    3.3334879475306580e-1,
    -4.9999973429821110e-1,
    9.9999989927279800e-1,
)
"""Of log(1 + f) / f, 1 + f between the roots of 1/2 and 2; the logarithm is off by
2**-27.5 at most."""

COS = (-1.3597823088458464e-3, 4.1656294576353380e-2, -4.9999894781326110e-1)
"""Of (cos(r) - 1) / r**2 up to pi / 4; the cosine is off by 2**-24.9 at most."""

FRACTION = 23
"""Bits of the fraction of a float32."""


# ------------------------------------------------------------------------------ blocks
def philox(counter: Scalar, upper: Scalar, key: Scalar) -> Scalar:
    """The four words of a block, for both halves of the counter, of 64 bits each."""
    a, b = np.uint32(counter & LOW), np.uint32(counter >> 32)
    c, d = np.uint32(upper & LOW), np.uint32(upper >> 32)
    first, second = np.uint32(key & LOW), np.uint32(key >> 32)
    for _ in ROUNDS:
        one = np.uint64(a) * FIRST_MULTIPLIER
        other = np.uint64(c) * SECOND_MULTIPLIER
        a = np.uint32(other >> 32) ^ b ^ first
        c = np.uint32(one >> 32) ^ d ^ second
        b, d = np.uint32(other), np.uint32(one)
        first, second = first + FIRST_WEYL, second + SECOND_WEYL
    return a, b, c, d


def joined(low: Scalar, high: Scalar) -> Scalar:
    """Two words as one."""
    return np.uint64(low) | np.uint64(high) << 32


# ---------------------------------------------------------------------------- integers
def words_32(
    a: Scalar, b: Scalar, c: Scalar, d: Scalar, shift: Scalar, low: Scalar
) -> Scalar:
    """The upper bits of each word, and ``low`` added."""
    return (
        low + np.uint64(a >> np.uint32(shift)),
        low + np.uint64(b >> np.uint32(shift)),
        low + np.uint64(c >> np.uint32(shift)),
        low + np.uint64(d >> np.uint32(shift)),
    )


def words_64(
    a: Scalar, b: Scalar, c: Scalar, d: Scalar, shift: Scalar, low: Scalar
) -> Scalar:
    """The same of words of 64 bits."""
    return low + (joined(a, b) >> shift), low + (joined(c, d) >> shift)


def bounded_64(
    a: Scalar, b: Scalar, c: Scalar, d: Scalar, bound: Scalar, low: Scalar
) -> Scalar:
    """Integers below a bound: the upper half of the product with a word of 64 bits."""
    return (
        low + upper_half(joined(a, b), bound),
        low + upper_half(joined(c, d), bound),
    )


def bounded_128(
    a: Scalar, b: Scalar, c: Scalar, d: Scalar, bound: Scalar, low: Scalar
) -> Scalar:
    """The same with a word of 128 bits."""
    part = upper_half(joined(a, b), bound)
    whole = joined(c, d) * bound
    carry = np.uint64(1) if whole + part < part else np.uint64(0)
    return (low + upper_half(joined(c, d), bound) + carry,)


# ------------------------------------------------------------------------------ floats
def uniform_32(
    a: Scalar, b: Scalar, c: Scalar, d: Scalar, width: Scalar, low: Scalar
) -> Scalar:
    """From 0 to 1, times ``width``, and ``low`` added; 24 bits of each word."""
    unit = np.float32(2.0**-24)
    return (
        fma(np.float32(a >> 8) * unit, width, low),
        fma(np.float32(b >> 8) * unit, width, low),
        fma(np.float32(c >> 8) * unit, width, low),
        fma(np.float32(d >> 8) * unit, width, low),
    )


def uniform_64(
    a: Scalar, b: Scalar, c: Scalar, d: Scalar, width: Scalar, low: Scalar
) -> Scalar:
    """The same of 53 bits."""
    first, second = joined(a, b) >> 11, joined(c, d) >> 11
    return (
        fma(np.float64(first) * 2.0**-53, width, low),
        fma(np.float64(second) * 2.0**-53, width, low),
    )


def log_32(word: Scalar, factor: Any) -> Scalar:
    """-log of (word + 1/2) / 2**32, which is at most 22.9, times 1 or 2."""
    u = fma(np.float32(word), np.float32(2.0**-32), np.float32(2.0**-33))
    own = pattern(u)
    # The exponent where it stands: it need not be moved to become a number.
    power = (own - pattern(np.float32(math.sqrt(0.5)))) & -(1 << FRACTION)
    f = bits_to_float(as_unsigned(own - power)) - np.float32(1.0)
    series = np.float32(-factor * LOG[0])
    for coefficient in LOG[1:]:
        series = fma(series, f, np.float32(-factor * coefficient))
    unit = np.float32(-factor * math.log(2.0) * 2.0**-FRACTION)
    return fma(np.float32(power), unit, f * series)


def minus_log_64(word: Scalar) -> Scalar:
    """-log of a number in (0, 1] of the 53 upper bits of a word."""
    u = np.float64((word >> 11) + np.uint64(1)) * 2.0**-53
    k, m = split(u)
    f = m - 1.0
    return -together(k, f, rest_of(f))


def exponential_32(
    a: Scalar, b: Scalar, c: Scalar, d: Scalar, scale: Scalar, low: Scalar
) -> Scalar:
    """The logarithm of each word, times ``scale``, and ``low`` added."""
    return (
        fma(log_32(a, 1.0), scale, low),
        fma(log_32(b, 1.0), scale, low),
        fma(log_32(c, 1.0), scale, low),
        fma(log_32(d, 1.0), scale, low),
    )


def exponential_64(
    a: Scalar, b: Scalar, c: Scalar, d: Scalar, scale: Scalar, low: Scalar
) -> Scalar:
    """The same of words of 64 bits."""
    return (
        fma(minus_log_64(joined(a, b)), scale, low),
        fma(minus_log_64(joined(c, d)), scale, low),
    )


def pair(square: Scalar, word: Scalar, scale: Scalar, low: Scalar) -> Scalar:
    """Two normal numbers, times ``scale``, and ``low`` added: those of the radius with
    this square, in the direction of a word (Box and Muller 1958)."""
    bits = 8 * dtype_of(word).itemsize
    half = dtype_of(word).type(1 << (bits - 1))
    # A quarter of a turn, and from there so much to either side.
    rest = cast(as_signed(word << 2), square) * cast(2.0**-bits * HALF_PI, square)
    z = rest * rest
    odd, even = series(rest)
    even = polynomial(z, COS) if is_single(rest) else even
    sine = fma(rest * z, odd, rest)
    cosine = fma(z, even, cast(1.0, square))
    radius = plain_sqrt(square) * scale
    is_odd = word & (half >> 1) != 0
    # The upper bits are the signs: of the sine, and a quarter further of the cosine.
    x = float_to_bits(sine if is_odd else cosine) ^ ((word + (half >> 1)) & half)
    y = float_to_bits(cosine if is_odd else sine) ^ (word & half)
    return fma(radius, bits_to_float(x), low), fma(radius, bits_to_float(y), low)


def normal_32(
    a: Scalar, b: Scalar, c: Scalar, d: Scalar, scale: Scalar, low: Scalar
) -> Scalar:
    """Normal numbers, times ``scale``, and ``low`` added."""
    w, x = pair(log_32(a, 2.0), b, scale, low)
    y, z = pair(log_32(c, 2.0), d, scale, low)
    return w, x, y, z


def normal_64(
    a: Scalar, b: Scalar, c: Scalar, d: Scalar, scale: Scalar, low: Scalar
) -> Scalar:
    """The same of words of 64 bits."""
    return pair(2.0 * minus_log_64(joined(a, b)), joined(c, d), scale, low)


# ------------------------------------------------------------------------- all of them
def put_within(out: Scalar, at: Scalar, numbers: Scalar, size: Scalar) -> None:
    """Store the numbers of a block, but for those outside of the array."""
    for k, x in enumerate(numbers):
        if at + PAGE * k >= 0 and at + PAGE * k < size:
            out[at + PAGE * k] = cast(x, out[0])


def draw_by_counter(
    out: Scalar,
    first: Scalar,
    upper: Scalar,
    key: Scalar,
    skip: Scalar,
    factor: Scalar,
    low: Scalar,
    *,
    make: Any,
    each: int,
) -> None:
    """Fill an array; each work item makes blocks of ``each`` numbers, in as many pages
    as there are `TURNS`.

    Parameters are the array, both halves of the first counter, the key, how many
    numbers of the first page are skipped, and what ``make`` takes behind the words.
    """
    item = global_id(0)
    block = (item >> 5) * (PAGE * len(TURNS)) + (item & (PAGE - 1))
    begin = (item >> 5) * (PAGE * len(TURNS) * each) + (item & (PAGE - 1)) - skip
    is_whole = begin >= 0 and begin + (PAGE * (len(TURNS) * each - 1)) < len(out)
    counter = first + np.uint64(block)
    above = upper + (np.uint64(1) if counter < first else np.uint64(0))
    if is_whole and counter < LAST:  # so that no other block of the item needs a carry
        for turn in TURNS:
            a, b, c, d = philox(counter + np.uint64(PAGE * turn), above, key)
            at = begin + PAGE * each * turn
            for k, x in enumerate(make(a, b, c, d, factor, low)):
                out[at + PAGE * k] = cast(x, out[0])
    else:
        for turn in TURNS:
            own = counter + np.uint64(PAGE * turn)
            carry = np.uint64(1) if own < counter else np.uint64(0)
            a, b, c, d = philox(own, above + carry, key)
            at = begin + PAGE * each * turn
            put_within(out, at, make(a, b, c, d, factor, low), len(out))


def draw_by_page(
    out: Scalar,
    first: Scalar,
    upper: Scalar,
    key: Scalar,
    skip: Scalar,
    factor: Scalar,
    low: Scalar,
    *,
    make: Any,
    each: int,
) -> None:
    """The same for a processor with vectors: each work item makes a page."""
    page = global_id(0)
    begin = first + np.uint64(page * PAGE)
    above = upper + (np.uint64(1) if begin < first else np.uint64(0))
    at = page * (PAGE * each) - skip
    if at >= 0 and at + PAGE * each <= len(out):
        for lane in range(PAGE):
            counter = begin + np.uint64(lane)
            carry = np.uint64(1) if counter < begin else np.uint64(0)
            a, b, c, d = philox(counter, above + carry, key)
            for k, x in enumerate(make(a, b, c, d, factor, low)):
                out[at + lane + PAGE * k] = cast(x, out[0])
    else:
        for lane in range(PAGE):
            counter = begin + np.uint64(lane)
            carry = np.uint64(1) if counter < begin else np.uint64(0)
            a, b, c, d = philox(counter, above + carry, key)
            put_within(out, at + lane, make(a, b, c, d, factor, low), len(out))
