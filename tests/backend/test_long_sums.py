"""Sums of many numbers in single precision."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest

import dcarray as dc
from tests.metal_simulator import Simulator, installed


@pytest.fixture(params=["opencl:0", "metal:0"])
def device(request: pytest.FixtureRequest) -> Iterator[str]:
    if request.param == "metal:0":
        with installed(Simulator()):
            yield request.param
        return
    pytest.importorskip("pyopencl")
    yield request.param


@pytest.mark.parametrize(
    ("shape", "axis"), [((1_000_000,), 0), ((300, 5000), 1), ((5000, 300), 0)]
)
def test_long_sums(device: str, shape: tuple[int, ...], axis: int) -> None:
    tenth = np.float32(0.1)  # roundings of equal numbers do not cancel
    x = dc.full(shape, tenth, device=device)
    want = shape[axis] * np.float64(tenth)
    assert np.abs(x.sum(axis=axis).get() / want - 1).max() < 1e-6


def test_infinities_stay(device: str) -> None:
    x = np.ones(10_000, np.float32)
    x[5000] = np.inf
    assert dc.asarray(x, device=device).sum().get() == np.inf
    x[1] = -np.inf
    assert np.isnan(dc.asarray(x, device=device).sum().get())
