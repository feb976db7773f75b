"""Groups that are too large for one kernel: some have too many variables for the
registers that a device has for a whole group of the usual size."""

from __future__ import annotations

import math
from collections.abc import Sequence

from ...kernel.nodes import Barrier, Index, Kernel, Shared
from ...kernel.walk import expressions, parts, statements

__all__ = ["halved", "is_free"]

_OF_GROUPS = ("local_id", "group_id", "local_size", "group_count")


def is_free(kernel: Kernel) -> bool:
    """Whether a kernel never looks at its group: it is the same with any size."""
    for node in statements(kernel.body):
        if isinstance(node, Barrier | Shared):
            return False
        for item in expressions(node):
            for part in parts(item):
                if isinstance(part, Index) and part.kind in _OF_GROUPS:
                    return False
    return True


def halved(group: Sequence[int], most: int) -> tuple[int, ...]:
    """A group, halved until it has at most so many items, as far as that goes."""
    sizes = list(group)
    while math.prod(sizes) > most:
        axis = sizes.index(max(sizes))
        if sizes[axis] % 2:
            break
        sizes[axis] //= 2
    return tuple(sizes)
