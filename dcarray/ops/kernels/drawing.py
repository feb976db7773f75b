"""Kernels that draw random numbers: words of a stream by their numbers.

Each word becomes one element of 64 bits, or two of 32 bits, the low half first.
Elements before the first wanted one are skipped, so that a stream goes on amid a word.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np

from ...kernel import nodes
from ...kernel.grid import global_id, global_size
from ...kernel.language import Scalar, truncate_divide
from ...kernel.parse import parse
from ...kernel.rewrite import simplify
from ...kernel.verify import verify
from ..random import MULTIPLIERS, PCG_MULTIPLIER, WEYL
from .parts import INT64
from .searching import array

__all__ = ["pcg_kernel", "philox_kernel", "upper_half"]

DType = np.dtype[Any]

UINT64 = np.dtype(np.uint64)
LOW = np.uint64(0xFFFFFFFF)
HIGH_MULTIPLIER = np.uint64(PCG_MULTIPLIER >> 64)
LOW_MULTIPLIER = np.uint64(PCG_MULTIPLIER & 0xFFFFFFFFFFFFFFFF)
FIRST_MULTIPLIER, SECOND_MULTIPLIER = map(np.uint64, MULTIPLIERS)
FIRST_WEYL, SECOND_WEYL = map(np.uint64, WEYL)


# ------------------------------------------------------------------------ what is made
def _number(dtype: DType) -> tuple[int, Callable[..., Any]]:
    """How many elements a word gives, and the function that makes one of bits."""
    number: Any = dtype.type

    def double(bits: Scalar) -> Scalar:
        return number(bits >> 11) * 2.0**-53

    def single(bits: Scalar) -> Scalar:
        return number(bits >> 8) * number(2.0**-24)

    def raw(bits: Scalar) -> Scalar:
        return number(bits)

    if dtype.kind != "f":
        return 8 // dtype.itemsize, raw
    return (1, double) if dtype.itemsize == 8 else (2, single)


def _storing(dtype: DType) -> Callable[..., Any]:
    """A function that stores the elements of a word at a place and behind it."""
    each, make = _number(dtype)

    def store_one(out: Scalar, at: Scalar, size: Scalar, word: Scalar) -> None:
        if at >= 0 and at < size:
            out[at] = make(word)

    def store_halves(out: Scalar, at: Scalar, size: Scalar, word: Scalar) -> None:
        if at >= 0 and at < size:
            out[at] = make(np.uint32(word & LOW))
        if at + 1 >= 0 and at + 1 < size:
            out[at + 1] = make(np.uint32(word >> 32))

    return store_one if each == 1 else store_halves


# -------------------------------------------------------------------------- arithmetic
def upper_half(x: Scalar, y: Scalar) -> Scalar:
    """The upper 64 bits of a product of 128."""
    a, b = x >> 32, x & LOW
    c, d = y >> 32, y & LOW
    middle = a * d + (b * d >> 32)
    other = b * c + (middle & LOW)
    return a * c + (middle >> 32) + (other >> 32)


def _more(x: Scalar, carry: Scalar) -> Scalar:
    """``x + carry``, and what is carried on."""
    found = x + carry
    return found, (np.uint64(1) if found < carry else np.uint64(0))


def _step(
    high: Scalar, low: Scalar, times: Any, by_low: Any, plus: Any, plus_low: Any
) -> Scalar:
    """``x * times + plus`` in numbers of 128 bits, each as two words."""
    product = low * by_low
    found = product + plus_low
    carry = np.uint64(1) if found < product else np.uint64(0)
    upper = upper_half(low, by_low) + high * by_low + low * times + plus + carry
    return upper, found


# ----------------------------------------------------------------------------- kernels
@cache
def philox_kernel(dtype: DType) -> nodes.Kernel:
    """Philox 4x64 with 10 rounds; each work item makes whole blocks of four words.

    Parameters are the numbers, how many there are, how many elements of the first
    block are skipped, the four words of its counter, and the two of the key.
    """
    each, _ = _number(dtype)
    store = _storing(dtype)

    def philox(
        out: Scalar,
        size: Scalar,
        skip: Scalar,
        counter0: Scalar,
        counter1: Scalar,
        counter2: Scalar,
        counter3: Scalar,
        key0: Scalar,
        key1: Scalar,
    ) -> None:
        blocks = truncate_divide(skip + size + (4 * each - 1), 4 * each)
        for block in range(global_id(0), blocks, global_size(0)):
            w0, carry = _more(counter0, np.uint64(block))
            w1, carry = _more(counter1, carry)
            w2, carry = _more(counter2, carry)
            w3 = counter3 + carry
            first, second = key0, key1
            for _ in range(10):
                high0, low0 = upper_half(w0, FIRST_MULTIPLIER), w0 * FIRST_MULTIPLIER
                high1, low1 = upper_half(w2, SECOND_MULTIPLIER), w2 * SECOND_MULTIPLIER
                w0, w1, w2, w3 = high1 ^ w1 ^ first, low1, high0 ^ w3 ^ second, low0
                first, second = first + FIRST_WEYL, second + SECOND_WEYL
            at = block * (4 * each) - skip
            store(out, at, size, w0)
            store(out, at + each, size, w1)
            store(out, at + 2 * each, size, w2)
            store(out, at + 3 * each, size, w3)

    return _built(philox, dtype, 2, 6)


@cache
def pcg_kernel(dtype: DType) -> nodes.Kernel:
    """PCG64: each work item leaps from one of its words to the next.

    Parameters are the numbers, the table of leaps, how many numbers there are, how many
    elements of the first word are skipped, how many rows the table has, and the state
    before the first word, high and low.  Row k of the table takes the state 2**k words
    further: its four words are the factor and what is added, high and low.  The last
    row but none is the leap of as many words as there are work items.
    """
    each, _ = _number(dtype)
    store = _storing(dtype)

    def pcg(
        out: Scalar,
        leaps: Scalar,
        size: Scalar,
        skip: Scalar,
        rows: Scalar,
        start: Scalar,
        start_low: Scalar,
    ) -> None:
        high, low = start, start_low
        # The state from which the first word of this item is made: one step beyond
        # those that come before it.
        rest = global_id(0) + 1
        for k in range(rows):
            if rest & 1 == 1:
                high, low = _step(
                    high,
                    low,
                    leaps[4 * k],
                    leaps[4 * k + 1],
                    leaps[4 * k + 2],
                    leaps[4 * k + 3],
                )
            rest = rest >> 1
        last = 4 * rows
        words = truncate_divide(skip + size + (each - 1), each)
        for number in range(global_id(0), words, global_size(0)):
            turn = high >> 58
            mixed = high ^ low
            word = mixed >> turn | mixed << ((64 - turn) & 63)
            store(out, number * each - skip, size, word)
            high, low = _step(
                high,
                low,
                leaps[last],
                leaps[last + 1],
                leaps[last + 2],
                leaps[last + 3],
            )

    return _built(pcg, dtype, 3, 2, array(UINT64))


def _built(
    function: Callable[..., Any],
    dtype: DType,
    numbers: int,
    words: int,
    *operands: nodes.Array,
) -> nodes.Kernel:
    given: list[Any] = [
        array(dtype, True),
        *operands,
        *[INT64] * numbers,
        *[UINT64] * words,
    ]
    return simplify(verify(parse(function, given)))
