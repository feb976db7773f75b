"""How kernels are laid out over a device: by its properties, or as a search found best.

The search is in `trials`; what it found is kept beside the compiled kernels and looked
up once for each device.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ..tuned import tuned_for

if TYPE_CHECKING:
    from .backend import GridBackend, Limits

__all__ = ["Choice", "by_properties", "chosen", "group_items", "is_possible"]

MOST_ITEMS = 256
"""What a group of any kernel may have: with more, a long one has too few registers."""


@dataclass(frozen=True, slots=True)
class Choice:
    """The layout of one kind of kernels.

    Attributes
    ----------
    items : int
        Work items of a group, a power of 2.
    ahead : int
        Elements that an item reads before it computes; in a product of matrices, rows
        and columns of the result that it computes.
    waves : int
        Groups for each unit of the device, so that it is never idle.
    """

    items: int
    ahead: int
    waves: int


def group_items(group: int, bundle: int, coalesces: bool) -> int:
    """Work items of a group, a power of 2, by properties of the device.

    Parameters
    ----------
    group : int
        The most that it takes.
    bundle : int
        How many it runs in step: the preferred multiple.
    coalesces : bool
        Whether memory is fast only where neighbours read neighbours, as on a GPU.
    """
    wanted = max(64, 4 * bundle) if coalesces else 64
    return 1 << (max(1, min(group, wanted, MOST_ITEMS)).bit_length() - 1)


def by_properties(limits: Limits) -> dict[str, Choice]:
    """The layouts for a device on which nothing was tried: of maps, of maps by squares,
    of reductions, of products of matrices."""
    items, ahead = limits.items, limits.ahead
    # A reduction stores nothing, and has more time to wait for loads.
    further = 4 * ahead if ahead > 1 else 1
    return {
        "map": Choice(items, ahead, 8),
        "turn": Choice(items, 1, 1),
        "reduce": Choice(items, further, 16),
        "product": Choice(items, 4, 1),
    }


def chosen(backend: GridBackend) -> dict[str, Choice]:
    """The layouts that were found best on this machine, or those by properties."""
    found = by_properties(backend.limits)
    kept = tuned_for(backend)
    if kept is not None:
        for kind, numbers in kept.layouts.items():
            if kind in found and is_possible(kind, numbers, backend.limits):
                found[kind] = Choice(*numbers)
    return found


def is_possible(kind: str, numbers: Sequence[int], limits: Limits) -> bool:
    """Whether a device can run kernels of a kind that are laid out so."""
    if len(numbers) != 3:
        return False
    items, ahead, waves = numbers
    least = 32 if kind == "turn" else 1
    return (
        least <= items <= min(limits.group, max(MOST_ITEMS, limits.items))
        and items & (items - 1) == 0
        and 1 <= ahead <= 16
        and 1 <= waves <= 256
    )
