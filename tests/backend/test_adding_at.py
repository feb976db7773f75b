"""``numpy.add.at`` and ``numpy.subtract.at`` on devices."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import dcarray as dc

DEVICES = ["test:0"]
try:
    import pyopencl  # noqa: F401

    DEVICES.append("opencl:0")
except ImportError:
    pass

X = np.arange(24).reshape(4, 6)
KEYS: list[Any] = [
    np.array([0, 3, 0, -1]),
    [1, 1, 1],
    (slice(None), np.array([5, 0, 5])),
    (np.array([[0], [2]]), np.array([1, 1])),
    X % 5 == 0,
    (np.array([1, 1]), slice(None, None, -2)),
    np.array([], np.int64),
]


@pytest.fixture(params=DEVICES)
def device(request: pytest.FixtureRequest) -> Any:
    with dc.config(fallback="error"):
        yield request.param


@pytest.mark.parametrize("key", KEYS, ids=range(len(KEYS)))
@pytest.mark.parametrize(
    ("device", "dtype"),
    [*[(device, "float32") for device in DEVICES], ("test:0", "uint8")],
    indirect=["device"],
)
def test_keys(device: str, key: Any, dtype: str) -> None:
    host = X.astype(dtype)
    values = np.arange(host[key].size).reshape(host[key].shape).astype(dtype)
    for name in ("add", "subtract"):
        for value in (3, values):
            want = host.T.copy().T
            getattr(np, name).at(want, key, value)
            given = dc.asarray(host, device=device)
            later = given + given
            view = given[1:]
            placed = dc.asarray(value, device=device) if np.ndim(value) else value
            getattr(dc, name).at(given, key, placed)
            assert np.array_equal(given.get(), want)
            assert np.array_equal(view.get(), want[1:])
            assert np.array_equal(later.get(), host + host)


def test_parts_and_zeros(device: str) -> None:
    host = np.full((4, 6), -0.0, np.float32)
    given = dc.asarray(host, device=device)
    dc.add.at(given[::2, ::-1].T, np.array([1, 1]), 2.0)
    np.add.at(host[::2, ::-1].T, np.array([1, 1]), 2.0)
    assert np.array_equal(given.get(), host)
    assert np.array_equal(np.signbit(given.get()), np.signbit(host))


def test_refusals(device: str) -> None:
    given = dc.asarray(X.astype(np.float32), device=device)
    with pytest.raises(IndexError, match="out of bounds"):
        dc.add.at(given, np.array([0, 4]), 1.0)
    with pytest.raises(ValueError, match="broadcast"):
        dc.add.at(given, np.array([0, 1]), np.ones(4, np.float32))
    assert np.array_equal(given.get(), X)
