"""Differences, integrals and other sums over neighbours."""

from __future__ import annotations

from ..ops import contraction, indexing as picks, statistics as rows
from .calling import served

__all__ = [
    "convolve",
    "correlate",
    "diff",
    "ediff1d",
    "gradient",
    "interp",
    "trapezoid",
    "unwrap",
]

diff = served(picks.DIFF)
ediff1d = served(rows.EDIFF1D)
gradient = served(rows.GRADIENT)
trapezoid = served(rows.TRAPEZOID)
interp = served(rows.INTERP)
unwrap = served(rows.UNWRAP)
convolve = served(contraction.CONVOLVE)
correlate = served(contraction.CORRELATE)
