"""Devices that share the host's memory: nothing is copied, and nobody is too early."""

from __future__ import annotations

import gc
import threading
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import dcarray as dc
from dcarray.api.conversion import placed
from dcarray.backends.buffer import Buffer
from dcarray.backends.registry import backend_for, install, remove
from dcarray.backends.residents import evacuate, resident
from dcarray.lazy import route
from dcarray.testing import SimulatedDevice

from .sharing_device import SharingBackend

CPU = backend_for("cpu")
F32 = np.float32


@pytest.fixture
def shared(monkeypatch: pytest.MonkeyPatch) -> Iterator[SharingBackend]:
    made = SharingBackend()
    install(made)
    monkeypatch.setattr(route, "auto_devices", ["cpu", made.device])
    monkeypatch.setattr(route, "measure", lambda *work: None)  # it waits
    yield made
    remove(made.device)


def sent(shared: SharingBackend, count: int = 40) -> tuple[Any, Any]:
    host = np.arange(count, dtype=F32)
    return placed(host.copy(), shared.device), host


def buffer_of(x: Any) -> Buffer:
    found: Buffer = x._bind().value.buffer
    return found


# -------------------------------------------------------------------- nothing is copied
def test_no_transfers(shared: SharingBackend) -> None:
    with dc.profile() as profile:
        x, host = sent(shared)
        assert np.array_equal(
            (dc.asarray(host, device=shared.device) - 1).get(), host - 1
        )
        y = x * 2 + 1
        got = y.get()
        there = dc.asarray(host).prefetch(shared.device)
        back = y.to_device("cpu")
    assert not profile.of_kind("transfer")
    assert np.array_equal(got, host * 2 + 1)
    assert np.array_equal(back.get(), host * 2 + 1)
    assert np.array_equal(there.get(), host)
    assert shared.turns.count("adopted") == 2


def test_the_host_sees_the_block_itself(shared: SharingBackend) -> None:
    x, _ = sent(shared)
    y = x + 1
    dc.evaluate(y)
    buffer = buffer_of(y)
    seen = buffer.read_on(CPU)
    assert seen.__array_interface__["data"] == (
        *buffer.read_on(shared).host.__array_interface__["data"][:1],
        False,
    )
    assert buffer.valid_devices() == ["cpu", shared.device]


def test_memory_that_the_device_cannot_use_is_copied(shared: SharingBackend) -> None:
    raw = np.zeros(41, np.uint8)
    start = -raw.__array_interface__["data"][0] % 4 + 1
    unaligned = raw[start : start + 8]
    locked = np.arange(8, dtype=np.uint8)
    locked.flags.writeable = False
    for root in (unaligned, locked):
        buffer = Buffer.of_host(root)
        with dc.profile() as profile:
            buffer.read_on(shared)
        assert len(profile.of_kind("transfer")) == 1
    assert "adopted" not in shared.turns


# ------------------------------------------------------------------------------- turns
def test_the_host_writes_after_kernels_that_read(shared: SharingBackend) -> None:
    route.set_rule("add", lambda work: shared.device)
    try:
        x = dc.asarray(np.arange(40, dtype=F32))
        kept = x.reshape(8, 5)
        kept._array()
        with dc.config(lazy="always"):
            y = x + 1
            dc.evaluate(y)
        assert shared.waiting  # the kernel has not run
        x[3] = 100  # on the host
        assert y._array()[3] == 4
        assert np.asarray(kept)[0, 3] == 100
        with dc.config(lazy="always"):
            z = x + 1
            dc.evaluate(z)
        assert z._array()[3] == 101
    finally:
        route.set_rule("add", None)


def test_the_host_reads_after_kernels_that_write(shared: SharingBackend) -> None:
    x, host = sent(shared)
    y, want = x + 1, host + 1
    assert np.array_equal(y.get(), want)
    for turn in range(3):
        y += 1
        y[turn] = -1
        want += 1
        want[turn] = -1
        assert shared.waiting
        assert np.array_equal(y.get(), want)


@pytest.mark.parametrize("order", ["host", "device", "both"])
def test_going_over(shared: SharingBackend, order: str) -> None:
    buffer = Buffer.of_host(np.zeros(16, F32))
    buffer.read_on(shared)
    want = 0.0
    for turn in range(1, 4):
        for side in {"host": "hh", "device": "dd", "both": "hdh"}[order]:
            want += turn
            if side == "h":
                buffer.write_on(CPU).view(F32)[:] += turn
                assert buffer.valid_devices() == ["cpu"]
            else:
                memory = buffer.write_on(shared)
                assert buffer.valid_devices() == [shared.device]
                memory.device.view(F32)[:] += turn
            assert buffer.is_near("cpu") and buffer.is_near(shared.device)
        assert (buffer.read_on(shared).device.view(F32) == want).all()
        assert (buffer.read_on(CPU).view(F32) == want).all()
        assert buffer.valid_devices() == ["cpu", shared.device]


def test_a_failed_launch_leaves_the_bytes(shared: SharingBackend) -> None:
    for whole in (True, False):
        buffer = Buffer.of_host(np.full(16, 3, F32))
        buffer.read_on(shared)
        buffer.prepare_on(shared, whole=whole)  # and nothing is written
        assert (buffer.read_on(CPU).view(F32) == 3).all()
        buffer.prepare_on(CPU, whole=whole)
        assert (buffer.read_on(shared).device.view(F32) == 3).all()


def test_with_a_third_device(shared: SharingBackend) -> None:
    with SimulatedDevice() as other:
        buffer = Buffer.of_host(np.full(16, 1, F32))
        buffer.read_on(shared)
        memory = buffer.write_on(other.backend)
        other.backend.upload(np.full(16, 2, F32).view(np.uint8), memory)
        assert buffer.valid_devices() == [other.label]
        assert not buffer.is_near("cpu") and not buffer.is_near(shared.device)
        assert (buffer.read_on(shared).device.view(F32) == 2).all()
        assert (buffer.read_on(CPU).view(F32) == 2).all()
        memory = buffer.write_on(other.backend, whole=True)
        other.backend.upload(np.full(16, 3, F32).view(np.uint8), memory)
        assert (buffer.read_on(CPU).view(F32) == 3).all()
        assert (buffer.read_on(shared).device.view(F32) == 3).all()
        memory = buffer.write_on(shared, whole=True)
        memory.device.view(F32)[:] = 4
        buffer.read_on(other.backend)
        got = np.empty(16, F32)
        other.backend.download(buffer.read_on(other.backend), got.view(np.uint8))
        assert (got == 4).all()


# ------------------------------------------------------------------------------ sharing
def test_what_outsiders_can_write_is_not_used_in_place(shared: SharingBackend) -> None:
    x = dc.asarray(np.arange(40, dtype=F32)).prefetch(shared.device)
    outside = np.asarray(x)
    outside[2] = 50
    with dc.profile() as profile:
        for turn in range(2):
            outside[3] = turn
            got = np.empty(40, F32)
            shared.download(buffer_of(x).read_on(shared), got.view(np.uint8))
            assert got[2] == 50 and got[3] == turn
    assert len(profile.of_kind("transfer")) == 2
    assert not resident(shared.device)
    del outside
    gc.collect()
    x.prefetch(shared.device)
    assert np.array_equal(x.get(), got)


def test_results_of_the_device_go_out(shared: SharingBackend) -> None:
    route.set_rule("add", lambda work: shared.device)
    try:
        with dc.config(lazy="always"):
            y = dc.asarray(np.arange(40, dtype=F32)) + 1
            dc.evaluate(y)
        assert buffer_of(y).valid_devices() == [shared.device]
        outside = np.asarray(y)
        outside[:] = 7
        assert buffer_of(y).valid_devices() == ["cpu"]
        assert (y.get() == 7).all()
        with dc.config(lazy="always"):
            z = y + 1
        assert (z.get() == 8).all()
    finally:
        route.set_rule("add", None)


def test_capsules_of_the_device(shared: SharingBackend) -> None:
    x, host = sent(shared)
    y = x + 1
    y.get()
    buffer = buffer_of(y)
    outsider = Exporter()
    buffer.share(outsider, shared.device)
    memory = buffer.read_on(shared)
    for turn in range(2):
        memory.device.view(F32)[0] = turn
        with dc.profile() as profile:
            assert y.get()[0] == turn and y.get()[1] == host[1] + 1
        assert len(profile.of_kind("transfer")) == 2
    del outsider
    y += 1
    assert np.array_equal(y.get()[1:], host[1:] + 2)


class Exporter:
    """Somebody else."""


# --------------------------------------------------------------------- giving up copies
def test_spilling(shared: SharingBackend) -> None:
    x, host = sent(shared)
    for look in (False, True):
        y = x + 1
        dc.evaluate(y)
        buffer = buffer_of(y)
        if look:
            buffer.read_on(CPU)
        assert buffer.drop(shared.device) == 0
        assert buffer.spill(shared.device) == host.nbytes
        assert buffer.pair is None and not buffer.is_on(shared.device)
        assert np.array_equal(y.get(), host + 1)


def test_spilling_what_somebody_looks_at(shared: SharingBackend) -> None:
    x, host = sent(shared)
    y = x + 1
    dc.evaluate(y)
    buffer = buffer_of(y)
    seen = buffer.read_on(CPU)[4:8]
    assert buffer.spill(shared.device) == 0
    assert np.array_equal(y.get(), host + 1)
    buffer.write_on(CPU)[4:8] = 0
    assert not seen.any()  # it is still the same memory
    del seen
    assert buffer.spill(shared.device) == host.nbytes
    assert y.get()[1] == 0
    # What is the host's own gives no room.
    assert buffer_of(x).spill(shared.device) == 0


def test_leaving_the_device(shared: SharingBackend) -> None:
    x, host = sent(shared)
    y = x + 1
    y._array()
    seen = buffer_of(y).read_on(CPU)
    z = x + 2
    dc.evaluate(z)
    evacuate(shared.device)
    assert not resident(shared.device)
    for a, by in ((x, 0), (y, 1), (z, 2)):
        assert buffer_of(a).valid_devices() == ["cpu"]
        assert np.array_equal(a.get(), host + by)
    buffer_of(y).write_on(CPU)[:4] = 0
    assert not seen[:4].any()


def test_a_device_that_is_lost(shared: SharingBackend) -> None:
    x, host = sent(shared)
    y = x + 1
    y.get()
    assert buffer_of(x).lose(shared.device)
    assert buffer_of(y).lose(shared.device)
    assert np.array_equal(buffer_of(y).read_on(CPU).view(F32), host + 1)
    z = x + 2
    dc.evaluate(z)
    assert not buffer_of(z).lose(shared.device)


# ----------------------------------------------------------------------------- programs
STEPS: list[Callable[[Any, Any], Any]] = [
    lambda np, x: x.__setitem__(3, 5),
    lambda np, x: x.__setitem__(slice(2, 9), x[4:11] * 2),
    lambda np, x: x.__iadd__(1),
    lambda np, x: x[::2].__imul__(2),
    lambda np, x: x[::-1].__setitem__(slice(None), x + 1),
    lambda np, x: x.reshape(5, 8).T.__setitem__(2, 1),
    lambda np, x: np.sort(x),
    lambda np, x: x.sum(),
    lambda np, x: np.add(x, x, out=x),
    lambda np, x: np.copyto(x, x[::-1] % 7),
    lambda np, x: x.sort(),
    lambda np, x: np.where(x > 4, x, 0).max(),
    lambda np, x: np.asarray(x[:4] + 0).tolist(),
    lambda np, x: x.fill(2),
    lambda np, x: np.apply_along_axis(lambda v: v + 1, 0, x),
    lambda np, x: np.flipud(x)[2:12].copy(),
]


@pytest.mark.parametrize("label", ["auto", "shared:0"])
def test_programs(shared: SharingBackend, label: str) -> None:
    """Random steps here and there, on both sides of the memory."""
    rng = np.random.default_rng(5)
    places = ["cpu", shared.device]

    def anywhere(work: Any, labels: Any) -> list[Any]:
        return [route.predict(backend_for(k), work) for k in rng.permutation(places)]

    for _ in range(12):
        host = rng.integers(0, 9, 40).astype(F32)
        x = dc.asarray(host, device=label)
        views = [(x, host)]
        with (
            dc.config(lazy="always", small_array=0, implicit_transfer="allow"),
            pytest.MonkeyPatch.context() as patch,
        ):
            if label == "auto":
                patch.setattr(route, "choose", anywhere)
            for number in rng.integers(0, len(STEPS), 14):
                step = STEPS[number]
                x, host = views[rng.integers(len(views))]
                if x.shape == (40,):
                    got, want = step(dc, x), step(np, host)
                    if isinstance(got, dc.DeviceArray) and got is not x:
                        views.append((got, want))
                        if rng.random() < 0.5:
                            np.testing.assert_allclose(got._array(), want, rtol=1e-5)
                if rng.random() < 0.3:
                    x.prefetch(rng.choice(places))
            for x, host in views:
                np.testing.assert_allclose(x.get(), host, rtol=1e-5)


def test_threads(shared: SharingBackend) -> None:
    """Each with arrays of its own, all on one device."""
    wrong: list[Any] = []

    def work(number: int) -> None:
        host = np.arange(30, dtype=F32) + number
        x = dc.asarray(host, device=shared.device)
        for turn in range(15):
            x[turn] = -1
            host[turn] = -1
            if not np.array_equal((x + turn).get(), host + turn):
                wrong.append((number, turn))

    gate = threading.Lock()
    enqueue, wait = shared.enqueue, shared.synchronize

    def locked(function: Any) -> Any:
        def call(*given: Any) -> Any:
            with gate:
                return function(*given)

        return call

    shared.enqueue = locked(enqueue)  # type: ignore[method-assign]
    shared.synchronize = locked(wait)  # type: ignore[method-assign]
    threads = [threading.Thread(target=work, args=(number,)) for number in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong
