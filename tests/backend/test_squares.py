"""Squares that are transposed where they lie."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import dcarray as dc
from tests.metal_simulator import Simulator, installed

DEVICES = ["cpu", "opencl:0", "metal:0", "test:0"]


@pytest.fixture(params=DEVICES)
def device(request: pytest.FixtureRequest) -> Iterator[str]:
    if request.param == "metal:0":
        with installed(Simulator()):
            yield request.param
        return
    if request.param == "opencl:0":
        pytest.importorskip("pyopencl")
    yield request.param


VIEWS: dict[str, tuple[tuple[int, ...], Callable[[Any], Any]]] = {
    "plain": ((45, 45), lambda a: a),
    "small": ((3, 3), lambda a: a),
    "batches": ((2, 3, 33, 33), lambda a: a),
    "part": ((70, 80), lambda a: a[3:43, 2:42]),
    "reversed": ((34, 34), lambda a: a[::-1, ::-1]),
    "one way": ((34, 34), lambda a: a[::-1]),
    "steps": ((40, 80), lambda a: a[:, ::2]),
    "outer axes": ((33, 4, 33), lambda a: a.transpose(1, 0, 2)),
    "no equal distances": ((4, 5, 6, 6), lambda a: a[:, ::2]),
}


@pytest.mark.parametrize(
    ("device", "name", "dtype"),
    [
        *[(device, name, "float32") for device in DEVICES for name in VIEWS],
        *[(device, "plain", "bool") for device in DEVICES if device != "metal:0"],
        *[(device, "plain", "complex64") for device in DEVICES if device != "metal:0"],
    ],
    indirect=["device"],
)
def test_squares(device: str, name: str, dtype: str) -> None:
    shape, view = VIEWS[name]
    host = (np.arange(np.prod(shape)) % 251).reshape(shape).astype(dtype)
    given = dc.asarray(host, device=device)
    later = given + given  # it reads the old elements
    with dc.config(fallback="error"):
        view(given)[...] = view(given).swapaxes(-1, -2)
    want = host.copy()
    view(want)[...] = view(host).swapaxes(-1, -2)
    assert np.array_equal(given.get(), want)
    assert np.array_equal(later.get(), host + host)


def test_other_axes(device: str) -> None:
    host = np.arange(6 * 5 * 6, dtype=np.int32).reshape(6, 5, 6)
    given = dc.asarray(host, device=device)
    given[...] = given.transpose(2, 1, 0)
    assert np.array_equal(given.get(), host.transpose(2, 1, 0))
    given[...] = given[::-1]  # no exchange of axes
    assert np.array_equal(given.get(), host.transpose(2, 1, 0)[::-1])


def test_no_second_matrix() -> None:
    pytest.importorskip("pyopencl")
    host = np.arange(512 * 512, dtype=np.float32).reshape(512, 512)
    given = dc.asarray(host, device="opencl:0")
    dc.synchronize()
    (before,) = dc.Device("opencl:0").properties().pools
    with dc.profile() as seen:
        given[...] = given.T
        dc.copyto(given, given.T)
        given[:] = given.T
    (after,) = dc.Device("opencl:0").properties().pools
    assert [row["name"] for row in seen.table()] == ["turn_squares"]
    assert (after.hits, after.misses) == (before.hits, before.misses)
    assert np.array_equal(given.get(), host.T)
