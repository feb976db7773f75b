"""Rows on a device that multiplies them, and picks from them, wherever they begin."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import dcarray as dc
from dcarray.errors import LaunchError

from .interpreted_device import InterpretedBackend, on, used

HOST = np.arange(42.0).reshape(6, 7)


class Lined(InterpretedBackend):
    """A device that does so by NumPy."""

    def __init__(self) -> None:
        super().__init__()
        self.calls = 0
        self.fails = False

    def _bytes(self, memory: Any) -> Any:
        self.calls += 1
        if self.fails:
            raise LaunchError("no", device=self.device)
        found = np.empty(memory.nbytes, np.uint8)
        self.download(memory, found)
        return found

    def _new(self, host: Any) -> Any:
        made = self.allocate(host.nbytes)
        self.upload(np.ascontiguousarray(host).view(np.uint8).reshape(-1), made)
        return made

    def dot(self, x: Any, y: Any, dtype: Any, count: int, lies: Any) -> Any:
        begin, step, first, stride = lies
        a, b = self._bytes(x).view(dtype), self._bytes(y).view(dtype)
        rows = [a[begin + k * step] * b[first + k * stride] for k in range(count)]
        return self._new(np.array([sum(rows)], dtype))

    def pick(self, x: Any, places: Any, kinds: Any, count: int, lies: Any) -> Any:
        length, begin, first = lies
        row = self._bytes(x).view(kinds[0])[begin : begin + length]
        return self._new(row[self._bytes(places).view(kinds[1])[first:][:count]])


@pytest.fixture
def device() -> Iterator[Lined]:
    with used(Lined()) as found:
        yield found


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_products(device: Lined, dtype: Any) -> None:
    x = on(device, HOST.astype(dtype))
    for k in range(3):
        for a, b, wanted in [
            (x[1], x[2], HOST[1] @ HOST[2]),
            (x[k, :3], x[:3, 4], HOST[k, :3] @ HOST[:3, 4]),
            (x[2, ::-1], x[3], HOST[2, ::-1] @ HOST[3]),
            (x[1:5, 2] * 2, x[5, ::2], 2 * HOST[1:5, 2] @ HOST[5, ::2]),
        ]:
            for found in (a @ b, dc.dot(a, b)):
                assert found.shape == () and found.dtype == dtype
                assert found.device == device.device
                assert float(found) == wanted
    assert device.calls == 3 * 4 * 2 * 2


def test_other_products_go_their_way(device: Lined) -> None:
    x, n = on(device, HOST), on(device, np.arange(7))
    assert int(n @ n) == 91
    assert float(x[1] @ n) == HOST[1] @ np.arange(7)
    assert float(x[1, :0] @ x[2, :0]) == 0
    np.testing.assert_array_equal((x @ x[0]).get(), HOST @ HOST[0])
    with pytest.raises(ValueError):
        x[1] @ x[1, :3]
    assert device.calls == 0
    device.fails = True
    assert float(x[1] @ x[2]) == HOST[1] @ HOST[2]
    assert device.calls == 1


def test_one_who_watches_sees_them(device: Lined) -> None:
    x = on(device, HOST)
    with dc.profile() as profile:
        assert float(x[1] @ x[2]) == HOST[1] @ HOST[2]
    assert [event.name for event in profile.of_kind("library")] == ["matmul"]
    assert device.calls == 0


def test_places(device: Lined) -> None:
    x, places = on(device, HOST[3]), on(device, np.array([3, -1, 0, 6, -7], np.int32))
    wanted = HOST[3]
    for k in range(1, 5):
        found = x[places[:k]]
        np.testing.assert_array_equal(found.get(), wanted[[3, -1, 0, 6, -7][:k]])
        found = x[1:][places[2:4] % 6]
        np.testing.assert_array_equal(found.get(), wanted[1:][[0, 0]])
    assert device.calls
    with pytest.raises(IndexError):
        x[:6][places]
