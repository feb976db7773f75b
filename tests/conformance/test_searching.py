"""Searching."""

from __future__ import annotations

import numpy as np
import pytest

import dcarray as dc

from .against_numpy import Case, case, everywhere, numbers, run

X = numbers(5, 6)
SPARSE = np.where(X > 2, X, 0)
CASES = [
    case("argmax", X),
    case("argmax", X, axis=1),
    case("argmin", X, axis=0, keepdims=True),
    case("argmin", np.array([1.0, np.nan, 0.0])),
    case("argmax", np.zeros((0, 2)), axis=0),
    case("argmax", X, axis=2),
    case("nonzero", SPARSE),
    case("flatnonzero", SPARSE),
    case("argwhere", SPARSE),
    case("searchsorted", np.arange(6.0), X),
    case("searchsorted", np.arange(6.0), X[0], side="right"),
    case("searchsorted", X[0], X[1], sorter=np.argsort(X[0])),
]


@everywhere
@pytest.mark.parametrize("one", CASES, ids=repr)
def test_searching(one: Case, place: str) -> None:
    run(one, place)


def test_out() -> None:
    out = dc.zeros(5, dtype=np.intp)
    assert dc.argmax(dc.asarray(X), 1, out) is out
    assert (out.get() == np.argmax(X, 1)).all()


def test_fields_of_records_are_views() -> None:
    with dc.config(lazy="always"):
        x = dc.asarray(np.zeros(3, [("a", "f8"), ("b", "f8")]))
        pending = x["a"] + 1
        x["a"][0] = 9
        several = x[["a", "b"]]
        several["b"][1] = 5
        picked = x[[0, 1]]
        picked["a"] = 4
    assert pending.tolist() == [1, 1, 1]
    assert x.tolist() == [(9, 0), (0, 5), (0, 0)]
    assert x["a"].base is x
