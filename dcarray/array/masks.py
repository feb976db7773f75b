"""Elements that a mask chooses, as most programs on devices ask for them."""

from __future__ import annotations

from ..lazy.choosing import choose
from .state import ArrayState, showing

__all__ = ["masked"]


def masked(x: ArrayState, mask: ArrayState) -> ArrayState | None:
    """``x[mask]`` for two whole arrays of one shape on one named device, if that
    chooses by itself; None for all else."""
    view, seen = x._view, mask._view
    if view is None or seen is None or mask._device is not x._device:
        return None
    layout, other = view[0], seen[0]
    if seen[1].kind != "b" or not layout.plain or not other.plain:
        return None
    if layout is not other and layout.shape != other.shape:
        return None
    if not layout.shape or 0 in layout.shape:
        return None
    binding, bound = x._binding, mask._binding
    if binding is None or bound is None:
        return None
    value, truths = binding._value, bound._value
    if value is None or truths is None:
        return None
    found = choose(value, truths, view)
    return None if found is None else showing(type(x), found)
