"""Sorting."""

from __future__ import annotations

import numpy as np
import pytest

import dcarray as dc

from .against_numpy import PLACES, Case, case, everywhere, numbers, run

X = numbers(5, 9)
TIES = numbers(4, 40, dtype=np.int8)
CASES = [
    case("sort", X),
    case("sort", X, axis=0),
    case("sort", X, axis=None),
    case("sort", X, axis=4),
    case("sort", X, kind="stable"),
    case("sort", X, stable=True),
    case("sort", np.array([3.0, np.nan, -0.0, 0.0])),
    case("argsort", X, axis=0),
    case("argsort", TIES, stable=True),
    case("argsort", TIES, axis=None, kind="stable"),
    case("lexsort", (TIES[0], TIES[1])),
    case("partition", X[0], 3),
    case("argpartition", X[0], 3),
    case("sort_complex", numbers(6, dtype=complex)),
]


@everywhere
@pytest.mark.parametrize("one", CASES, ids=repr)
def test_sorting(one: Case, place: str) -> None:
    if place == "device" and one.name == "sort_complex":
        pytest.skip("runs on the host")
    run(one, place)


@everywhere
@pytest.mark.parametrize("axis", [0, 1, -1])
def test_descending_keeps_the_order_of_equals(axis: int, place: str) -> None:
    device, settings = PLACES[place]
    with dc.config(**settings):
        x = dc.asarray(TIES, device=device)
        order = dc.argsort(x, axis=axis, descending=True)
        ranked = dc.sort(x, axis=axis, descending=True)
    expected = np.argsort(-TIES.astype(int), axis=axis, kind="stable")
    assert (order.get() == expected).all()
    assert (ranked.get() == np.take_along_axis(TIES, expected, axis)).all()


def test_records_are_sorted_by_field() -> None:
    rows = np.array([(2, 1.0), (1, 5.0)], dtype=[("a", "i4"), ("b", "f8")])
    assert dc.sort(dc.asarray(rows), order="a").get().tolist() == sorted(rows.tolist())
    with pytest.raises(ValueError, match="descending"):
        dc.sort(dc.asarray(rows), order="a", descending=True)
