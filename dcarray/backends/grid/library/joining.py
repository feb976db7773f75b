"""Arrays one behind the other."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ....ops.elementwise import CAST
from ..views import GridView
from .work import DType, Work, normalized_axis

__all__ = ["TABLE", "joined", "slab"]


def joined(
    work: Work, parts: Sequence[GridView], axis: int, dtype: DType | None = None
) -> GridView:
    """Arrays one behind the other along an axis."""
    first = parts[0]
    if dtype is None:
        dtype = np.result_type(*[part.dtype for part in parts])
    length = sum([part.shape[axis] for part in parts])
    out = work.new((*first.shape[:axis], length, *first.shape[axis + 1 :]), dtype)
    start = 0
    for part in parts:
        stop = start + part.shape[axis]
        if part.size:
            target = out.through(slab(axis, start, stop))
            work.map(CAST, part, dtype=dtype, out=target)
        start = stop
    return out


def slab(axis: int, start: int, stop: int) -> Callable[[Any], Any]:
    """The view operation that takes a part of an axis."""
    return lambda a: a[(slice(None),) * axis + (slice(start, stop),)]


def _concatenate(
    work: Work,
    *arrays: Any,
    axis: Any = 0,
    dtype: Any = None,
    casting: Any = "same_kind",
) -> GridView:
    """`numpy.concatenate`."""
    parts = [work.put(x) for x in arrays]
    if not parts:
        raise ValueError("need at least one array to concatenate")
    if axis is None:
        parts, axis = [work.reshaped(part, (-1,)) for part in parts], 0
    first = parts[0]
    if not first.ndim:
        raise ValueError("zero-dimensional arrays cannot be concatenated")
    axis = normalized_axis(axis, first.ndim)
    kept = (*first.shape[:axis], *first.shape[axis + 1 :])
    for part in parts:
        if part.ndim != first.ndim or kept != (
            *part.shape[:axis],
            *part.shape[axis + 1 :],
        ):
            raise ValueError(
                "all the input array dimensions except for the concatenation axis must "
                f"match exactly, but there are shapes {first.shape} and {part.shape}"
            )
    found = np.result_type(*[part.dtype for part in parts])
    wanted = found if dtype is None else np.dtype(dtype)
    if not np.can_cast(found, wanted, casting):
        raise TypeError(
            f"Cannot cast array data from {found!r} to {wanted!r} according to the "
            f"rule {casting!r}"
        )
    return joined(work, parts, axis, wanted)


TABLE: dict[str, Callable[..., Any]] = {"concatenate": _concatenate}
"""Functions by the name of their rows."""
