"""Products of a few rows with a large matrix: BLAS's bits, without BLAS."""

from __future__ import annotations

import functools
import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import dcarray as dc
from dcarray.array.small import UNCACHED
from dcarray.backends.cpu.neural.blas import blas_threads, one_blas_thread
from dcarray.backends.cpu.neural.writing import machine_for
from dcarray.backends.cpu.wholes import products, thin

pytestmark = pytest.mark.skipif(
    machine_for(np.dtype(np.float32)) is None or blas_threads() is None,
    reason="no machine code, or another BLAS",
)

TERMS, COLUMNS = 1217, 811


@pytest.fixture(autouse=True)
def small_ones_count(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(thin, "LEAST", 1 << 18)
    monkeypatch.setattr(thin, "TRIED", 0)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        yield


def factors(
    dtype: Any, rows: int, terms: int = TERMS, columns: int = COLUMNS
) -> tuple[Any, Any]:
    rng = np.random.default_rng(rows)
    x, y = rng.random((rows, terms)) - 0.5, rng.random((terms, columns)) - 0.5
    return x.astype(dtype), y.astype(dtype)


def code_for(dtype: Any, rows: int) -> Any:
    machine, threads = machine_for(np.dtype(dtype)), blas_threads()
    assert machine is not None and threads is not None
    return thin._trusted(machine, np.dtype(dtype), rows, threads)


def trusted(dtype: Any, rows: int) -> None:
    if code_for(dtype, rows) is None:
        pytest.skip("this BLAS adds up in another order")


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("rows", [2, 3, 5, 8])
def test_the_bits_are_those_of_numpy(dtype: Any, rows: int) -> None:
    trusted(dtype, rows)
    for terms, columns in ((1217, 811), (5000, 256), (900, 2400), (300, 9001)):
        x, y = factors(dtype, rows, terms, columns)
        found = thin.product(x, y)
        assert found is not None
        assert found.dtype == dtype and found.flags.c_contiguous
        assert found.tobytes() == np.matmul(x, y).tobytes()


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_layouts_that_blas_takes(dtype: Any) -> None:
    trusted(dtype, 4)
    wide, y = factors(dtype, 8)
    x = wide[:4]
    padded = np.zeros((TERMS, COLUMNS + 9), dtype)
    padded[:, 4:-5] = y
    for left in (x, np.asfortranarray(x), wide[::2], wide.T.copy().T[2:6]):
        for right in (y, padded[:, 4:-5]):
            found = thin.product(left, right)
            assert found is not None
            assert found.tobytes() == np.matmul(left, right).tobytes()
    for left, right in (
        (x[::-1], y),
        (x[:, ::-1], y),
        (x, y[::-1]),
        (x, np.asfortranarray(y)),
        (x, np.broadcast_to(y[0], y.shape)),
        (x.astype(x.dtype.newbyteorder()), y),
        (wide[:1], y),
        (np.ones((17, TERMS), dtype), y),
        (x, y[:1000, :200]),
        (x[:, :5], y),
    ):
        assert thin.product(left, right) is None


def test_functions_take_it(monkeypatch: pytest.MonkeyPatch) -> None:
    trusted(np.float32, 2)
    x, y = factors(np.float32, 2)
    wanted = (x @ y).tobytes()
    taken: list[Any] = []
    real = thin.product

    def product(*given: Any) -> Any:
        taken.append(real(*given))
        return taken[-1]

    monkeypatch.setattr(thin, "product", product)
    assert products.matmul(x, y).tobytes() == wanted
    assert products.dot(x, y).tobytes() == wanted
    assert len(taken) == 2 and not any(found is None for found in taken)
    x, y = factors(np.float32, 2, 2000, 8400)
    assert y.size >= UNCACHED
    wanted, ours, other = (x @ y).tobytes(), dc.asarray(x), dc.asarray(y)
    for found in (ours @ other, dc.matmul(ours, other), dc.dot(ours, other)):
        assert np.asarray(found).tobytes() == wanted
    assert len(taken) == 5 and not any(found is None for found in taken)


def test_numbers_that_are_none_are_numpys() -> None:
    trusted(np.float32, 2)
    x, y = factors(np.float32, 2)
    for odd in (np.inf, np.nan, 3e38):
        y[5, 7] = odd
        x[0, 5] = 100
        assert thin.product(x, y) is None
    y[5, 7] = 1
    with np.errstate(under="raise"):
        assert thin.product(x, y) is None


def test_settings_and_first_calls(monkeypatch: pytest.MonkeyPatch) -> None:
    trusted(np.float32, 2)
    x, y = factors(np.float32, 2)
    with dc.config(engine="interpreter"):
        assert thin.product(x, y) is None
    monkeypatch.setattr(thin, "_tried", 0)
    monkeypatch.setattr(thin, "TRIED", 2 * y.nbytes)
    assert thin.product(x, y) is None
    assert thin.product(x, y) is not None


def test_on_one_thread_of_blas() -> None:
    x, y = factors(np.float32, 4)
    with one_blas_thread():
        found, wanted = thin.product(x, y), np.matmul(x, y)
    assert found is None or found.tobytes() == wanted.tobytes()


def test_another_order_is_not_trusted(monkeypatch: pytest.MonkeyPatch) -> None:
    edges = functools.partial(thin._cut, 100, 1)
    monkeypatch.setattr(thin, "_edges", lambda dtype, threads: edges)
    thin._trusted.cache_clear()
    try:
        assert code_for(np.float32, 2) is None
    finally:
        thin._trusted.cache_clear()


def test_blocks() -> None:
    assert thin._cut(100, 1, 100) == [0, 100]
    assert thin._cut(100, 1, 101) == [0, 51, 101]
    assert thin._cut(100, 8, 101) == [0, 56, 101]
    assert thin._cut(100, 1, 350) == [0, 100, 200, 275, 350]
