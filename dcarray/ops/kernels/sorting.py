"""Kernels that order rows, stably, and search in ordered ones.

Elements are compared by *keys*, unsigned integers in the order in which NumPy sorts:
NaN last, both zeros alike.  Rows of keys are C-contiguous, and each key carries the
number that says where its element was.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np

from ...kernel import nodes
from ...kernel.grid import (
    barrier,
    global_id,
    global_size,
    group_count,
    group_id,
    local_id,
    shared,
)
from ...kernel.language import (
    Scalar,
    as_unsigned,
    bits,
    float_to_bits,
    imag,
    is_floating,
    is_signed,
    isnan,
    largest,
    real,
    truncate_divide,
    truncate_remainder,
    widen,
)
from ..elementwise.comparison import isnan_any
from .parts import INT32, INT64
from .searching import array, built

__all__ = [
    "EACH",
    "PARTS",
    "block_kernel",
    "edges_kernel",
    "float_key",
    "key_dtype",
    "order_key",
    "key_kernel",
    "member_kernel",
    "merge_kernel",
    "rank_kernel",
    "search_kernel",
]

DType = np.dtype[Any]
UINT32 = np.dtype(np.uint32)
UINT64 = np.dtype(np.uint64)
BOOL = np.dtype(np.bool_)

EACH = 16
"""Elements that a work item merges."""


# ------------------------------------------------------------------------------- keys
def key_dtype(dtype: DType) -> DType:
    """The dtype of the keys of elements (or of the parts of complex ones)."""
    wide = dtype.itemsize > (8 if dtype.kind == "c" else 4)
    return UINT64 if wide else UINT32


def _sign(key: Scalar) -> Scalar:
    """The highest bit."""
    return largest(key) // 2 + 1


def float_key(x: Scalar) -> Scalar:
    """The key of a float32 or float64."""
    found = float_to_bits(x)
    key = ~found if found >= _sign(found) else found | _sign(found)
    key = _sign(found) if x == 0 else key
    return largest(found) if isnan(x) else key


def order_key(x: Scalar) -> Scalar:
    """An unsigned integer whose order is that of numbers; NaN comes last."""
    if is_floating(x):
        return float_key(widen(x))
    if is_signed(x):
        if bits(x) == 64:
            return as_unsigned(x) ^ _sign(as_unsigned(x))
        return np.uint32(np.int32(x)) ^ _sign(np.uint32(x))
    if bits(x) == 64:
        return x
    return np.uint32(x)


def _real_key(x: Scalar) -> Scalar:
    return float_key(real(x))


def _imag_key(x: Scalar) -> Scalar:
    return float_key(imag(x))


def _missing(x: Scalar) -> Scalar:
    """Complex numbers come in the order of the parts that are NaN: none, the imaginary
    one, the real one, both."""
    return (2 if isnan(real(x)) else 0) + (1 if isnan(imag(x)) else 0)


_KEYS = {"": order_key, "real": _real_key, "imag": _imag_key, "missing": _missing}
PARTS: dict[bool, tuple[str, ...]] = {False: ("",), True: ("imag", "real", "missing")}
"""The parts by which elements are ordered one after the other, the last one foremost:
of real and of complex numbers."""


@cache
def key_kernel(dtype: DType, part: str, descending: bool) -> nodes.Kernel:
    """Keys of the rows of an array.

    Parameters are the array, the keys, and: rows, their length, ``inner``, the offset,
    and strides outer, along the row, inner.  ``part`` is empty, or "real", "imag" or
    "missing" for complex numbers.
    """
    key = key_dtype(dtype)
    number = key.type
    key_of = _KEYS[part]

    def keys(
        x: Scalar,
        out: Scalar,
        rows: Scalar,
        length: Scalar,
        inner: Scalar,
        offset: Scalar,
        outer_step: Scalar,
        step: Scalar,
        inner_step: Scalar,
    ) -> None:
        for flat in range(global_id(0), rows * length, global_size(0)):
            row = truncate_divide(flat, length)
            place = offset + truncate_remainder(flat, length) * step
            place = place + truncate_divide(row, inner) * outer_step
            element = x[place + truncate_remainder(row, inner) * inner_step]
            found = number(key_of(element))
            out[flat] = ~found if descending else found

    return built(keys, array(dtype), array(key, True), numbers=7)


# -------------------------------------------------------------------------- the order
@cache
def rank_kernel(key: DType) -> nodes.Kernel:
    """Short rows: each work item counts what comes before its element.

    Parameters are keys and numbers, both again for the result, the number of keys in
    all, and the length of a row.
    """

    def rank(
        keys: Scalar,
        order: Scalar,
        sorted_keys: Scalar,
        sorted_order: Scalar,
        count: Scalar,
        length: Scalar,
    ) -> None:
        for flat in range(global_id(0), count, global_size(0)):
            first = flat - truncate_remainder(flat, length)
            own = keys[flat]
            found = first
            for other in range(first, first + length):
                ahead = keys[other] < own or (keys[other] == own and other < flat)
                found = found + (1 if ahead else 0)
            sorted_keys[found] = own
            sorted_order[found] = order[flat]

    return built(
        rank,
        array(key),
        array(INT32),
        array(key, True),
        array(INT32, True),
        numbers=2,
    )


@cache
def block_kernel(key: DType, items: int) -> nodes.Kernel:
    """Each group orders blocks of as many elements as it has work items.

    Parameters as for `rank_kernel`, and the number of blocks of a row.
    """

    def block(
        keys: Scalar,
        order: Scalar,
        sorted_keys: Scalar,
        sorted_order: Scalar,
        count: Scalar,
        length: Scalar,
        blocks: Scalar,
    ) -> None:
        tile = shared(key, items)
        numbers = shared(np.int32, items)
        lane = local_id(0)
        for number in range(group_id(0), count, group_count(0)):
            row = truncate_divide(number, blocks)
            start = truncate_remainder(number, blocks) * items
            base = row * length + start
            size = min(length - start, items)
            place = base + min(lane, size - 1)
            own = keys[place]
            carried = order[place]
            at = lane
            width = 1
            while width < items:
                tile[at] = own
                numbers[at] = carried
                barrier()
                own = tile[lane]
                carried = numbers[lane]
                # The other run of this pair, and how many of it come before.
                pair = lane & ~(2 * width - 1)
                is_second = (lane & width) != 0
                other = min(pair if is_second else pair + width, size)
                low = other
                high = min(other + width, size)
                while low < high:
                    middle = (low + high) >> 1
                    probe = tile[middle]
                    ahead = probe < own or (is_second and probe == own)
                    low = middle + 1 if ahead else low
                    high = high if ahead else middle
                at = pair + (lane & (width - 1)) + low - other
                at = at if lane < size else lane
                width = 2 * width
                barrier()
            if lane < size:
                sorted_keys[base + at] = own
                sorted_order[base + at] = carried

    return built(
        block,
        array(key),
        array(INT32),
        array(key, True),
        array(INT32, True),
        numbers=3,
    )


@cache
def merge_kernel(key: DType) -> nodes.Kernel:
    """Neighbouring runs of ``width`` elements become one: each work item finds by a
    search where `EACH` elements of the result begin in both runs, and merges them.

    Parameters as for `rank_kernel`, but that the first number counts what work items
    do, `EACH` elements at a time; and the width, a multiple of `EACH`.
    """

    def merge(
        keys: Scalar,
        order: Scalar,
        sorted_keys: Scalar,
        sorted_order: Scalar,
        count: Scalar,
        length: Scalar,
        width: Scalar,
    ) -> None:
        turns = truncate_divide(length + EACH - 1, EACH)
        for turn in range(global_id(0), count, global_size(0)):
            row = truncate_divide(turn, turns)
            base = row * length
            start = truncate_remainder(turn, turns) * EACH
            done = truncate_remainder(start, 2 * width)
            first = start - done
            second = min(first + width, length)
            end = min(second + width, length)
            # How many of the first run are among those before this work item's.
            low = max(done - (end - second), 0)
            high = min(done, second - first)
            while low < high:
                middle = (low + high) >> 1
                probe = keys[base + second + done - 1 - middle]
                ahead = keys[base + first + middle] <= probe
                low = middle + 1 if ahead else low
                high = high if ahead else middle
            i = base + first + low
            j = base + second + done - low
            one = keys[min(i, base + length - 1)]
            other = keys[min(j, base + length - 1)]
            for place in range(base + start, base + min(start + EACH, end)):
                ahead = i < base + second and (j >= base + end or one <= other)
                sorted_keys[place] = one if ahead else other
                sorted_order[place] = order[i if ahead else j]
                i = i + 1 if ahead else i
                j = j if ahead else j + 1
                after = keys[min(i if ahead else j, base + length - 1)]
                one = after if ahead else one
                other = other if ahead else after

    return built(
        merge,
        array(key),
        array(INT32),
        array(key, True),
        array(INT32, True),
        numbers=3,
    )


# -------------------------------------------------------------------- ordered elements
@cache
def search_kernel(key: DType, right: bool) -> nodes.Kernel:
    """Where keys belong among ordered ones.

    Parameters are the ordered keys, those that are looked for, the places, the number
    of the first and that of the others.
    """

    def search(
        keys: Scalar, wanted: Scalar, out: Scalar, length: Scalar, count: Scalar
    ) -> None:
        for flat in range(global_id(0), count, global_size(0)):
            own = wanted[flat]
            low = 0
            high = length
            while low < high:
                middle = (low + high) >> 1
                probe = keys[middle]
                ahead = probe <= own if right else probe < own
                low = middle + 1 if ahead else low
                high = high if ahead else middle
            out[flat] = low

    return built(search, array(key), array(key), array(INT64, True), numbers=2)


@cache
def edges_kernel(dtype: DType, equal_nan: bool) -> nodes.Kernel:
    """Which elements of an ordered array differ from the one before.

    Parameters are the elements, the answers, and how many there are.
    """

    def edges(x: Scalar, out: Scalar, count: Scalar) -> None:
        for flat in range(global_id(0), count, global_size(0)):
            own = x[flat]
            before = x[max(flat - 1, 0)]
            differs = own != before
            if equal_nan:
                differs = differs and not (isnan_any(own) and isnan_any(before))
            out[flat] = flat == 0 or differs

    return built(edges, array(dtype), array(BOOL, True), numbers=1)


@cache
def member_kernel(dtype: DType) -> nodes.Kernel:
    """Whether elements are among some others, by comparison with each of them.

    Parameters are the elements, the others, the answers, and the numbers of both.
    """

    def member(
        x: Scalar, among: Scalar, out: Scalar, count: Scalar, length: Scalar
    ) -> None:
        for flat in range(global_id(0), count, global_size(0)):
            own = x[flat]
            found = False
            for k in range(length):
                found = found or own == among[k]
            out[flat] = found

    return built(member, array(dtype), array(dtype), array(BOOL, True), numbers=2)
