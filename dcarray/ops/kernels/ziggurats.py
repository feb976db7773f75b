"""Kernels that make normal and exponential numbers of words, as NumPy's ziggurats do.

Most words make a number alone.  Some open a trial that takes further words, so that
what a word means depends on those before it: a machine of few states reads the words
one after the other.  Each work item reads a chunk, first from every state, to tell in
which one it ends and how many numbers it makes; then, once the states at all beginnings
are known, from the right one, to make them.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np

from ...kernel import nodes
from ...kernel.grid import global_id, global_size
from ...kernel.language import Scalar, exp, log1p
from .parts import INT64
from .searching import array, built

__all__ = ["CODE", "STATES", "make_kernel", "read_kernel"]

DType = np.dtype[Any]
FLOAT64 = np.dtype(np.float64)

CODE = 8
"""A state and a count are one number: ``count * CODE + state``."""

START, TRIAL, TAIL, TAIL_END = 0, 1, 2, 4
"""States: a number begins; a trial beside the curve; the first and the second word of
one in the tail, where 1 is added for numbers below zero."""

STATES = {"standard_normal": 6, "standard_exponential": 3}
"""How many states there are."""

EDGE = 3.6541528853610087963519472518
"""Where the tail of the normal distribution begins."""


def _fraction(dtype: DType) -> Callable[..., Any]:
    """The function that makes a number from 0 to 1 of a word."""
    number: Any = dtype.type

    def double(word: Scalar) -> Scalar:
        return number(word >> 11) * 2.0**-53

    def single(word: Scalar) -> Scalar:
        return number(word >> 8) * number(2.0**-24)

    return double if dtype == FLOAT64 else single


def _normal(dtype: DType, doubles: bool) -> Callable[..., Any]:
    """The machine of the normal distribution.

    It takes the words, the tables, a place and a state, and gives the next state,
    whether there is a number, and the number.
    """
    number: Any = dtype.type
    wide: Any = np.float64 if doubles else np.float32
    fraction = _fraction(dtype)
    edge, inverse = number(EDGE), number(1 / EDGE)
    half = wide(-0.5)
    mask = np.uint64(0xFFFFFFFFFFFFF) if dtype == FLOAT64 else np.uint32(0x7FFFFF)

    def machine(
        words: Scalar,
        factors: Scalar,
        limits: Scalar,
        heights: Scalar,
        place: Scalar,
        state: Scalar,
    ) -> Scalar:
        word = words[place]
        before = words[max(place - 1, 0)]
        # In a trial beside the curve, the number is the one of the word before.
        source = before if state == TRIAL else word
        layer = np.int64(source & 255)
        size = (source >> 9) & mask
        found = number(size) * factors[layer]
        found = -found if (source >> 8) & 1 == 1 else found
        made = False
        following: Any = START
        if state == START:
            made = size < limits[layer]
            below = np.int64((size >> 8) & 1)
            beside = TRIAL if layer != 0 else TAIL + below
            following = START if made else beside
        elif state == TRIAL:
            upper, lower = heights[max(layer - 1, 0)], heights[layer]
            height = (upper - lower) * fraction(word) + lower
            made = wide(height) < exp(half * wide(found) * wide(found))
        elif state < TAIL_END:
            following = state + 2
        else:
            apart = -inverse * log1p(-fraction(before))
            room = -log1p(-fraction(word))
            made = room + room > apart * apart
            found = -(edge + apart) if state == TAIL_END + 1 else edge + apart
            following = START if made else state - 2
        return following, made, found

    return machine


def _exponential(dtype: DType, doubles: bool, edge: float) -> Callable[..., Any]:
    """The machine of the exponential distribution, like that of `_normal`."""
    number: Any = dtype.type
    fraction = _fraction(dtype)
    wide: Any = np.float64 if doubles else np.float32
    spare = 3 if dtype == FLOAT64 else 1
    end = number(edge)

    def machine(
        words: Scalar,
        factors: Scalar,
        limits: Scalar,
        heights: Scalar,
        place: Scalar,
        state: Scalar,
    ) -> Scalar:
        word = words[place]
        source = words[max(place - 1, 0)] if state == TRIAL else word
        layer = np.int64((source >> spare) & 255)
        size = source >> (spare + 8)
        found = number(size) * factors[layer]
        made = False
        following = START
        if state == START:
            made = size < limits[layer]
            beside = TRIAL if layer != 0 else TAIL
            following = START if made else beside
        elif state == TRIAL:
            upper, lower = heights[max(layer - 1, 0)], heights[layer]
            height = (upper - lower) * fraction(word) + lower
            made = height < number(exp(-wide(found)))
        else:
            made = True
            found = end - log1p(-fraction(word))
        return following, made, found

    return machine


def _machine(name: str, dtype: DType, doubles: bool, edge: float) -> Callable[..., Any]:
    if name == "standard_normal":
        return _normal(dtype, doubles)
    return _exponential(dtype, doubles, edge)


def _operands(dtype: DType) -> list[nodes.Array]:
    unsigned = np.dtype(f"u{dtype.itemsize}")
    return [array(unsigned), array(dtype), array(unsigned), array(dtype)]


@cache
def read_kernel(name: str, dtype: DType, doubles: bool, edge: float) -> nodes.Kernel:
    """Where each chunk ends from each state, and how many numbers it makes.

    Parameters are the words, the tables (factors, limits, heights), a row of codes for
    each chunk, and: words, those of a chunk, and chunks.  ``doubles`` says whether the
    device has them, ``edge`` where the tail begins.
    """
    machine = _machine(name, dtype, doubles, edge)
    states = STATES[name]

    def read(
        words: Scalar,
        factors: Scalar,
        limits: Scalar,
        heights: Scalar,
        codes: Scalar,
        count: Scalar,
        length: Scalar,
        chunks: Scalar,
    ) -> None:
        for flat in range(global_id(0), chunks * states, global_size(0)):
            chunk = flat // states
            state = flat - chunk * states
            numbers = 0
            for place in range(chunk * length, min((chunk + 1) * length, count)):
                state, made, _ = machine(words, factors, limits, heights, place, state)
                numbers += 1 if made else 0
            codes[flat] = numbers * CODE + state

    return built(read, *_operands(dtype), array(INT64, True), numbers=3)


@cache
def make_kernel(name: str, dtype: DType, doubles: bool, edge: float) -> nodes.Kernel:
    """The numbers.

    Parameters are the words, the tables, the code at the beginning of each chunk (its
    state, and the place of its first number), the numbers, where the last one ends,
    and: words, those of a chunk, chunks, and how many numbers are wanted.
    """
    machine = _machine(name, dtype, doubles, edge)

    def make(
        words: Scalar,
        factors: Scalar,
        limits: Scalar,
        heights: Scalar,
        codes: Scalar,
        out: Scalar,
        end: Scalar,
        count: Scalar,
        length: Scalar,
        chunks: Scalar,
        size: Scalar,
    ) -> None:
        for chunk in range(global_id(0), chunks, global_size(0)):
            state = codes[chunk] % CODE
            target = codes[chunk] // CODE
            for place in range(chunk * length, min((chunk + 1) * length, count)):
                state, made, found = machine(
                    words, factors, limits, heights, place, state
                )
                if made:
                    if target < size:
                        out[target] = found
                    if target == size - 1:
                        end[0] = place + 1
                    target += 1

    given = [*_operands(dtype), array(INT64), array(dtype, True), array(INT64, True)]
    return built(make, *given, numbers=4)
