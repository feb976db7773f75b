"""NumPy's pairwise tree of a floating-point sum, cut where its branches are large."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np

__all__ = ["branches", "join_branches"]

HostArray = np.ndarray[Any, Any]


@lru_cache(32)
def branches(length: int, most: int, unit: int = 1) -> tuple[int, ...]:
    """Where the branches of the tree begin, and the end of the last.

    NumPy halves a run of ``n`` numbers at ``n // 2 - n // 2 % 8`` as long as ``n`` is
    more than 128.  Here all branches have the same depth, the least at which none has
    more than ``most`` elements.

    Parameters
    ----------
    length : int
        Elements of the run.
    most : int
        At least 256, so that NumPy would halve whatever is halved here.
    unit : int
        Numbers in an element: 2 for complex ones.
    """
    sizes = np.array([length * unit])
    while sizes.max() > most * unit:
        half = sizes // 2
        half -= half % 8
        sizes = np.stack([half, sizes - half], axis=1).ravel()
    edges = np.concatenate([[0], np.cumsum(sizes)]) // unit
    return tuple(edges.tolist())


def join_branches(sums: HostArray) -> HostArray:
    """Add the sums of the branches, which lie along the last axis, up the tree."""
    while sums.shape[-1] > 1:
        sums = sums[..., 0::2] + sums[..., 1::2]
    return sums[..., 0]
