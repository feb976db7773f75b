"""Functions that run on the host, through NumPy, wherever their arguments are.

Each call is counted as a fallback.
"""

from __future__ import annotations

import numpy as np

from .coverage import fallback

__all__ = [
    "apply_along_axis",
    "apply_over_axes",
    "bartlett",
    "blackman",
    "busday_count",
    "busday_offset",
    "datetime_as_string",
    "hamming",
    "hanning",
    "is_busday",
    "kaiser",
    "mask_indices",
    "poly",
    "polyadd",
    "polyder",
    "polydiv",
    "polyfit",
    "polyint",
    "polymul",
    "polysub",
    "roots",
    "trim_zeros",
]

apply_along_axis = fallback(np.apply_along_axis)
apply_over_axes = fallback(np.apply_over_axes)
mask_indices = fallback(np.mask_indices)
trim_zeros = fallback(np.trim_zeros)

poly = fallback(np.poly)
polyadd = fallback(np.polyadd)
polyder = fallback(np.polyder)
polydiv = fallback(np.polydiv)
polyfit = fallback(np.polyfit)
polyint = fallback(np.polyint)
polymul = fallback(np.polymul)
polysub = fallback(np.polysub)
roots = fallback(np.roots)

bartlett = fallback(np.bartlett)
blackman = fallback(np.blackman)
hamming = fallback(np.hamming)
hanning = fallback(np.hanning)
kaiser = fallback(np.kaiser)

busday_count = fallback(np.busday_count)
busday_offset = fallback(np.busday_offset)
datetime_as_string = fallback(np.datetime_as_string)
is_busday = fallback(np.is_busday)
