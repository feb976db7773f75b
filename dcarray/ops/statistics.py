"""Statistics: rows that sum up arrays, left to tuned libraries.

Operands are arrays; everything else is a keyword option.
"""

from __future__ import annotations

import numpy as np

from .spec import Kind, Op

__all__ = [
    "AVERAGE",
    "BINCOUNT",
    "CORRCOEF",
    "COV",
    "DIGITIZE",
    "EDIFF1D",
    "GRADIENT",
    "HISTOGRAM",
    "HISTOGRAM2D",
    "HISTOGRAM_BIN_EDGES",
    "INTERP",
    "MEDIAN",
    "NANMEDIAN",
    "NANPERCENTILE",
    "NANQUANTILE",
    "PERCENTILE",
    "QUANTILE",
    "TABLE",
    "TRAPEZOID",
    "UNWRAP",
]

AVERAGE = Op("average", Kind.STATISTIC, np.average)
BINCOUNT = Op("bincount", Kind.STATISTIC, np.bincount)
CORRCOEF = Op("corrcoef", Kind.STATISTIC, np.corrcoef)
COV = Op("cov", Kind.STATISTIC, np.cov)
DIGITIZE = Op("digitize", Kind.STATISTIC, np.digitize, 2)
EDIFF1D = Op("ediff1d", Kind.STATISTIC, np.ediff1d)
GRADIENT = Op("gradient", Kind.STATISTIC, np.gradient)
HISTOGRAM = Op("histogram", Kind.STATISTIC, np.histogram)
HISTOGRAM_BIN_EDGES = Op("histogram_bin_edges", Kind.STATISTIC, np.histogram_bin_edges)
HISTOGRAM2D = Op("histogram2d", Kind.STATISTIC, np.histogram2d, 2)
INTERP = Op("interp", Kind.STATISTIC, np.interp, 3)
MEDIAN = Op("median", Kind.STATISTIC, np.median)
NANMEDIAN = Op("nanmedian", Kind.STATISTIC, np.nanmedian)
NANPERCENTILE = Op("nanpercentile", Kind.STATISTIC, np.nanpercentile, 2)
NANQUANTILE = Op("nanquantile", Kind.STATISTIC, np.nanquantile, 2)
PERCENTILE = Op("percentile", Kind.STATISTIC, np.percentile, 2)
QUANTILE = Op("quantile", Kind.STATISTIC, np.quantile, 2)
TRAPEZOID = Op("trapezoid", Kind.STATISTIC, np.trapezoid)
UNWRAP = Op("unwrap", Kind.STATISTIC, np.unwrap)

TABLE: dict[str, Op] = {
    row.name: row
    for row in (
        *(AVERAGE, BINCOUNT, CORRCOEF, COV, DIGITIZE, EDIFF1D),
        *(GRADIENT, HISTOGRAM, HISTOGRAM_BIN_EDGES, HISTOGRAM2D, INTERP, MEDIAN),
        *(NANMEDIAN, NANPERCENTILE, NANQUANTILE),
        *(PERCENTILE, QUANTILE, TRAPEZOID),
        *(UNWRAP,),
    )
}
"""Rows by name."""
