"""Buffers: one copy on each device at most, and a record of which are valid."""

from __future__ import annotations

import gc
import threading
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import dcarray as dc
from dcarray.backends.buffer import Buffer
from dcarray.backends.registry import backend_for
from dcarray.backends.residents import resident
from dcarray.errors import DeviceError, DeviceLostError
from dcarray.layout import Layout
from dcarray.testing import SimulatedDevice

CPU = backend_for("cpu")


@pytest.fixture
def device() -> Iterator[SimulatedDevice]:
    with SimulatedDevice() as made:
        yield made


def host_of(buffer: Buffer) -> Any:
    """The current bytes, as float32."""
    return buffer.read_on(CPU)[: buffer.nbytes].view(np.uint8).view(np.float32)


def sent(number: float, size: int = 100) -> Buffer:
    return Buffer.of_host(np.full(size, number, np.float32))


def write(device: SimulatedDevice, buffer: Buffer, number: float) -> None:
    """Store a number everywhere, on the device."""
    memory = buffer.write_on(device.backend, whole=True)
    data = np.full(buffer.nbytes // 4, number, np.float32)
    device.backend.upload(data.view(np.uint8), memory)


def test_memory_of_the_host() -> None:
    array = np.arange(12.0).reshape(3, 4)[::-1, ::2]
    buffer = Buffer.of_host(array)
    assert buffer.nbytes == 11 * 8
    assert buffer.read_on(CPU) is array
    assert buffer.write_on(CPU) is array
    assert buffer.valid_devices() == ["cpu"]
    assert Layout.of(array, buffer.start).offset == 8 * 8


def test_read_copies_only_if_stale(device: SimulatedDevice) -> None:
    buffer = sent(1)
    first = buffer.read_on(device.backend)
    assert device.count("upload") == 1
    assert buffer.read_on(device.backend) is first
    assert device.count("upload") == 1
    assert device.moved("upload") == 400
    assert buffer.valid_devices() == ["cpu", device.label]


def test_write_makes_others_stale(device: SimulatedDevice) -> None:
    buffer = sent(1)
    write(device, buffer, 2)
    assert buffer.valid_devices() == [device.label]
    assert (host_of(buffer) == 2).all()
    assert device.count("download") == 1
    assert (host_of(buffer) == 2).all()
    assert device.count("download") == 1
    buffer.write_on(CPU)[:] = 3
    assert buffer.valid_devices() == ["cpu"]
    # The stale block is written again, none is allocated.
    allocated = device.count("allocate")
    buffer.read_on(device.backend)
    assert device.count("allocate") == allocated
    assert device.count("upload") == 3 - 1


def test_whole_writes_move_nothing(device: SimulatedDevice) -> None:
    buffer = sent(1)
    buffer.write_on(device.backend, whole=True)
    assert device.count("upload") == 0
    other = sent(1)
    other.write_on(device.backend)
    assert device.count("upload") == 1


def test_stale_only_after_success(device: SimulatedDevice) -> None:
    buffer = sent(1)
    memory = buffer.prepare_on(device.backend)
    assert "cpu" in buffer.valid_devices()
    buffer.wrote_on(device.backend, memory)
    assert buffer.valid_devices() == [device.label]


def test_between_two_devices(device: SimulatedDevice) -> None:
    with SimulatedDevice() as other:
        buffer = sent(1)
        write(device, buffer, 5)
        buffer.read_on(other.backend)
        assert (device.count("download"), other.count("upload")) == (1, 1)
        assert buffer.valid_devices() == sorted([device.label, other.label])
        assert (host_of(buffer) == 5).all()
        with dc.profile() as p:
            write(other, buffer, 6)
            buffer.read_on(device.backend)
        assert [e.device for e in p.events] == [f"{other.label} -> {device.label}"]
        assert p.events[0].nbytes == 400


def test_shared_memory_keeps_no_copies(device: SimulatedDevice) -> None:
    class Exporter:
        pass

    exporter = Exporter()
    buffer = sent(1)
    write(device, buffer, 2)
    buffer.share(exporter)
    assert (host_of(buffer) == 2).all()
    assert buffer.is_shared
    assert not resident(device.label)
    for turn in range(1, 3):
        buffer.read_on(device.backend)
        assert device.count("upload") == 1 + turn
        assert buffer.valid_devices() == ["cpu"]
    del exporter
    gc.collect()
    assert not buffer.is_shared
    buffer.read_on(device.backend)
    assert buffer.valid_devices() == ["cpu", device.label]


# ----------------------------------------------------------------- giving up copies
def test_drop_needs_another_copy(device: SimulatedDevice) -> None:
    buffer = sent(1)
    buffer.read_on(device.backend)
    assert buffer.drop(device.label) == 400
    assert buffer.drop(device.label) == 0
    write(device, buffer, 2)
    assert buffer.drop(device.label) == 0
    assert (host_of(buffer) == 2).all()
    assert buffer.drop(device.label) == 400
    assert (host_of(buffer) == 2).all()


def test_spill(device: SimulatedDevice) -> None:
    buffer = sent(1)
    write(device, buffer, 2)
    assert buffer.spill(device.label) == 400
    assert buffer.valid_devices() == ["cpu"]
    assert (host_of(buffer) == 2).all()
    assert device.backend.pool.statistics().in_use == 0


def test_a_stale_copy_is_dropped_without_a_transfer(device: SimulatedDevice) -> None:
    buffer = sent(1)
    buffer.read_on(device.backend)
    buffer.write_on(CPU)
    assert buffer.spill(device.label) == 400
    assert device.count("download") == 0


def test_nothing_is_given_up_while_it_is_used(device: SimulatedDevice) -> None:
    buffer = sent(1)
    buffer.read_on(device.backend)
    buffer.hold()
    assert buffer.drop(device.label) == buffer.spill(device.label) == 0
    buffer.release()
    assert buffer.drop(device.label) == 400


def test_resident_in_order_of_use(device: SimulatedDevice) -> None:
    buffers = [sent(number) for number in range(4)]
    for buffer in buffers:
        buffer.read_on(device.backend)
    buffers[1].read_on(device.backend)
    order = [buffers[place] for place in (0, 2, 3, 1)]
    assert resident(device.label) == order
    del buffers[0], buffer, order
    gc.collect()
    assert len(resident(device.label)) == 3


def test_lost_device(device: SimulatedDevice) -> None:
    kept, lost = sent(1), sent(2)
    kept.read_on(device.backend)
    write(device, lost, 3)
    assert kept.lose(device.label)
    assert not lost.lose(device.label)
    assert (host_of(kept) == 1).all()
    with pytest.raises(DeviceLostError, match="only on a device that is gone"):
        host_of(lost)


def test_another_copy_serves_when_a_device_is_lost(device: SimulatedDevice) -> None:
    with SimulatedDevice() as other:
        buffer = sent(1)
        write(device, buffer, 5)
        buffer.read_on(other.backend)
        device.lose()
        assert (host_of(buffer) == 5).all()
        assert set(buffer.valid_devices()) == {"cpu", other.label}


# -------------------------------------------------------------------------- transfers
def test_transfers_are_tried_again(device: SimulatedDevice) -> None:
    buffer = sent(7)
    device.fail("upload", times=2, transient=True)
    with dc.config(retry_delay=0.0), dc.profile() as p:
        buffer.read_on(device.backend)
    assert [e.kind for e in p.events] == ["retry", "retry", "transfer"]
    buffer.write_on(device.backend)
    assert (host_of(buffer) == 7).all()


def test_retries_end(device: SimulatedDevice) -> None:
    device.fail("upload", times=None, transient=True)
    with dc.config(retry_delay=0.0, retries=2), pytest.raises(DeviceError):
        sent(1).read_on(device.backend)
    assert device.count("upload") == 3


def test_corrupt_transfers_pass_unseen_unless_verified(
    device: SimulatedDevice,
) -> None:
    buffer = sent(1)
    device.corrupt("upload")
    buffer.read_on(device.backend)
    buffer.write_on(device.backend)
    assert not (host_of(buffer) == 1).all()


@pytest.mark.parametrize("verb", ["upload", "download"])
def test_verified_transfers(device: SimulatedDevice, verb: str) -> None:
    with dc.config(verify_transfers=True, retry_delay=0.0):
        buffer = sent(1)
        if verb == "download":
            write(device, buffer, 1)
        device.corrupt(verb)
        with dc.profile() as p:
            buffer.read_on(device.backend)
            buffer.write_on(device.backend)
            assert (host_of(buffer) == 1).all()
        assert len(p.of_kind("retry")) == 1


def test_transfers_that_never_arrive_well(device: SimulatedDevice) -> None:
    device.corrupt("upload", times=100)
    with (
        dc.config(verify_transfers=True, retry_delay=0.0),
        pytest.raises(DeviceError, match="arrived changed"),
    ):
        sent(1).read_on(device.backend)


# ---------------------------------------------------------------------------- threads
def test_threads_agree(device: SimulatedDevice) -> None:
    """Reads, spills and drops of the same buffers at the same time."""
    buffers = [sent(number, 1000) for number in range(8)]
    for number, buffer in enumerate(buffers):
        write(device, buffer, number)
    wrong: list[BaseException] = []

    def work(seed: int) -> None:
        rng = np.random.default_rng(seed)
        try:
            for _ in range(150):
                number = int(rng.integers(8))
                buffer = buffers[number]
                choice = rng.integers(4)
                if choice == 0:
                    assert (host_of(buffer) == number).all()
                elif choice == 1:
                    buffer.read_on(device.backend)
                elif choice == 2:
                    buffer.spill(device.label)
                else:
                    buffer.drop(device.label)
        except BaseException as error:
            wrong.append(error)

    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong
    for number, buffer in enumerate(buffers):
        assert (host_of(buffer) == number).all()
