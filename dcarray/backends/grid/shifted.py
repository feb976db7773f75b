"""Launches for operands that lie like others did, and begin elsewhere.

A loop over the places of an array launches the same kernel over the same grid at each
step: all that changes is where operands begin.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ...layout import Layout
from .geometry import counted, room_before
from .launch import Launch
from .reductions import Parts

if TYPE_CHECKING:
    from .backend import GridBackend

__all__ = ["Shifted", "lying", "shifted_of"]

ALIGNED = 64
"""Bytes, four elements of the largest: what is read or copied at once begins at
multiples of them or of a part of them."""


class Shifted:
    """What runs a program on operands that lie alike but for where they begin.

    Parameters
    ----------
    launch : Launch or Parts
        As it was made for the first of them.
    sizes : tuple of int
        Bytes of an element of each operand that may begin elsewhere.
    limits : tuple of int
        Offsets, in elements, from which on the kernel's indices are too narrow.
    """

    __slots__ = ("launch", "limits", "sizes")

    def __init__(
        self, launch: Launch | Parts, sizes: tuple[int, ...], limits: tuple[int, ...]
    ) -> None:
        self.launch = launch
        self.sizes = sizes
        self.limits = limits

    def once(
        self,
        backend: GridBackend,
        places: Sequence[tuple[Layout, np.dtype[Any]]],
        memories: list[Any],
        scalars: Sequence[Any],
    ) -> bool:
        """See `Launch.once`; False, and nothing has happened, where one begins too far
        away or within an element."""
        sizes, limits = self.sizes, self.limits
        offsets: list[int] = []
        for place in range(len(sizes)):
            begin = places[place][0].offset
            size = sizes[place]
            offset = begin // size
            if begin < 0 or offset * size != begin or offset >= limits[place]:
                return False
            offsets.append(offset)
        self.launch.once(backend, memories, scalars, offsets)
        return True


def lying(
    shape: tuple[int, ...],
    places: Sequence[tuple[Layout, np.dtype[Any]]],
    is_reduced: bool,
) -> tuple[Any, ...]:
    """All of which a launch depends but where the operands begin.

    Those of a map count as alike only where they are aligned alike, for that decides
    what is read at once.  The result of a reduction, the last one, is in new memory.
    """
    key: list[Any] = [shape]
    for place in places:
        layout = place[0]
        key.append(layout.strides)
        if not is_reduced:
            key.append(layout.offset % ALIGNED)
    if is_reduced:
        layout, dtype = places[-1]
        key += (layout.offset, layout.shape, dtype)
    return tuple(key)


def shifted_of(
    launch: Launch | Parts,
    shape: tuple[int, ...],
    places: Sequence[tuple[Layout, np.dtype[Any]]],
    is_reduced: bool,
) -> Shifted | None:
    """What runs a launch for others that lie alike; None for arrays that are so large
    that the kernel may be another one."""
    given = places[: len(places) - is_reduced]
    offsets, rows = counted(given)
    limits = [room_before(shape, row) for row in rows]
    for offset, limit in zip(offsets, limits, strict=True):
        if not 0 <= offset < limit:
            return None
    sizes = tuple([dtype.itemsize for _, dtype in given])
    return Shifted(launch, sizes, tuple(limits))
