"""`DeviceArray.flat` on named devices."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import dcarray as dc

DEVICE = "test:0"
VIEWS: list[Callable[[Any], Any]] = [
    lambda x: x,
    lambda x: x.T,
    lambda x: x[::-1, ::2],
]
KEYS: list[Any] = [
    *(3, -1, slice(2, 5), slice(None, None, -2), slice(0, 0), ...),
    *([0, 5, 5], np.array([1, 2])),
]


@pytest.fixture(autouse=True)
def nothing_on_the_host() -> Iterator[None]:
    with dc.config(fallback="error"):
        yield


@pytest.mark.parametrize("view", VIEWS)
@pytest.mark.parametrize("key", KEYS, ids=str)
def test_keys(view: Callable[[Any], Any], key: Any) -> None:
    host = np.arange(12.0).reshape(3, 4)
    given = dc.asarray(host, device=DEVICE)
    got = view(given).flat[key]
    assert np.array_equal(got.get(), view(host).flat[key])
    for value in (7.0, [1.0, 2.0], np.arange(3.0), np.arange(40.0)):
        changed, on_device = host.copy(), dc.asarray(host, device=DEVICE)
        if isinstance(key, int) and np.size(value) > 1:
            with pytest.raises(ValueError, match="setting single item"):
                view(on_device).flat[key] = value
            continue
        view(changed).flat[key] = value
        view(on_device).flat[key] = value
        assert np.array_equal(on_device.get(), changed)
    assert np.array_equal(given.get(), host)  # what was read is a copy


def test_iteration() -> None:
    host = np.arange(6.0).reshape(2, 3)
    mine, other = dc.asarray(host, device=DEVICE).flat, host.flat
    assert len(mine) == len(other) == 6
    for _ in range(6):
        assert mine.index == other.index
        assert mine.coords == other.coords
        assert float(next(mine)) == next(other)
    assert (mine.index, mine.coords) == (other.index, other.coords)
    with pytest.raises(StopIteration):
        next(mine)
    x = dc.asarray(host, device=DEVICE)
    x.flat = [1.0, 2.0]
    assert x.tolist() == [[1.0, 2.0, 1.0], [2.0, 1.0, 2.0]]
    assert (x.flat == dc.asarray(host, device=DEVICE).flat).tolist()[1] is False
    with pytest.raises(TypeError, match="flat"):
        np.asarray(x.flat)
