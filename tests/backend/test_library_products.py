"""Library kernels for products and statistics, against NumPy; the host does nothing."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import dcarray as dc
from dcarray.backends.grid.library import contraction, places

from .library_checks import DEVICE, check, factors, numbers, settings

pytest.importorskip("pyopencl")
if DEVICE not in [str(device) for device in dc.devices()]:
    pytest.skip("there is no OpenCL device", allow_module_level=True)


@pytest.fixture(autouse=True)
def nothing_on_the_host() -> Iterator[None]:
    with settings():
        yield


# ---------------------------------------------------------------------------- products
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


def test_products_in_a_wider_dtype() -> None:
    x, y, v = factors("b", (20, 30), (30, 20), 30)
    x, y, v = x * 9, y * 9, v * 9
    for dtype in ("i4", "f4"):
        check(lambda np, x, y, d=dtype: np.matmul(x, y, dtype=d), x, y)
        check(lambda np, x, v, d=dtype: np.matvec(x, v, dtype=d), x, v)
        check(lambda np, v, y, d=dtype: np.vecmat(v, y, dtype=d), v, y)
        check(lambda np, x, y, d=dtype: np.vecdot(x, y.T, dtype=d), x, y)


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
