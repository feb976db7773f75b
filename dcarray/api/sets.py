"""Sets: unique elements, membership."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..ops import indexing as picks
from .calling import served

__all__ = [
    "intersect1d",
    "isin",
    "setdiff1d",
    "setxor1d",
    "union1d",
    "unique",
    "unique_all",
    "unique_counts",
    "unique_inverse",
    "unique_values",
]


def _result(function: Any) -> Any:
    """The class of a function's named tuples."""
    return type(function(np.zeros(1)))


unique = served(picks.UNIQUE)
unique_all = served(picks.UNIQUE_ALL, _result(np.unique_all))
unique_counts = served(picks.UNIQUE_COUNTS, _result(np.unique_counts))
unique_inverse = served(picks.UNIQUE_INVERSE, _result(np.unique_inverse))
unique_values = served(picks.UNIQUE_VALUES)
isin = served(picks.ISIN)
union1d = served(picks.UNION1D)
intersect1d = served(picks.INTERSECT1D)
setdiff1d = served(picks.SETDIFF1D)
setxor1d = served(picks.SETXOR1D)
