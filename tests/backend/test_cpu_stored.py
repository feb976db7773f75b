"""Reductions of stored values on the CPU: NumPy's bits, on several threads."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import dcarray as dc
from dcarray.backends.cpu import rules
from dcarray.backends.cpu.same_loops import sums_agree
from dcarray.config import config

SHAPES = [(1 << 18,), (300, 1001), (3, 1 << 17), (5000, 40), (60, 70, 90)]


@pytest.fixture(autouse=True)
def never_eager() -> Any:
    with config(lazy="always"):
        yield


def same(found: Any, wanted: Any) -> bool:
    found = np.asarray(found)
    return found.dtype == wanted.dtype and found.tobytes() == wanted.tobytes()


@pytest.mark.parametrize("dtype", ["f", "d", "l", "h", "F", "?"])
@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("threads", [1, 3])
def test_stored(dtype: str, shape: tuple[int, ...], threads: int) -> None:
    x = (np.random.default_rng(5).standard_normal(shape) * 9).astype(dtype)
    with config(threads=threads):
        given = dc.asarray(x)
        for name in ("sum", "max", "min", "any"):
            for axis in (None, *range(x.ndim)):
                wanted = np.asarray(getattr(np, name)(x, axis=axis))
                assert same(getattr(dc, name)(given, axis=axis), wanted)
        wanted = np.asarray(x.T.sum(0))
        assert same(given.T.sum(0), wanted)


@pytest.mark.parametrize("dtype", ["f", "d"])
def test_zeros_and_nan(dtype: str) -> None:
    rng = np.random.default_rng(5)
    positive = np.maximum(rng.standard_normal((600, 700)), 0).astype(dtype)
    signed = np.where(rng.random((600, 700)) < 0.5, 0.0, -0.0).astype(dtype)
    holes = positive.copy()
    holes[3, 4] = np.nan
    for x in (positive, -positive, signed, holes):
        given = dc.asarray(x)
        for name in ("min", "max", "sum"):
            for axis in (None, 0, 1):
                wanted = np.asarray(getattr(np, name)(x, axis=axis))
                assert same(getattr(dc, name)(given, axis=axis), wanted)


def test_minus_zeros_are_found() -> None:
    x = np.zeros((300, 400), np.float32)
    assert not rules.has_minus_zero(x)
    x[299, 7] = -0.0
    assert rules.has_minus_zero(x)
    assert not rules.has_minus_zero(x[:, 8:])
    assert rules.has_minus_zero(x.T)


def test_flags_are_named() -> None:
    x = np.full((400, 1000), 1e38, np.float32)
    for axis in (None, 0, 1):
        with pytest.warns(RuntimeWarning, match="overflow"):
            dc.asarray(x).sum(axis=axis)


def test_numpy_adds_up_in_pairs() -> None:
    assert sums_agree(np.dtype("f")) and sums_agree(np.dtype("d"))
    assert not sums_agree(np.dtype("e"))
