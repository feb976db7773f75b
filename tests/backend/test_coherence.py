"""Arrays on a device of their own: what is moved, and when."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest

import dcarray as dc
from dcarray.testing import SimulatedDevice

N = 100_000
A = np.arange(N, dtype=np.float32)


@pytest.fixture
def device() -> Iterator[SimulatedDevice]:
    with SimulatedDevice() as made:
        yield made


def on(device: SimulatedDevice, x: np.ndarray) -> dc.DeviceArray:
    return dc.asarray(x).to_device(device.label)


def moves(device: SimulatedDevice) -> tuple[int, int]:
    return device.count("upload"), device.count("download")


def test_a_chain_moves_its_input_once(device: SimulatedDevice) -> None:
    x = on(device, A)
    for _ in range(3):
        y = x * 2 + 1
        dc.evaluate(y)
    assert moves(device) == (1, 0)
    y.get()
    assert moves(device) == (1, 1)


def test_profile_shows_every_move(device: SimulatedDevice) -> None:
    with dc.profile() as p:
        x = on(device, A)
        (x + 1).get()
    shown = [(e.device, e.nbytes) for e in p.of_kind("transfer")]
    assert shown == [
        (f"cpu -> {device.label}", N * 4),
        (f"{device.label} -> cpu", N * 4),
    ]
    assert sum(nbytes for _, nbytes in shown) == (
        device.moved("upload") + device.moved("download")
    )


def test_a_host_read_is_kept(device: SimulatedDevice) -> None:
    x = on(device, A) + 1
    for _ in range(3):
        assert (x.get() == A + 1).all()
    assert moves(device) == (1, 1)


def test_a_write_on_the_device_makes_the_host_stale(device: SimulatedDevice) -> None:
    x = on(device, A) + 1
    x.get()
    x += 1
    assert (x.get() == A + 2).all()
    assert moves(device) == (1, 2)


def test_writing_nothing_but_a_constant_moves_nothing(device: SimulatedDevice) -> None:
    x = on(device, A)
    before = moves(device)
    x[...] = 5
    x[10:20] = 6
    x[::2] += 1
    assert moves(device)[1] == before[1]
    want = np.full(N, 5, np.float32)
    want[10:20] = 6
    want[::2] += 1
    assert (x.get() == want).all()


def test_views_share_memory_on_the_device(device: SimulatedDevice) -> None:
    x = on(device, A.reshape(100, 1000))
    column, turned, part = x[:, 3], x.T, x[10:20]
    x[:, 3] = -1
    part += 1
    want = A.reshape(100, 1000).copy()
    want[:, 3] = -1
    want[10:20] += 1
    before = device.count("upload")
    assert (turned.get() == want.T).all()
    assert (column.get() == want[:, 3]).all()
    assert (part.get() == want[10:20]).all()
    assert device.count("upload") == before


@pytest.mark.parametrize("lazy", ["always", "auto", "never"])
def test_views_written_while_pending(device: SimulatedDevice, lazy: str) -> None:
    with dc.config(lazy=lazy):
        y = on(device, A) * 2
        view = y[5:50:3]
        z = y + 1
        view[...] = 7
        want = A * 2
        want[5:50:3] = 7
        assert (y.get() == want).all()
        assert (z.get() == A * 2 + 1).all()


def test_a_recorded_value_is_fixed(device: SimulatedDevice) -> None:
    x = on(device, A)
    y = x + 1
    x[0] = 9
    assert y.get()[0] == 1
    assert x.get()[0] == 9


def test_overlapping_writes(device: SimulatedDevice) -> None:
    x = on(device, A)
    x[1:] = x[:-1]
    assert (x.get()[1:] == A[:-1]).all()
    y = on(device, A)
    y[1:] += y[:-1]
    want = A.copy()
    want[1:] += want[:-1].copy()
    assert (y.get() == want).all()
    z = on(device, A)
    z[::-1] = z * 2
    assert (z.get() == (A * 2)[::-1]).all()


def test_moving_back_and_forth(device: SimulatedDevice) -> None:
    with SimulatedDevice() as other:
        x = on(device, A)
        y = (x + 1).to_device(other.label)
        assert y.device == other.label
        z = (y * 2).to_device("cpu")
        assert z.device == "cpu"
        assert (np.asarray(z) == (A + 1) * 2).all()
        assert x.to_device(device.label) is x


def test_a_move_is_a_copy(device: SimulatedDevice) -> None:
    x = on(device, A)
    y = x.to_device("cpu")
    y[0] = 100
    assert x.get()[0] == 0
    x[1] = 200
    assert float(y[1]) == 1


def test_prefetch(device: SimulatedDevice) -> None:
    x = dc.asarray(A)
    x.prefetch(device.label)
    assert x.device == "auto"
    assert moves(device) == (1, 0)
    y = on(device, A) + 1
    y.prefetch("cpu")
    assert y.device == device.label
    assert moves(device) == (2, 1)
    device.lose()
    assert (y.get() == A + 1).all()


def test_host_writes_reach_the_device(device: SimulatedDevice) -> None:
    x = dc.asarray(A)
    x.prefetch(device.label)
    x[3] = 50
    y = x.to_device(device.label)
    assert y.get()[3] == 50


def test_scalars_and_small_arrays_live_there_too(device: SimulatedDevice) -> None:
    x = on(device, np.array(2.5))
    y = x * 2 + np.float32(1)
    assert y.device == device.label
    assert y.shape == ()
    assert float(y) == 6.0
    total = on(device, A).sum()
    assert total.device == device.label


def test_auto_operands_go_to_the_named_device(device: SimulatedDevice) -> None:
    x = on(device, A)
    y = dc.asarray(A)
    z = x + y
    assert z.device == device.label
    assert (z.get() == A * 2).all()
    before = device.count("upload")
    (x * y).get()
    assert device.count("upload") == before  # y is there already
    w = y + x
    assert w.device == device.label
    y += 1
    assert y.device == "auto"
    assert ((x + y).get() == A + A + 1).all()


def test_numpy_operands_are_read_at_each_call(device: SimulatedDevice) -> None:
    x = on(device, A)
    foreign = A.copy()
    z = x + foreign
    foreign[0] = 1000
    assert z.get()[0] == 0
    assert (x + foreign).get()[0] == 1000


def test_two_named_devices_do_not_mix(device: SimulatedDevice) -> None:
    with SimulatedDevice() as other:
        x, y = on(device, A), on(other, A)
        for attempt in (
            lambda: x + y,
            lambda: x.dot(y),
            lambda: x.__iadd__(y),
            lambda: x.__setitem__(slice(0, 3), y[:3]),
            lambda: np.add(x, y),
            lambda: x.take(y[:3].astype(np.int64)),
        ):
            with pytest.raises(dc.errors.DeviceMismatchError, match="to_device"):
                attempt()
        cpu = dc.asarray(A).to_device("cpu")
        with pytest.raises(dc.errors.DeviceMismatchError):
            x + cpu


def test_memory_goes_back(device: SimulatedDevice) -> None:
    x = on(device, A)
    y = x + 1
    dc.evaluate(y)
    del x, y
    assert device.backend.pool.statistics().in_use == 0
