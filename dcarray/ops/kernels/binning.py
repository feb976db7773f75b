"""Kernels that find where elements belong among others in order, for a few fast cores.

Each group has one work item and a piece of the elements.  No branch depends on an
element: a processor cannot guess where random ones belong.

What is in order is a perfect binary tree of keys: the root is number 1, the children of
node ``k`` are ``2 k`` and ``2 k + 1``, and the largest key fills it up.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np

from ...kernel import nodes
from ...kernel.grid import global_id
from ...kernel.language import Scalar, dtype_of, largest
from .parts import INT64
from .searching import array, built
from .sorting import key_dtype, order_key

__all__ = ["keys_kernel", "places_kernel", "uniform_kernel"]

DType = np.dtype[Any]


def _before(tree: Scalar, key: Scalar, size: Scalar, steps: Scalar) -> Scalar:
    """How many of the keys of a tree are less than a key.

    The next node is computed from the comparison: a choice between two would become a
    branch.
    """
    node = np.int64(1)
    for _ in range(steps):
        node = 2 * node + np.int64(tree[node] < key)
    return min(node - (np.int64(1) << steps), size)


def _upto(tree: Scalar, key: Scalar, size: Scalar, steps: Scalar) -> Scalar:
    """How many of the keys of a tree are not larger than a key: less than the next."""
    found = _before(tree, key + dtype_of(key).type(1), size, steps)
    return size if key == largest(key) else found


@cache
def keys_kernel(dtype: DType) -> nodes.Kernel:
    """The keys of elements; parameters are these, and how many there are."""

    def keys(x: Scalar, out: Scalar, count: Scalar) -> None:
        for i in range(count):
            out[i] = order_key(x[i])

    return built(keys, array(dtype), array(key_dtype(dtype), True), numbers=1)


@cache
def places_kernel(dtype: DType, right: bool) -> nodes.Kernel:
    """Where elements belong, before equal ones or if ``right`` behind them.

    Parameters are a tree, the elements, the places, and: how many keys are in the tree,
    its levels, how many elements there are, and a group has.
    """

    def places(
        tree: Scalar,
        x: Scalar,
        out: Scalar,
        size: Scalar,
        steps: Scalar,
        count: Scalar,
        each: Scalar,
    ) -> None:
        start = global_id(0) * each
        for i in range(start, min(start + each, count)):
            if right:
                out[i] = _upto(tree, order_key(x[i]), size, steps)
            else:
                out[i] = _before(tree, order_key(x[i]), size, steps)

    key = array(key_dtype(dtype))
    return built(places, key, array(dtype), array(INT64, True), numbers=4)


@cache
def uniform_kernel(dtype: DType, edge: DType) -> nodes.Kernel:
    """How many elements lie between edges at equal distances, computed as NumPy does.

    Parameters are the edges, the elements, a count of each group for every edge, the
    last of which is for what lies outside, and: how many edges there are, how many
    elements, and a group has.
    """
    number: Any = edge.type

    def bins(
        edges: Scalar,
        x: Scalar,
        counts: Scalar,
        size: Scalar,
        count: Scalar,
        each: Scalar,
    ) -> None:
        group = global_id(0)
        base = group * size
        start = group * each
        first = edges[0]
        last = edges[size - 1]
        width = last - first
        number_of_bins = number(size - 1)
        for i in range(start, min(start + each, count)):
            value = number(x[i])
            inside = value >= first and value <= last
            value = value if inside else first
            place = np.int64((value - first) / width * number_of_bins)
            place = min(place, size - 2)
            place = place - 1 if value < edges[place] else place
            above = value >= edges[place + 1] and place != size - 2
            place = place + 1 if above else place
            at = base + (place if inside else size - 1)
            counts[at] = counts[at] + 1

    return built(bins, array(edge), array(dtype), array(INT64, True), numbers=3)
