"""Kernels that keep the elements where an array of bools is true.

A group takes a tile of the bools.  Tiles are counted first, their counts added up, and
then each group knows where what it keeps belongs.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np

from ...kernel import nodes
from ...kernel.grid import barrier, group_id, local_id, shared
from ...kernel.language import Scalar
from .parts import INT32, INT64
from .searching import array, built

__all__ = ["EACH", "choose_kernel", "count_kernel", "offsets_kernel"]

DType = np.dtype[Any]

EACH = 16
"""Bools that a work item takes."""

_PLACES = tuple(range(EACH))
_BOOLS = nodes.Array("array", np.dtype(np.bool_), run=EACH)


def _running_sums(items: int) -> Callable[[Scalar, Scalar], Scalar]:
    """Gives, in a kernel, the sum of the numbers of a lane and of those before it; it
    leaves all of these sums in ``part``."""
    distances = tuple([1 << k for k in range(items.bit_length() - 1)])

    def running_sum(part: Scalar, own: Scalar) -> Scalar:
        lane = local_id(0)
        total = own
        part[lane] = total
        barrier()
        for distance in distances:
            if lane >= distance:
                total = part[lane - distance] + total
            barrier()
            part[lane] = total
            barrier()
        return total

    return running_sum


@cache
def count_kernel(items: int) -> nodes.Kernel:
    """How many bools of each tile are true.

    Parameters are the bools, the counts, and how many bools there are.
    """
    halves = tuple([1 << k for k in range(items.bit_length() - 1)])[::-1]

    def count_true(mask: Scalar, counts: Scalar, size: Scalar) -> None:
        part = shared(np.int32, items)
        lane = local_id(0)
        first = (group_id(0) * items + lane) * EACH
        total = np.int32(0)
        if first + EACH <= size:
            for k in _PLACES:
                total = total + np.int32(mask[first + k])
        else:
            for k in range(first, size):
                total = total + np.int32(mask[k])
        part[lane] = total
        barrier()
        for half in halves:
            if lane < half:
                part[lane] = part[lane] + part[lane + half]
            barrier()
        if lane == 0:
            counts[group_id(0)] = part[0]

    return built(count_true, _BOOLS, array(INT32, True), numbers=1)


@cache
def offsets_kernel(items: int) -> nodes.Kernel:
    """Sums of the counts before each tile, and behind the last one: one group.

    Parameters are the counts, the sums, and how many counts there are.
    """
    running_sum = _running_sums(items)

    def add_counts(counts: Scalar, sums: Scalar, size: Scalar) -> None:
        part = shared(np.int64, items)
        lane = local_id(0)
        each = (size + items - 1) // items
        first = min(lane * each, size)
        stop = min(first + each, size)
        own = np.int64(0)
        for k in range(first, stop):
            own = own + np.int64(counts[k])
        before = running_sum(part, own) - own
        for k in range(first, stop):
            sums[k] = before
            before = before + np.int64(counts[k])
        if lane == items - 1:
            sums[size] = before

    return built(add_counts, array(INT32), array(INT64, True), numbers=1)


@cache
def choose_kernel(dtype: DType | None, items: int) -> nodes.Kernel:
    """Elements of an array where bools are true, or without a dtype their places.

    Parameters are the bools, the sums of counts, the array, the result, how many bools
    there are, and where the array begins and how far its elements lie apart; without a
    dtype neither the array nor these two.
    """
    running_sum = _running_sums(items)

    def kept_in(mask: Scalar, size: Scalar, kept: Scalar) -> Scalar:
        """Places of a tile's true bools, side by side, and how many there are."""
        part = shared(np.int32, items)
        lane = local_id(0)
        inner = lane * EACH
        first = group_id(0) * (items * EACH) + inner
        own = np.int32(0)
        if first + EACH <= size:
            for k in _PLACES:
                own = own + np.int32(mask[first + k])
        else:
            for k in range(first, size):
                own = own + np.int32(mask[k])
        at = running_sum(part, own) - own
        if own > 0:
            for k in range(min(np.int64(EACH), size - first)):
                if mask[first + k]:
                    kept[at] = np.int32(inner + k)
                    at = at + 1
        barrier()
        return part[items - 1]

    def choose(
        mask: Scalar,
        sums: Scalar,
        x: Scalar,
        out: Scalar,
        size: Scalar,
        offset: Scalar,
        step: Scalar,
    ) -> None:
        kept = shared(np.int32, items * EACH)
        count = kept_in(mask, size, kept)
        base = group_id(0) * (items * EACH)
        target = sums[group_id(0)]
        for k in range(local_id(0), count, items):
            out[target + k] = x[offset + (base + kept[k]) * step]

    def choose_places(mask: Scalar, sums: Scalar, out: Scalar, size: Scalar) -> None:
        kept = shared(np.int32, items * EACH)
        count = kept_in(mask, size, kept)
        base = group_id(0) * (items * EACH)
        target = sums[group_id(0)]
        for k in range(local_id(0), count, items):
            out[target + k] = base + kept[k]

    if dtype is None:
        return built(choose_places, _BOOLS, array(INT64), array(INT64, True), numbers=1)
    source, target = array(dtype), array(dtype, True)
    return built(choose, _BOOLS, array(INT64), source, target, numbers=3)
