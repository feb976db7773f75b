"""Running sums and products on all cores, against `ufunc.accumulate`."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import dcarray as dc
from dcarray.backends.cpu.wholes.scanning import accumulate
from dcarray.config import config

SHAPES = [(70_000,), (300, 301), (5, 20_000), (40_000, 3), (30, 50, 70), (2, 65_536)]


@pytest.mark.parametrize("ufunc", [np.add, np.multiply])
@pytest.mark.parametrize("dtype", ["f", "d", "l", "L", "i", "?"])
def test_accumulate(ufunc: np.ufunc, dtype: str) -> None:
    function = accumulate(ufunc)
    rng = np.random.default_rng(2)
    for threads, shape in enumerate(SHAPES, 1):
        x = (rng.standard_normal(shape) * 1.2).astype(dtype)
        for axis in range(-1, x.ndim):
            with config(threads=threads % 4 + 1), np.errstate(all="ignore"):
                found: Any = function(x, axis)
            with np.errstate(all="ignore"):
                wanted: Any = ufunc.accumulate(x, axis)
            assert found.dtype == wanted.dtype and found.tobytes() == wanted.tobytes()


def test_overflows_are_told() -> None:
    x = dc.asarray(np.full((300, 300), 1e38, np.float32))
    for axis in (0, 1):
        with pytest.warns(RuntimeWarning, match="overflow"):
            found = dc.cumsum(x, axis=axis)
        assert np.isinf(np.asarray(found)).any()
