"""Kernels that select elements by a mask, without a branch for each of them.

Each group has a piece of the run, and one work item that goes through it.  An element
is stored where the next selected one belongs, and stays there only if it is selected:
a random mask costs no more than any other one.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np

from ...kernel import nodes
from ...kernel.grid import global_id
from ...kernel.language import Scalar
from .parts import INT64
from .searching import array, built

__all__ = ["BYTE", "WORD", "place_kernel", "select_kernel"]

DType = np.dtype[Any]

BYTE = np.dtype(np.uint8)
LONG = np.dtype(np.uint64)

WORD = 8
"""Elements whose mask is looked at as one word: where few are selected, most of the
words are zero, and where most are, they are `FULL`.  Groups begin at whole words."""

FULL = 0x0101010101010101


@cache
def select_kernel(dtype: DType, counted: bool) -> nodes.Kernel:
    """Selected elements of a run, or their places if ``counted``.

    Parameters are the elements (any, if they are counted), the mask as bytes and as
    words, how many elements are selected before each group and in all, the result,
    and: how many elements there are, and a group has.
    """

    def select(
        x: Scalar,
        mask: Scalar,
        words: Scalar,
        begun: Scalar,
        out: Scalar,
        count: Scalar,
        each: Scalar,
    ) -> None:
        group = global_id(0)
        start = group * each
        stop = min(start + each, count)
        at = begun[group]
        end = begun[group + 1]
        stop = stop if end > at else start
        whole = max(stop - start, 0) // WORD
        first = start // WORD
        last = first + whole
        k = first
        while k < last:
            after = k + 1
            if words[k] == FULL:
                while after < last:
                    if words[after] != FULL:
                        break
                    after = after + 1
                base = k * WORD
                for i in range((after - k) * WORD):
                    out[at + i] = base + i if counted else x[base + i]
                at = at + (after - k) * WORD
            elif words[k] != 0:
                if at + WORD <= end:
                    for i in range(k * WORD, k * WORD + WORD):
                        out[at] = i if counted else x[i]
                        at = at + mask[i]
                else:  # what is not selected would be stored in the next group
                    for i in range(k * WORD, k * WORD + WORD):
                        if mask[i] != 0:
                            out[at] = i if counted else x[i]
                            at = at + 1
            k = after
        for i in range(start + whole * WORD, stop):
            if mask[i] != 0:
                out[at] = i if counted else x[i]
                at = at + 1

    result = INT64 if counted else dtype
    return built(
        select,
        array(dtype),
        array(BYTE),
        array(LONG),
        array(INT64),
        array(result, True),
        numbers=2,
    )


@cache
def place_kernel(dtype: DType) -> nodes.Kernel:
    """A run with other elements where a mask holds.

    Parameters are the run, the mask as bytes and as words, how many elements are
    replaced before each group, the new elements, and: how many of those there are (the
    last one is repeated), how many elements there are, and a group has.
    """

    def place(
        x: Scalar,
        mask: Scalar,
        words: Scalar,
        begun: Scalar,
        values: Scalar,
        given: Scalar,
        count: Scalar,
        each: Scalar,
    ) -> None:
        group = global_id(0)
        start = group * each
        stop = min(start + each, count)
        at = begun[group]
        whole = max(stop - start, 0) // WORD
        first = start // WORD
        for k in range(first, first + whole):
            if words[k] != 0:
                for i in range(k * WORD, k * WORD + WORD):
                    own = values[min(at, given - 1)]
                    x[i] = own if mask[i] != 0 else x[i]
                    at = at + mask[i]
        for i in range(start + whole * WORD, stop):
            if mask[i] != 0:
                x[i] = values[min(at, given - 1)]
                at = at + 1

    return built(
        place,
        array(dtype, True),
        array(BYTE),
        array(LONG),
        array(INT64),
        array(dtype),
        numbers=3,
    )
