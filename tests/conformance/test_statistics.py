"""Statistics: reductions, scans, order statistics, histograms, sums over neighbours."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest

import dcarray as dc

from .against_numpy import Case, case, everywhere, numbers, run

REDUCTIONS = "sum prod mean var std min max any all ptp".split()
DTYPES = "?bHlfdFDe"


def reduction_cases() -> list[Case]:
    cases = []
    for name in REDUCTIONS:
        for code in DTYPES:
            x = numbers(4, 5, dtype=code)
            if name == "ptp" and code == "?":
                continue
            for options in ({}, {"axis": 0}, {"axis": (0, 1)}, {"keepdims": True}):
                cases.append(case(name, x, **options))
        cases.append(case(name, numbers(3, 4), axis=7))
        cases.append(case(name, numbers(3, 4), axis=(0, 0)))
        cases.append(case(name, np.zeros((0, 3)), axis=1))
    return cases


X = numbers(6, 7)
HOLES = np.where(numbers(6, 7) > 2, np.nan, numbers(6, 7))
CASES = [
    case("sum", X, axis=1, dtype=np.float32),
    case("sum", X, initial=3.0),
    case("sum", X, axis=0, where=X > 0),
    case("max", X, axis=0, initial=0.0, where=X > 0),
    case("std", X, axis=1, ddof=1),
    case("std", X, axis=1, correction=1),
    case("var", X, axis=1, correction=1.5),
    case("var", X, ddof=1, correction=1),
    case("cumsum", X),
    case("cumsum", X, axis=1),
    case("cumprod", X, axis=0),
    case("cumulative_sum", X, axis=1, include_initial=True),
    case("cumulative_prod", X[0], include_initial=True),
    case("cumulative_sum", X),
    case("cumulative_sum", numbers(5, dtype=np.int8)),
    case("median", X),
    case("median", X, axis=1, keepdims=True),
    case("median", HOLES, axis=0),
    case("percentile", X, 30),
    case("percentile", X, np.array([10.0, 50.0]), axis=1),
    case("quantile", X, [0.1, 0.2], axis=0, method="nearest"),
    case("quantile", X, 1.5),
    case("average", X, axis=1, weights=np.arange(7.0)),
    case("average", X, axis=1, weights=np.arange(7.0), returned=True),
    case("cov", X),
    case("cov", X[0], X[1]),
    case("corrcoef", X),
    case("histogram", X, 5),
    case("histogram", X, bins=np.array([-4.0, 0.0, 1.0, 4.0]), density=True),
    case("histogram", X, bins=4, weights=np.abs(X)),
    case("histogram_bin_edges", X, 6),
    case("histogram2d", X[0], X[1], 3),
    case("bincount", np.array([0, 3, 3, 1])),
    case("bincount", np.array([0, 3, 3, 1]), np.arange(4.0), minlength=6),
    case("digitize", X, np.array([-1.0, 0.0, 1.0])),
    case("count_nonzero", X > 0),
    case("count_nonzero", X > 0, axis=1),
    case("diff", X),
    case("diff", X, 2, axis=0),
    case("ediff1d", X),
    case("gradient", X),
    case("gradient", X[0], 2.0),
    case("trapezoid", X, dx=0.5),
    case("interp", X[0], np.arange(-4.0, 4.0), np.arange(8.0) ** 2),
    case("unwrap", X * 3),
    case("convolve", X[0], X[1]),
    case("convolve", X[0], X[1, :3], "same"),
    case("correlate", X[0], X[1], mode="full"),
]
CASES += [
    case(name, HOLES, **options)
    for name in "nansum nanprod nanmin nanmax nanmean nanvar nanstd nanmedian".split()
    for options in ({}, {"axis": 0}, {"axis": 1, "keepdims": True})
]
CASES += [
    case(name, HOLES, axis=axis)
    for name in "nancumsum nancumprod nanargmin nanargmax".split()
    for axis in (None, 0, 1)
]
CASES += [
    case("nanmax", np.full((2, 3), np.nan), axis=0),
    case("nanargmax", np.full((2, 3), np.nan), axis=0),
    case("nanvar", HOLES, axis=0, ddof=2),
    case("nanquantile", HOLES, 0.3, axis=0),
    case("nanpercentile", HOLES, 30),
    case("nanmin", numbers(3, 3, dtype=np.int32), axis=0),
]


@everywhere
@pytest.mark.parametrize("one", reduction_cases(), ids=repr)
def test_reductions(one: Case, place: str) -> None:
    run(one, place)


@everywhere
@pytest.mark.parametrize("one", CASES, ids=repr)
def test_other_statistics(one: Case, place: str) -> None:
    run(one, place)


@pytest.mark.parametrize("name", ["sum", "mean", "std", "cumsum", "median", "nansum"])
@pytest.mark.parametrize("device", ["auto", "test:0"])
def test_out_is_returned(name: str, device: str) -> None:
    x = dc.asarray(X, device=device)
    expected = getattr(np, name)(X, axis=1)
    out = dc.zeros(expected.shape, device=device)
    assert getattr(dc, name)(x, axis=1, out=out) is out
    np.testing.assert_allclose(out.get(), expected)


def test_out_given_by_position_is_a_write() -> None:
    with dc.config(lazy="always"):
        out = dc.zeros(6)
        pending = out + 1
        dc.median(dc.asarray(X), 1, out)
    assert (pending.get() == 1).all()
    assert out.get().tobytes() == np.median(X, 1).tobytes()


def test_lists_and_arrays_in_lists() -> None:
    assert float(dc.sum([1, 2, 3])) == 6
    assert float(dc.mean([dc.ones(3), dc.zeros(3)])) == 0.5


@pytest.mark.parametrize("name", ["sum", "median", "nanmean", "average"])
def test_numpy_program_gets_scalars(name: str) -> None:
    with dc.config(scalars="numpy"):
        result: Any = getattr(dc, name)(dc.asarray(X))
    assert type(result) is np.float64


@pytest.mark.parametrize("name", ["mean", "var", "std"])
@pytest.mark.parametrize("axis", [0, 1, (0, 1)])
def test_averages_lie_as_numpys_do(name: str, axis: Any) -> None:
    for order, dtype in itertools.product("CF", "fdeFDi"):
        x = np.asarray(np.arange(60).reshape(3, 4, 5) % 7, dtype, order=order)
        with dc.config(lazy="always"):
            found = getattr(dc, name)(dc.asarray(x), axis=axis, keepdims=True)
        wanted = getattr(np, name)(x, axis=axis, keepdims=True)
        assert found.strides == wanted.strides
        assert found.get().tobytes() == wanted.tobytes()
