"""Kernels that order one long run by the digits of its keys, the lowest digit first.

Each group has a piece of the run, and one work item that goes through it: what equals
stays in order.  Such kernels are for a few fast cores, where `sorting` has some for
many slow ones.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np

from ...kernel import nodes
from ...kernel.grid import global_id
from ...kernel.language import (
    Scalar,
    as_unsigned,
    bits,
    bits_to_float,
    float_to_bits,
    is_floating,
    isnan,
    largest,
    widen,
)
from .parts import INT64
from .searching import array, built
from .sorting import float_key, key_dtype

__all__ = [
    "DIGIT",
    "DIGITS",
    "count_kernel",
    "distinct_kernel",
    "key_kernel",
    "move_kernel",
    "place_kernel",
]

DType = np.dtype[Any]

DIGIT = 8
"""Bits of a digit: so many places to write to at a time stay in the first cache."""

DIGITS = 1 << DIGIT


def _key(x: Scalar, low: Scalar, exact: Scalar) -> Scalar:
    if is_floating(x):
        return _exact_key(widen(x)) if exact else float_key(widen(x))
    if bits(x) == 64:
        return as_unsigned(x) - as_unsigned(low)
    return np.uint32(np.int64(x) - low)


def _exact_key(x: Scalar) -> Scalar:
    """The key of a float, which tells zeros from each other, and NaN but for signs."""
    found = float_to_bits(x)
    sign = largest(found) // 2 + 1
    key = ~found if found >= sign else found | sign
    return found | sign if isnan(x) else key


def _element(key: Scalar) -> Scalar:
    """The float of an exact key."""
    sign = largest(key) // 2 + 1
    return bits_to_float(key ^ sign if key >= sign else ~key)


def _digit(key: Scalar, below: Scalar) -> Scalar:
    """The digit of a key above so many bits."""
    return np.int64(key >> below) & (DIGITS - 1)


def _place(places: Scalar, group: Scalar, digit: Scalar) -> Scalar:
    """Where the next key of a group with a digit goes; it has gone there then."""
    entry = group * DIGITS + digit
    at = places[entry]
    places[entry] = at + 1
    return at


@cache
def key_kernel(dtype: DType, descending: bool, exact: bool) -> nodes.Kernel:
    """Keys of a run; those that `move_kernel` makes elements of again if ``exact``.

    Parameters are the elements, the keys, for each group the bits in which its keys
    differ from the first one, and: how many elements there are, how many a group has,
    and the lowest of integers, from which keys count.
    """
    number = key_dtype(dtype).type

    def keys(
        x: Scalar,
        out: Scalar,
        differing: Scalar,
        count: Scalar,
        each: Scalar,
        low: Scalar,
    ) -> None:
        group = global_id(0)
        start = group * each
        first = number(_key(x[0], low, exact))
        first = ~first if descending else first
        seen = first ^ first
        for i in range(start, min(start + each, count)):
            key = number(_key(x[i], low, exact))
            key = ~key if descending else key
            out[i] = key
            seen = seen | (key ^ first)
        differing[group] = seen

    key = array(key_dtype(dtype), True)
    return built(keys, array(dtype), key, key, numbers=3)


@cache
def count_kernel(key: DType) -> nodes.Kernel:
    """How often each digit is there, for each quarter of a group's piece: four counts
    do not wait for each other.

    Parameters are keys, counts, and: how many keys there are, how many a group has,
    and the place of the digit's lowest bit.
    """

    def count(
        keys: Scalar, counts: Scalar, count: Scalar, each: Scalar, shift: Scalar
    ) -> None:
        below = as_unsigned(shift)
        group = global_id(0)
        base = group * 4 * DIGITS
        start = group * each
        stop = min(start + each, count)
        quarter = max(stop - start, 0) >> 2
        for i in range(start, start + quarter):
            a = base + _digit(keys[i], below)
            b = base + DIGITS + _digit(keys[i + quarter], below)
            c = base + 2 * DIGITS + _digit(keys[i + 2 * quarter], below)
            d = base + 3 * DIGITS + _digit(keys[i + 3 * quarter], below)
            counts[a] = counts[a] + 1
            counts[b] = counts[b] + 1
            counts[c] = counts[c] + 1
            counts[d] = counts[d] + 1
        for i in range(start + 4 * quarter, stop):
            a = base + _digit(keys[i], below)
            counts[a] = counts[a] + 1

    return built(count, array(key), array(INT64, True), numbers=3)


@cache
def place_kernel(
    key: DType, carried: DType, kept: DType, first: bool, last: bool
) -> nodes.Kernel:
    """Keys, and the numbers that they carry, in the order of a digit.

    Parameters are keys, numbers, where the next key with each digit goes, for each
    group, both again for the result, and the numbers of `count_kernel`.

    ``first`` counts the numbers from zero on, ``last`` does without the keys.
    """

    def place(
        keys: Scalar,
        numbers: Scalar,
        places: Scalar,
        sorted_keys: Scalar,
        sorted_numbers: Scalar,
        count: Scalar,
        each: Scalar,
        shift: Scalar,
    ) -> None:
        below = as_unsigned(shift)
        group = global_id(0)
        start = group * each
        for i in range(start, min(start + each, count)):
            own = keys[i]
            at = _place(places, group, _digit(own, below))
            if not last:
                sorted_keys[at] = own
            sorted_numbers[at] = i if first else numbers[i]

    return built(
        place,
        array(key),
        array(carried),
        array(INT64, True),
        array(key, True),
        array(kept, True),
        numbers=3,
    )


@cache
def move_kernel(key: DType, dtype: DType, last: bool) -> nodes.Kernel:
    """Exact keys alone in the order of a digit; the elements that they stand for if
    it is the last one.

    Parameters are keys, where the next key with each digit goes, for each group, the
    result, the numbers of `count_kernel`, and the lowest of integers.
    """
    kind = dtype.type
    is_float, is_long = dtype.kind == "f", dtype.itemsize == 8

    def move(
        keys: Scalar,
        places: Scalar,
        out: Scalar,
        count: Scalar,
        each: Scalar,
        shift: Scalar,
        low: Scalar,
    ) -> None:
        below = as_unsigned(shift)
        group = global_id(0)
        start = group * each
        for i in range(start, min(start + each, count)):
            own = keys[i]
            at = _place(places, group, _digit(own, below))
            if not last:
                out[at] = own
            elif is_float:
                out[at] = kind(_element(own))
            elif is_long:
                out[at] = kind(own + as_unsigned(low))
            else:
                out[at] = kind(np.int64(own) + low)

    result = dtype if last else key
    return built(move, array(key), array(INT64, True), array(result, True), numbers=4)


@cache
def distinct_kernel(dtype: DType) -> nodes.Kernel:
    """One of each sequence of equal elements of an ordered run.

    Parameters are the elements, how many sequences begin before the piece of each
    group, the result, and: how many elements there are, and a group has.
    """

    def distinct(
        x: Scalar, begun: Scalar, out: Scalar, count: Scalar, each: Scalar
    ) -> None:
        group = global_id(0)
        start = group * each
        at = begun[group] - 1
        before = x[max(min(start, count) - 1, 0)]
        at = at + 1 if group == 0 else at
        for i in range(start, min(start + each, count)):
            own = x[i]
            at = at + 1 if own != before else at
            out[at] = own
            before = own

    return built(distinct, array(dtype), array(INT64), array(dtype, True), numbers=2)
