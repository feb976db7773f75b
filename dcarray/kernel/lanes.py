"""Subgroups by instructions of the device, where it has them for 32 lanes.

The functions mean the same as those of `subgroups`, in which the values go through
shared memory; `NATIVE` says which takes the place of which.  A barrier in them says
that all work items of the group come here together, and is none for the device.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from . import subgroups
from .grid import barrier
from .language import (
    Scalar,
    as_unsigned,
    bits,
    bits_to_float,
    cast,
    float_to_bits,
    imag,
    is_boolean,
    is_complex,
    is_floating,
    is_integer,
    is_narrow,
    lane_value,
    lane_votes,
    make_complex,
    real,
    widen,
)
from .subgroups import group_items, lane_id, place_in_group

__all__ = ["NATIVE"]


def exchanged(value: Scalar, lane: Scalar) -> Scalar:
    """What a lane has that exists."""
    if is_complex(value):
        return make_complex(exchanged(real(value), lane), exchanged(imag(value), lane))
    if is_boolean(value):
        return exchanged(np.uint32(value), lane) != 0
    if is_narrow(value):
        return cast(exchanged(widen(value), lane), value)
    if is_floating(value) and bits(value) == 64:
        return bits_to_float(exchanged(float_to_bits(value), lane))
    if is_integer(value) and bits(value) == 64:
        whole = as_unsigned(value)
        low = np.uint64(exchanged(np.uint32(whole), lane))
        high = np.uint64(exchanged(np.uint32(whole >> 32), lane))
        return cast(low | (high << 32), value)
    if is_integer(value) and bits(value) < 32:
        return cast(exchanged(np.int32(value), lane), value)
    return lane_value(value, np.uint32(lane))


def lanes() -> Scalar:
    """How many lanes the subgroup has."""
    return min(32, group_items() - (place_in_group() - lane_id()))


def shuffle(value: Scalar, lane: Scalar) -> Scalar:
    barrier()
    there = lane >= 0 and lane < lanes()
    return exchanged(value, lane if there else lane_id())


def total(value: Scalar) -> Scalar:
    """The order of a sum matters for floating-point numbers alone."""
    barrier()
    count = lanes()
    if is_integer(value):
        found = value
        for step in (16, 8, 4, 2, 1):
            partner = lane_id() ^ step
            other = exchanged(found, partner if partner < count else lane_id())
            found = found + other if partner < count else found
        return exchanged(found, 0)
    found = exchanged(value, 0)
    for k in range(1, 32):
        other = exchanged(value, k)
        found = found + other if k < count else found
    return found


def least(value: Scalar) -> Scalar:
    barrier()
    count = lanes()
    best = exchanged(value, 0)
    for k in range(1, 32):
        other = exchanged(value, k)
        best = other if k < count and other < best else best
    return best


def greatest(value: Scalar) -> Scalar:
    barrier()
    count = lanes()
    best = exchanged(value, 0)
    for k in range(1, 32):
        other = exchanged(value, k)
        best = other if k < count and other > best else best
    return best


def ballot(condition: Scalar) -> Scalar:
    barrier()
    return lane_votes(bool(condition), np.uint32(lane_id()))


NATIVE: dict[Any, Any] = {
    subgroups.subgroup_shuffle: shuffle,
    subgroups.subgroup_add: total,
    subgroups.subgroup_min: least,
    subgroups.subgroup_max: greatest,
    subgroups.subgroup_ballot: ballot,
}
