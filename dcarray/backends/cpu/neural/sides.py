"""Channels side by side in panels, as `micro` works on them, from and to arrays where
positions or channels are."""

from __future__ import annotations

import functools
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..engine import data_address
from .columns import HostArray, Sizes
from .micro import Micro

__all__ = ["Side", "gather", "move", "offsets", "run_of", "scatter"]


@functools.lru_cache(512)
def offsets(lengths: Sizes, steps: Sizes, multiple: int = 1) -> HostArray:
    """Distances of all elements of a box, the last axis fastest; the last one repeated
    until there are a multiple of some number."""
    found = np.zeros(1, np.int64)
    for length, step in zip(lengths, steps, strict=True):
        found = np.add.outer(found, np.arange(length) * step).ravel()
    missing = -len(found) % multiple
    return np.concatenate([found, np.repeat(found[-1:], missing)])


def run_of(lengths: Sizes, steps: Sizes, item: int) -> int:
    """How many elements of a box lie side by side, run after run."""
    found = 1
    for length, step in zip(reversed(lengths), reversed(steps), strict=True):
        if length > 1:
            if step != found * item:
                break
            found *= length
    return found


@dataclass(frozen=True, slots=True)
class Side:
    """Memory in which lanes lie apart: where it begins, bytes between lanes, and the
    box of what is moved for each of them."""

    array: HostArray
    step: int
    lengths: Sizes
    steps: Sizes


def move(
    function: Any, micro: Micro, far: Side, near: HostArray, lanes: int, each: int
) -> None:
    """Gather or scatter all panels of ``near``: (panels, rows, lanes)."""
    table = offsets(far.lengths, far.steps)
    item = near.itemsize
    words = np.array(
        [
            *(data_address(far.array), data_address(near), data_address(table)),
            *(len(table), lanes, each, far.step, near.strides[0]),
            run_of(far.lengths, far.steps, item),
        ],
        np.int64,
    )
    function(data_address(words))


def gather(micro: Micro, x: HostArray, panels: HostArray) -> None:
    """Read (images, channels, \\*positions) as panels: (panels, places, lanes)."""
    move(micro.gather, micro, _whole(x), panels, x.shape[1], micro.lanes)


def scatter(micro: Micro, panels: HostArray, y: HostArray) -> None:
    """Store panels of (panels, places, lanes) in (images, channels, \\*positions)."""
    move(micro.scatter, micro, _whole(y), panels, y.shape[1], micro.lanes)


def _whole(x: HostArray) -> Side:
    lengths, steps = [(a[0], *a[2:]) for a in (x.shape, x.strides)]
    return Side(x, x.strides[1], lengths, steps)
