"""Functions that come again: the same results, found without the functions' work."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import dcarray as dc
from dcarray.array import repeated
from dcarray.backends.registry import install, remove
from dcarray.errors import LaunchError
from dcarray.nn import correlation
from dcarray.profile import counters

from .interpreted_device import InterpretedBackend, on, used

IMAGES = np.arange(2 * 3 * 25, dtype=np.float32).reshape(2, 3, 5, 5) % 7
WEIGHTS = np.arange(4 * 3 * 9, dtype=np.float32).reshape(4, 3, 3, 3) % 5 - 2
BIAS = np.arange(4, dtype=np.float32)


class Device(InterpretedBackend):
    """Fails on demand."""

    failures = 0

    def allocate(self, nbytes: int) -> Any:
        """Fail, or give bytes."""
        if self.failures:
            self.failures -= 1
            raise LaunchError("busy", device=self.device)
        return super().allocate(nbytes)


@pytest.fixture
def device() -> Iterator[Device]:
    with used(Device()) as made:
        yield made


def kept() -> int:
    return sum([x is not repeated._REFUSED for x in repeated._tapes.values()])


CALLS = {
    "conv2d": lambda x, w, b: dc.nn.conv2d(x, w, padding=1),
    "conv2d with bias": lambda x, w, b: dc.nn.conv2d(x, w, bias=b, stride=2),
    "gradient": lambda x, w, b: dc.nn.conv2d_input_gradient(
        x[:, :1] * 1, w[:1], (2, 3, 7, 7)
    ),
    "max_pool2d": lambda x, w, b: dc.nn.max_pool2d(x, 3, stride=2, padding=1),
    "with indices": lambda x, w, b: dc.nn.max_pool2d(x, 2, return_indices=True),
    "avg_pool2d": lambda x, w, b: dc.nn.avg_pool2d(x, 3, stride=2, padding=1),
    "gradient of avg_pool2d": lambda x, w, b: dc.nn.avg_pool2d_gradient(
        x[:, :, :2, :2] * 1, x, 2
    ),
    "linear": lambda x, w, b: (
        dc.nn.linear(x, w[0, 0, 0].reshape(1, 3)[:, :0:-1])
        if x.shape[-1] == 2
        else dc.nn.linear(w, w[0, 0], b[:3])
    ),
    "product": lambda x, w, b: x @ x,
}


@pytest.mark.parametrize("name", CALLS)
def test_the_second_call_gives_the_same(device: Device, name: str) -> None:
    call = CALLS[name]
    arrays = [on(device, x) for x in (IMAGES, WEIGHTS, BIAS)]
    before = kept()
    for factor in (1, 2, -1):
        given = [IMAGES * factor, WEIGHTS, BIAS]
        wanted: Any = call(*[dc.asarray(x) for x in given])
        found: Any = call(arrays[0] * factor, *arrays[1:])
        if not isinstance(found, tuple):
            found, wanted = (found,), (wanted,)
        assert len(found) == len(wanted)
        for one, other in zip(found, wanted, strict=True):
            assert one.shape == other.shape
            assert one.dtype == other.dtype
            np.testing.assert_allclose(one.get(), np.asarray(other), rtol=1e-5)
    assert kept() > before


def test_nothing_is_checked_again(
    device: Device, monkeypatch: pytest.MonkeyPatch
) -> None:
    x, w = on(device, IMAGES), on(device, WEIGHTS)
    first = dc.nn.conv2d(x, w, padding=2)
    monkeypatch.setattr(correlation.Correlation, "called", None)
    calls = counters["library"]
    assert np.array_equal(dc.nn.conv2d(x, w, padding=2).get(), first.get())
    assert counters["library"] == calls + 1
    with pytest.raises(TypeError, match="not callable"):  # other options
        dc.nn.conv2d(x, w, padding=(2, 1))


def test_options_are_what_they_are(device: Device) -> None:
    x = on(device, IMAGES)
    dc.nn.max_pool2d(x, 2, stride=1)
    dc.nn.max_pool2d(x, (2, 2), stride=(1, 1))
    for stride in (1.0, (1.0, 1.0), "1"):
        with pytest.raises(ValueError, match="stride"):
            dc.nn.max_pool2d(x, 2, stride=stride)


def test_one_array_is_not_two(device: Device) -> None:
    a, b = (on(device, IMAGES[0, 0] * k) for k in (1, 3))
    assert np.array_equal((a @ a).get(), IMAGES[0, 0] @ IMAGES[0, 0])
    assert np.array_equal((a @ b).get(), IMAGES[0, 0] @ (3 * IMAGES[0, 0]))
    assert np.array_equal((b @ b).get(), 9 * (IMAGES[0, 0] @ IMAGES[0, 0]))


def test_results_are_arrays_of_their_own(device: Device) -> None:
    x, w, b = (on(device, y) for y in (IMAGES, WEIGHTS, BIAS))
    first = dc.nn.conv2d(x, w, bias=b)
    second = dc.nn.conv2d(x, w, bias=b)
    wanted = first.get()
    first[...] = 0
    third = dc.nn.conv2d(x, w, bias=b)
    b[...] = 100  # what was recorded before has the old one
    assert np.array_equal(second.get(), wanted)
    assert np.array_equal(third.get(), wanted)


def test_shapes_that_depend_on_elements(device: Device) -> None:
    x = on(device, np.array([0, 1, 2, 0]))
    for k in (0, 1, 2):
        (found,) = dc.nonzero(x > k)
        assert np.array_equal(found.get(), np.flatnonzero(np.array(k) < [0, 1, 2, 0]))


@repeated.repeated
def _by_an_element(x: Any) -> Any:
    return x @ x if bool((x @ x)[0, 0] > 0) else x.T @ x


@repeated.repeated
def _written_afterwards(x: Any) -> Any:
    found = x @ x
    found[0] = 7
    return found


def test_what_reads_elements_or_writes_is_not_kept(device: Device) -> None:
    host = np.array([[1.0, 2.0], [-3.0, 4.0]])
    for sign in (1, 1, -1, -1):
        x = on(device, host * [[1, 1], [-sign, 1]])
        wanted = x.get() @ x.get()
        found = wanted if wanted[0, 0] > 0 else x.get().T @ x.get()
        assert np.array_equal(_by_an_element(x).get(), found)
        wanted[0] = 7
        assert np.array_equal(_written_afterwards(x).get(), wanted)


def test_a_text_is_no_keyword(device: Device) -> None:
    x, w = on(device, IMAGES), on(device, WEIGHTS)
    for _ in range(2):
        dc.nn.conv2d(x, w, stride=2)
    with pytest.raises((TypeError, ValueError)):
        dc.nn.conv2d(x, w, "stride", 2)


def test_whoever_watches_sees_all(device: Device) -> None:
    x, w = on(device, IMAGES), on(device, WEIGHTS)
    for _ in range(2):
        dc.nn.conv2d(x, w)
    with dc.profile() as seen:
        dc.nn.conv2d(x, w)
    assert [event.name for event in seen.of_kind("library")] == ["nn.convolution"]


def test_a_failure_is_tried_again(device: Device) -> None:
    x, w = on(device, IMAGES), on(device, WEIGHTS)
    wanted = dc.nn.conv2d(x, w).get()
    device.failures = 1
    assert np.array_equal(dc.nn.conv2d(x, w).get(), wanted)
    assert not device.failures


def test_settings_count(device: Device) -> None:
    x, w = on(device, IMAGES), on(device, WEIGHTS)
    wanted = dc.nn.conv2d(x, w).get()
    for _ in range(2):
        with dc.config(matmul_precision="tf32"):
            assert np.array_equal(dc.nn.conv2d(x, w).get(), wanted)


def test_a_device_that_is_replaced(device: Device) -> None:
    a = on(device, IMAGES[0, 0])
    wanted = (a @ a).get()
    remove(device.device)
    assert not repeated._tapes
    install(Device())
    a = on(device, IMAGES[0, 0])
    assert np.array_equal((a @ a).get(), wanted)
