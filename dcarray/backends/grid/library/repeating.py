"""Elements repeated, one after the other."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ....ops.reduction import CUMULATIVE_SUM, MIN
from ..views import GridView
from .ordering import search
from .picking import take
from .places import turns
from .scans import scan
from .work import INT64, Work, normalized_axis

__all__ = ["TABLE"]


def _repeat(work: Work, x: Any, repeats: Any, *, axis: Any = None) -> GridView:
    """`numpy.repeat`."""
    x = work.put(x)
    if axis is None or (not x.ndim and axis in (0, -1)):
        x, axis = work.reshaped(x, (-1,)), 0
    axis = normalized_axis(axis, x.ndim)
    if not isinstance(repeats, (GridView, np.ndarray)):
        repeats = np.asarray(repeats, np.intp)
    if not np.can_cast(repeats.dtype, np.intp, "safe"):
        raise TypeError(
            f"Cannot cast array data from {repeats.dtype!r} to {np.dtype(np.intp)!r} "
            "according to the rule 'safe'"
        )
    if repeats.ndim > 1:
        raise ValueError("object too deep for desired array")
    length = x.shape[axis]
    if repeats.size == 1:
        times = work.read(repeats) if isinstance(repeats, GridView) else repeats
        return _often(work, x, int(times.reshape(())), axis)
    if repeats.size != length:
        raise ValueError(
            f"operands could not be broadcast together with shape ({length},) "
            f"({repeats.size},)"
        )
    return take(work, x, _sources(work, work.put(repeats, INT64)), axis)


def _often(work: Work, x: GridView, times: int, axis: int) -> GridView:
    """Each element as often."""
    if x.shape[axis]:
        _refuse_negative(times)
    times = max(0, times)
    spread = (*x.shape[: axis + 1], times, *x.shape[axis + 1 :])
    shape = (*x.shape[:axis], x.shape[axis] * times, *x.shape[axis + 1 :])
    if 0 in shape:
        return work.new(shape, x.dtype)
    index = (slice(None),) * (axis + 1) + (None,)
    seen = x.through(lambda a: a[index])
    whole = work.copy(seen.through(lambda a: np.broadcast_to(a, spread)))
    return work.reshaped(whole, shape)


def _sources(work: Work, times: GridView) -> GridView:
    """Which element each element of the result is."""
    if not times.size:
        return work.new((0,), INT64)
    fewest = work.reduce(MIN, (0,), times)
    _refuse_negative(int(work.read(fewest)[0]))
    ends = scan(work, CUMULATIVE_SUM, times, 0, INT64)
    total = int(work.read(ends.through(lambda a: a[-1:]))[0])
    return search(work, ends, turns(work, (total,), max(1, total)), "right", INT64)


def _refuse_negative(times: int) -> None:
    if times < 0:
        raise ValueError("repeats may not contain negative values.")


TABLE: dict[str, Callable[..., Any]] = {"repeat": _repeat}
"""Functions by the name of their rows."""
