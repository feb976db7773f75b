"""Medians and quantiles of long runs on all cores, against NumPy."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest

import dcarray as dc
from dcarray.backends.cpu.wholes import FUNCTIONS, quantiles
from dcarray.config import config
from dcarray.ops import statistics

MEDIAN = FUNCTIONS[statistics.MEDIAN]
QUANTILE = FUNCTIONS[statistics.QUANTILE]
PERCENTILE = FUNCTIONS[statistics.PERCENTILE]

COUNT = 200_003


@pytest.fixture(autouse=True)
def soon(monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.setattr(quantiles, "LEAST", 1 << 12)
    monkeypatch.setattr(quantiles, "SAMPLE", 1 << 12)
    monkeypatch.setattr(quantiles, "AROUND", 1 << 8)
    with config(threads=3):
        yield


@pytest.fixture
def selected(monkeypatch: pytest.MonkeyPatch) -> list[bool]:
    """Whether threads found what was asked for, for each time."""
    found: list[bool] = []
    usual = quantiles._elements

    def noted(*given: Any) -> Any:
        result = usual(*given)
        found.append(result is not None)
        return result

    monkeypatch.setattr(quantiles, "_elements", noted)
    return found


def same(found: Any, wanted: Any) -> None:
    assert type(found) is type(wanted)
    assert found.dtype == wanted.dtype and found.shape == wanted.shape
    assert found.tobytes() == wanted.tobytes()


def runs(dtype: str) -> list[Any]:
    rng = np.random.default_rng(1)
    some = 100 * rng.standard_normal(COUNT)
    return [
        np.abs(some).astype(dtype),
        np.abs(some[:-1]).astype(dtype),
        np.arange(COUNT).astype(dtype),
        np.arange(COUNT)[::-1].astype(dtype),
        np.full(COUNT, 7).astype(dtype),
        rng.integers(1, 4, COUNT).astype(dtype),
        np.abs(some).astype(dtype).reshape(-1, 1)[:-3].reshape(50, -1),
    ]


@pytest.mark.parametrize("dtype", ["f", "d", "b", "H", "i", "l", "Q"])
def test_medians_and_quantiles(dtype: str, selected: list[bool]) -> None:
    shares = ([0.05, 0.25, 0.75, 0.95], 0.5, 1, 0.0, np.float32(0.3), [[0.1], [0.9]])
    for x in runs(dtype):
        same(MEDIAN(x), np.median(x))
        for q in shares:
            same(QUANTILE(x, q), np.quantile(x, q))
        same(PERCENTILE(x, 90), np.percentile(x, 90))
        same(
            PERCENTILE(x, 90.5, method="nearest"),
            np.percentile(x, 90.5, method="nearest"),
        )
        same(QUANTILE(x, 0.3, method="hazen"), np.quantile(x, 0.3, method="hazen"))
    assert selected == [True] * (7 * 10)


def test_what_is_given_stays_as_it_was() -> None:
    x = np.random.default_rng(2).random(COUNT)
    before = x.copy()
    QUANTILE(x, [0.2, 0.4], None, None, True)
    MEDIAN(x, overwrite_input=True)
    same(x, before)


def test_nan_and_infinities(selected: list[bool]) -> None:
    x = np.random.default_rng(3).standard_normal(COUNT)
    x[::3], x[1::3] = np.inf, -np.inf
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for q in (0.1, 0.5, 0.9):
            same(QUANTILE(x, q), np.quantile(x, q))
    x[17] = np.nan
    same(MEDIAN(x), np.median(x))
    same(QUANTILE(x, [0.1, 0.5]), np.quantile(x, [0.1, 0.5]))
    assert selected == [True] * 3 + [False] * 2


def test_zeros_of_both_signs_are_numpys(selected: list[bool]) -> None:
    x = np.random.default_rng(4).integers(-1, 2, COUNT) * 1.0
    same(MEDIAN(x), np.median(x))
    x *= -1.0
    same(MEDIAN(x), np.median(x))
    same(QUANTILE(x, 0.01), np.quantile(x, 0.01))
    assert selected == [True, False, True]


def test_a_bad_sample_is_noticed(
    selected: list[bool], monkeypatch: pytest.MonkeyPatch
) -> None:
    x = np.arange(COUNT) * 1.0

    class Bad:
        def integers(self, low: int, high: int, count: int) -> Any:
            return np.arange(count)

    monkeypatch.setattr(np.random, "default_rng", lambda seed: Bad())
    same(MEDIAN(x), np.median(x))
    assert selected == [False]


@pytest.mark.parametrize(
    "given",
    [
        {"keepdims": True},
        {"out": np.empty(())},
        {"axis": 1},
        {"axis": (0, 1)},
    ],
)
def test_the_rest_is_numpys(given: dict[str, Any], selected: list[bool]) -> None:
    x = np.random.default_rng(5).random((300, 301))
    same(np.asarray(MEDIAN(x, **given)), np.asarray(np.median(x, **given)))
    same(
        np.asarray(QUANTILE(x, 0.3, **given)), np.asarray(np.quantile(x, 0.3, **given))
    )
    for odd in (x[::2], x.astype(">f8"), x.astype(np.float16), np.ma.array(x)):
        same(np.asarray(MEDIAN(odd)), np.asarray(np.median(odd)))
    assert selected == []


def test_what_numpy_refuses() -> None:
    x = np.random.default_rng(6).random(COUNT)
    with pytest.raises(ValueError, match="range"):
        QUANTILE(x, 1.5)
    with pytest.raises(ValueError, match="method"):
        QUANTILE(x, 0.5, method="guess")
    with pytest.raises(np.exceptions.AxisError):
        MEDIAN(x, 1)


def test_arrays() -> None:
    host = np.random.default_rng(7).random(COUNT)
    x = dc.asarray(host)
    for found, wanted in (
        (dc.median(x), np.median(host)),
        (dc.percentile(x, [5, 95]), np.percentile(host, [5, 95])),
        (dc.quantile(x + 0, 0.25, axis=0), np.quantile(host, 0.25, axis=0)),
    ):
        assert isinstance(found, dc.DeviceArray)
        assert np.asarray(found).tobytes() == np.asarray(wanted).tobytes()
        assert found.dtype == wanted.dtype
