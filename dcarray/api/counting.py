"""Histograms and other counts of elements."""

from __future__ import annotations

import functools
import math
import operator
from collections.abc import Sequence
from typing import Any

import numpy as np

from ..array import DeviceArray, whole
from ..array.library import oracle
from ..ops import indexing as picks, statistics as rows
from . import calling
from .calling import served
from .conversion import as_array, default_dtype
from .creation import asarray
from .hosted import hosted
from .searching import searchsorted

__all__ = [
    "bincount",
    "count_nonzero",
    "digitize",
    "histogram",
    "histogram2d",
    "histogram_bin_edges",
    "histogramdd",
]

count_nonzero = served(picks.COUNT_NONZERO)
bincount = served(rows.BINCOUNT)
digitize = served(rows.DIGITIZE)
histogram_bin_edges = served(rows.HISTOGRAM_BIN_EDGES)
_counts = served(rows.HISTOGRAM)


@functools.wraps(np.histogram)
def _on_host(*arguments: Any, **keywords: Any) -> Any:
    return oracle(rows.HISTOGRAM)(*arguments, **keywords)


@whole.function(np.histogram)
@hosted(_on_host)
def histogram(
    a: Any, bins: Any = 10, range: Any = None, density: Any = None, weights: Any = None
) -> Any:
    """How many elements are in each bin, as `numpy.histogram`.

    Parameters
    ----------
    a : array_like
    bins : int, sequence or str
        Number of bins, their edges, or a rule to find them.
    range : (float, float), optional
        The ends of the bins.
    density : bool, optional
        Whether to divide by the number of all and the width of the bin.
    weights : array_like, optional
        What an element counts.

    Returns
    -------
    counts, edges : DeviceArray
    """
    if weights is None:
        found, edges = _counts(a, bins, range)
    else:
        found, edges = _weighed(a, bins, range, weights)
    if density:
        double = default_dtype(np.float64, edges._device)
        widths = (edges[1:] - edges[:-1]).astype(double)
        if found.dtype.kind in "biu":
            found = found.astype(double)
        return found / widths / found.sum(), edges
    return found, edges


def _weighed(a: Any, bins: Any, span: Any, weights: Any) -> tuple[Any, Any]:
    """The sums of weights in bins."""
    x, w = (as_array(one) for one in (a, weights))
    if x.shape != w.shape:
        raise ValueError("weights should have the same shape as a.")
    device = calling.named_device((x, w), {})
    x, w = (one if one._device is device else one.to_device(device) for one in (x, w))
    if w.dtype.kind != "c":
        found, edges = _counts(x, bins, span, None, w)
        return found, edges
    (real, edges), (imaginary, _) = (
        _counts(x, bins, span, None, part) for part in (w.real, w.imag)
    )
    return (real + 1j * imaginary).astype(w.dtype), edges


def _places(x: DeviceArray, edges: DeviceArray) -> Any:
    """The bins of elements, counted from 1; what lies on the last edge is inside."""
    place = searchsorted(edges, x, "right")
    return place - (x == edges[-1]).astype(place.dtype)


def _summed(place: Any, weights: Any, length: int) -> Any:
    """How often each number is there, or the sums of its weights, in their dtype."""
    if weights is None:
        return bincount(place, None, length)
    if weights.dtype.kind == "c":
        parts = [bincount(place, part, length) for part in (weights.real, weights.imag)]
        return (parts[0] + 1j * parts[1]).astype(weights.dtype)
    return bincount(place, weights, length).astype(weights.dtype)


# ------------------------------------------------------------------------ several axes
@hosted(np.histogram2d)
def histogram2d(
    x: Any,
    y: Any,
    bins: Any = 10,
    range: Any = None,
    density: Any = None,
    weights: Any = None,
) -> Any:
    """How many points are in each rectangle, as `numpy.histogram2d`.

    Parameters
    ----------
    x, y : array_like
        The points.
    bins : int, sequence of int or of array_like
        As for `histogramdd`; one sequence of edges is for both axes.
    range, density, weights
        As for `histogramdd`.

    Returns
    -------
    counts, edges of x, edges of y : DeviceArray
    """
    x, y = as_array(x), as_array(y)
    if len(x) != len(y):
        raise ValueError("x and y must have the same length.")
    if hasattr(bins, "__len__") and len(bins) not in (1, 2):
        bins = [bins, bins]
    counts, edges = _of_points([x, y], bins, range, density, weights)
    return counts, edges[0], edges[1]


@hosted(np.histogramdd)
def histogramdd(
    sample: Any,
    bins: Any = 10,
    range: Any = None,
    density: Any = None,
    weights: Any = None,
) -> Any:
    """How many points are in each cell, as `numpy.histogramdd`.

    Parameters
    ----------
    sample : array_like or sequence of array_like
        A point a row; or all first coordinates, all second ones and so on.
    bins : int, sequence of int or of array_like
        Number of bins along each axis, or their edges.
    range : sequence of (float, float), optional
        The ends of the bins along each axis.
    density : bool, optional
        Whether to divide by the number of all and the volume of the cell.
    weights : array_like, optional
        What a point counts.

    Returns
    -------
    counts : DeviceArray
    edges : tuple of DeviceArray
    """
    if isinstance(sample, DeviceArray):
        points = sample.reshape((-1, 1)) if sample.ndim < 2 else sample
        columns = list(points.T)
    else:
        columns = [as_array(one) for one in sample]
    return _of_points(columns, bins, range, density, weights)


def _edges(x: Any, bins: Any, span: Any) -> Any:
    """Edges along an axis; those within given ends do not look at the points."""
    if span is None or np.ndim(bins):
        return histogram_bin_edges(x, bins, span)
    double = default_dtype(np.float64, x._device)
    ends = [float(end) for end in span]
    return np.histogram_bin_edges(np.empty(0), bins, (ends[0], ends[1])).astype(double)


def _check_bins(number: Any, axis: int) -> None:
    """A number of bins along an axis, as NumPy wants it."""
    if number < 1:
        raise ValueError(f"`bins[{axis}]` must be positive, when an integer")
    try:
        operator.index(number)
    except TypeError:
        raise TypeError(f"`bins[{axis}]` must be an integer, when a scalar") from None


def _of_points(
    columns: Sequence[Any], bins: Any, span: Any, density: Any, weights: Any
) -> tuple[Any, tuple[Any, ...]]:
    device = calling.named_device((*columns, weights), {})
    points = [x if x._device is device else x.to_device(device) for x in columns]
    count = len(points)
    try:
        given = [operator.index(bins)] * count
    except TypeError:
        given = list(bins)
        if len(given) != count:
            raise ValueError(
                "The dimension of bins must be equal to the dimension of the sample x."
            ) from None
    for axis, one in enumerate(given):
        if np.ndim(one) == 0:
            _check_bins(one, axis)
    spans = [None] * count if span is None else list(span)
    if len(spans) != count:
        raise ValueError("range argument must have one entry per dimension")
    edges = tuple(
        [
            asarray(_edges(x, one, ends), device=device)
            for x, one, ends in zip(points, given, spans, strict=True)
        ]
    )
    lengths = [x.size + 1 for x in edges]
    cell: Any = 0
    for x, ends, length in zip(points, edges, lengths, strict=True):
        cell = cell * length + _places(x, ends)
    double = default_dtype(np.float64, device)
    w = None if weights is None else asarray(weights, device=device)
    found = _summed(cell, w, math.prod(lengths)).reshape(lengths)
    found = found[(slice(1, -1),) * count].astype(double)
    if density:
        total = found.sum()
        for axis, ends in enumerate(edges):
            shape = [1] * count
            shape[axis] = -1
            found = found / (ends[1:] - ends[:-1]).reshape(shape)
        found = found / total
    return found, edges
