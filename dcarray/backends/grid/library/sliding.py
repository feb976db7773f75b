"""Sums of products of one vector with each stretch of another one."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ....ops.elementwise import CAST, CONJUGATE
from ..views import GridView
from .contraction import product
from .joining import slab
from .work import Work

__all__ = ["TABLE"]


def _convolve(work: Work, x: Any, y: Any, *, mode: Any = "full") -> GridView:
    """`numpy.convolve`."""
    long, short = _vectors(work, x, y, "convolve")
    if short.size > long.size:
        long, short = short, long
    turned = short.through(lambda a: a[::-1])
    return _slid(work, long, turned, _mode(mode))


def _correlate(work: Work, x: Any, y: Any, *, mode: Any = "valid") -> GridView:
    """`numpy.correlate`."""
    long, short = _vectors(work, x, y, "correlate")
    if short.dtype.kind == "c":
        short = work.map(CONJUGATE, short)
    if short.size <= long.size:
        return _slid(work, long, short, _mode(mode))
    found = _slid(work, short, long, _mode(mode))
    return work.copy(found.through(lambda a: a[::-1]))


def _vectors(work: Work, x: Any, y: Any, name: str) -> tuple[GridView, GridView]:
    """Both operands with an axis and in one dtype."""
    found = []
    for given, letter in ((x, "a"), (y, "v")):
        one = work.put(given)
        if not one.ndim and name == "correlate":
            raise ValueError("object of too small depth for desired array")
        one = one if one.ndim else one.through(lambda a: a.reshape(1))
        if one.ndim != 1:
            raise ValueError("object too deep for desired array")
        if not one.size:
            first = "first" if letter == "a" else "second"
            letter = letter if name == "convolve" else f"{first} array argument"
            raise ValueError(f"{letter} cannot be empty")
        found.append(one)
    dtype = np.result_type(*[one.dtype for one in found])
    return work.cast(found[0], dtype), work.cast(found[1], dtype)


def _mode(mode: Any) -> str:
    names = ("valid", "same", "full")
    if isinstance(mode, (int, np.integer)) and 0 <= mode <= 2:
        return names[mode]
    if mode in names:
        return str(mode)
    np.correlate(np.ones(1), np.ones(1), mode)  # a TypeError, if it is no mode at all
    raise ValueError(f"mode must be one of 'valid', 'same', or 'full' (got {mode!r})")


def _slid(work: Work, long: GridView, short: GridView, mode: str) -> GridView:
    """``sum(long[i + k] * short[k] for k)`` at all places i that the mode takes."""
    width = short.size
    before = {"valid": 0, "same": width // 2, "full": width - 1}[mode]
    count = {"valid": long.size - width + 1, "same": long.size}.get(
        mode, long.size + width - 1
    )
    behind = count + width - 1 - before - long.size
    if before or behind:
        padded = work.full(before + long.size + behind, 0, long.dtype)
        inside = padded.through(slab(0, before, before + long.size))
        work.map(CAST, long, out=inside)
        long = padded
    windows = long.through(
        lambda a: np.lib.stride_tricks.sliding_window_view(a, width, writeable=True)
    )
    found = product(work, windows, short.through(lambda a: a[:, None]))
    return found.through(lambda a: a[:, 0])


TABLE: dict[str, Callable[..., Any]] = {
    "convolve": _convolve,
    "correlate": _correlate,
}
"""Functions by the name of their rows."""
