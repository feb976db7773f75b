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
    "NANARGMAX",
    "NANARGMIN",
    "NANCUMPROD",
    "NANCUMSUM",
    "NANMAX",
    "NANMEAN",
    "NANMEDIAN",
    "NANMIN",
    "NANPERCENTILE",
    "NANPROD",
    "NANQUANTILE",
    "NANSTD",
    "NANSUM",
    "NANVAR",
    "PERCENTILE",
    "PTP",
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
NANARGMAX = Op("nanargmax", Kind.STATISTIC, np.nanargmax)
NANARGMIN = Op("nanargmin", Kind.STATISTIC, np.nanargmin)
NANCUMPROD = Op("nancumprod", Kind.STATISTIC, np.nancumprod)
NANCUMSUM = Op("nancumsum", Kind.STATISTIC, np.nancumsum)
NANMAX = Op("nanmax", Kind.STATISTIC, np.nanmax)
NANMEAN = Op("nanmean", Kind.STATISTIC, np.nanmean)
NANMEDIAN = Op("nanmedian", Kind.STATISTIC, np.nanmedian)
NANMIN = Op("nanmin", Kind.STATISTIC, np.nanmin)
NANPERCENTILE = Op("nanpercentile", Kind.STATISTIC, np.nanpercentile, 2)
NANPROD = Op("nanprod", Kind.STATISTIC, np.nanprod)
NANQUANTILE = Op("nanquantile", Kind.STATISTIC, np.nanquantile, 2)
NANSTD = Op("nanstd", Kind.STATISTIC, np.nanstd)
NANSUM = Op("nansum", Kind.STATISTIC, np.nansum)
NANVAR = Op("nanvar", Kind.STATISTIC, np.nanvar)
PERCENTILE = Op("percentile", Kind.STATISTIC, np.percentile, 2)
PTP = Op("ptp", Kind.STATISTIC, np.ptp)
QUANTILE = Op("quantile", Kind.STATISTIC, np.quantile, 2)
TRAPEZOID = Op("trapezoid", Kind.STATISTIC, np.trapezoid)
UNWRAP = Op("unwrap", Kind.STATISTIC, np.unwrap)

TABLE: dict[str, Op] = {
    row.name: row
    for row in (
        *(AVERAGE, BINCOUNT, CORRCOEF, COV, DIGITIZE, EDIFF1D),
        *(GRADIENT, HISTOGRAM, HISTOGRAM_BIN_EDGES, HISTOGRAM2D, INTERP, MEDIAN),
        *(NANARGMAX, NANARGMIN, NANCUMPROD, NANCUMSUM, NANMAX, NANMEAN),
        *(NANMEDIAN, NANMIN, NANPERCENTILE, NANPROD, NANQUANTILE, NANSTD),
        *(NANSUM, NANVAR, PERCENTILE, PTP, QUANTILE, TRAPEZOID),
        *(UNWRAP,),
    )
}
"""Rows by name."""
