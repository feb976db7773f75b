"""Devices that fail: free, spill, retry, the next device, the CPU, or a typed error."""

from __future__ import annotations

import logging
import random
import threading
import time
from collections.abc import Iterator

import numpy as np
import pytest

import dcarray as dc
from dcarray.backends.simulated.faults import VERBS
from dcarray.errors import (
    CompileError,
    DeviceError,
    DeviceLostError,
    LaunchError,
    OutOfMemoryError,
    UnsupportedError,
)
from dcarray.testing import SimulatedDevice

N = 50_000
A = np.arange(N, dtype=np.float32)
KiB = 1 << 10


@pytest.fixture
def device() -> Iterator[SimulatedDevice]:
    with SimulatedDevice() as made, dc.config(retry_delay=0.0):
        yield made


def on(device: SimulatedDevice, x: np.ndarray) -> dc.DeviceArray:
    return dc.asarray(x).to_device(device.label)


# ----------------------------------------------------------------------------- retries
@pytest.mark.parametrize("verb", ["allocate", "compile", "launch"])
def test_transient_failures_are_tried_again(device: SimulatedDevice, verb: str) -> None:
    x = on(device, A)
    error = LaunchError if verb == "allocate" else None
    device.fail(verb, times=3, transient=True, error=error)
    with dc.config(fallback="error"), dc.profile() as p:
        assert ((x * 3).get() == A * 3).all()
    assert len(p.of_kind("retry")) == 3
    assert [e.device for e in p.groups] == [device.label]
    assert not p.fallbacks


def test_back_off_doubles(device: SimulatedDevice) -> None:
    x = on(device, A)
    device.fail("launch", times=3, transient=True)
    started = time.perf_counter()
    with dc.config(retry_delay=0.02):
        (x * 3).get()
    assert time.perf_counter() - started >= 0.02 + 0.04 + 0.08


def test_transient_for_too_long(device: SimulatedDevice) -> None:
    x = on(device, A)
    device.fail("launch", times=None, transient=True)
    with dc.profile() as p:
        y = x * 3
        assert (y.get() == A * 3).all()
    assert y.device == device.label
    assert len(p.of_kind("retry")) == 3
    assert len(p.fallbacks) == 1
    assert device.count("launch") == 4


# --------------------------------------------------------------------------- fallbacks
@pytest.mark.parametrize(
    ("verb", "error"),
    [
        ("compile", CompileError),
        ("launch", LaunchError),
        ("allocate", OutOfMemoryError),
    ],
)
def test_failures_fall_back_to_the_cpu(
    device: SimulatedDevice, verb: str, error: type[DeviceError]
) -> None:
    x = on(device, A)
    device.fail(verb, times=None)
    with dc.profile() as p:
        y = x * 3 + 1
        assert (y.get() == A * 3 + 1).all()
    assert y.device == device.label
    assert [e.name for e in p.fallbacks] == ["multiply add"]
    assert [e.device for e in p.groups] == ["cpu"]
    # The device works again: so does the array.
    device.work_well()
    with dc.config(fallback="error"):
        assert ((y + 1).get() == A * 3 + 2).all()

    device.fail(verb, times=None)
    with dc.config(fallback="error"), pytest.raises(error) as caught:
        (x * 5 - 2).get()
    assert caught.value.device == device.label


def test_fallback_warns(device: SimulatedDevice) -> None:
    x = on(device, A)
    device.fail("launch")
    with dc.config(fallback="warn"), pytest.warns(RuntimeWarning, match="ran on cpu"):
        (x * 3).get()


def test_failures_are_logged(
    device: SimulatedDevice, caplog: pytest.LogCaptureFixture
) -> None:
    x = on(device, A)
    device.fail("launch")
    with caplog.at_level(logging.WARNING, "dcarray"):
        (x * 3).get()
    assert f"multiply failed on {device.label}" in caplog.text


def test_in_place_work_is_done_once(device: SimulatedDevice) -> None:
    """A launch that fails leaves the target, and what else holds it, as they were."""
    x = on(device, A)
    y = on(device, A)
    device.fail("launch", times=2, transient=True)
    x += y
    assert (x.get() == A * 2).all()
    device.fail("launch")
    x += y
    assert (x.get() == A * 3).all()
    device.fail("launch")
    x[10:100] *= 2
    want = A * 3
    want[10:100] *= 2
    assert (x.get() == want).all()


def test_reductions_fall_back(device: SimulatedDevice) -> None:
    x = on(device, A)
    device.fail("launch", times=None)
    with dc.profile() as p:
        total = (x + 1).sum()
        assert total.device == device.label
        assert float(total) == pytest.approx(float((A + 1).sum()))
    assert len(p.fallbacks) == 1


def test_library_calls_fall_back(device: SimulatedDevice) -> None:
    x = on(device, A[::-1])
    device.fail("library")
    with dc.profile() as p:
        order = x.argsort()
        assert (order.get() == np.arange(N)[::-1]).all()
    assert order.device == device.label
    assert [e.name for e in p.fallbacks] == ["argsort"]
    device.fail("library", times=2, transient=True)
    with dc.config(fallback="error"), dc.profile() as p:
        x.argsort()
    assert len(p.of_kind("retry")) == 2


def test_numpy_functions_are_fallbacks(device: SimulatedDevice) -> None:
    x = on(device, A[:100])

    with dc.profile() as p:
        y = np.apply_along_axis(np.sort, 0, x)
    assert len(p.fallbacks) == 1
    assert y.device == device.label
    with dc.config(fallback="error"), pytest.raises(UnsupportedError):
        np.apply_along_axis(np.sort, 0, x)


def test_errors_of_numpy_stay_errors(device: SimulatedDevice) -> None:
    x = on(device, A[:12].reshape(3, 4))
    with pytest.raises(ValueError, match=r"matmul|mismatch|aligned"):
        x @ x
    with pytest.raises(IndexError):
        x.take([100])
    with pytest.raises(IndexError):
        x[[0, 7]]
    with pytest.raises(ValueError, match="broadcast"):
        x + x[:, :3]


# ----------------------------------------------------------------------- lack of memory
def test_fill_the_device_and_compute_on() -> None:
    with SimulatedDevice(memory=1200 * KiB) as device, dc.config(fallback="error"):
        arrays = []
        with dc.profile() as p:
            for number in range(20):  # 20 x 200 KB
                arrays.append(on(device, A + number))
        assert p.of_kind("spill") or device.count("upload") == 20
        with dc.profile() as p:
            results = [x * 2 + number for number, x in enumerate(arrays)]
            for result in results:
                dc.evaluate(result)
        assert {e.device for e in p.groups} == {device.label}
        assert p.of_kind("spill")
        assert not p.fallbacks
        for number, (x, result) in enumerate(zip(arrays, results, strict=True)):
            assert (x.get() == A + number).all()
            assert (result.get() == (A + number) * 2 + number).all()
        total = sum([r.sum() for r in results[1:]], start=results[0].sum())
        want = sum(((A + n) * 2 + n).sum(dtype=np.float64) for n in range(20))
        assert float(total) == pytest.approx(want, rel=1e-5)
        assert device.backend.pool.statistics().held <= 1200 * KiB


def test_threads_on_a_device_that_is_too_small() -> None:
    with SimulatedDevice(memory=1000 * KiB) as device:
        common = [on(device, np.full(20_000, n, np.float32)) for n in range(6)]
        wrong: list[BaseException] = []

        def work(seed: int) -> None:
            dice = random.Random(seed)
            try:
                mine = on(device, np.full(20_000, seed, np.float32))
                value = float(seed)
                for _ in range(25):
                    other = dice.randrange(6)
                    result = (mine + common[other]) * 2
                    assert (result.get() == (value + other) * 2).all()
                    if dice.random() < 0.5:
                        mine += 1
                        value += 1
                    assert float(common[other].max()) == other
            except BaseException as error:
                wrong.append(error)

        threads = [threading.Thread(target=work, args=(seed,)) for seed in range(1, 5)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert not wrong


def test_copies_that_are_valid_elsewhere_go_first() -> None:
    with SimulatedDevice(memory=700 * KiB) as device:
        x = on(device, A)
        y = on(device, A + 1)
        for z in (x, y):
            z.get()
        with dc.profile() as p:
            w = on(device, A + 2)
            dc.evaluate(w * 2)
        assert not p.of_kind("spill")
        assert not [e for e in p.of_kind("transfer") if "-> cpu" in e.device]
        assert (x.get() == A).all()


def test_the_oldest_is_spilled() -> None:
    with SimulatedDevice(memory=900 * KiB) as device:
        old, young = on(device, A) + 1, on(device, A) + 2
        dc.evaluate(old, young)
        dc.evaluate(young * 3)
        keep = [dc.empty(N, dtype=dc.float32, device=device.label)]
        keep.append(dc.empty(N, dtype=dc.float32, device=device.label))
        keep.append(dc.empty(N, dtype=dc.float32, device=device.label))
        valid = [x._bind().value.buffer.valid_devices() for x in (old, young)]
        assert valid == [["cpu"], [device.label]]


def test_idle_blocks_go_before_anything_else() -> None:
    with SimulatedDevice(memory=700 * KiB) as device:
        x = on(device, A)
        y = x * 2
        dc.evaluate(y)
        del y
        with dc.profile() as p:
            on(device, np.ones(100_000, np.float32))
        assert not p.of_kind("spill")
        assert x._bind().value.buffer.is_valid_on(device.label)


def test_what_is_too_large_runs_elsewhere() -> None:
    with SimulatedDevice(memory=300 * KiB) as device:
        x = on(device, A)
        with dc.profile() as p:
            y = x.repeat(3)
            z = y + 1
            assert (z.get() == A.repeat(3) + 1).all()
        assert p.fallbacks
        assert z.device == device.label
        with dc.config(fallback="error"), pytest.raises(MemoryError) as caught:
            dc.evaluate(x + 1)
        assert isinstance(caught.value, OutOfMemoryError)
        assert "held" in str(caught.value)


def test_creation_that_does_not_fit() -> None:
    with SimulatedDevice(memory=100 * KiB) as device:
        with pytest.raises(OutOfMemoryError):
            on(device, A)
        with pytest.raises(OutOfMemoryError):
            dc.empty(N, device=device.label)
        assert (on(device, A[:100]) + 1).get()[5] == 6


def test_the_nth_allocation_fails(device: SimulatedDevice) -> None:
    x = on(device, A)
    device.fail("allocate", at=2)
    y = x + 1
    z = y * 2
    with dc.config(fallback="error"):
        assert (z.get() == (A + 1) * 2).all()
        assert (y.get() == A + 1).all()
    assert device.backend.faults.failures["allocate"] == 1


# ----------------------------------------------------------------------- a lost device
def test_lost_device(device: SimulatedDevice) -> None:
    kept = on(device, A)
    kept.get()
    computed = on(device, A) + 1
    dc.evaluate(computed)
    pending = kept * 2
    device.lose()
    # What has a valid copy on the host lives on, with the same label.
    with dc.profile() as p:
        assert (pending.get() == A * 2).all()
    assert pending.device == device.label
    assert len(p.fallbacks) == 1
    assert (kept.get() == A).all()
    # What was only there is gone, and says so each time.
    for _ in range(2):
        with pytest.raises(DeviceLostError):
            computed.get()
        with pytest.raises(DeviceLostError):
            (computed + 1).get()
    with pytest.raises(DeviceLostError):
        dc.empty(3, device=device.label)


def test_lost_during_a_launch(device: SimulatedDevice) -> None:
    x = on(device, A)
    device.fail("launch", error=DeviceLostError)
    with dc.profile() as p:
        y = x + 1
        assert (y.get() == A + 1).all()
    assert len(p.fallbacks) == 1
    assert device.backend.faults.lost


def test_lost_during_an_in_place_write(device: SimulatedDevice) -> None:
    """The copy on the host is stale only once the write has succeeded."""
    x = on(device, A)
    device.fail("launch", error=DeviceLostError)
    x += 1
    assert (x.get() == A + 1).all()


def test_lost_under_fallback_error(device: SimulatedDevice) -> None:
    x = on(device, A)
    device.lose()
    with dc.config(fallback="error"), pytest.raises(DeviceLostError):
        (x + 1).get()


# ------------------------------------------------------------------------------ dtypes
def test_dtypes_that_a_device_lacks() -> None:
    with SimulatedDevice(without=["float64", "complex128"]) as device:
        label = device.label
        with pytest.raises(UnsupportedError, match=rf"{label}: no arrays of float64"):
            dc.zeros(3, dtype=dc.float64, device=label)
        with pytest.raises(UnsupportedError):
            dc.asarray(np.ones(3)).to_device(label)
        x = on(device, A)
        with pytest.raises(UnsupportedError):
            x.astype(np.float64)
        with pytest.raises(UnsupportedError):
            x + np.float64(1)
        y = x + 1
        assert y.dtype == np.float32
        info = dc.__array_namespace_info__()
        names = info.dtypes(device=label)
        assert "float32" in names
        assert "float64" not in names
        assert "complex128" not in names
        default = info.default_dtypes(device=label)
        assert default["real floating"] in names.values()
        assert default["complex floating"] in names.values()


def test_default_dtypes_of_a_device() -> None:
    with SimulatedDevice(without=["float64", "complex128"]) as device:
        on_it = {"device": device.label}
        for x in (
            dc.zeros(3, **on_it),
            dc.ones((2, 2), **on_it),
            dc.empty(3, **on_it),
            dc.full(3, 2.5, **on_it),
            dc.linspace(0, 1, 4, **on_it),
            dc.arange(0.0, 1.0, 0.25, **on_it),
            dc.eye(3, **on_it),
            dc.asarray([1.0, 2.0], **on_it),
        ):
            assert x.dtype == np.float32
            assert x.device == device.label
        assert dc.asarray([1j], **on_it).dtype == np.complex64
        assert dc.arange(3, **on_it).dtype == np.int64
        assert (dc.full(3, 2.5, **on_it).get() == 2.5).all()
        for explicit in (
            lambda: dc.ones(3, dtype=dc.float64, **on_it),
            lambda: dc.asarray(np.ones(3), **on_it),
            lambda: dc.linspace(0, 1, 3, dtype=np.float64, **on_it),
        ):
            with pytest.raises(UnsupportedError):
                explicit()


@pytest.mark.parametrize("dtype", ["O", "U3", "M8[s]", "g", "V4"])
def test_dtypes_that_only_numpy_knows(device: SimulatedDevice, dtype: str) -> None:
    with pytest.raises(UnsupportedError):
        dc.asarray(np.zeros(3, dtype)).to_device(device.label)


# ----------------------------------------------------------------------------- the rest
def test_slow_launch(device: SimulatedDevice) -> None:
    x = on(device, A)
    device.slow("launch", 0.05)
    with dc.profile() as p:
        dc.evaluate(x + 1)
    assert p.groups[0].seconds >= 0.05


def test_faults_at_unknown_verbs(device: SimulatedDevice) -> None:
    with pytest.raises(KeyError):
        device.fail("sleep")
    assert "launch" in VERBS


def test_interrupt_leaves_the_work_pending(device: SimulatedDevice) -> None:
    x = on(device, A)
    y = x + 1

    def interrupted(*arguments: object) -> None:
        raise KeyboardInterrupt

    launch = device.backend.launch
    device.backend.launch = interrupted  # type: ignore[assignment, method-assign]
    with pytest.raises(KeyboardInterrupt):
        y.get()
    device.backend.launch = launch  # type: ignore[method-assign]
    assert (y.get() == A + 1).all()


def test_failed_attempts_hold_no_memory(device: SimulatedDevice) -> None:
    x = on(device, A)
    in_use = device.backend.pool.statistics().in_use
    device.fail("launch", times=None)
    y = x * 3
    y.get()
    assert device.backend.pool.statistics().in_use == in_use
    with dc.config(fallback="error"), pytest.raises(LaunchError):
        (x * 4).get()
    assert device.backend.pool.statistics().in_use == in_use
