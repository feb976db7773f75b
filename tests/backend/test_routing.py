"""Where ``auto`` runs what: predictions, hysteresis, rules, measurements."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import dcarray as dc
from dcarray.backends.base import Rates
from dcarray.backends.buffer import Buffer
from dcarray.backends.registry import backend_for
from dcarray.backends.simulated import faults
from dcarray.errors import DeviceLostError
from dcarray.lazy import route
from dcarray.testing import SimulatedDevice

N = 1_000_000
A = np.arange(N, dtype=np.float32) % 1000

FAST = Rates(
    launch=1e-5,
    bandwidth=1e12,
    operations=1e13,
    transfer_latency=1e-5,
    transfer_bandwidth=1e11,
)
FAR = Rates(
    launch=1e-5,
    bandwidth=1e12,
    operations=1e13,
    transfer_latency=1e-5,
    transfer_bandwidth=1e8,
)
"""A fast device behind a slow link."""


@pytest.fixture(autouse=True)
def nothing_learned() -> Iterator[None]:
    """Measurements of the CPU from other tests, and of this one, do not count."""
    route.forget("cpu")
    yield
    route.forget("cpu")


def where(function: Any) -> list[str]:
    """Devices on which the groups of a call ran."""
    with dc.profile() as p:
        dc.evaluate(function())
    return [event.device for event in p.groups]


def test_auto_takes_the_faster_device() -> None:
    with SimulatedDevice(rates=FAST, auto=True) as device:
        x = dc.asarray(A)
        with dc.profile() as p:
            y = x * 2 + 1
            dc.evaluate(y)
        assert [e.device for e in p.groups] == [device.label]
        assert y.device == "auto"
        assert (np.asarray(y) == A * 2 + 1).all()


def test_auto_stays_where_the_link_is_slow() -> None:
    with SimulatedDevice(rates=FAR, auto=True) as device:
        x = dc.asarray(A)
        assert where(lambda: x * 2) == ["cpu"]
        x.prefetch(device.label)
        assert where(lambda: x * 3) == [device.label]


def test_small_work_runs_on_the_cpu() -> None:
    with SimulatedDevice(rates=FAST, auto=True), dc.config(lazy="always"):
        x = dc.asarray(A[:500])
        assert where(lambda: x * 2 + 1) == ["cpu"]


def test_named_devices_have_no_choice() -> None:
    with SimulatedDevice(rates=FAST, auto=True) as device:
        cpu = dc.asarray(A).to_device("cpu")
        assert where(lambda: cpu * 2) == ["cpu"]
        there = dc.asarray(A[:10]).to_device(device.label)
        assert where(lambda: there * 2) == [device.label]


def test_data_stays_where_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    """A chain of calls does not move back and forth."""
    monkeypatch.setattr(route, "ENOUGH", 0)  # the simulation itself is slow
    with SimulatedDevice(rates=FAST, auto=True) as device:
        x = dc.asarray(A)
        y = x + 1
        dc.evaluate(y)
        with dc.profile() as p:
            for _ in range(5):
                y = y * 2 - 1
                dc.evaluate(y)
        assert {e.device for e in p.groups} == {device.label}
        assert not p.of_kind("transfer")


def test_what_is_on_a_device_is_picked_there() -> None:
    with SimulatedDevice(rates=FAST, auto=True) as device:
        x = dc.asarray(A) + 1
        mask = x > 50
        dc.evaluate(x, mask)
        with dc.profile() as p:
            picked = x[mask], x[dc.asarray([3, -1])]
        assert [e.device for e in p.of_kind("library")] == [device.label] * 2
        assert not p.of_kind("transfer") and picked[0].device == "auto"
        host = x.get()
        assert (picked[0].get() == host[host > 50]).all()
        assert (picked[1].get() == host[[3, -1]]).all()


def test_hysteresis() -> None:
    """Moving must win by more than a little."""
    cpu = backend_for("cpu")
    with SimulatedDevice(auto=True) as device:
        buffer = Buffer.of_host(A)
        work = route.Work("add", N, 1, (buffer,), 4 * N)
        local = route.predict(cpu, work).seconds
        for factor, first in ((1 / 1.1, "cpu"), (1 / 1.3, device.label)):
            # The device's whole time, its transfer included, is `local` × factor.
            wanted = local * factor
            device.backend.rates = Rates(
                launch=wanted - 1e-6,
                bandwidth=float("inf"),
                operations=float("inf"),
                transfer_latency=1e-6,
            )
            ranked = route.choose(work, ["cpu", device.label])
            assert ranked[0].device == first
            assert {p.device for p in ranked} == {"cpu", device.label}


def test_prediction() -> None:
    with SimulatedDevice(rates=FAST) as device:
        here, there = Buffer.of_host(A), Buffer.of_host(A)
        there.read_on(device.backend)
        work = route.Work("multiply add", N, 2, (here, there), 4 * N)
        found = route.predict(device.backend, work)
        assert found.transfer == pytest.approx(1e-5 + 4 * N / 1e11)
        compute = 1e-5 + 12 * N / 1e12 + 2 * N / 1e13
        assert found.seconds == pytest.approx(found.transfer + compute)
        assert route.predict(backend_for("cpu"), work).transfer == 0


# ------------------------------------------------------------------------------- rules
def test_threshold_for_an_operation() -> None:
    with SimulatedDevice(rates=FAST, auto=True) as device:
        x = dc.asarray(A)
        try:
            route.set_rule("add", 2 * N)
            assert where(lambda: x * 2 + 1) == ["cpu"]
            assert where(lambda: (x + 2) * 3) == [device.label]
            route.set_rule("add", N // 2)
            assert where(lambda: x * 4 + 1) == [device.label]
        finally:
            route.set_rule("add", None)


def test_callable_for_an_operation() -> None:
    with SimulatedDevice(rates=FAST, auto=True) as device:
        x = dc.asarray(A)
        seen: list[route.Work] = []

        def rule(work: route.Work) -> str | None:
            seen.append(work)
            return "cpu" if work.elements == N else None

        try:
            route.set_rule("multiply", rule)
            assert where(lambda: x * 2) == ["cpu"]
            assert where(lambda: x[1:] * 3) == [device.label]
        finally:
            route.set_rule("multiply", None)
        assert seen[0].name == "multiply"
        assert where(lambda: x * 4) == [device.label]


# ------------------------------------------------------------------------ measurements
class Clock:
    """Time that passes where the simulated device waits, and nowhere else."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.now = 0.0
        monkeypatch.setattr(time, "perf_counter", lambda: self.now)
        monkeypatch.setattr(faults, "time", self)

    def sleep(self, seconds: float) -> None:
        self.now += seconds


def test_learns_from_what_was_measured(monkeypatch: pytest.MonkeyPatch) -> None:
    Clock(monkeypatch)  # a machine that does much else would be measured, too
    with SimulatedDevice(rates=FAST, auto=True) as device:
        x = dc.asarray(A)
        x.prefetch(device.label)
        device.slow("launch", 0.2)
        # The first run of a kernel does not count; the second is measured.
        ran = [where(lambda: x * 2 - 1)[0] for _ in range(6)]
        assert ran == [device.label] * 2 + ["cpu"] * 4


def test_learned_by_size_and_name() -> None:
    with SimulatedDevice(rates=FAST) as device:
        work = route.Work("exp", N, 1, (), 0)
        before = route.predict(device.backend, work).seconds
        route.learn(device.label, work, 1.0)
        assert route.predict(device.backend, work).seconds == 1.0
        route.learn(device.label, work, 2.0)
        assert 1.0 < route.predict(device.backend, work).seconds < 2.0
        small = route.Work("exp", 100, 1, (), 0)
        assert route.predict(device.backend, small).seconds < 1e-3
        other = route.Work("log", N, 1, (), 0)
        assert route.predict(device.backend, other).seconds == pytest.approx(before)
        route.forget(device.label)
        assert route.predict(device.backend, work).seconds == pytest.approx(before)


def test_measuring_ends() -> None:
    with SimulatedDevice(rates=FAST, auto=True) as device:
        work = route.Work("exp", N, 1, (), 0)
        waits = []
        device.backend.synchronize = lambda: waits.append(1)  # type: ignore
        for _ in range(20):
            route.measure(device.backend, work, 0.0)
        assert len(waits) == route.ENOUGH


# --------------------------------------------------------- arrays written elsewhere
def test_host_views_see_what_a_device_wrote() -> None:
    with SimulatedDevice(rates=FAST, auto=True) as device:
        x = dc.asarray(A)
        view, turned = x[10:20], x.reshape(1000, 1000).T
        assert float(view[0]) == 10  # the host's array is known
        with dc.profile() as p:
            x += 1
            x *= 2
            dc.evaluate(x)
        assert {e.device for e in p.groups} == {device.label}
        want = (A + 1) * 2
        assert float(view[0]) == want[10]
        assert (np.asarray(turned) == want.reshape(1000, 1000).T).all()
        assert (np.asarray(x) == want).all()
        view[0] = 5
        assert float(x[10]) == 5
        assert float((x + 0)[10]) == 5
        want[10] = 5
        x -= 1
        assert (np.asarray(x) == want - 1).all()


def test_views_written_on_a_device() -> None:
    with SimulatedDevice(rates=FAST, auto=True):
        x = dc.asarray(np.tile(A, 2))
        x[:N] += dc.asarray(A)
        x[::2] *= 3
        want = np.tile(A, 2)
        want[:N] += A
        want[::2] *= 3
        assert (np.asarray(x) == want).all()


def test_read_only_views_stay_read_only() -> None:
    with SimulatedDevice(rates=FAST, auto=True):
        x = dc.asarray(A)
        view = dc.broadcast_to(x, (2, N))
        x += 1
        with pytest.raises(ValueError, match="read-only"):
            view[0, 0] = 1
        assert float(view[1, 3]) == 4


def test_shared_memory_is_written_on_the_host() -> None:
    with SimulatedDevice(rates=FAST, auto=True):
        foreign = A.copy()
        x = dc.asarray(foreign, copy=False)
        x += 1
        assert (foreign == A + 1).all()
        y = dc.asarray(A)
        exported = np.asarray(y)
        y += dc.asarray(A) * 2
        assert (exported == A + A * 2).all()


def test_many_views_are_forgotten() -> None:
    x = dc.asarray(A)
    for place in range(5000):
        x[place : place + 2]
    assert len(x._bind().hosts) < 100


# ---------------------------------------------------------------------------- the rest
def test_library_calls_are_routed() -> None:
    with SimulatedDevice(rates=FAST, auto=True) as device:
        x = dc.asarray(np.random.default_rng(0).random((300, 300)))
        with dc.profile() as p:
            y = x @ x
        assert [e.device for e in p.of_kind("library")] == [device.label]
        assert y.device == "auto"
        np.testing.assert_allclose(np.asarray(y), np.asarray(x) @ np.asarray(x))


def test_reductions_are_routed() -> None:
    with SimulatedDevice(rates=FAST, auto=True) as device:
        x = dc.asarray(A)
        with dc.profile() as p:
            total = (x * 2).sum()
        assert [e.device for e in p.groups] == [device.label]
        assert float(total) == pytest.approx(float((A * 2).sum()), rel=1e-5)


def test_failures_on_auto_are_no_fallbacks() -> None:
    with SimulatedDevice(rates=FAST, auto=True) as device:
        device.fail("launch")
        x = dc.asarray(A)
        with dc.config(fallback="error"), dc.profile() as p:
            assert (np.asarray(x * 2) == A * 2).all()
        assert [e.device for e in p.groups] == ["cpu"]


def test_a_lost_device_is_not_chosen_again() -> None:
    with SimulatedDevice(rates=FAST, auto=True) as device:
        x = dc.asarray(A)
        y = x + 1
        dc.evaluate(y)
        np.asarray(y)
        device.fail("launch", error=DeviceLostError)
        assert where(lambda: x * 2) == ["cpu"]
        assert where(lambda: x * 3) == ["cpu"]
        assert device.label not in route.auto_devices
        assert (np.asarray(y * 2) == (A + 1) * 2).all()


def test_dtypes_that_a_device_lacks_run_on_the_cpu() -> None:
    with SimulatedDevice(rates=FAST, auto=True, without=["float64"]) as device:
        x = dc.asarray(A.astype(np.float64))
        assert where(lambda: x * 2) == ["cpu"]
        y = dc.asarray(A)
        assert where(lambda: y * 2) == [device.label]


def test_explain_says_where_and_why() -> None:
    with SimulatedDevice(rates=FAST, auto=True) as device:
        x = dc.asarray(A)
        text = str(dc.explain(x * 2 + 1))
        assert device.label in text
        assert "multiply add" in text
        assert device.count("launch") == 0


def test_devices_lists_no_simulated_ones() -> None:
    with SimulatedDevice() as device:
        assert device.label not in [str(d) for d in dc.devices()]
        assert str(dc.Device(device.label)) == device.label
    with pytest.raises(dc.errors.UnsupportedError):
        dc.zeros(3, device=device.label)


# ---------------------------------------------------- what a device alone has, stays
def transfers(seen: dc.profile) -> int:
    """Bytes that went from one device to another one."""
    return sum([event.nbytes for event in seen.of_kind("transfer")])


def test_a_mean_from_a_device_is_divided_everywhere() -> None:
    """The quotient was written on the host, and the sum stayed on the device."""
    with SimulatedDevice(rates=FAST, auto=True) as device:
        host = np.sqrt(A).reshape(1000, 1000).T.copy()
        x = dc.asarray(host).prefetch(device.label)
        mean, deviation = x.mean(axis=0), x.std(axis=0)
        x -= mean
        x /= deviation
        wanted = (host - host.mean(axis=0)) / host.std(axis=0)
        np.testing.assert_allclose(np.asarray(x), wanted, rtol=1e-5)


def test_parts_are_read_and_written_where_all_of_it_is() -> None:
    with SimulatedDevice(rates=FAST, auto=True) as device:
        x = dc.asarray(A.reshape(1000, 1000)).prefetch(device.label)
        x = x * 2.0 + 1.0
        dc.evaluate(x)
        wanted = A.reshape(1000, 1000) * 2 + 1
        with dc.profile() as seen:
            x[0] = 5.0
            x[1, 2:10] = x[3, 2:10] + 1.0
            x[2] += x[1]
            x[3] = dc.asarray(A[:1000])
            x[:, 5] = A[:1000]
            element, row = float(x[7, 8]), np.asarray(x[4] * 2)
        assert transfers(seen) < 20_000
        wanted[0] = 5
        wanted[1, 2:10] = wanted[3, 2:10] + 1
        wanted[2] += wanted[1]
        wanted[3] = A[:1000]
        wanted[:, 5] = A[:1000]
        assert element == wanted[7, 8] and np.array_equal(row, wanted[4] * 2)
        assert x.device == "auto" and np.array_equal(x, wanted)


def test_small_memory_of_a_device_comes_to_the_host() -> None:
    with SimulatedDevice(rates=FAST, auto=True) as device:
        x = dc.asarray(A[:1000]).prefetch(device.label)
        with dc.config(small_array=0, lazy="always"):
            dc.evaluate(x := x + 1)
        first = x[0]
        assert float(first) == A[0] + 1 and float(x[999]) == A[999] + 1
        assert x._bind().value.buffer.is_valid_on("cpu")


def test_calls_of_libraries_are_measured() -> None:
    """The first one loads the library, and says nothing."""
    with SimulatedDevice(rates=FAST, auto=True) as device:
        x = dc.asarray(A.reshape(1000, 1000)).prefetch(device.label)
        row = dc.asarray(A[:1000]).prefetch(device.label)
        key = (device.label, "matmul", (N + 1000).bit_length())
        x @ row
        assert key not in route._measured
        product = x @ row
        assert route._measured[key][1] == 1
        wanted = A.reshape(1000, 1000).astype(float) @ A[:1000]
        np.testing.assert_allclose(np.asarray(product), wanted, rtol=1e-5)
