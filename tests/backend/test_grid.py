"""Maps and reductions over grids, on a device that interprets its kernels."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import dcarray as dc
from dcarray.backends.grid.geometry import collapsed, is_wide, turned_leaves
from dcarray.backends.registry import install, remove
from dcarray.testing import BackendSuite

from .interpreted_device import InterpretedBackend

RNG = np.random.default_rng(3)


@pytest.fixture(params=["plain", "coalescing"])
def backend(request: pytest.FixtureRequest) -> Iterator[InterpretedBackend]:
    gpu = request.param == "coalescing"
    made = InterpretedBackend(ahead=3 if gpu else 1, coalesces=gpu)
    install(made)
    yield made
    remove(made.device)


class TestContract(BackendSuite):
    def make(self) -> InterpretedBackend:
        return InterpretedBackend(ahead=2, coalesces=True)


VIEWS: list[Callable[[Any], Any]] = [
    lambda a: a,
    lambda a: a.T,
    lambda a: a[..., ::-1],
    lambda a: a[::2],
]


@pytest.mark.parametrize("shape", [(5,), (700,), (3, 50, 7), (40, 33), (0, 3), (3, 0)])
@pytest.mark.parametrize("code", ["f4", "i4", "c8", "?"])
def test_reductions(
    backend: InterpretedBackend, shape: tuple[int, ...], code: str
) -> None:
    host = (RNG.random(shape) * 10).astype(code)
    for view in VIEWS:
        x, y = view(dc.asarray(host, device=backend.device)), view(host)
        for count in range(y.ndim + 1):
            for axes in itertools.combinations(range(y.ndim), count):
                got, want = (
                    (x | x if code == "?" else x + x),
                    (y | y if code == "?" else y + y),
                )
                ours, theirs = got.sum(axis=axes).get(), want.sum(axis=axes)
                assert ours.dtype == theirs.dtype
                np.testing.assert_allclose(ours, theirs, rtol=1e-5)


def test_parts_of_one_result(backend: InterpretedBackend) -> None:
    host = RNG.random(20_000)
    x = dc.asarray(host, device=backend.device)
    np.testing.assert_allclose((x * 2).sum().get(), (host * 2).sum(), rtol=1e-12)
    assert backend.launched == ["reduce_by_group", "reduce_by_group"]
    assert x.max().get() == host.max()
    half = dc.asarray(np.full(20_000, 1, np.float16), device=backend.device)
    assert half.sum().get() == 20_000  # added up in float32


@pytest.mark.parametrize("shape", [(40, 50), (33, 17), (17, 5, 20), (20, 3, 30)])
@pytest.mark.parametrize("code", ["f4", "c16", "f2", "u1", "?"])
def test_operands_that_lie_along_other_axes(
    backend: InterpretedBackend, shape: tuple[int, ...], code: str
) -> None:
    host = (RNG.random(shape) * 10).astype(code)
    other = (RNG.random(shape[::-1]) * 10).astype(code)
    x, y = (dc.asarray(a, device=backend.device) for a in (host, other))
    assert np.array_equal(dc.copy(x.T, order="C").get(), host.T)
    if code != "?":
        got, want = (x.T * 2 + y).get(), host.T * 2 + other
        assert got.dtype == want.dtype
        np.testing.assert_allclose(got, want, rtol=1e-3)
    turns = "map_turned" in backend.launched
    assert turns == backend.limits.coalesces


@pytest.mark.parametrize("code", ["f4", "c8", "f2", "u1", "?", "f8"])
def test_runs(code: str) -> None:
    """Elements that lie side by side in all operands are read at once."""
    backend = InterpretedBackend(run=16, coalesces=True)
    install(backend)
    try:
        for shape, row, runs in (
            ((43,), (43,), True),
            ((5, 3, 16), (16,), True),
            ((5, 3, 16), (3, 1), True),
            ((5, 3, 7), (3, 1), False),
        ):
            host, other = ((RNG.random(s) * 10).astype(code) for s in (shape, row))
            x, y = (dc.asarray(a, device=backend.device) for a in (host, other))
            backend.launched.clear()
            assert np.array_equal((x + y).get(), host + other)
            assert backend.launched == ["map_runs" if runs else "map"]
            assert np.array_equal((x > y).get(), host > other)
        x, y = dc.asarray(host, device=backend.device), host
        backend.launched.clear()
        assert np.array_equal((x[1:] + x[1:]).get(), y[1:] + y[1:])
        x = x.reshape(-1)
        assert np.array_equal((x[1:] + x[1:]).get(), y.ravel()[1:] + y.ravel()[1:])
        assert "map" in backend.launched
    finally:
        remove(backend.device)


def test_in_place(backend: InterpretedBackend) -> None:
    host = RNG.random((30, 40))
    x = dc.asarray(host, device=backend.device)
    x += x * 2
    x[:, ::2] *= 3
    want = host * 3
    want[:, ::2] *= 3
    np.testing.assert_allclose(x.get(), want)


def test_axes_are_joined() -> None:
    axes = collapsed((2, 3, 1, 4), [(12, 4, 9, 1), (0, 0, 0, 1)], (12, 4, 9, 1))
    assert axes.lengths == (6, 4)
    assert axes.strides == ((4, 1), (0, 1))
    assert collapsed((), [()], ()).size == 1


def test_wide_indices() -> None:
    axes = collapsed((2,), [(1 << 31,)], (1,))
    assert is_wide([0], (axes,))
    assert not is_wide([0], (collapsed((1000,), [(1,)], (1,)),))
    assert is_wide([1 << 31], (collapsed((1000,), [(1,)], (1,)),))


def test_which_leaves_are_turned() -> None:
    axes = collapsed((20, 30), [(1, 20), (30, 1), (0, 1)], (30, 1))
    assert turned_leaves(axes, 3) == (0, (True, False, False))
    assert turned_leaves(collapsed((20, 30), [(30, 1)], (30, 1)), 1) is None
