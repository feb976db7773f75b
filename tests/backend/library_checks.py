"""Calls on a device with grids, compared with NumPy; the host does nothing."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

import dcarray as dc

__all__ = ["DEVICE", "check", "factors", "numbers", "settings"]

DEVICE = "opencl:0"


@contextmanager
def settings() -> Iterator[None]:
    """Nothing is left to the host, but results can be read."""
    options = {"fallback": "error", "implicit_transfer": "allow"}
    with dc.config(**options), np.errstate(all="ignore"):
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


def factors(code: str, *shapes: Any) -> list[Any]:
    """Arrays of small numbers, so that sums of products are exact but for halves."""
    rng = np.random.default_rng(2)
    found = []
    for shape in shapes:
        x = rng.integers(0, 2 if code == "?" else 5, shape).astype(code)
        found.append(x + 1j * rng.integers(0, 3, shape) if code in "FD" else x)
    return [x.astype(code) for x in found]
