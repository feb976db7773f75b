"""Views that are found again, and elements repeated by one: on a named device."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import dcarray as dc

from .interpreted_device import InterpretedBackend, on, used

HOST = np.arange(24.0).reshape(2, 3, 4)


@pytest.mark.parametrize("times", [1, 3])
@pytest.mark.parametrize("axis", [None, 0, 1, 2, -1, -3])
def test_repeat(times: int, axis: int | None) -> None:
    with used(InterpretedBackend()) as device:
        x = on(device, HOST)
        for a, b in [
            (x, HOST),
            (x[:, :1], HOST[:, :1]),
            (x.T, HOST.T),
            (x[::-1, :, ::2] + 1.0, HOST[::-1, :, ::2] + 1.0),
        ]:
            wanted = np.repeat(b, times, axis)
            for found in (dc.repeat(a, times, axis), a.repeat(times, axis=axis)):
                np.testing.assert_array_equal(found.get(), wanted)
                assert found.strides == wanted.strides
                assert found.flags.owndata and found.base is None


def test_what_is_repeated_is_what_was_there() -> None:
    with used(InterpretedBackend()) as device:
        x = on(device, HOST)
        found = dc.repeat(x, 2, 1)
        x[...] = 0.0
        np.testing.assert_array_equal(found.get(), np.repeat(HOST, 2, 1))


@pytest.mark.parametrize(
    ("times", "axis", "error"),
    [(-1, 0, ValueError), (2, 3, np.exceptions.AxisError)],
)
def test_repeat_refuses(times: Any, axis: int, error: type[Exception]) -> None:
    with used(InterpretedBackend()) as device:
        x = on(device, HOST)
        for _ in range(2):
            with pytest.raises(error):
                dc.repeat(x, times, axis)


def test_reshape_and_transpose_time_and_again() -> None:
    with used(InterpretedBackend()) as device:
        x = on(device, HOST)
        for _ in range(3):
            for shape in [(4, 6), (-1,), (2, 12), [3, 8]]:
                for a, b in [(x, HOST), (dc.transpose(x), HOST.T), (x * 2, HOST * 2)]:
                    found = dc.reshape(a, shape)
                    np.testing.assert_array_equal(found.get(), np.reshape(b, shape))
            for axes in [None, (1, 0, 2), (-1, 0, 1), [2, 1, 0]]:
                found = dc.transpose(x, axes)
                assert found.strides == np.transpose(HOST, axes).strides
            with pytest.raises(ValueError, match="cannot reshape array of size 24"):
                dc.reshape(x, (5, 5))
            with pytest.raises(ValueError, match="axes don't match array"):
                dc.transpose(x, (0, 1))
            with pytest.raises(np.exceptions.AxisError):
                dc.transpose(x, (0, 1, 3))
            with pytest.raises(ValueError, match="repeated axis"):
                dc.transpose(x, (0, 0, 1))


def test_a_view_sees_what_is_written() -> None:
    with used(InterpretedBackend()) as device:
        x = on(device, HOST)
        for number in (5.0, 6.0):
            view = dc.transpose(dc.reshape(x, (6, 4)), (1, 0))
            view[1, 2] = number
            assert x[0, 2, 1].get() == number
