"""Sets."""

from __future__ import annotations

import numpy as np
import pytest

from .against_numpy import Case, case, everywhere, numbers, run

X = numbers(4, 6, dtype=np.int16)
Y = numbers(9, dtype=np.int16)
HOLES = np.array([1.0, np.nan, np.nan, -0.0, 0.0])
CASES = [
    case("unique", X),
    case("unique", X, return_index=True, return_inverse=True, return_counts=True),
    case("unique", X, axis=0),
    case("unique", HOLES),
    case("unique", HOLES, equal_nan=False),
    case("unique_all", X),
    case("unique_counts", HOLES),
    case("unique_inverse", X),
    case("unique_values", Y),
    case("isin", X, Y[:3]),
    case("isin", X, Y[:3], invert=True),
    case("union1d", X, Y),
    case("intersect1d", X, Y),
    case("intersect1d", X, Y, return_indices=True),
    case("setdiff1d", X, Y),
    case("setxor1d", X, Y),
]


@everywhere
@pytest.mark.parametrize("one", CASES, ids=repr)
def test_sets(one: Case, place: str) -> None:
    run(one, place)
