"""Reductions over several neighbouring axes before the last one, with NumPy's bits and
without the array that is reduced."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import dcarray as dc
from dcarray.backends.cpu import reductions

UFUNCS = ("sum", "prod", "max", "min")
SHAPES = [
    (3, 4, 5, 6, 2),
    (2, 3, 7, 1, 16),
    (5, 2, 3, 4, 3),
    (2, 3, 2, 5, 70),
    (1, 6, 9, 3, 33),
    (4, 1, 11, 2, 65),
    (2, 9, 8, 7, 1),
]
AXES = [(1, 2, 3), (2, 3), (1, 2), (0, 1, 2, 3), (0, 1), (0, 2), (1, 3)]


@pytest.fixture(autouse=True)
def recorded() -> Iterator[None]:
    """Small arrays, too, are recorded."""
    with dc.config(lazy="always", small_array=0):
        yield


@pytest.fixture
def unstored(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """The shapes of what was stored to be reduced."""
    stored: list[Any] = []
    inner = reductions._stored

    def noted(*arguments: Any) -> Any:
        stored.append(arguments[2])
        return inner(*arguments)

    monkeypatch.setattr(reductions, "_stored", noted)
    return stored


def values(g: np.random.Generator, shape: tuple[int, ...], dtype: str) -> Any:
    if dtype in "bil?":
        return g.integers(-3, 4, shape).astype(dtype)
    found = g.standard_normal(shape) * 10.0 ** g.integers(-3, 4, shape)
    found[g.random(shape) < 0.1] = -0.0
    if dtype in "FD":
        found = found + 1j * g.standard_normal(shape)
    return found.astype(dtype)


def same(found: Any, wanted: Any) -> None:
    found = np.asarray(found)
    assert found.dtype == wanted.dtype and found.shape == wanted.shape
    assert found.tobytes() == wanted.tobytes()


@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize("dtype", ["f", "d", "F", "D", "l", "i"])
def test_windows_times_weights_have_numpys_bits(
    shape: tuple[int, ...], dtype: str
) -> None:
    g = np.random.default_rng(sum(shape))
    n, *window, columns = shape
    wide = values(g, (n, *(k + 2 for k in window)), dtype)
    a, b = wide, values(g, (*window, columns), dtype)
    part = (slice(None), *(slice(1, 1 + k) for k in window), np.newaxis)
    x, y = dc.asarray(a), dc.asarray(b)
    for name, axes in itertools.product(UFUNCS, AXES):
        with np.errstate(all="ignore"):
            wanted = getattr(np, name)(a[part] * b[np.newaxis], axis=axes)
            found = getattr(dc, name)(x[part] * y[np.newaxis], axis=axes)
            same(found, wanted)


@pytest.mark.parametrize("name", UFUNCS)
@pytest.mark.parametrize("columns", [2, 3, 8, 16, 64, 100])
@pytest.mark.parametrize("layout", ["dense", "gaps", "backwards", "turned"])
def test_layouts(name: str, columns: int, layout: str) -> None:
    g = np.random.default_rng(columns)
    a = values(g, (3, 6, 10, 7, columns), "f")
    b = values(g, (3, 6, 10, 7, columns), "f")
    place: Any = ...
    if layout == "gaps":
        place = (..., slice(None, None, 2), slice(1, 6), slice(None))
    elif layout == "backwards":
        place = (..., slice(None, None, -1), slice(None))
    x, y = dc.asarray(a)[place], dc.asarray(b)[place]
    a, b = a[place], b[place]
    if layout == "turned":
        a, b, x, y = a.T, b.T, x.T, y.T
    for axes in ((1, 2, 3), (2, 3), (1, 2), (0, 1, 2)):
        with np.errstate(all="ignore"):
            wanted = getattr(np, name)(a * b, axis=axes)
            same(getattr(dc, name)(x * y, axis=axes), wanted)


@pytest.mark.parametrize("name", UFUNCS)
@pytest.mark.parametrize("columns", [2, 16, 70])
def test_the_product_is_not_stored(
    unstored: list[Any], name: str, columns: int
) -> None:
    g = np.random.default_rng(1)
    a, b = g.random((8, 24, 64, 3), "f"), g.random((20, 20, 3, columns), "f")
    x, y = dc.asarray(a), dc.asarray(b)
    with dc.profile() as p:
        window = x[:, 1:21, 5:25, :, np.newaxis]
        found = getattr(dc, name)(window * y[np.newaxis], axis=(1, 2, 3))
    window = a[:, 1:21, 5:25, :, np.newaxis]
    same(found, getattr(np, name)(window * b[np.newaxis], axis=(1, 2, 3)))
    assert len(p.groups) == 1
    assert not unstored


def test_long_bodies_and_other_loops_are_not_stored(unstored: list[Any]) -> None:
    g = np.random.default_rng(2)
    a = g.random((6, 12, 20, 30, 9), "f")[:, :, ::2, ::3]
    x = dc.asarray(a)
    same(dc.exp(x * x).sum((1, 2, 3)), np.exp(a * a).sum((1, 2, 3)))
    same(dc.sin(x * x).sum((1, 2, 3)), np.sin(a * a).sum((1, 2, 3)))
    assert not unstored


def test_threads_share_groups_and_columns() -> None:
    g = np.random.default_rng(3)
    a, b = g.random((3, 9, 50, 40, 130), "f"), g.random((50, 40, 130), "f")
    x, y = dc.asarray(a)[:, :, 1:, 2:], dc.asarray(b)[1:, 2:]
    wanted = (a[:, :, 1:, 2:] * b[1:, 2:]).sum((1, 2, 3))
    for threads in (1, 2, 3):
        with dc.config(threads=threads, thread_work=1):
            same((x * y).sum((1, 2, 3)), wanted)


def test_flags_are_those_of_numpy() -> None:
    a = np.full((2, 30, 40, 50, 4), 1e30, "f")[:, :, ::2, ::3]
    x = dc.asarray(a)
    with np.errstate(over="raise"):
        with pytest.raises(FloatingPointError, match="multiply"):
            dc.evaluate((x * x).sum((1, 2, 3)))
        with pytest.raises(FloatingPointError, match="reduce"):
            dc.evaluate((x * 1e8).sum((1, 2, 3)))


def test_axes_apart_are_reduced_in_memory(unstored: list[Any]) -> None:
    """Their rows are not one after another for a thread."""
    a = np.random.default_rng(4).random((40, 5, 60, 7), "f")
    x = dc.asarray(a)
    same((x * x).sum((0, 2)), (a * a).sum((0, 2)))
    assert unstored == [a.shape]
