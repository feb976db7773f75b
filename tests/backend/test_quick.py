"""Operations on a device that were recorded before: the short way gives the same."""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import dcarray as dc

from .interpreted_device import InterpretedBackend, on, used

F4 = np.arange(12, dtype=np.float32).reshape(3, 4) + 1
U1 = np.arange(12, dtype=np.uint8)


@pytest.fixture
def device() -> Iterator[InterpretedBackend]:
    with used(InterpretedBackend()) as made:
        yield made


CALLS: list[Callable[[Any, Any, Any], Any]] = [
    lambda np, x, y: np.sqrt(x),
    lambda np, x, y: np.exp(x[1:, ::2]),
    lambda np, x, y: np.negative(x),
    lambda np, x, y: np.add(x, y),
    lambda np, x, y: np.add(x, 2.0),
    lambda np, x, y: np.maximum(x, np.float32(3)),
    lambda np, x, y: np.add(2.0, x),
    lambda np, x, y: np.modf(x)[1],
    lambda np, x, y: divmod(x, 2.0)[1],
    lambda np, x, y: 1.0 - x,
    lambda np, x, y: 1 - x.T,
    lambda np, x, y: np.float32(3) / x,
    lambda np, x, y: 2.0 ** (x * 0.5),
    lambda np, x, y: x - y[0],
    lambda np, x, y: x - y[0, 1],
    lambda np, x, y: np.sqrt(x[1, 1] + y[0, 0]),
    lambda np, x, y: (x > y) & (x > 2.0),
    lambda np, x, y: np.isnan(x),
    lambda np, x, y: x + True,
    lambda np, x, y: x + (-0.0),
    lambda np, x, y: x * 0.0,
]


@pytest.mark.parametrize("call", CALLS)
def test_the_same_each_time(
    device: InterpretedBackend, call: Callable[[Any, Any, Any], Any]
) -> None:
    hosts = F4, F4[::-1] * 2
    x, y = (on(device, host) for host in hosts)
    wanted = call(np, *hosts)
    for _ in range(3):
        got = call(dc, x, y)
        assert got.device == device.device
        assert got.dtype == wanted.dtype and got.shape == wanted.shape
        np.testing.assert_allclose(got.get(), wanted, rtol=1e-6)


def test_operands_in_their_order(device: InterpretedBackend) -> None:
    """A number before an array is another operation than one behind it."""
    x = on(device, F4)
    for _ in range(2):
        assert ((x - 2.0).get() == F4 - 2).all()
        assert ((2.0 - x).get() == 2 - F4).all()
        assert (operator.sub(x, x).get() == 0).all()
        assert x.__rsub__(x * 2).get().tolist() == F4.tolist()


def test_numbers_that_take_turns(device: InterpretedBackend) -> None:
    """Equal ones of several types, zeros of both signs, and those that do not fit."""
    x, small = on(device, F4), on(device, U1)
    for number in (2, 2.0, np.float32(2), 3, 2.5, 2, np.int8(2)) * 2:
        got, wanted = x * number, F4 * number
        assert got.dtype == wanted.dtype and (got.get() == wanted).all()
    for zero in (0.0, -0.0, 0.0):
        signs = np.signbit(dc.copysign(x, zero).get())
        assert signs.all() == bool(np.signbit(zero)) == signs.any()
    for _ in range(2):
        assert ((small + 255).get() == U1 + 255).all()
        with pytest.raises(OverflowError):
            small + 256
        with pytest.raises(OverflowError):
            256 - small
    for _ in range(2):
        with pytest.warns(RuntimeWarning, match="overflow"):
            assert np.isinf((on(device, F4.astype("f2")) * 1e30).get()).all()


def test_a_device_that_comes_back_is_asked_again(device: InterpretedBackend) -> None:
    """It may have fewer dtypes then."""
    for _ in range(2):
        assert (dc.sqrt(on(device, F4)).get() == np.sqrt(F4)).all()
    other = InterpretedBackend()
    other.supported = frozenset([np.dtype("f8")])
    with used(other):
        with pytest.raises(dc.errors.UnsupportedError):
            on(other, F4)
        assert (
            dc.sqrt(on(other, F4.astype("f8"))).get() == np.sqrt(F4, dtype="f8")
        ).all()
