"""A kernel that merges two ordered runs, for a few fast cores.

The result is cut into stretches of the same length; where each of them begins in both
runs is known beforehand (S. Odeh, O. Green et al., "Merge Path", 2012).  A work item
has four stretches, and takes one element for each of them in turn: what comes next
depends on a comparison, and four of those do not wait for each other.
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

__all__ = ["CHAINS", "merge_kernel"]

CHAINS = 4
"""Stretches of a work item."""


@cache
def merge_kernel(dtype: np.dtype[Any]) -> nodes.Kernel:
    """Stretches of the merged run.

    Parameters are the elements, for each stretch where it begins and where it ends in
    the first run, in the second run and in the result (six numbers), and the result.
    """

    def merge(x: Scalar, places: Scalar, out: Scalar) -> None:
        base = global_id(0) * 24
        # The place in the first run is that in the result less that in the second one.
        o0 = places[base + 4]
        o1 = places[base + 10]
        o2 = places[base + 16]
        o3 = places[base + 22]
        j0 = places[base + 2]
        j1 = places[base + 8]
        j2 = places[base + 14]
        j3 = places[base + 20]
        s0 = places[base] + j0
        s1 = places[base + 6] + j1
        s2 = places[base + 12] + j2
        s3 = places[base + 18] + j3
        rounds = np.int64(1)
        while rounds > 0:
            first = min(places[base + 1] - (s0 - j0), places[base + 3] - j0)
            second = min(places[base + 7] - (s1 - j1), places[base + 9] - j1)
            third = min(places[base + 13] - (s2 - j2), places[base + 15] - j2)
            fourth = min(places[base + 19] - (s3 - j3), places[base + 21] - j3)
            rounds = min(min(first, second), min(third, fourth))
            for k in range(rounds):
                a0 = x[s0 - j0 + k]
                b0 = x[j0]
                a1 = x[s1 - j1 + k]
                b1 = x[j1]
                a2 = x[s2 - j2 + k]
                b2 = x[j2]
                a3 = x[s3 - j3 + k]
                b3 = x[j3]
                out[o0 + k] = b0 if b0 < a0 else a0
                out[o1 + k] = b1 if b1 < a1 else a1
                out[o2 + k] = b2 if b2 < a2 else a2
                out[o3 + k] = b3 if b3 < a3 else a3
                j0 = j0 + np.int64(b0 < a0)
                j1 = j1 + np.int64(b1 < a1)
                j2 = j2 + np.int64(b2 < a2)
                j3 = j3 + np.int64(b3 < a3)
            s0 = s0 + rounds
            s1 = s1 + rounds
            s2 = s2 + rounds
            s3 = s3 + rounds
            o0 = o0 + rounds
            o1 = o1 + rounds
            o2 = o2 + rounds
            o3 = o3 + rounds
        for chain in range(CHAINS):
            # One of the runs has no more elements for this stretch, or few.
            j = j0 if chain == 0 else j1 if chain == 1 else j2 if chain == 2 else j3
            s = s0 if chain == 0 else s1 if chain == 1 else s2 if chain == 2 else s3
            o = o0 if chain == 0 else o1 if chain == 1 else o2 if chain == 2 else o3
            i = s - j
            entry = base + 6 * chain
            last = places[entry + 1]
            end = places[entry + 3]
            i = s - j
            for k in range(o, places[entry + 5]):
                a = x[max(min(i, last - 1), 0)]
                b = x[max(min(j, end - 1), 0)]
                second = i >= last or (j < end and b < a)
                out[k] = b if second else a
                j = j + np.int64(second)
                i = i + 1 - np.int64(second)

    return built(merge, array(dtype), array(INT64), array(dtype, True), numbers=0)
