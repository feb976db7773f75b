"""Elements chosen by number among several arrays."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ....ops.elementwise import CAST, EQUAL, MAXIMUM, MINIMUM, REMAINDER, WHERE
from ....ops.reduction import MAX, MIN
from .work import INT64, Work

__all__ = ["TABLE"]


def _choose(work: Work, index: Any, *choices: Any, mode: str = "raise") -> Any:
    """`numpy.choose`."""
    if len(choices) == 1 and work.put(choices[0]).ndim:
        whole = work.put(choices[0])
        choices = tuple([whole.through(_row(k)) for k in range(whole.shape[0])])
    arrays = [work.put(x) for x in choices]
    if not arrays:
        raise ValueError("0-length sequence.")
    index = work.put(index)
    if index.dtype.kind not in "biu" or not np.can_cast(index.dtype, INT64):
        raise TypeError(
            f"Cannot cast array data from {index.dtype!r} to dtype('int64') according "
            "to the rule 'safe'"
        )
    number = work.cast(index, INT64)
    last = len(arrays) - 1
    if mode == "wrap":
        number = work.map(REMAINDER, number, np.int64(last + 1))
    elif mode == "clip":
        number = work.map(MINIMUM, work.map(MAXIMUM, number, 0), np.int64(last))
    elif number.size:
        axes = tuple(range(number.ndim))
        low, high = (work.read(work.reduce(op, axes, number)) for op in (MIN, MAX))
        if low.min() < 0 or high.max() > last:
            raise ValueError("invalid entry in choice array")
    dtype = np.result_type(*[x.dtype for x in arrays])
    shape = np.broadcast_shapes(number.shape, *[x.shape for x in arrays])
    out = work.new(shape, dtype)
    if out.size:
        work.map(CAST, arrays[0], dtype=dtype, out=out)
    for k, choice in enumerate(arrays[1:], 1):
        if out.size:
            chosen = work.map(EQUAL, number, np.int64(k))
            work.map(WHERE, chosen, choice, out, dtype=dtype, out=out)
    return out


def _row(number: int) -> Callable[[Any], Any]:
    return lambda a: a[number, ...]


TABLE: dict[str, Callable[..., Any]] = {"choose": _choose}
"""Functions by the name of their rows."""
