"""Histograms by our own texts in CUDA C++: one launch for the ends of an array, and one
for the counts."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from ..grid.library.statistics import edges_of
from ..grid.library.work import BOOL, INT64
from ..grid.views import GridView
from .kernels import counting
from .kernels.common import is_known
from .picking import is_dense
from .raw import FLOAT64, Raw, signature

__all__ = ["TABLE"]

MOST = 1 << 20
"""Bins up to which a place among them is a small integer."""

GROUPS = 4
"""Groups for each unit of the device: each adds all its counts to those of all."""

_ENDS = signature("ends", "rwwwqq")
_HISTOGRAM = signature("histogram", "rrrwqqqqd")


def _readable(raw: Raw, x: GridView) -> GridView:
    """The elements side by side."""
    is_whole = not x.layout.offset % x.dtype.itemsize
    return x if is_whole and is_dense(x) else raw.work.copy(x)


def ends(raw: Raw, x: GridView) -> np.ndarray[Any, Any]:
    """The smallest and the largest element on the host; NaN twice if there is one."""
    x = _readable(raw, x)
    tiles = -(-x.size // counting.TILE)
    groups = min(tiles, raw.backend.limits.units * GROUPS)
    out, parts = raw.new((2,), x.dtype), raw.new((2 * groups,), x.dtype)
    text = counting.ends_text(x.dtype)
    numbers = (x.size, x.layout.offset // x.dtype.itemsize)
    given = (x, out, parts, raw.counts(), *numbers)
    raw.run(text, _ENDS, (groups,), counting.THREADS, *given)
    found = np.empty(2, x.dtype)
    raw.backend.download(out.memory, found.view(np.uint8))
    return found


def _histogram(
    raw: Raw,
    x: Any,
    *,
    bins: Any = 10,
    range: Any = None,
    density: Any = None,
    weights: Any = None,
) -> tuple[GridView, GridView] | None:
    """`numpy.histogram` without densities."""
    if not isinstance(x, GridView) or density or isinstance(bins, str) or not x.size:
        return None
    if x.dtype == BOOL:
        x = raw.work.cast(x, np.dtype(np.uint8))
    w = None if weights is None else raw.work.put(weights)
    if not is_known(x.dtype) or not (w is None or is_known(w.dtype)):
        return None
    edges = edges_of(raw.work, x, bins, range, lambda: ends(raw, x))
    count = edges.size - 1
    compared = np.promote_types(x.dtype, edges.dtype)
    if not 0 < count <= MOST or not is_known(edges.dtype, compared):
        return None
    if not (edges[:-1] <= edges[1:]).all():  # a NaN is among them
        return None
    given, x = raw.work.put(edges), _readable(raw, x)
    w = x if w is None else _readable(raw, w)
    sums = raw.zeros(count)
    dtype = None if weights is None else w.dtype
    text = counting.histogram_text(x.dtype, edges.dtype, compared, dtype)
    tiles = -(-x.size // counting.TILE)
    groups = min(tiles, raw.backend.limits.units * GROUPS)
    scale = 0.0 if np.ndim(bins) else _scale(edges)
    offsets = [view.layout.offset // view.dtype.itemsize for view in (x, w)]
    numbers = (x.size, count, *offsets, scale)
    operands = (x, given, w, sums)
    raw.run(text, _HISTOGRAM, (groups,), counting.THREADS, *operands, *numbers)
    if dtype is None:
        return GridView(sums.memory, sums.layout, INT64), given
    found = GridView(sums.memory, sums.layout, FLOAT64)
    return raw.work.cast(found, dtype), given


def _scale(edges: np.ndarray[Any, Any]) -> float:
    """Bins for one unit of numbers; 0 where float64 cannot tell."""
    width = float(edges[-1]) - float(edges[0])
    scale = (edges.size - 1) / width if width > 0 else 0.0
    return scale if np.isfinite(width) and np.isfinite(scale) else 0.0


def _histogram_bin_edges(
    raw: Raw, x: Any, *, bins: Any = 10, range: Any = None, weights: Any = None
) -> GridView | None:
    """`numpy.histogram_bin_edges`."""
    if not isinstance(x, GridView) or isinstance(bins, str) or not is_known(x.dtype):
        return None
    if x.dtype == BOOL or not x.size:
        return None
    return raw.work.put(edges_of(raw.work, x, bins, range, lambda: ends(raw, x)))


TABLE: Mapping[str, Callable[..., Any]] = {
    "histogram": _histogram,
    "histogram_bin_edges": _histogram_bin_edges,
}
"""Functions by the name of their rows."""
