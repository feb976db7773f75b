"""Masks, index arrays and counts on all cores, against NumPy."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import dcarray as dc
from dcarray.backends.cpu.wholes import counting, selecting, storing
from dcarray.config import config

SIZES = (1 << 16, 70_001, 200_003, selecting.SHARED + 3)
SHARES = (0.0, 1e-4, 0.5, 0.97, 1.0)
"""Of a mask; one of all but few elements has runs of whole words."""


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
    for dtype in ("?", "b", "h", "f", "d", "F", "D", "g"):
        x = np.arange(size).astype(dtype)
        if x.dtype.kind == "c":
            x -= 1j * x.real
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


@pytest.fixture
def soon(monkeypatch: pytest.MonkeyPatch) -> None:
    """Small work is large enough to store elements region by region."""
    monkeypatch.setattr(storing, "LEAST", 1 << 10)
    monkeypatch.setattr(storing, "LARGE", 1 << 10)
    monkeypatch.setattr(storing, "NEAR", 64)


def stores(x: Any, places: Any, value: Any, monkeypatch: pytest.MonkeyPatch) -> bool:
    """Store with threads and with NumPy, compare; whether threads did it."""
    done = []

    def noted(*given: Any) -> bool:
        done.append(storing.stored(*given))
        return done[-1]

    monkeypatch.setattr(selecting, "stored", noted)
    changed, wanted = x.copy(), x.copy()
    selecting.put(changed, places, value)
    wanted[places] = value
    assert same(changed, wanted)
    return done == [True]


@pytest.mark.usefixtures("soon")
@pytest.mark.parametrize("dtype", ["?", "b", "e", "f", "d", "F", "l"])
@pytest.mark.parametrize("shape", [(5000,), (3, 40_001)])
def test_elements_are_stored_at_places(
    dtype: str, shape: tuple[int, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Many places come again: the last element that goes there stays."""
    rng = np.random.default_rng(3)
    x = rng.integers(-90, 90, 70_001).astype(dtype)
    values = rng.integers(-90, 90, shape).astype(dtype)
    for low, high in ((0, 70_001), (-70_001, 70_001), (50, 9000)):
        places = rng.integers(low, high, shape)
        assert stores(x, places, values, monkeypatch)
        assert stores(x, places, values.flat[0], monkeypatch)
    assert stores(x, rng.integers(0, 30_000, shape, np.int16), 1, monkeypatch)
    assert stores(x, rng.integers(0, 60_000, shape, np.uint16), True, monkeypatch)
    swapped = x.astype(x.dtype.newbyteorder())
    assert stores(swapped, rng.integers(0, 70_001, shape), 1, monkeypatch)


@pytest.mark.usefixtures("soon")
def test_what_numpy_stores_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(4)
    x = rng.random(70_000)
    places = rng.integers(0, 70_000, 6000)
    values = rng.random(6000)
    assert stores(x, places, values, monkeypatch)
    for other in (
        (x, np.sort(places), values),  # near to each other
        (x, places, values.astype(np.float32)),
        (x, places, rng.random(12_000)[::2]),
        (x, places[::2], 1.0),
        (x, places, rng.random(1)),
        (x.astype(np.float32), places, np.float64(0.1)),
        (x.reshape(-1, 7), places % 10_000, 2.0),
    ):
        assert not stores(*other, monkeypatch)


@pytest.mark.usefixtures("soon")
def test_what_shares_memory_is_stored_as_numpy_does() -> None:
    rng = np.random.default_rng(5)
    for _ in range(2):
        x = rng.integers(0, 5000, 5000)
        wanted = x.copy()
        selecting.put(x, x, x[::-1])
        wanted[wanted] = wanted[::-1]
        assert same(x, wanted)
        y, wanted = np.arange(5000.0), np.arange(5000.0)
        places = rng.integers(0, 5000, 2500)
        selecting.put(y, places, y[2500:])
        wanted[places] = wanted[2500:]
        assert same(y, wanted)


@pytest.mark.usefixtures("soon")
@pytest.mark.parametrize("wrong", [5000, -5001])
def test_places_out_of_bounds_are_refused(wrong: int) -> None:
    x = np.zeros(5000)
    places = np.random.default_rng(6).integers(0, 5000, 4000)
    places[3999] = wrong
    with pytest.raises(IndexError, match=f"index {wrong} is out of bounds"):
        selecting.put(x, places, 1.0)
    with pytest.raises(OverflowError):
        selecting.put(np.zeros(5000, np.uint8), places[:3999], -1)
    with pytest.raises(ValueError, match="shape mismatch"):
        selecting.put(x, places[:3999], np.zeros(7))


@pytest.mark.usefixtures("soon")
def test_arrays_are_written_by_index_arrays(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(7)
    host = rng.random(1 << 17)
    x = dc.asarray(host)
    view = x[:]
    places = rng.integers(0, host.size, host.size)
    values = rng.random(host.size)
    pending = x + 1
    x[dc.asarray(places)] = dc.asarray(values) * 2
    assert same(np.asarray(pending), host + 1)
    host[places] = values * 2
    assert same(np.asarray(view), host)


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


ORDERS = (2, 3, 4, 7, 8, 1000)


@pytest.mark.parametrize("dtype", ["b", "B", "h", "i", "I", "l", "Q", "f", "d"])
def test_places_among_elements_in_order(
    dtype: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Equal ones, the ends of the dtype, zeros of both signs, NaN and infinities."""
    rng = np.random.default_rng(8)
    kind = np.dtype(dtype)
    x = rng.integers(-99, 99, 70_001).astype(dtype)
    if kind.kind == "f":
        x[:6] = np.nan, -np.nan, np.inf, -np.inf, 0.0, -0.0
    else:
        x[:2] = np.iinfo(kind).min, np.iinfo(kind).max
    monkeypatch.setattr(np, "searchsorted", None)  # which is not asked
    monkeypatch.setattr(np, "digitize", None)
    for size in ORDERS:
        order = np.sort(rng.choice(x[6:], size))
        if kind.kind in "iu":
            order[-1] = np.iinfo(kind).max
        for side in ("left", "right"):
            wanted = order.searchsorted(x, side)
            assert same(counting.searchsorted(order, x, side), wanted)
            assert same(counting.digitize(x, order, side == "left"), wanted)


def test_searches_that_are_numpys() -> None:
    rng = np.random.default_rng(9)
    x = rng.random(70_000)
    order = np.sort(rng.random(100))
    with_nan = order.copy()
    with_nan[-1] = np.nan
    for odd in (order[::-1].copy(), with_nan, order[::2], order[:1], order[:0]):
        assert same(counting.searchsorted(odd, x), np.searchsorted(odd, x))
    shuffled = rng.permutation(order)
    assert same(counting.searchsorted(shuffled, x), np.searchsorted(shuffled, x))
    short = order.astype(np.float32)
    assert same(counting.searchsorted(short, x), np.searchsorted(short, x))
    plane = x.reshape(100, 700)
    assert same(counting.searchsorted(order, plane), np.searchsorted(order, plane))


@pytest.mark.parametrize("dtype", ["f", "d"])
@pytest.mark.parametrize("count", [1, 2, 3, 10, 97, 1000])
def test_histograms_between_edges(dtype: str, count: int) -> None:
    rng = np.random.default_rng(10)
    x = rng.standard_normal(80_001).astype(dtype)
    x[:4] = np.nan, np.inf, -np.inf, -0.0
    for edges in (
        np.sort(rng.standard_normal(count + 1)).astype(dtype),
        np.sort(rng.choice(x[4:], count + 1)),
        np.sort(rng.integers(-2, 3, count + 1)).astype(dtype),
    ):
        assert same(counting.histogram(x, edges), np.histogram(x, edges))


@pytest.mark.parametrize("dtype", ["b", "H", "i", "I", "l", "f", "d"])
def test_histograms_of_one_width(dtype: str) -> None:
    rng = np.random.default_rng(11)
    for x in (
        rng.integers(0, 100, 70_001).astype(dtype),
        (100 * rng.random(70_001)).astype(dtype),
        np.full(70_001, 3).astype(dtype),
        np.linspace(0, 100, 70_001).astype(dtype),
    ):
        for bins in (1, 3, 10, 1000):
            assert same(counting.histogram(x, bins), np.histogram(x, bins))
            for ends in ((0, 7), (-3.5, 90.0), (200, 300)):
                wanted = np.histogram(x, bins, ends)
                assert same(counting.histogram(x, bins, ends), wanted)


def test_histograms_that_numpy_refuses() -> None:
    x = np.random.default_rng(12).random(70_000)
    x[5] = np.nan
    with pytest.raises(ValueError, match="autodetected range"):
        counting.histogram(x)
    with pytest.raises(ValueError, match="supplied range"):
        counting.histogram(x, 10, (0.0, np.inf))
    with pytest.raises(ValueError, match="max must be larger"):
        counting.histogram(x, 10, (1.0, 0.0))
    with pytest.raises(ValueError, match="monotonically"):
        counting.histogram(x, np.array([1.0, 0.0, 2.0]))
    found = counting.histogram(x, 10, (0.0, 1.0), density=True)
    assert same(found, np.histogram(x, 10, (0.0, 1.0), density=True))
