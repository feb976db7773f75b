"""Groups that ran before: the short way gives the same, and is left where it must."""

from __future__ import annotations

import operator
import threading
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
import pytest

import dcarray as dc
from dcarray.backends.registry import install, remove
from dcarray.backends.residents import resident
from dcarray.errors import (
    DeviceError,
    LaunchError,
    OutOfMemoryError,
    UnsupportedError,
)
from dcarray.kernel.nodes import Kernel
from dcarray.lazy import route
from dcarray.profile import counters

from .interpreted_device import InterpretedBackend, on, used

F4 = np.arange(12, dtype=np.float32).reshape(3, 4)


class Device(InterpretedBackend):
    """Counts the launches that took the long way, and fails on demand."""

    def __init__(self) -> None:
        super().__init__()
        self.long = 0
        self.crowded = False
        self.failures: list[BaseException] = []
        self.full: list[BaseException] = []

    def launch(self, *given: Any, **more: Any) -> Any:
        """Count it."""
        self.long += 1
        return super().launch(*given, **more)

    def allocate(self, nbytes: int) -> Any:
        """Fail, or give bytes."""
        if self.full:
            raise self.full.pop()
        return super().allocate(nbytes)

    def enqueue(
        self,
        function: Kernel,
        kernel: Kernel,
        grid: Sequence[int],
        group: Sequence[int],
        arguments: Sequence[Any],
    ) -> None:
        """Fail, or run it."""
        if self.failures:
            raise self.failures.pop()
        if self.crowded:  # somebody else makes room at this very moment
            for buffer in resident(self.device):
                buffer.spill(self.device)
        super().enqueue(function, kernel, grid, group, arguments)


@pytest.fixture
def device() -> Iterator[Device]:
    with used(Device()) as made:
        yield made


def twice(device: Device, call: Callable[[], Any]) -> tuple[Any, Any]:
    """The results of a first run and of one that takes the short way."""
    first = call().get()
    before = device.long
    again = call().get()
    assert device.long == before, "the long way"
    return first, again


GROUPS: list[Callable[[Any, Any], Any]] = [
    lambda a, b: a + b,
    lambda a, b: a + a,
    lambda a, b: a + a * a,
    lambda a, b: a * b + a,
    lambda a, b: (a + b) * (a + b),
    lambda a, b: a * 2.0 + b * 2.0,
    lambda a, b: a * 2.0 + b * 3.0,
    lambda a, b: a + b[0],
    lambda a, b: a[:, :1] * b,
    lambda a, b: a.T + b.T,
    lambda a, b: a[::2] - b[:2],
    lambda a, b: a[:, ::-1] - b,
    lambda a, b: a[0] + a[1],
    lambda a, b: a > b,
    lambda a, b: a[1] - 1,
    lambda a, b: a.astype("i4") + b,
    lambda a, b: (a + b).sum(axis=0),
    lambda a, b: (a + b).sum(axis=1),
    lambda a, b: (a + b).sum(axis=0, keepdims=True),
    lambda a, b: a.T.max(axis=0),
    lambda a, b: (a > 3).sum(axis=1),
    lambda a, b: a.astype("i2").prod(axis=0),
    lambda a, b: a - a.max(axis=1, keepdims=True),
    lambda a, b: a.sum() + b,
]


def test_every_kind_gives_what_numpy_gives_one_after_the_other(device: Device) -> None:
    hosts = F4, F4[::-1] + 1
    a, b = (on(device, x) for x in hosts)
    for group in (*GROUPS, *GROUPS):  # in between, the others
        for x in twice(device, lambda: group(a, b)):  # noqa: B023
            want = group(*hosts)
            assert x.dtype == want.dtype
            np.testing.assert_array_equal(x, want)


@pytest.mark.parametrize("code", ["i4", "f8", "?", "c8"])
@pytest.mark.parametrize("shape", [(5,), (2, 3), (), (0, 3)])
def test_shapes_and_dtypes_after_each_other(
    device: Device, shape: tuple[int, ...], code: str
) -> None:
    def use(host: Any) -> None:
        x = on(device, host)
        np.testing.assert_array_equal((x + x).get(), host + host)
        np.testing.assert_array_equal(x.any().get(), host.any())

    for _ in range(2):
        use(np.ones(shape, code))
        use(np.ones((4, *shape), code))
        use(np.zeros(shape, "i2"))


def test_another_shape_is_not_fused_anew(
    device: Device, monkeypatch: pytest.MonkeyPatch
) -> None:
    def use(host: Any) -> None:
        x, y = on(device, host), on(device, host + 1)
        kept = x * y
        for got, want in (
            (x * y + x, host * (host + 1) + host),
            (kept - 2.0, host * (host + 1) - 2.0),
            ((x + y).sum(axis=0), (2 * host + 1).sum(axis=0)),
        ):
            np.testing.assert_array_equal(got.get(), want)
        np.testing.assert_array_equal(kept.get(), host * (host + 1))

    use(F4)
    monkeypatch.setattr("dcarray.lazy.plans.fuse", None)
    use(F4.reshape(2, 6))
    use(F4.reshape(2, 1, 6))
    use(F4[:1])


def test_integers_of_c_that_are_alike_stay_what_they_are(device: Device) -> None:
    for code in ("l", "q", "l", "q"):
        x = dc.asarray(np.arange(40_000, dtype=code))
        y = x[::2] + 1  # the graph knows x
        assert x.dtype.char == np.dtype(code).char
        assert y.dtype.char == (np.arange(2, dtype=code) + 1).dtype.char


def test_numbers_are_those_of_the_moment(device: Device) -> None:
    a = on(device, F4)
    for number in (2, 2.5, -0.0, np.float32(7), 3):
        np.testing.assert_array_equal((a * number).get(), F4 * number)
    assert np.signbit((on(device, F4[:0].sum()) * -0.0).get())


def test_a_shared_subexpression_is_stored_where_it_is_wanted(device: Device) -> None:
    a = on(device, F4)
    for keep in (True, False, True):
        c = a + 1
        d = c * 2
        if not keep:
            del c
        np.testing.assert_array_equal(d.get(), (F4 + 1) * 2)
        before = len(device.launched)
        if keep:
            np.testing.assert_array_equal(c.get(), F4 + 1)
            assert len(device.launched) == before, "it was stored with d"


def test_a_write_comes_after_what_was_recorded(device: Device) -> None:
    for _ in range(3):
        a = on(device, F4)
        y = a + 1
        a[0] = 9
        z = a + 1
        np.testing.assert_array_equal(y.get(), F4 + 1)
        assert (z.get()[0] == 10).all()


def in_place(x: Any, y: Any) -> None:
    """Changes of every kind, one after the other."""
    whole = x[:]
    x += y
    x *= 2
    x -= x
    x += whole + 1
    x[1:] += y[1:]
    x[:, ::-1] -= y
    x[:3, :3] += x[:3, :3].T
    x += y[0]
    x /= 4


def test_in_place(device: Device) -> None:
    mine, want = on(device, F4), F4.copy()
    y = on(device, F4 + 1)
    for _ in range(3):
        view, before = mine[1], mine * 1
        kept = want.copy()
        in_place(mine, y)
        in_place(want, F4 + 1)
        np.testing.assert_array_equal(mine.get(), want)
        np.testing.assert_array_equal(view.get(), want[1])
        np.testing.assert_array_equal(before.get(), kept)


STENCILS: list[Callable[[Any, Any], None]] = [
    lambda a, b: a.__setitem__(slice(1, None), a[1:] - 0.5 * (b[1:] - b[:-1])),
    lambda a, b: a.__setitem__((slice(None), 0), b[:, 1]),
    lambda a, b: a.__setitem__((slice(None), slice(None, None, 2)), b[:, 1::2] + 1),
    lambda a, b: a.__setitem__(slice(1, None), a[:-1] + b[1:]),  # overlapping
    lambda a, b: a.T.__setitem__(slice(None), a.T + b.T),
    lambda a, b: a.__setitem__(slice(None), b[0] * 2),
    lambda a, b: operator.iadd(a[1:, 1:], b[:-1, :-1] * 3),
]


@pytest.mark.parametrize("number", range(len(STENCILS)))
def test_writing_to_a_part(device: Device, number: int) -> None:
    step = STENCILS[number]
    want, other = F4.copy(), F4[::-1].copy()
    a, b = (dc.asarray(x, device=device.device) for x in (want, other))
    for turn in range(4):
        before = device.long
        step(a, b)
        step(want, other)
        np.testing.assert_array_equal(a.get(), want)
        assert turn < 2 or device.long == before


def test_a_part_that_is_stored_in_itself_is_not_copied(device: Device) -> None:
    a = dc.asarray(F4, device=device.device)
    whole = dc.asarray(F4)
    before = counters["group"]
    for x in (a, whole):
        x[1:] += 1
        x[:, 1] *= 2
    assert counters["group"] == before + 2
    want = F4.copy()
    want[1:] += 1
    want[:, 1] *= 2
    np.testing.assert_array_equal(a.get(), want)
    np.testing.assert_array_equal(whole, want)


def test_in_place_where_the_launch_fails(device: Device) -> None:
    a, b = on(device, F4), on(device, F4)
    for _ in range(2):
        a += b
    device.long = 0
    a += b
    assert not device.long, "the long way"
    device.failures = [LaunchError("no", device=device.device)]
    with pytest.raises(LaunchError):
        a += b
    np.testing.assert_array_equal(a.get(), F4 * 4)
    a.prefetch("cpu")
    a += b
    np.testing.assert_array_equal(a.get(), F4 * 5)


def test_a_temporary_is_not_stored(device: Device) -> None:
    a = on(device, F4)
    for _ in range(3):
        count = len(device.launched)
        held = a * a
        np.testing.assert_array_equal((a * a).sum().get(), (F4 * F4).sum())
        np.testing.assert_array_equal(held.sum(axis=0).get(), (F4 * F4).sum(axis=0))
        np.testing.assert_array_equal(held.get(), F4 * F4)
        assert len(device.launched) - count <= 3


def test_memory_that_is_elsewhere_is_brought(device: Device) -> None:
    a, b = on(device, F4), on(device, F4)
    for _ in range(3):
        np.testing.assert_array_equal((a + b).get(), F4 + F4)
        a.prefetch("cpu")
        buffer = a._binding.value.buffer
        assert buffer.drop(device.device), "another copy is valid"


@pytest.mark.parametrize("transient", [True, False])
@pytest.mark.parametrize("ends", [lambda a: a + 1, lambda a: (a + 1).sum(axis=0)])
def test_a_launch_that_fails(
    device: Device, ends: Callable[[Any], Any], transient: bool
) -> None:
    a = on(device, F4)
    twice(device, lambda: ends(a))
    device.failures = [LaunchError("no", device=device.device, transient=transient)]
    retries = counters["retry"]
    if transient:
        np.testing.assert_array_equal(ends(a).get(), ends(F4))
        assert counters["retry"] == retries + 1
    else:
        with pytest.raises(LaunchError, match=r"test_ready\.py"):
            ends(a).get()
        with dc.config(fallback="allow"):
            device.failures = [LaunchError("no", device=device.device)]
            y = ends(a)
            np.testing.assert_array_equal(y.get(), ends(F4))
            assert y.device == device.device
    assert not device.failures
    twice(device, lambda: ends(a))


def test_what_failed_stays_failed(device: Device) -> None:
    a = on(device, F4)
    twice(device, lambda: a + 1)
    device.failures = [DeviceError("broken", device=device.device)]
    y = a + 1
    for _ in range(2):
        with pytest.raises(DeviceError, match="broken"):
            y.get()


def test_room_is_made(device: Device) -> None:
    a = on(device, F4)
    other = on(device, F4)
    other.prefetch("cpu")
    twice(device, lambda: a + 1)
    device.full = [OutOfMemoryError("full", device=device.device) for _ in range(2)]
    np.testing.assert_array_equal((a + 1).get(), F4 + 1)
    assert not device.full
    buffer = other._binding.value.buffer
    assert not buffer.is_valid_on(device.device), "its copy was given up"


def test_room_for_others_is_made_during_a_launch(device: Device) -> None:
    device.crowded = True
    a, b = on(device, F4), on(device, F4 + 1)
    want = F4.copy()
    for _ in range(3):
        c = a * b
        d = c - a
        np.testing.assert_array_equal(d.get(), want * (F4 + 1) - want)
        np.testing.assert_array_equal(c.get(), want * (F4 + 1))
        np.testing.assert_array_equal((a + b).sum(axis=0).get(), (want + F4 + 1).sum(0))
        a += b
        want += F4 + 1
        np.testing.assert_array_equal(a.get(), want)


def test_an_interrupt_loses_nothing(device: Device) -> None:
    a = on(device, F4)
    twice(device, lambda: a + 1)
    device.failures = [KeyboardInterrupt()]
    y = a + 1
    with pytest.raises(KeyboardInterrupt):
        y.get()
    np.testing.assert_array_equal(y.get(), F4 + 1)


def test_what_is_watched_takes_the_long_way(device: Device) -> None:
    a = on(device, F4)
    twice(device, lambda: a + 1)
    before = device.long
    with dc.profile() as p:
        (a + 1).get()
    assert [event.name for event in p.groups] == ["add"]
    validated = counters["validate"]
    with dc.config(validate="cpu"):
        (a + 1).get()
    assert counters["validate"] == validated + 1
    assert device.long == before + 2
    groups = counters["group"]
    twice(device, lambda: a + 1)
    assert counters["group"] == groups + 2


@pytest.fixture
def chosen(device: Device) -> Iterator[Device]:
    """A device that ``auto`` chooses for additions, because the CPU seems slow."""
    route.auto_devices.append(device.device)
    work = route.Work("add", F4.size, 1, (), F4.nbytes)
    for _ in range(route.ENOUGH):
        route.learn("cpu", work, 1000.0)
    with dc.config(small_array=0, fallback="allow"):
        yield device
    if device.device in route.auto_devices:
        route.auto_devices.remove(device.device)
    route.forget("cpu")


def test_auto_goes_where_it_usually_goes(chosen: Device) -> None:
    a = dc.asarray(F4)
    for _ in range(route.ENOUGH + 2):
        assert ((a + 1).get() == F4 + 1).all()
    y = a + 2
    _, again = twice(chosen, lambda: a + 2)
    assert (again == F4 + 2).all()
    assert y.device == "auto"
    launched = len(chosen.launched)
    route.set_rule("add", 1 << 20)
    assert ((a + 1).get() == F4 + 1).all()
    assert len(chosen.launched) == launched, "a rule holds at once"
    route.set_rule("add", None)
    with dc.config(auto_devices="cpu"):
        assert ((a + 1).get() == F4 + 1).all()
    assert len(chosen.launched) == launched
    assert ((a + 1).get() == F4 + 1).all()
    assert len(chosen.launched) == launched + 1


def test_auto_where_the_usual_place_fails(chosen: Device) -> None:
    a = dc.asarray(F4)
    for _ in range(route.ENOUGH + 3):
        assert ((a + 1).get() == F4 + 1).all()
    before = chosen.long
    chosen.failures = [LaunchError("no", device=chosen.device)]
    assert ((a + 1).get() == F4 + 1).all()
    assert not chosen.failures
    assert chosen.long == before, "the failed attempt was the first one"
    b = dc.asarray(F4)  # of the host alone
    assert ((b + a).get() == F4 + F4).all()
    route.auto_devices.remove(chosen.device)
    launched = len(chosen.launched)
    assert ((a + 1).get() == F4 + 1).all()
    assert len(chosen.launched) == launched


def test_bounds_of_groups_can_change(device: Device) -> None:
    a = on(device, F4)
    for _ in range(2):
        twice(device, lambda: a + 1 + 2 + 3)
        with dc.config(max_group_nodes=1):
            count = len(device.launched)
            np.testing.assert_array_equal((a + 1 + 2 + 3).get(), F4 + 6)
            assert len(device.launched) > count + 1


def test_a_new_backend_of_the_same_label(device: Device) -> None:
    twice(device, lambda: on(device, F4) + 1)
    remove(device.device)
    other = Device()
    install(other)
    first, again = twice(other, lambda: on(other, F4) + 1)
    np.testing.assert_array_equal(first, again)
    assert len(other.launched) == 2


def test_a_new_backend_that_lacks_a_dtype(device: Device) -> None:
    host = np.arange(1, 5, dtype=np.int32)
    a = on(device, host)  # of the host until it is needed
    twice(device, lambda: on(device, host) / on(device, host))
    remove(device.device)
    other = Device()
    other.supported = device.supported - {np.dtype(np.float64)}
    install(other)
    with pytest.raises(UnsupportedError, match="float64"):
        a / a


def test_errors_of_numpy_do_not_reach_a_device(device: Device) -> None:
    a = on(device, F4 - F4)
    for _ in range(2):
        with np.errstate(all="raise"):
            y = a / a
        assert np.isnan(y.get()).all()


def test_threads(device: Device) -> None:
    a = on(device, F4)
    shared = [a * number for number in range(20)]
    wrong: list[int] = []

    def work() -> None:
        for number, x in enumerate(shared):
            mine = (a + number).get()
            if (mine != F4 + number).any() or (x.get() != F4 * number).any():
                wrong.append(number)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong
