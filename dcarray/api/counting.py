"""Histograms and other counts of elements."""

from __future__ import annotations

import numpy as np

from ..ops import indexing as picks, statistics as rows
from .calling import served
from .coverage import fallback

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
histogram = served(rows.HISTOGRAM)
histogram_bin_edges = served(rows.HISTOGRAM_BIN_EDGES)
histogram2d = served(rows.HISTOGRAM2D)
histogramdd = fallback(np.histogramdd)
