"""Statistics that leave NaN out."""

from __future__ import annotations

from ..ops import statistics as rows
from .calling import served

__all__ = [
    "nanargmax",
    "nanargmin",
    "nancumprod",
    "nancumsum",
    "nanmax",
    "nanmean",
    "nanmedian",
    "nanmin",
    "nanpercentile",
    "nanprod",
    "nanquantile",
    "nanstd",
    "nansum",
    "nanvar",
]

nanmin = served(rows.NANMIN)
nanmax = served(rows.NANMAX)
nanargmin = served(rows.NANARGMIN)
nanargmax = served(rows.NANARGMAX)
nansum = served(rows.NANSUM)
nanprod = served(rows.NANPROD)
nancumsum = served(rows.NANCUMSUM)
nancumprod = served(rows.NANCUMPROD)
nanmean = served(rows.NANMEAN)
nanvar = served(rows.NANVAR)
nanstd = served(rows.NANSTD)
nanmedian = served(rows.NANMEDIAN)
nanpercentile = served(rows.NANPERCENTILE)
nanquantile = served(rows.NANQUANTILE)
