"""Library kernels that pick, order and scan, against NumPy; the host does nothing."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import dcarray as dc
from dcarray.backends.grid.library import scans, searching

from .library_checks import DEVICE, check, numbers, settings

pytest.importorskip("pyopencl")
if DEVICE not in [str(device) for device in dc.devices()]:
    pytest.skip("there is no OpenCL device", allow_module_level=True)


@pytest.fixture(autouse=True)
def nothing_on_the_host() -> Iterator[None]:
    with settings():
        yield


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
    check(lambda np, x: np.minimum.accumulate(x[0], axis=None), x)
    check(lambda np, x: np.minimum.accumulate(x, axis=(1,)), x)


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


# ------------------------------------------------------------------ indices and masks
KEYS: list[Any] = [
    np.array([2, 0, 2, -1]),
    np.array([[1, 2], [0, 3]], np.int16),
    (slice(None), np.array([2, 0, 2])),
    (np.array([2, 0]), np.array([1, -2])),
    (np.array([2, 0]), slice(None), np.array([1, -2])),
    (slice(None, None, -1), np.array([[2], [0]]), np.array([1, -2])),
    (1, slice(None), np.array([1, 1])),
    (..., np.array([0, 4, 4])),
    (None, np.array([0, 1]), None, 2),
    (slice(None), np.array([0, 1]), ..., 2),
    (slice(1, None), 1, ..., np.array([0, 4, 4])),
    np.array([True, False, True, True, False, True]),
    (slice(None), np.array([True, False, True, True, False, True, False])),
    np.arange(42).reshape(6, 7) % 3 == 0,
    (np.arange(6) % 2 == 0, np.array([1, 2, 3])),
    (np.array([], np.int64), slice(2)),
    (np.array([[10]]), np.array([], np.int64)),
    np.array(True),
    np.array(False),
    [1, 2],
]


@pytest.mark.parametrize("key", KEYS, ids=range(len(KEYS)))
def test_reading_by_key(key: Any) -> None:
    x = np.arange(210, dtype=np.float32).reshape(6, 7, 5)
    check(lambda np, x: x[key], x)
    check(lambda np, x: np.flip(np.permute_dims(x, (1, 2, 0)))[..., [1, 1, 4]], x)


@pytest.mark.parametrize("key", KEYS, ids=range(len(KEYS)))
def test_writing_by_key(key: Any) -> None:
    x = np.arange(210, dtype=np.int32).reshape(6, 7, 5)

    def place(np: Any, x: Any, value: Any) -> Any:
        x = x + 0
        x[key] = value
        return x

    check(place, x, np.array(7))
    check(place, x, np.arange(1000, 1000 + x[key].size).reshape(x[key].shape))


def test_the_last_of_those_that_are_written_to_one_place_counts() -> None:
    rng = np.random.default_rng(0)
    places = rng.integers(0, 50, 20_000)

    def place(np: Any, x: Any, value: Any) -> Any:
        x = x + 0
        x[places] = value
        return x

    check(place, np.zeros(50, np.float32), np.arange(20_000, dtype=np.float32))


def test_wrong_keys() -> None:
    x = dc.asarray(np.zeros((3, 4)), device=DEVICE)
    for key, message in (
        (np.array([0, 3]), "index 3 is out of bounds for axis 0 with size 3"),
        ((slice(None), [-5]), "index -5 is out of bounds for axis 1 with size 4"),
        (np.array([0.5]), "integer"),
        (np.array([True]), "boolean index did not match"),
        ((np.array([0, 1]), np.array([0, 1, 2])), "shape mismatch"),
        ((0, 0, np.array([1])), "too many indices"),
    ):
        with pytest.raises(IndexError, match=message):
            x[key]
    with pytest.raises(ValueError, match="shape mismatch"):
        x[np.array([0, 1])] = np.zeros(3)


@pytest.mark.parametrize("code", "?bHlefdF")
def test_take(code: str) -> None:
    x = numbers(code, (6, 7, 5))
    places = np.array([[0, 4, -1], [2, 2, 1]], np.int32)
    for axis in range(3):
        check(lambda np, x, i, axis=axis: np.take(x, i, axis=axis), x, places)
    check(lambda np, x, i: x[::-2].take(i[0], mode="wrap"), x, places)
    check(lambda np, x, i: np.take(x, i + 3, axis=2, mode="clip"), x, places)
    order = np.argsort(x.real, axis=1)
    check(lambda np, x, i: np.take_along_axis(x, i, axis=1), x, order)
    check(lambda np, x, i: np.take_along_axis(x, i[:1, :3], axis=1), x, order)
    with pytest.raises(IndexError, match="index 9 is out of bounds for axis 1"):
        dc.take(dc.asarray(x, device=DEVICE), np.array([1, 9]), axis=1)


def test_put() -> None:
    def put(np: Any, x: Any) -> Any:
        x = x + 0
        np.put(x, [1, -1, 1, 3], [2, 3, 4])
        return x

    def put_along_axis(np: Any, x: Any, places: Any) -> Any:
        x = x + 0
        np.put_along_axis(x, places[:, :2], 5, axis=1)
        return x

    x = np.arange(12.0).reshape(3, 4)
    check(put, x)
    check(put_along_axis, x, np.argsort(-x, axis=1))


@pytest.mark.parametrize("code", "?bHlefdF")
def test_what_is_not_zero(code: str) -> None:
    for shape in ((5,), (4000,), (6, 7, 5), (0, 3)):
        x = numbers(code, shape)
        x[x.real % 3 > 0] = 0
        for name in ("nonzero", "flatnonzero", "argwhere", "count_nonzero"):
            check(lambda np, x, name=name: getattr(np, name)(x), x)
            check(lambda np, x, name=name: getattr(np, name)(x.T[..., ::-1]), x)
    check(lambda np, x: np.count_nonzero(x, axis=1), numbers(code, (6, 80)))
    with pytest.raises(ValueError, match="0d"):
        dc.nonzero(dc.asarray(np.array(1.0), device=DEVICE))


def test_compressed_and_repeated() -> None:
    x = np.arange(24.0).reshape(4, 6)
    check(lambda np, x: np.compress([True, False, True], x, axis=0), x)
    check(lambda np, x: x.compress([True, False, True], axis=1), x)
    check(lambda np, x: np.extract(x > 5, x), x)
    check(lambda np, x: np.repeat(x, 3, axis=1), x)
    check(lambda np, x: np.repeat(x, np.asarray([1, 0, 2, 3]), axis=0), x)
    check(lambda np, x: x.repeat(2), x)
    check(lambda np, x, n: np.repeat(x, n, axis=1), x[:, ::-2], np.array([2, 0, 5]))
    check(lambda np, x, n: x.repeat(n), x[0], np.zeros(6, np.uint8))
    check(lambda np, x: np.repeat(x, np.array([], np.int64)), x[:0])
    given = dc.asarray(x, device=DEVICE)
    times = dc.asarray(np.array([1, -1, 0, 0]), device=DEVICE)
    with pytest.raises(ValueError, match="negative"):
        dc.repeat(given, times, axis=0)
    with pytest.raises(TypeError, match="safe"):
        dc.repeat(given, np.ones(4), axis=0)


def test_no_axes() -> None:
    x = np.array(3, np.int32)
    check(lambda np, x: np.repeat(x, 2, axis=0), x)
    check(lambda np, x: np.count_nonzero(x, axis=-1), x)
    check(lambda np, x: np.compress([True], x, axis=0), x)
    check(lambda np, x: np.lexsort((x, x)), x)
    check(lambda np, x: np.gcd.reduce(x, axis=-1), x)
    given = dc.asarray(x, device=DEVICE)
    with pytest.raises(np.exceptions.AxisError):
        dc.unique(given, axis=0)
    with pytest.raises(ValueError, match="too small depth"):
        dc.correlate(given, given)


# ---------------------------------------------------------------------------- ordering
def shuffled(code: str, shape: Any) -> Any:
    """Numbers with both signs, zeros, infinities and NaN."""
    x = numbers(code, shape, seed=1)
    if code in "bil":
        x = x - 20
        x.flat[:2] = np.iinfo(code).min, np.iinfo(code).max
    if code in "efdFD" and x.size > 9:
        x = x - x.dtype.type(20)
        x.flat[[0, 4, 5, 7]] = -np.inf, np.inf, -0.0, np.nan
    if code in "FD" and x.size > 19:
        x.flat[[9, 11, 13]] = 1 + 1j * np.nan, np.nan + 2j, np.nan + 1j * np.nan
    return x


@pytest.mark.parametrize("code", "?bHilLefdFD")
def test_sorting(code: str) -> None:
    for shape in ((1,), (50,), (64,), (65,), (1000,), (3, 130, 5), (0, 3)):
        x = shuffled(code, shape)
        for axis in range(x.ndim):
            options = {"axis": axis, "stable": True}
            check(lambda np, x, o=options: np.argsort(x, **o), x)
            check(lambda np, x, o=options: np.sort(x, **o), x)
    x = shuffled(code, (9, 100))
    check(lambda np, x: np.sort(x[::-2, ::3].T, axis=None), x)
    got = dc.argsort(dc.asarray(x, device=DEVICE), axis=1, descending=True).get()
    want = 99 - np.argsort(x[:, ::-1], axis=1, stable=True)[:, ::-1]
    assert np.array_equal(got, want)


def test_sorting_a_long_axis() -> None:
    x = np.random.default_rng(0).integers(0, 1000, 20_001).astype(np.float32)
    check(lambda np, x: np.argsort(x, stable=True), x)
    check(lambda np, x: np.lexsort((x[::-1], x % 10)), x)
    check(lambda np, x: np.lexsort((x.reshape(-1, 4),), axis=0), x[: x.size // 4 * 4])


@pytest.mark.parametrize("code", "?bHilLefd")
def test_searching(code: str) -> None:
    x = np.sort(shuffled(code, 200))
    v = shuffled(code, (5, 20))
    for side in ("left", "right"):
        check(lambda np, x, v, side=side: np.searchsorted(x, v, side=side), x, v)
    check(lambda np, x, v: np.searchsorted(x[:0], v), x, v)
    check(lambda np, x, v: np.searchsorted(x, 3), x.astype(np.float64), v)


@pytest.mark.parametrize("code", "?bHilLefdFD")
def test_unique(code: str) -> None:
    for shape in ((70,), (6, 50), (0, 3)):
        x = shuffled(code, shape)
        check(lambda np, x: np.unique(x), x)
        check(lambda np, x: np.unique(x, True, True, True), x)
        check(lambda np, x: tuple(np.unique_all(x)), x)
        check(lambda np, x: np.sort(np.unique_values(x)), x)


def test_unique_slices() -> None:
    for code in "?bfF":
        x = numbers(code, (5, 9)) % 2 if code == "b" else numbers(code, (5, 9))
        x[3] = x[1]
        check(lambda np, x: np.unique(x, True, True, True, axis=0), x)
        check(lambda np, x: np.unique(x.T[::-1], axis=-1), x)
    x = np.arange(24, dtype=np.int16).reshape(2, 3, 4) // 9
    for axis in range(3):
        check(lambda np, x, axis=axis: np.unique(x, True, axis=axis), x)
    check(lambda np, x: np.unique(x[:0], True, True, True, axis=0), x)
    check(lambda np, x: np.unique(x[:, :0], True, True, True, axis=0), x)


@pytest.mark.parametrize("code", "?bilefdF")
def test_membership(code: str) -> None:
    x, y = shuffled(code, (6, 50)), shuffled(code, 31)
    check(lambda np, x, y: np.isin(x, y), x, y)
    check(lambda np, x, y: np.isin(x, y[:0], invert=True), x, y)
    check(lambda np, x, y: np.isin(x[0, 0], y), x, y)
    if code in "bil":
        for name in ("union1d", "intersect1d", "setdiff1d", "setxor1d"):
            check(lambda np, x, y, name=name: getattr(np, name)(x, y), x, y[:9])


def test_small_groups_and_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    """Rows that are cut into several parts, which is rare on a device of few units."""
    monkeypatch.setattr(scans, "WAVES", 64)
    monkeypatch.setattr(searching, "WAVES", 64)
    x = numbers("i", (2, 20_000))
    check(lambda np, x: np.cumulative_sum(x, axis=1), x)
    check(lambda np, x: np.cumulative_sum(x.T[:, :1], axis=0), x)
    for name in ("argmin", "argmax"):
        check(lambda np, x, name=name: getattr(np, name)(x, axis=1), x)
        check(lambda np, x, name=name: getattr(np, name)(x), x)
