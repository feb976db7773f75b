"""Functions along one axis by pieces of arrays, against NumPy."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from dcarray.backends.cpu.wholes import rowwise
from dcarray.config import config


def same(found: Any, wanted: Any) -> bool:
    assert type(found) is type(wanted)
    found, wanted = np.asarray(found), np.asarray(wanted)
    return found.dtype == wanted.dtype and found.tobytes() == wanted.tobytes()


@pytest.mark.parametrize("shape", [(300, 600), (3, 50_000), (50_000, 3), (40, 50, 70)])
@pytest.mark.parametrize("dtype", ["f", "d", "h"])
def test_by_rows(shape: tuple[int, ...], dtype: str) -> None:
    x = (np.random.default_rng(3).standard_normal(shape) * 3).astype(dtype)
    x.flat[5] = 0
    norm = rowwise.by_rows(np.linalg.norm, 1)
    median = rowwise.by_rows(np.median, 0)
    with config(threads=3):
        for axis in range(-1, x.ndim):
            assert same(norm(x, axis=axis), np.linalg.norm(x, axis=axis))
            assert same(norm(x, 1, axis), np.linalg.norm(x, 1, axis))
            assert same(median(x, axis), np.median(x, axis))
            found = rowwise.count_nonzero(x, axis)
            assert same(found, np.count_nonzero(x, axis))
        assert same(rowwise.count_nonzero(x), np.count_nonzero(x))
        assert same(rowwise.count_nonzero(x != 0), np.count_nonzero(x))


def test_flags_are_told() -> None:
    x = np.full((400, 400), 1e38, np.float32)
    with pytest.warns(RuntimeWarning, match="overflow"), config(threads=3):
        rowwise.by_rows(np.linalg.norm, 1)(x, axis=1)


@pytest.mark.parametrize(
    "shape", [(1000, 301), (2, 90_000), (60, 50, 70), (150_000, 1)]
)
def test_counts_along_the_first_axis_are_threads(shape: tuple[int, ...]) -> None:
    x = np.random.default_rng(4).integers(-1, 2, shape)
    with config(threads=3):
        for dtype in ("?", "b", "f", "D"):
            given = x.astype(dtype)
            given.flat[7] = 0 if dtype in "?b" else -0.0
            found = rowwise._counted_down(given)
            assert found is not None
            assert same(found, np.count_nonzero(given, 0))
        assert rowwise._counted_down(x[::2]) is None
        assert rowwise._counted_down(x.astype(object)) is None
        assert rowwise._counted_down(x.ravel()) is None
