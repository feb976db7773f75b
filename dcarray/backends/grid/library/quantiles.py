"""Medians and quantiles, from sorted rows."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from ....errors import UnsupportedError
from ....ops.elementwise import ADD, CAST, ISNAN, MULTIPLY, SUBTRACT, WHERE
from ..views import GridView
from .joining import joined
from .ordering import TABLE as ORDERING
from .work import DType, Work

__all__ = ["METHODS", "TABLE", "placed"]

FLOAT64 = np.dtype(np.float64)


class _Sorted:
    """An array with the axes that are summed up sorted, as the first one.

    Attributes
    ----------
    rows : GridView
        The elements in their order, smallest first, and the other axes.
    kept : tuple of int
        Shape of a result.
    """

    def __init__(self, work: Work, x: Any, axis: Any, keepdims: Any) -> None:
        x = work.put(x)
        if x.dtype.kind not in "iuf":
            raise UnsupportedError(f"quantiles of {x.dtype}")
        every = tuple(range(x.ndim))
        axes = every
        if axis is not None:
            axes = tuple(np.lib.array_utils.normalize_axis_tuple(axis, x.ndim))
        rest = [place for place in every if place not in axes]
        length = math.prod([x.shape[place] for place in axes])
        if not length:
            raise UnsupportedError("quantiles of nothing")
        shape = tuple([x.shape[place] for place in rest])
        moved = x.through(lambda a: a.transpose((*rest, *axes)))
        flat = work.reshaped(moved, (*shape, length))
        ordered: GridView = ORDERING["sort"](work, flat, axis=-1)
        self.work = work
        self.rows = ordered.through(lambda a: np.moveaxis(a, -1, 0))
        self.kept = shape
        if keepdims:
            self.kept = tuple([1 if k in axes else x.shape[k] for k in every])

    @property
    def length(self) -> int:
        """Elements of a row."""
        return self.rows.shape[0]

    def at(self, place: int) -> GridView:
        """The elements at a place of all rows."""
        return self.rows.through(lambda a: a[place, ...])

    def finished(self, result: GridView) -> GridView:
        """A result that is NaN where a row has one."""
        last = self.at(self.length - 1)
        if last.dtype.kind == "f":
            missing = self.work.map(ISNAN, last)
            result = self.work.map(WHERE, missing, last, result, dtype=result.dtype)
        return result.through(lambda a: a.reshape(self.kept))

    def between(self, share: float, method: str, dtype: DType) -> GridView:
        """The element at a share of the length, interpolated."""
        below, rest = placed(method, self.length, share)
        if rest is None:
            return self.finished(self.at(below))
        first, second = self.at(below), self.at(min(below + 1, self.length - 1))
        work = self.work
        step = work.map(SUBTRACT, second, first)
        number = dtype.type
        if rest < 0.5:
            moved = work.map(MULTIPLY, step, number(rest), dtype=dtype)
            return self.finished(work.map(ADD, first, moved, dtype=dtype))
        moved = work.map(MULTIPLY, step, number(1 - rest), dtype=dtype)
        return self.finished(work.map(SUBTRACT, second, moved, dtype=dtype))


# ----------------------------------------------------------------------------- methods
_LINES = {
    "linear": (1.0, 1.0),
    "hazen": (0.5, 0.5),
    "weibull": (0.0, 0.0),
    "median_unbiased": (1 / 3, 1 / 3),
    "normal_unbiased": (3 / 8, 3 / 8),
    "interpolated_inverted_cdf": (0.0, 1.0),
}
"""Methods that interpolate, and their two parameters (Hyndman and Fan 1996)."""

_MEANS = ("midpoint", "averaged_inverted_cdf")
"""Methods that take an element, or the mean of two."""

_ELEMENTS = ("lower", "higher", "nearest", "inverted_cdf", "closest_observation")
"""Methods that take an element."""


METHODS = (*_LINES, *_MEANS, *_ELEMENTS)


def placed(method: str, length: int, share: float) -> tuple[int, float | None]:
    """The place of a quantile: an element, and how far it is on the way to the next
    one, or None where it is that element."""
    last = length - 1
    steps, rank = last * share, length * share - 1
    if method in _LINES:
        first, second = _LINES[method]
        place = steps
        if method != "linear":
            place = length * share + (first + share * (1 - first - second)) - 1
        place = min(max(place, 0.0), float(last))
        below = math.floor(place)
        return below, place - below
    if method == "midpoint":
        return math.floor(steps), 0.5 if steps % 1 else 0.0
    if method == "averaged_inverted_cdf":
        below = min(max(math.floor(rank), 0), last)
        inside = 0 <= rank < last
        return below, (1.0 if rank % 1 else 0.5) if inside else 0.0
    if method == "closest_observation":
        beside = rank - 0.5
        below = math.floor(beside)
        even = not beside % 1 and below % 2 == 1
        found = below if even else below + 1
    else:
        chosen = {
            "lower": math.floor(steps),
            "higher": math.ceil(steps),
            "nearest": round(steps),
            "inverted_cdf": math.ceil(rank),
        }
        found = chosen[method]
    return min(max(found, 0), last), None


# --------------------------------------------------------------------------- functions
def _median(
    work: Work,
    x: Any,
    *,
    axis: Any = None,
    overwrite_input: bool = False,
    keepdims: Any = False,
) -> GridView:
    """`numpy.median`."""
    found = _Sorted(work, x, axis, keepdims)
    dtype = found.rows.dtype if found.rows.dtype.kind == "f" else FLOAT64
    half = found.length // 2
    if found.length % 2:
        return found.finished(work.map(CAST, found.at(half), dtype=dtype))
    within = np.promote_types(dtype, np.float32)
    low, high = (work.cast(found.at(place), within) for place in (half - 1, half))
    middle = work.map(MULTIPLY, work.map(ADD, low, high), within.type(0.5))
    return found.finished(work.cast(middle, dtype))


def _quantile(
    scale: float,
    work: Work,
    x: Any,
    q: Any,
    *,
    axis: Any = None,
    overwrite_input: bool = False,
    method: str = "linear",
    keepdims: Any = False,
    weights: Any = None,
) -> GridView:
    """`numpy.quantile` by linear interpolation; ``scale`` is what 1 is called."""
    if weights is not None:
        raise UnsupportedError("quantiles with weights")
    if method not in METHODS:
        raise ValueError(f"{method!r} is not a valid method of quantiles")
    shares = (work.read(q) if isinstance(q, GridView) else np.asarray(q)) / scale
    if not ((shares >= 0) & (shares <= 1)).all():
        raise ValueError(
            "Quantiles must be in the range [0, 1]"
            if scale == 1
            else "Percentiles must be in the range [0, 100]"
        )
    if shares.ndim > 2:
        raise ValueError("q must be a scalar or 1d")
    found = _Sorted(work, x, axis, keepdims)
    dtype = found.rows.dtype
    weak = type(q) in (int, float) and dtype.kind == "f"
    if not weak:
        dtype = np.result_type(dtype, shares.dtype)
    if method in _ELEMENTS:
        dtype = found.rows.dtype
    parts = [found.between(float(share), method, dtype) for share in shares.flat]
    if not shares.ndim:
        return parts[0]
    if not parts:
        return work.new((*shares.shape, *found.kept), dtype)
    rows = [part.through(lambda a: a[None, ...]) for part in parts]
    shape = (*shares.shape, *found.kept)
    return joined(work, rows, 0).through(lambda a: a.reshape(shape))


TABLE: dict[str, Callable[..., Any]] = {
    "median": _median,
    "quantile": partial(_quantile, 1.0),
    "percentile": partial(_quantile, 100.0),
}
"""Functions by the name of their rows."""
