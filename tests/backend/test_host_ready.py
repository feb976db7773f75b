"""Groups that come again on the host: prepared launches, and assignments to parts."""

from __future__ import annotations

import inspect
import threading
import warnings

import numpy as np
import pytest

import dcarray as dc
from dcarray.backends.buffer import Buffer
from dcarray.lazy import execute, plans
from dcarray.lazy.host_views import host_view
from dcarray.profile import counters

SHAPE = (60, 100)


@pytest.fixture(autouse=True)
def always_lazy():
    with dc.config(lazy="always", auto_devices="cpu"):
        yield


@pytest.fixture
def prepared():
    """How many plans have a launch that is prepared for the host."""
    execute.evaluate(())

    def count():
        return sum("cpu" in plan.ready for plan in plans._all)

    return count


def data(dtype=np.float64, seed=7):
    return np.random.default_rng(seed).uniform(1, 2, SHAPE).astype(dtype)


def same(array, host):
    got = np.asarray(array)
    assert got.dtype == host.dtype
    assert got.shape == host.shape
    assert got.tobytes() == host.tobytes()


def test_a_group_that_ran_is_prepared_and_runs_elsewhere(prepared):
    before = prepared()
    for seed in range(4):
        a, b = data(seed=seed), data(seed=seed + 10)
        same(dc.asarray(a) * 3 + dc.asarray(b), a * 3 + b)
    assert prepared() == before + 1


def test_numbers_are_those_of_the_moment(prepared):
    a = data()
    x = dc.asarray(a)
    for number in (2.0, 3.0, -0.0, np.inf):
        same(x * number - 1, a * number - 1)


def test_every_run_is_counted():
    x = dc.asarray(data())
    for _ in range(3):
        before = counters["group"]
        dc.evaluate(x * 3 + 4)
        assert counters["group"] == before + 1
    with dc.profile() as p:
        dc.evaluate(x * 3 + 4)
    assert len(p.groups) == 1


def test_two_results_of_one_group():
    a = data()
    for _ in range(3):
        x = dc.asarray(a)
        t = x * 2
        one = dc.sqrt(t) - 1
        same(one, np.sqrt(a * 2) - 1)
        same(t, a * 2)


def test_stencil():
    a = data()

    def steps(np, x):
        new = x.copy()
        for _ in range(6):
            new[1:-1, 1:-1] = 0.25 * (
                x[2:, 1:-1] + x[:-2, 1:-1] + x[1:-1, 2:] + x[1:-1, :-2]
            )
            x, new = new, x
        return x

    same(steps(dc, dc.asarray(a)), steps(np, a))


@pytest.mark.parametrize(
    "key",
    [
        slice(1, None),
        (slice(None), slice(None, None, 2)),
        (slice(None, None, -1), slice(3, 50)),
        (3, slice(2, 70)),
        (slice(5, 5), slice(None)),
        7,
    ],
)
def test_assignments_to_parts(key):
    for _ in range(3):
        a, target = data(), data(seed=3)
        x, y = dc.asarray(a), dc.asarray(target)
        value = x[key] * 2 + 1
        y[key] = value
        target[key] = a[key] * 2 + 1
        same(y, target)
        same(value, a[key] * 2 + 1)


def test_an_array_that_was_assigned_keeps_its_elements():
    """It is computed again for who wants it, from what is there by then."""
    a, b = data(), data(seed=3)
    for _ in range(3):
        x, y, z = dc.asarray(a), dc.asarray(b), dc.asarray(a)
        value = x[1:-1] * 2 + 1
        z[1:-1] = value
        later = value + 4
        x[...] = y
        z[...] = 0
        same(value, a[1:-1] * 2 + 1)
        same(later, a[1:-1] * 2 + 1 + 4)


def test_flags_of_a_prepared_launch_are_those_of_its_operations():
    a, b = data(), data(seed=3)
    b[7, 3] = 0
    with np.errstate(divide="ignore"):
        wanted = a * 2 / b - 1
    for _ in range(4):
        x, y = dc.asarray(a), dc.asarray(b)
        with pytest.warns(RuntimeWarning, match="divide by zero encountered in divide"):
            same(x * 2 / y - 1, wanted)
        x *= 2
        x /= y
        x -= 1
        with pytest.warns(RuntimeWarning, match="divide by zero encountered in divide"):
            same(x, wanted)


def test_assignments_to_parts_of_what_is_read():
    for _ in range(3):
        a = data()
        x = dc.asarray(a)
        x[1:] = x[:-1] * 2 + 1
        a[1:] = a[:-1] * 2 + 1
        same(x, a)
        x[:, 3:] = x[:, 3:] * 2 + 1
        a[:, 3:] = a[:, 3:] * 2 + 1
        same(x, a)


def test_what_reads_the_target_sees_old_elements():
    for _ in range(3):
        a = data()
        x, y = dc.asarray(a), dc.zeros(SHAPE)
        old = y * 2 + 5
        y[2:] = x[2:] * 2 + 1
        same(old, np.full(SHAPE, 5.0))
        wanted = np.zeros(SHAPE)
        wanted[2:] = a[2:] * 2 + 1
        same(y, wanted)


def test_other_kinds_of_assignment_find_their_way():
    a = data()
    x, y = dc.asarray(a), dc.zeros(SHAPE, dtype=np.float32)
    y[2:] = x[2:] * 2 + 1  # another dtype
    y[:2] = x[4] * 2 + 1  # another shape
    wanted = np.zeros(SHAPE, np.float32)
    wanted[2:] = a[2:] * 2 + 1
    wanted[:2] = a[4] * 2 + 1
    same(y, wanted)
    with pytest.raises(ValueError, match="could not broadcast"):
        y[:3] = (x * 2 + 1)[:4]
    with pytest.raises(IndexError):
        y[99] = x[0] * 2 + 1
    with pytest.raises(IndexError):
        y[1, 1, 1] = x[0] * 2 + 1


def test_a_copy_of_memory_that_is_written_later():
    for _ in range(3):
        a = data()
        x, y = dc.asarray(a), dc.zeros(SHAPE)
        value = x[2:] * 2 + 1
        y[2:] = value
        y[3:] = x[3:] - 7.5
        same(value, a[2:] * 2 + 1)


def test_memory_of_others_is_written_at_once():
    host = np.zeros(SHAPE)
    y = dc.asarray(host, copy=False)
    x = dc.asarray(data())
    for _ in range(3):
        y[2:] = x[2:] * 2 + 1
        assert (host[2:] == data()[2:] * 2 + 1).all()
        host[:] = 0


def test_operations_in_place():
    a, b = data(), data()
    x = dc.asarray(a)
    for k in range(4):
        x *= 1.5
        x += k
        b = b * 1.5 + k
        same(x, b)


def test_operations_in_place_on_parts():
    """What is added has no memory of its own, unless somebody wants it."""
    a, b = data(), data(seed=3)
    x, y = dc.asarray(a), dc.asarray(b)
    for k in range(4):
        with dc.profile() as p:
            x[1:, :] -= 0.5 * (y[1:, :] - y[:-1, :])
            x[:-1, 2:] += x[1:, 2:] * 0.25  # what is read is written, too
        a[1:, :] -= 0.5 * (b[1:, :] - b[:-1, :])
        a[:-1, 2:] += a[1:, 2:] * 0.25
        assert p.groups[0].name.split() == ["subtract", "multiply", "subtract"]
        part, kept = x[:, 3:], y[:, 3:] * k
        part += kept
        y[...] = y + 1
        a[:, 3:] += b[:, 3:] * k
        same(kept, b[:, 3:] * k)
        b += 1
        same(x, a)
        same(y, b)


@pytest.mark.parametrize("dtype", ["i4", "f4", "f8", "c16"])
@pytest.mark.parametrize(
    "other",
    [
        lambda x: 2,
        lambda x: 0.5,
        lambda x: x[:1] > 1,
        lambda x: x[::-1],
        lambda x: x.real * 2,
        lambda x: x.real.astype("f8"),
        lambda x: x[None] + x[:1],
    ],
)
def test_operations_in_place_on_pending_arrays(dtype, other):
    a = data().astype(dtype)
    x, host = dc.asarray(a) * 3, a * 3
    view, seen = x[1:], host[1:]
    try:
        host += other(host)
    except (TypeError, ValueError) as error:
        kind = TypeError if isinstance(error, TypeError) else ValueError
        with pytest.raises(kind):
            x += other(x)
    else:
        x += other(x)
    same(view, seen)
    same(x, host)


def test_pending_arrays_that_cannot_be_written():
    x = dc.broadcast_to(dc.asarray(data()) * 3, (2, *SHAPE))
    with pytest.raises(ValueError, match="read-only"):
        x += 1


def test_parts_of_complex_numbers_are_views():
    a = data() + 1j * data(seed=3)
    for _ in range(2):
        x, host = dc.asarray(a) * 3, a * 3
        for array, wanted in ((x, host), (x.T, host.T), (x[::2], host[::2])):
            same(array.real, wanted.real)
            same(array.imag, wanted.imag)
        x, host = dc.asarray(a) * 3, a * 3
        x.imag[3:] = 7
        host.imag[3:] = 7
        x.real += 1
        host.real += 1
        same(x, host)


def test_memory_that_is_not_aligned():
    a = data()
    for shift in (0, 1, 0):
        raw = np.zeros(a.nbytes + 8, np.uint8)
        y = dc.asarray(raw)[shift : shift + a.nbytes].view(np.float64).reshape(SHAPE)
        y[...] = a
        same(y * 3 + 4, a * 3 + 4)


def test_settings_hold_for_what_is_prepared():
    a = data()
    x = dc.asarray(a)
    for settings in ({}, {"engine": "interpreter"}, {"threads": 1}, {"threads": 3}, {}):
        with dc.config(**settings):
            same(x * 3 + 4, a * 3 + 4)
    with dc.config(validate="cpu"), dc.profile() as p:
        same(x * 3 + 4, a * 3 + 4)
    assert p.groups


def test_warnings_name_operation_and_line():
    x = dc.asarray(data())
    y = dc.asarray(np.zeros(SHAPE))
    for divisor, flagged in ((x, False), (y, True), (x, False), (y, True)):
        with warnings.catch_warnings(record=True) as seen:
            warnings.simplefilter("always")
            line = inspect.currentframe().f_lineno + 1
            found = x / divisor + 1
            dc.evaluate(found)
        assert [(str(w.message), w.lineno) for w in seen] == [
            ("divide by zero encountered in divide", line)
        ] * flagged
        with np.errstate(all="ignore"):
            same(found, np.asarray(x) / np.asarray(divisor) + 1)


def test_flags_in_place_are_raised_once_and_change_nothing_twice():
    for step in range(3):
        a = data()
        a[step] = 0
        x = dc.asarray(a)
        with pytest.warns(RuntimeWarning, match="invalid value encountered in divide"):
            x /= x * 0 + a[:, :1]
            dc.evaluate(x)
        with np.errstate(all="ignore"):
            same(x, a / (a * 0 + a[:, :1]))


def test_ignored_flags_are_ignored():
    x = dc.asarray(np.zeros(SHAPE))
    for _ in range(3):
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("error")
            found = 1 / x + 1
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            same(found, np.full(SHAPE, np.inf))


def test_threads_run_one_plan():
    a = data()
    dc.evaluate(dc.asarray(a) * 3 + 4)
    wrong = []

    def work(seed):
        mine = data(seed=seed)
        for _ in range(20):
            if (
                np.asarray(dc.asarray(mine) * 3 + 4).tobytes()
                != (mine * 3 + 4).tobytes()
            ):
                wrong.append(seed)

    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


def test_no_room_is_told_as_before(monkeypatch):
    from dcarray.backends.registry import backend_for
    from dcarray.errors import OutOfMemoryError

    x = dc.asarray(data())
    dc.evaluate(x * 3 + 4)
    kept = x * 3 + 4
    cpu = backend_for("cpu")

    def refuse(nbytes):
        raise OutOfMemoryError("nothing left", device="cpu")

    with monkeypatch.context() as patch:
        patch.setattr(cpu, "allocate", refuse)
        with pytest.raises(MemoryError, match="nothing left"):
            dc.evaluate(kept)
    same(x * 3 + 4, data() * 3 + 4)


@pytest.mark.parametrize(
    "part",
    [
        lambda a: a,
        lambda a: a[1:-1, 2:],
        lambda a: a[::-1, ::3],
        lambda a: a.T,
        lambda a: a[3],
        lambda a: a[:, None],
        lambda a: a[4:4],
        lambda a: a[2, 5],
        lambda a: a.view(np.uint8)[1:, 3:],
        lambda a: a.view(np.uint8)[1:, 3 : 3 + 8].view(np.float64),
    ],
)
def test_parts_lie_where_numpy_has_them(part):
    whole = data()
    buffer = Buffer.of_host(whole)
    for _ in range(2):
        shown = part(whole)
        layout, dtype = host_view(shown, buffer)
        assert dtype == shown.dtype
        assert (layout.shape, layout.strides) == (shown.shape, shown.strides)
        start = whole.__array_interface__["data"][0]
        place = shown.__array_interface__["data"][0]
        assert start + layout.offset == place
        of_part = Buffer.of_host(shown)
        low, high = layout.span(dtype.itemsize)
        assert (of_part.start - start, of_part.nbytes) == (low, high - low)
