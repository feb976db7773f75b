"""Products of stacks of small matrices on threads: NumPy's bits and warnings."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import dcarray as dc
from dcarray.backends.cpu.neural.blas import blas_threads
from dcarray.backends.cpu.wholes import products, stacks

pytestmark = pytest.mark.skipif(blas_threads() is None, reason="another BLAS")


@pytest.fixture(autouse=True)
def small_ones_count(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(stacks, "LEAST", 1 << 16)
    with dc.config(threads=3):
        yield


def numbers(dtype: Any, shape: tuple[int, ...]) -> Any:
    return (np.random.default_rng(shape[-1]).random(shape) - 0.5).astype(dtype)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize(
    ("first", "second"),
    [
        ((40, 16, 24), (40, 24, 20)),
        ((2, 50, 16, 24), (50, 24, 20)),
        ((50, 1, 70), (70, 90)),
        ((30, 20), (7, 20, 40)),
        ((5, 1, 30, 20), (9, 20, 1 << 3)),
        ((60, 64, 64), (60, 64, 1)),
    ],
)
def test_the_bits_and_the_layout_are_those_of_numpy(
    dtype: Any, first: tuple[int, ...], second: tuple[int, ...]
) -> None:
    x, y = numbers(dtype, first), numbers(dtype, second)
    turned = np.ascontiguousarray(y.swapaxes(-1, -2)).swapaxes(-1, -2)
    for right in (y, turned, y[..., ::1, :]):
        found, wanted = stacks.product(x, right), np.matmul(x, right)
        assert found is not None
        assert found.shape == wanted.shape and found.strides == wanted.strides
        assert found.tobytes() == wanted.tobytes()


def test_what_is_left_to_numpy() -> None:
    x, y = numbers(np.float64, (40, 16, 24)), numbers(np.float64, (40, 24, 20))
    for left, right in (
        (x[:2], y[:2]),
        (x, y.astype(np.float32)),
        (x.astype(complex), y.astype(complex)),
        (x, y[:39]),
        (x, y[:, :23]),
        (x[..., ::2], y[:, ::2]),
        (numbers(np.float64, (400, 3, 3)), numbers(np.float64, (400, 3, 3))),
        (numbers(np.float64, (2, 128, 128)), numbers(np.float64, (2, 128, 128))),
    ):
        assert stacks.product(left, right) is None
    with dc.config(threads=1):
        assert stacks.product(x, y) is None
    with np.errstate(under="raise"):
        assert stacks.product(x, y) is None


def test_warnings_are_said_once_by_the_caller() -> None:
    x, y = numbers(np.float64, (40, 16, 24)), numbers(np.float64, (40, 24, 20))
    x[7, 3, 2], y[7, 2, 5] = 1e300, 1e300
    with pytest.warns(RuntimeWarning, match="overflow encountered in matmul") as said:
        found = products.matmul(x, y)
    assert len(said) == 1
    with np.errstate(over="ignore"):
        assert found.tobytes() == np.matmul(x, y).tobytes()


def test_operators_take_it(monkeypatch: pytest.MonkeyPatch) -> None:
    taken: list[Any] = []
    real = stacks.product

    def product(*given: Any) -> Any:
        taken.append(real(*given))
        return taken[-1]

    monkeypatch.setattr(stacks, "product", product)
    x, y = numbers(np.float64, (200, 30, 30)), numbers(np.float64, (30, 30))
    ours, other = dc.asarray(x), dc.asarray(y)
    wanted = (x @ y).tobytes()
    for found in (ours @ other, dc.matmul(ours, other)):
        assert np.asarray(found).tobytes() == wanted
    assert len(taken) == 2 and not any(found is None for found in taken)
