"""Work items that exchange values with their neighbours.

A *subgroup* is 32 neighbours of a group, counted along its first axis first; the last
one may have fewer.  The functions are written in the kernel language, over shared
memory, so that they mean the same everywhere: sums are taken in the order of the lanes,
with the same rounding on every device.  All items of the group call them together, as
with a barrier.
"""

from __future__ import annotations

import numpy as np

from .grid import barrier, local_id, local_size, shared
from .language import Scalar, dtype_of

__all__ = [
    "SUBGROUP",
    "lane_id",
    "subgroup_add",
    "subgroup_all",
    "subgroup_any",
    "subgroup_ballot",
    "subgroup_id",
    "subgroup_max",
    "subgroup_min",
    "subgroup_shuffle",
    "subgroup_shuffle_down",
    "subgroup_shuffle_up",
    "subgroup_shuffle_xor",
]

SUBGROUP = 32
"""Lanes of a subgroup."""


def group_items() -> Scalar:
    return local_size(0) * local_size(1) * local_size(2)


def place_in_group() -> Scalar:
    plane = local_id(1) + local_size(1) * local_id(2)
    return local_id(0) + local_size(0) * plane


def lane_id() -> Scalar:
    """Place of the work item in its subgroup."""
    return place_in_group() & 31


def subgroup_id() -> Scalar:
    """Number of the subgroup in its group."""
    return place_in_group() >> 5


def subgroup_shuffle(value: Scalar, lane: Scalar) -> Scalar:
    """What another lane of the subgroup has; its own value where there is no such
    lane."""
    tile = shared(dtype_of(value), group_items())
    mine = place_in_group()
    first = mine - (mine & 31)
    tile[mine] = value
    barrier()
    wanted = first + lane
    there = lane >= 0 and lane < 32 and wanted < group_items()
    found = tile[wanted if there else mine]
    barrier()
    return found


def subgroup_shuffle_up(value: Scalar, distance: Scalar) -> Scalar:
    """What the lane so many before has; its own value where there is no such lane."""
    return subgroup_shuffle(value, lane_id() - distance)


def subgroup_shuffle_down(value: Scalar, distance: Scalar) -> Scalar:
    """What the lane so many after has; its own value where there is no such lane."""
    return subgroup_shuffle(value, lane_id() + distance)


def subgroup_shuffle_xor(value: Scalar, mask: Scalar) -> Scalar:
    """What the lane has whose number differs in these bits."""
    return subgroup_shuffle(value, lane_id() ^ mask)


def subgroup_add(value: Scalar) -> Scalar:
    """The sum over the subgroup, in the order of its lanes."""
    tile = shared(dtype_of(value), group_items())
    mine = place_in_group()
    tile[mine] = value
    barrier()
    first = mine - (mine & 31)
    total = tile[first]
    for place in range(first + 1, min(first + 32, group_items())):
        total = total + tile[place]
    barrier()
    return total


def subgroup_min(value: Scalar) -> Scalar:
    """The least value of the subgroup."""
    tile = shared(dtype_of(value), group_items())
    mine = place_in_group()
    tile[mine] = value
    barrier()
    first = mine - (mine & 31)
    best = tile[first]
    for place in range(first + 1, min(first + 32, group_items())):
        other = tile[place]
        best = other if other < best else best
    barrier()
    return best


def subgroup_max(value: Scalar) -> Scalar:
    """The greatest value of the subgroup."""
    tile = shared(dtype_of(value), group_items())
    mine = place_in_group()
    tile[mine] = value
    barrier()
    first = mine - (mine & 31)
    best = tile[first]
    for place in range(first + 1, min(first + 32, group_items())):
        other = tile[place]
        best = other if other > best else best
    barrier()
    return best


def subgroup_ballot(condition: Scalar) -> Scalar:
    """A uint32 with a bit for each lane, set where the condition holds."""
    bit = np.uint32(1 if condition else 0) << np.uint32(lane_id())
    return subgroup_add(bit)


def subgroup_any(condition: Scalar) -> Scalar:
    """Whether the condition holds for any lane."""
    return subgroup_ballot(condition) != 0


def subgroup_all(condition: Scalar) -> Scalar:
    """Whether the condition holds for all lanes."""
    return subgroup_ballot(not condition) == 0
