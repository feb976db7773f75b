"""Masks, index arrays and counts on all cores, against NumPy."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from dcarray.backends.cpu.wholes import counting, selecting
from dcarray.config import config

SIZES = (1 << 16, 70_001, 200_003, selecting.SHARED + 3)
SHARES = (0.0, 1e-4, 0.5, 1.0)


@pytest.fixture(autouse=True)
def several_threads() -> Any:
    with config(threads=3):
        yield


def same(found: Any, wanted: Any) -> bool:
    if isinstance(wanted, tuple):
        return all(map(same, found, wanted)) and len(found) == len(wanted)
    return found.dtype == wanted.dtype and np.array_equal(found, wanted)


def mask_of(size: int, share: float) -> Any:
    return np.random.default_rng(size).random(size) < share


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("share", SHARES)
def test_masks(size: int, share: float) -> None:
    mask = mask_of(size, share)
    for dtype in ("?", "b", "h", "f", "d", "F"):
        x = np.arange(size).astype(dtype)
        assert same(selecting.picked(x, mask), x[mask])
        values = x[mask][::-1].copy()
        for value in (1, values):
            changed, wanted = x.copy(), x.copy()
            selecting.put(changed, mask, value)
            wanted[mask] = value
            assert same(changed, wanted)


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("share", SHARES)
def test_places(size: int, share: float) -> None:
    mask = mask_of(size, share)
    assert same(selecting.flatnonzero(mask), np.flatnonzero(mask))
    plane = mask[: size // 4 * 4].reshape(4, -1)
    assert same(selecting.nonzero(plane), np.nonzero(plane))
    cube = mask[: size // 8 * 8].reshape(2, 2, -1) * np.float32(2)
    assert same(selecting.nonzero(cube), np.nonzero(cube))
    assert same(selecting.argwhere(plane), np.argwhere(plane))
    x = np.arange(size)
    assert same(selecting.compress(mask, x), np.compress(mask, x))
    assert same(selecting.extract(mask, x), np.extract(mask, x))


def test_what_numpy_refuses() -> None:
    x, mask = np.zeros(1 << 17), mask_of(1 << 17, 0.5)
    with pytest.raises(ValueError, match="assign"):
        selecting.put(x, mask, np.zeros(7))
    with pytest.raises(IndexError, match="out of bounds"):
        selecting.picked(x, np.full(1 << 17, 1 << 17))
    with pytest.raises(IndexError, match="out of bounds"):
        selecting.take(x, np.full(1 << 17, -1 - (1 << 17)))
    with pytest.raises(IndexError, match="did not match"):
        selecting.picked(x[1:], mask)


def test_index_arrays() -> None:
    rng = np.random.default_rng(1)
    x = rng.random((1000, 300), np.float32)
    for low in (0, -300):
        places = rng.integers(low, 300, (350, 2))
        for axis in (0, 1, None, -1):
            assert same(selecting.take(x, places, axis), np.take(x, places, axis))
        assert same(selecting.picked(x, places), x[places])
    run, short = rng.random(300_000), rng.integers(-900, 900, 200_000, np.int16)
    assert same(selecting.picked(run, short), run[short])


def test_counts() -> None:
    rng = np.random.default_rng(1)
    order, x = np.sort(rng.random(1000)), rng.random(100_000)
    for side in ("left", "right"):
        found = counting.searchsorted(order, x, side)
        assert same(found, np.searchsorted(order, x, side))
    assert same(counting.digitize(x, order[::-1]), np.digitize(x, order[::-1]))
    numbers = rng.integers(0, 100, 100_000, np.int32)
    for least in (0, 200):
        found = counting.bincount(numbers, minlength=least)
        assert same(found, np.bincount(numbers, minlength=least))
    for kind in ("f", "d", "l", "B"):
        y = (x * 200).astype(kind)
        for options in ({}, {"bins": 99}, {"bins": 7, "range": (-1.0, 30)}):
            assert same(counting.histogram(y, **options), np.histogram(y, **options))
    with pytest.raises(ValueError, match="negative"):
        counting.bincount(numbers - 50)
