"""Kernels that store elements at random places, for a few fast cores.

What goes to the same region of memory is brought together first (`radix`), so that the
cache holds the region while it is written.  Each group has one work item.
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

__all__ = ["KEY", "keys_kernel", "store_kernel"]

DType = np.dtype[Any]

KEY = np.dtype(np.uint32)


@cache
def keys_kernel(dtype: DType) -> nodes.Kernel:
    """Places that may count from the end, as places from the beginning.

    Parameters are the places, the result, the smallest and the largest place of each
    group, and: how many places there are, how many a group has, and the length of what
    they are places in.
    """

    def keys(
        places: Scalar,
        out: Scalar,
        ends: Scalar,
        count: Scalar,
        each: Scalar,
        length: Scalar,
    ) -> None:
        group = global_id(0)
        start = group * each
        low = np.int64(places[start])
        high = low
        for i in range(start, min(start + each, count)):
            place = np.int64(places[i])
            low = min(low, place)
            high = max(high, place)
            out[i] = np.uint32(place + length if place < 0 else place)
        ends[2 * group] = low
        ends[2 * group + 1] = high

    return built(keys, array(dtype), array(KEY, True), array(INT64, True), numbers=3)


@cache
def store_kernel(dtype: DType, one: bool) -> nodes.Kernel:
    """Elements, or the first of them everywhere if ``one``, at their places, in turn.

    Parameters are what is written to, the places, the elements, and with which of them
    each group begins and ends.
    """

    def store(x: Scalar, keys: Scalar, values: Scalar, edges: Scalar) -> None:
        group = global_id(0)
        first = values[0]
        for i in range(edges[group], edges[group + 1]):
            x[np.int64(keys[i])] = first if one else values[i]

    operands = (array(dtype, True), array(KEY), array(dtype), array(INT64))
    return built(store, *operands, numbers=0)
