"""Library kernels on a device with grids, against NumPy, with nothing left to the host."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import dcarray as dc

DEVICE = "opencl:0"

pytest.importorskip("pyopencl")
if DEVICE not in [str(device) for device in dc.devices()]:
    pytest.skip("there is no OpenCL device", allow_module_level=True)


@pytest.fixture(autouse=True)
def nothing_on_the_host() -> Iterator[None]:
    settings = {"fallback": "error", "implicit_transfer": "allow"}
    with dc.config(**settings), np.errstate(all="ignore"):
        yield


def numbers(code: str, shape: Any, seed: int = 0) -> Any:
    """Small integers of a dtype, many of them equal; some NaN."""
    rng = np.random.default_rng(seed)
    x = rng.integers(0, 2 if code == "?" else 40, shape).astype(code)
    if code in "FD":
        x = x + 1j * rng.integers(0, 3, shape).astype(code)
    if code in "efdFD" and x.size > 9:
        x.flat[[3, -1]] = np.nan
    return x


def check(function: Callable[..., Any], *given: Any, exact: bool = True) -> None:
    """Compare ``function(np, ...)`` with ``function(dc, ...)`` on the device."""
    want = function(np, *given)
    got = function(
        dc,
        *[
            dc.asarray(x, device=DEVICE) if isinstance(x, np.ndarray) else x
            for x in given
        ],
    )
    pairs = [(got, want)] if not isinstance(want, tuple) else zip(got, want)
    for one, other in pairs:
        assert str(one.device) == DEVICE
        host = one.get()
        other = np.asarray(other)
        assert host.dtype == other.dtype
        assert host.shape == other.shape
        if exact or other.dtype.kind not in "fc":
            assert np.array_equal(host, other, equal_nan=other.dtype.kind in "fc")
        else:
            single = np.finfo(other.dtype).eps > 1e-10
            near = 2e-2 if other.dtype == np.float16 else 1e-4 if single else 1e-9
            assert np.allclose(host, other, rtol=near, atol=near, equal_nan=True)


# ------------------------------------------------------------------ places and scans
@pytest.mark.parametrize("code", "?bHilefdF")
@pytest.mark.parametrize("name", ["argmin", "argmax"])
def test_places(name: str, code: str) -> None:
    for shape in ((5,), (1000,), (30_000,), (3, 50, 7), (300, 4)):
        x = numbers(code, shape)
        for axis in (None, *range(x.ndim)):
            check(lambda np, x, axis=axis: getattr(np, name)(x, axis=axis), x)
    x = numbers(code, (6, 80))
    check(lambda np, x: getattr(np, name)(x, axis=0, keepdims=True), x)
    check(lambda np, x: getattr(np, name)(x[::-2, ::3].T, axis=0), x)


def test_place_in_nothing() -> None:
    x = dc.asarray(np.zeros((0, 3)), device=DEVICE)
    with pytest.raises(ValueError, match="empty"):
        dc.argmax(x)
    assert dc.argmax(x, axis=1).shape == (0,)


@pytest.mark.parametrize("code", "?bHilefdF")
def test_running_sums(code: str) -> None:
    for shape in ((1,), (1000,), (30_000,), (3, 50, 7), (300, 4), (0, 3)):
        x = numbers(code, shape)
        for axis in range(x.ndim):
            if code != "e":
                check(
                    lambda np, x, axis=axis: np.cumulative_sum(x, axis=axis),
                    x,
                    exact=code in "?bHil",
                )
            check(lambda np, x, axis=axis: np.maximum.accumulate(x, axis=axis), x)
    x = numbers(code, (60, 80))
    check(lambda np, x: np.minimum.accumulate(x[::-2, ::3].T, axis=0), x)


def test_running_sums_of_halves() -> None:
    x = np.random.default_rng(0).random((20, 100)).astype(np.float16)
    check(lambda np, x: np.cumulative_sum(x, axis=1), x, exact=False)


def test_running_products() -> None:
    x = 1 + np.random.default_rng(0).random((3, 2000)) / 100
    check(lambda np, x: np.cumulative_prod(x, axis=1), x, exact=False)
    check(lambda np, x: np.cumulative_prod(x, axis=0, dtype=np.float32), x, exact=False)


def test_a_sum_of_negative_zeros_is_one() -> None:
    x = dc.asarray(np.full(100, -0.0), device=DEVICE)
    assert np.signbit(dc.cumulative_sum(x).get()).all()
