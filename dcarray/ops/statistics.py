"""Statistics: rows that sum up arrays, left to tuned libraries.

Operands are arrays; everything else is a keyword option.
"""

from __future__ import annotations

import numpy as np

from .spec import Kind, Op

__all__ = [
    "BINCOUNT",
    "DIGITIZE",
    "HISTOGRAM",
    "HISTOGRAM_BIN_EDGES",
    "MEDIAN",
    "PERCENTILE",
    "QUANTILE",
    "TABLE",
]

BINCOUNT = Op("bincount", Kind.STATISTIC, np.bincount)
DIGITIZE = Op("digitize", Kind.STATISTIC, np.digitize, 2)
HISTOGRAM = Op("histogram", Kind.STATISTIC, np.histogram)
HISTOGRAM_BIN_EDGES = Op("histogram_bin_edges", Kind.STATISTIC, np.histogram_bin_edges)
MEDIAN = Op("median", Kind.STATISTIC, np.median)
PERCENTILE = Op("percentile", Kind.STATISTIC, np.percentile, 2)
QUANTILE = Op("quantile", Kind.STATISTIC, np.quantile, 2)

TABLE: dict[str, Op] = {
    row.name: row
    for row in (
        *(BINCOUNT, DIGITIZE, HISTOGRAM, HISTOGRAM_BIN_EDGES),
        *(MEDIAN, PERCENTILE, QUANTILE),
    )
}
"""Rows by name."""
