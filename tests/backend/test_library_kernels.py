"""Library kernels on a device with grids, against NumPy; the host does nothing."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import dcarray as dc
from dcarray.backends.grid.library import contraction, places, scans, searching

DEVICE = "opencl:0"

pytest.importorskip("pyopencl")
if DEVICE not in [str(device) for device in dc.devices()]:
    pytest.skip("there is no OpenCL device", allow_module_level=True)


@pytest.fixture(autouse=True)
def nothing_on_the_host() -> Iterator[None]:
    settings = {"fallback": "error", "implicit_transfer": "allow"}
    with dc.config(**settings), np.errstate(all="ignore"):
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
    np.array([True, False, True, True, False, True]),
    (slice(None), np.array([True, False, True, True, False, True, False])),
    np.arange(42).reshape(6, 7) % 3 == 0,
    (np.arange(6) % 2 == 0, np.array([1, 2, 3])),
    (np.array([], np.int64), slice(2)),
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


@pytest.mark.parametrize("code", "?bilefdF")
def test_membership(code: str) -> None:
    x, y = shuffled(code, (6, 50)), shuffled(code, 31)
    check(lambda np, x, y: np.isin(x, y), x, y)
    check(lambda np, x, y: np.isin(x, y[:0], invert=True), x, y)
    check(lambda np, x, y: np.isin(x[0, 0], y), x, y)
    if code in "bil":
        for name in ("union1d", "intersect1d", "setdiff1d", "setxor1d"):
            check(lambda np, x, y, name=name: getattr(np, name)(x, y), x, y[:9])


# ---------------------------------------------------------------------------- products
def factors(code: str, *shapes: Any) -> list[Any]:
    """Arrays of small numbers, so that sums of products are exact but for halves."""
    rng = np.random.default_rng(2)
    found = []
    for shape in shapes:
        x = rng.integers(0, 2 if code == "?" else 5, shape).astype(code)
        found.append(x + 1j * rng.integers(0, 3, shape) if code in "FD" else x)
    return [x.astype(code) for x in found]


@pytest.mark.parametrize("code", "?bHilefdFD")
def test_products_of_matrices(code: str) -> None:
    shapes = (
        ((20, 30), (30, 25)),
        ((65, 17), (17, 33)),
        ((3, 40), (40, 50)),
        ((100, 70), (70, 1)),
        ((2, 3, 10, 20), (3, 20, 9)),
        ((0, 4), (4, 3)),
        ((9, 0), (0, 10)),
    )
    for first, second in shapes:
        x, y = factors(code, first, second)
        check(lambda np, x, y: np.matmul(x, y), x, y)
    x, y = factors(code, (30, 20), (25, 30))
    check(lambda np, x, y: np.matmul(x.T, y.T), x, y)
    check(lambda np, x, y: np.matmul(x[::-2].T, y.T[::2]), x, y)


def test_products_of_different_dtypes_in_any_layout() -> None:
    (x,) = factors("f", (12, 9, 4, 14))
    (y,) = factors("i", (14, 9, 12, 11))
    check(lambda np, x, y: x.T @ y[:, :4], x, y)
    check(lambda np, x, y: np.permute_dims(x, (1, 2, 0, 3)) @ y[:, 0, 0, :], x, y)


@pytest.mark.parametrize("code", "?blefdFD")
def test_products_of_vectors(code: str) -> None:
    x, y, v, w = factors(code, (20, 30), (30, 20), 30, 30)
    for name in ("dot", "vdot", "inner", "outer", "kron", "vecdot", "matmul"):
        check(lambda np, v, w, name=name: getattr(np, name)(v, w), v, w)
    check(lambda np, x, v: np.matmul(x, v), x, v)
    check(lambda np, v, y: np.matmul(v, y), v, y)
    check(lambda np, x, v: np.matvec(x, v), x, v)
    check(lambda np, v, y: np.vecmat(v, y), v, y)
    check(lambda np, x, y: np.vecdot(x, y.T), x, y)
    check(lambda np, x, y: np.vecdot(x.T, y, axis=0), x, y)
    check(lambda np, x, y: np.kron(x[:3, :4], y[:5]), x, y)
    check(lambda np, x, y: np.inner(x, y.T), x, y)


def test_contractions() -> None:
    x, y = factors("d", (4, 5, 6), (6, 5, 3))
    check(lambda np, x, y: np.dot(x, np.permute_dims(y, (1, 0, 2))), x, y)
    check(lambda np, x, y: np.tensordot(x, y, axes=((1, 2), (1, 0))), x, y)
    check(lambda np, x, y: np.tensordot(x, y, axes=1), x, y)
    check(lambda np, x, y: np.tensordot(x, y, axes=0), x, y)
    check(lambda np, x: np.tensordot(x, x, axes=3), x)
    with pytest.raises(ValueError, match="mismatch in its core dimension"):
        dc.matmul(*[dc.asarray(z, device=DEVICE) for z in (x, y)])


def test_a_long_product() -> None:
    rng = np.random.default_rng(4)
    x, y = rng.random((130, 1000)), rng.random((1000, 70))
    check(lambda np, x, y: x @ y, x, y, exact=False)
    x, y = x.astype(np.float16), y.astype(np.float16)
    check(lambda np, x, y: x @ y, x, y, exact=False)


# -------------------------------------------------------------------------- statistics
@pytest.mark.parametrize("code", "?bHlefdF")
def test_differences(code: str) -> None:
    x = numbers(code, (6, 7, 5))
    for options in ({}, {"axis": 0, "n": 2}, {"axis": 1, "n": 6}, {"n": 0}):
        check(lambda np, x, o=options: np.diff(x, **o), x)
    check(lambda np, x: np.diff(x, axis=1, prepend=x[:, 2:3], append=x[:, :2]), x)


def test_counts_and_bins() -> None:
    rng = np.random.default_rng(0)
    x = rng.integers(0, 50, 5000)
    w = rng.random(5000)
    check(lambda np, x: np.bincount(x), x)
    check(lambda np, x: np.bincount(x[::-3].astype(np.uint8), minlength=70), x)
    check(lambda np, x, w: np.bincount(x, weights=w), x, w, exact=False)
    for right in (False, True):
        options = {"right": right}
        check(lambda np, w, b, o=options: np.digitize(w, b, **o), w, np.sort(w[:9]))
        check(lambda np, w, b, o=options: np.digitize(w, b, **o), w, -np.sort(-w[:9]))
    with pytest.raises(ValueError, match="negative"):
        dc.bincount(dc.asarray(np.array([1, -1]), device=DEVICE))


def test_gemm() -> None:
    x, y, z = factors("d", (20, 30), (25, 20), (30, 25))
    for options in ({}, {"alpha": 2.0}, {"alpha": 0.5, "beta": -1.0}):
        transposed = {"transpose_a": True, "transpose_b": True}
        got = dc.linalg.gemm(
            *[dc.asarray(item, device=DEVICE) for item in (x, y, z)],
            **options,
            **transposed,
        )
        alpha, beta = options.get("alpha", 1), options.get("beta", 0)
        assert np.array_equal(got.get(), alpha * (x.T @ y.T) + beta * z)
    got = dc.linalg.gemm(dc.asarray(z), dc.asarray(y), alpha=3)
    assert np.array_equal(got, 3 * (z @ y))


@pytest.mark.parametrize("code", "bfdF")
def test_norms(code: str) -> None:
    x = numbers(code, (4, 5, 6))
    x = np.nan_to_num(x)
    for order in (0, 1, 2, 3.5, np.inf, -np.inf):
        options = {"ord": order, "axis": (0, 2)}
        check(lambda np, x, o=options: np.linalg.vector_norm(x, **o), x, exact=False)
    for order in ("fro", 1, -1, np.inf, -np.inf):
        options = {"ord": order, "keepdims": True}
        check(lambda np, x, o=options: np.linalg.matrix_norm(x, **o), x, exact=False)
    check(lambda np, x: np.linalg.norm(x), x, exact=False)
    check(lambda np, x: np.linalg.norm(x, 1, axis=(0, 1)), x, exact=False)
    check(lambda np, x: np.linalg.norm(x, axis=1), x, exact=False)


def test_cross_products_powers_and_shifts() -> None:
    x, y = factors("d", (4, 3, 5), (4, 3, 5))
    check(lambda np, x, y: np.cross(x, y, axis=1), x, y)
    check(lambda np, x, y: np.linalg.cross(x[..., :3], y[:1, :, :3]), x, y)
    for power in (0, 1, 2, 5):
        call = {"n": power}
        check(lambda np, x, c=call: np.linalg.matrix_power(x[:, :, :3], **c), x)
    for axes in (None, 1, (0, 2)):
        check(lambda np, x, a=axes: np.fft.fftshift(x, axes=a), x)
        check(lambda np, x, a=axes: np.fft.ifftshift(x, axes=a), x)


def test_einsum() -> None:
    x, y, z = factors("d", (4, 5, 6), (5, 6, 3), (6, 6))
    for subscripts in ("ijk,jkl->il", "ijk,jkl->lji", "ijk,jkl", "ijk,jkl->k"):
        check(lambda np, x, y, s=subscripts: np.einsum(s, x, y), x, y)
    for subscripts in ("ii", "ii->i", "ij->ji", "ij->j", "ij->"):
        check(lambda np, z, s=subscripts: np.einsum(s, z), z)
    check(lambda np, x, y, z: np.einsum("ijk,jkl,km->mi", x, y, z), x, y, z)
    check(lambda np, x, z: np.einsum("ijk,kk->i", x, z), x, z)
    check(lambda np, x, y: np.einsum("i,j->ij", x[:, 0, 0], y[0, 0]), x, y)


@pytest.mark.parametrize("code", "?Blfd")
def test_histograms(code: str) -> None:
    x = np.nan_to_num(numbers(code, 3000))
    if code == "?":
        x = x.astype(np.uint8)
    for options in ({}, {"bins": 7}, {"bins": 5, "range": (3, 21)}):
        check(lambda np, x, o=options: tuple(np.histogram(x, **o)), x)
    check(lambda np, x: tuple(np.histogram(x, [0, 1, 5.5, 9])), x)
    check(lambda np, x: np.histogram_bin_edges(x, 4), x)


def test_joining() -> None:
    x, y = factors("f", (4, 5, 6), (4, 2, 6))
    z = x.astype(np.int16)
    check(lambda np, x, y: np.concatenate((x, y, x[:, ::-1]), axis=1), x, y)
    check(lambda np, x, y: np.concatenate((x, y), axis=None, dtype=np.float64), x, y)
    check(lambda np, x, z: np.stack((x, z, z), axis=-1), x, z)
    check(lambda np, x: np.cumulative_sum(x, axis=1, include_initial=True), x)


@pytest.mark.parametrize("code", "bHlfd")
def test_quantiles(code: str) -> None:
    for shape in ((31,), (4, 5, 6)):
        x = numbers(code, shape)
        for axis in (None, 0, -1):
            options = {"axis": axis}
            check(lambda np, x, o=options: np.median(x, **o), x, exact=False)
            check(lambda np, x, o=options: np.quantile(x, 0.3, **o), x, exact=False)
            options = {"axis": axis, "keepdims": True}
            check(lambda np, x, o=options: np.median(x, **o), x, exact=False)
            shares = [[0, 20, 77], [50, 100, 3]]
            check(
                lambda np, x, o=options, q=shares: np.percentile(x, q, **o),
                x,
                exact=False,
            )
    check(lambda np, x: np.median(x, axis=(0, 2)), numbers(code, (4, 5, 6)))
    with pytest.raises(ValueError, match="range"):
        dc.quantile(dc.asarray(np.arange(3.0), device=DEVICE), 1.5)


def test_indices_of_64_bits(monkeypatch: pytest.MonkeyPatch) -> None:
    """What large arrays take, on small ones."""
    for module in (places, contraction):
        monkeypatch.setattr(module, "is_wide", lambda *_: True)
    x = np.arange(210, dtype=np.float32).reshape(6, 7, 5)
    key = (slice(None), np.array([2, 0, 2]))

    def place(np: Any, x: Any) -> Any:
        x = x + 0
        x[key] = np.asarray(x[:, :3, :] * 2)
        return x

    check(lambda np, x: x[key], x)
    check(place, x)
    for code in "fD":
        y, z = factors(code, (3, 20, 30), (3, 30, 25))
        check(lambda np, y, z: np.matmul(y, z), y, z)


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
