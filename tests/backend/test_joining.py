"""When ``auto`` takes a GPU in, and when repeated work goes there."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import dcarray as dc
from dcarray.backends.base import Rates
from dcarray.backends.registry import AUTO, CPU
from dcarray.lazy import joining, route
from dcarray.testing import SimulatedDevice

N = 1_000_000
A = np.arange(N, dtype=np.float32) % 1000
FAST = Rates(1e-7, 1e13, 1e14, 1e-6, 1e12)


@pytest.fixture(autouse=True)
def nothing_learned(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(route, "ENOUGH", 0)  # the simulation itself is slow
    route.forget("cpu")
    yield
    route.forget("cpu")


@pytest.fixture
def waiting(monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    monkeypatch.setattr(joining._Waiting, "likely", True)
    monkeypatch.setattr(joining._Waiting, "seconds", 0.0)
    assert route.auto_devices == ["cpu"]
    yield joining._Waiting
    route.auto_devices[:] = ["cpu"]


def test_a_device_joins_once_the_cpu_has_worked_for_long(
    waiting: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    with SimulatedDevice(rates=FAST) as device:
        monkeypatch.setattr(joining, "LABEL", device.label)
        joining.spent(0.9)
        joining.spent(joining.LEAST / 2)  # says nothing
        assert route.auto_devices == ["cpu"]
        assert waiting.seconds == 0.9 and joining.may_join(AUTO)
        joining.spent(0.2)
        assert route.auto_devices == ["cpu", device.label]
        assert not joining.may_join(AUTO)


def test_time_is_counted_where_work_runs(
    waiting: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(joining, "LEAST", 0.0)
    monkeypatch.setattr(joining, "OPENING", 1e-9)
    with SimulatedDevice(rates=FAST) as device:
        monkeypatch.setattr(joining, "LABEL", device.label)
        named = dc.asarray(A, device=CPU) * 2
        dc.evaluate(named)
        assert route.auto_devices == ["cpu"]
        dc.evaluate(dc.asarray(A) * 2 + 1)
        assert route.auto_devices == ["cpu", device.label]
        with dc.profile() as seen:
            dc.evaluate(dc.asarray(A) * 2 + 1)
        assert [event.device for event in seen.groups] == [device.label]
        with dc.config(auto_devices="cpu"), dc.profile() as seen:
            dc.evaluate(dc.asarray(A) * 3 + 1)
        assert [event.device for event in seen.groups] == ["cpu"]


def test_a_device_that_does_not_open_stays_out(
    waiting: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(joining, "LABEL", "opencl:99")
    joining.spent(5.0)
    assert route.auto_devices == ["cpu"]
    assert not joining.may_join(AUTO)


def test_the_setting_keeps_it_out(waiting: Any) -> None:
    with dc.config(auto_devices="cpu"):
        joining.spent(5.0)
    assert waiting.seconds == 0 and route.auto_devices == ["cpu"]


def test_without_a_driver_nothing_is_imported() -> None:
    script = """
import sys
import dcarray as dc
from dcarray.lazy import joining
for _ in range(3):
    joining.spent(9.0)
dc.evaluate(dc.ones(1_000_000) * 2 + 1)
print("cupy" in sys.modules, joining._Waiting.likely)
"""
    done = subprocess.run(
        [sys.executable, "-c", script],
        capture_output=True,
        text=True,
        check=True,
        env={"PATH": "", "CUDA_VISIBLE_DEVICES": "", "PYTHONPATH": ":".join(sys.path)},
    )
    assert done.stdout.split() == ["False", "False"]


def test_work_that_comes_again_moves_when_it_has_lost_enough() -> None:
    """The rule of who rents skis: not at first, and not never."""
    cpu = 0.001
    with SimulatedDevice(rates=Rates(1e-5, 1e12, 1e13, 0.0, 4e6 / 0.0025)) as device:
        x = dc.asarray(A)
        buffer = x._bind().value.buffer
        assert buffer is not None
        work = route.Work("multiply", N, 1, (buffer,), 4 * N)
        for label, seconds in (("cpu", cpu), (device.label, 1e-5)):
            for _ in range(3):
                route.learn(label, work, seconds)
        try:
            places = [route.decide(work, ["cpu", device.label]) for _ in range(6)]
            firsts = [ranked[0].device for ranked in places]
            # It loses 1 ms each time, and moving takes 2.5 ms.
            assert firsts == [*["cpu"] * 3, device.label, *["cpu"] * 2]
            assert all(len(ranked) == 2 for ranked in places)
        finally:
            route.forget("cpu")
            route.forget(device.label)


def test_what_only_a_device_has_is_worked_on_there() -> None:
    with SimulatedDevice(rates=FAST, auto=True) as device:
        with dc.config(lazy="always", small_array=0):
            x = dc.asarray(A) * 2
            dc.evaluate(x)
        read = x._bind().value
        assert route.home_of([read]) == device.label
        both = dc.asarray(A)
        assert route.home_of([read, both._bind().value]) == "auto"
        both.prefetch(device.label)
        assert route.home_of([both._bind().value]) == "auto"
        with dc.config(auto_devices="cpu"):
            assert route.home_of([read]) == "auto"
        for k in range(4):
            y = x + k
            dc.evaluate(y)
            assert route.home_of([y._bind().value]) == device.label
            assert np.array_equal(y, A * 2 + k)
    assert route.home_of([read]) == "auto"


def test_calls_of_libraries_count_too(
    waiting: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(joining, "LEAST", 0.0)
    monkeypatch.setattr(joining, "OPENING", 1e-9)
    x = dc.asarray(A.reshape(1000, 1000))
    with SimulatedDevice(rates=FAST) as device:
        monkeypatch.setattr(joining, "LABEL", device.label)
        dc.linalg.norm(x @ x[0])
        assert route.auto_devices == ["cpu", device.label]
