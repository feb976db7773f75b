"""Index arrays and masks that lie on the device stay there when they are used."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import dcarray as dc
from dcarray.backends.registry import backend_for

from .library_checks import DEVICE, settings

pytest.importorskip("pyopencl")
if DEVICE not in [str(device) for device in dc.devices()]:
    pytest.skip("there is no OpenCL device", allow_module_level=True)

X = np.arange(210, dtype=np.float32).reshape(6, 7, 5)

KEYS: list[Any] = [
    np.array([2, 0, 2, -1]),
    np.array(-2),
    (..., np.array([[0], [-5]], np.int8)),
    (np.array([2, 0]), slice(None), np.array([1, 4], np.uint16)),
    (np.array([[2], [0]]), np.array([1, -2]), slice(1, 3)),
    (slice(None), np.array(1), [0, 3], None),
    X % 3 == 0,
    X[:, :, 0] > 50,
    (slice(1, 4), X[0] % 2 == 0),
    (X[:, 0, 0] > 100, np.array([6, 0, 1, 1])[:3]),
    (None, X[:, :, 0] > 90, 0),
    X > 1000,
    np.array(True),
    np.array([], np.int64),
    np.zeros((6, 0), bool),
    (slice(2), np.zeros((0, 5), bool)),
]


@pytest.fixture(autouse=True)
def nothing_on_the_host() -> Iterator[None]:
    with settings():
        yield


def on_device(key: Any) -> Any:
    """The key with its arrays on the device, and nowhere else."""
    if isinstance(key, tuple):
        return tuple([on_device(item) for item in key])
    if not isinstance(key, np.ndarray):
        return key
    made = dc.asarray(key, device=DEVICE)
    made = made == True if key.dtype == bool else made + key.dtype.type(0)  # noqa: E712
    dc.evaluate(made)
    return made


def single_numbers(key: Any) -> int:
    """How many of its arrays have no dimensions: a write reads those."""
    items = key if isinstance(key, tuple) else (key,)
    arrays = [item for item in items if isinstance(item, np.ndarray)]
    return sum([not item.ndim and item.dtype.kind != "b" for item in arrays])


@pytest.mark.parametrize("key", KEYS, ids=range(len(KEYS)))
def test_reading(key: Any) -> None:
    for host, x in ((X, on_device(X)), (X[:, :, ::-1], on_device(X)[:, :, ::-1])):
        if isinstance(key, np.ndarray) and key.shape == X.shape:
            host, x = X, on_device(X)
        given = on_device(key)
        with dc.profile() as profile:
            got = x[given]
        assert not profile.of_kind("transfer")
        np.testing.assert_array_equal(got.get(), host[key])


@pytest.mark.parametrize("key", KEYS, ids=range(len(KEYS)))
def test_writing(key: Any) -> None:
    for value in (
        np.array(7.0),
        np.arange(1000.0)[: X[key].size].reshape(X[key].shape),
    ):
        x, want = on_device(X), X.copy()
        given, stored = on_device(key), on_device(value)
        with dc.profile() as profile:
            x[given] = stored
        assert len(profile.of_kind("transfer")) == single_numbers(key)
        want[key] = value
        np.testing.assert_array_equal(x.get(), want)


WAYS: list[Any] = [
    lambda a: a,
    lambda a: a[::2, :, ::-1],
    lambda a: a.transpose(2, 0, 1),
    lambda a: a[1:, 2],
]


@pytest.mark.parametrize("way", WAYS, ids=range(len(WAYS)))
def test_writing_where_the_elements_lie(way: Any) -> None:
    """Through views, what was recorded before left as it was, also with overlap."""
    x, want = on_device(X), X.copy()
    seen, there = way(want), way(x)
    before, recorded = seen + want.flat[0], there + x[0, 0, 0]
    places = np.array([2, 0, -1, 2])
    value = np.arange(float(seen[places].size), dtype=np.float32)
    value = value.reshape(seen[places].shape)
    there[on_device(places)] = on_device(value)
    seen[places] = value
    np.testing.assert_array_equal(recorded.get(), before)
    np.testing.assert_array_equal(x.get(), want)
    order = np.arange(len(seen))[::-1]
    there[on_device(order)] = there[: len(seen)] * 1
    seen[order] = seen.copy()
    there[on_device(places[:3])] = there[:3]
    seen[places[:3]] = seen[:3].copy()
    np.testing.assert_array_equal(x.get(), want)
    with pytest.raises(IndexError, match="index 99 is out of bounds"):
        there[on_device(np.array([0, 99]))] = 1
    with pytest.raises(ValueError, match="shape mismatch"):
        there[on_device(places)] = on_device(np.zeros((5, 5, 5, 5), np.float32))
    np.testing.assert_array_equal(x.get(), want)


def test_writing_needs_no_second_array() -> None:
    x = dc.zeros(1 << 20, np.float32, device=DEVICE)
    dc.evaluate(x)
    places = on_device(np.arange(0, 1 << 20, 1000))
    x[places] = 1  # everything is built
    pool = backend_for(DEVICE).pool
    pool.trim()
    held = pool.statistics().held
    with dc.config(pool_limit=held + (1 << 20)):
        x[places] = 2
    assert pool.statistics().held <= held + (1 << 20)
    want = np.zeros(1 << 20, np.float32)
    want[::1000] = 2
    np.testing.assert_array_equal(x.get(), want)


def test_elements_that_lie_in_one_place() -> None:
    x = on_device(np.arange(4, dtype=np.float32))
    wide = dc.lib.stride_tricks.as_strided(x, (3, 2), (4, 4))
    host = np.arange(4, dtype=np.float32)
    same = np.lib.stride_tricks.as_strided(host, (3, 2), (4, 4))
    wide[on_device(np.array([0, 1]))] = 9
    same[np.array([0, 1])] = 9
    np.testing.assert_array_equal(wide.get()[0], same[0])


def test_a_mask_over_axes_that_no_step_joins() -> None:
    x = np.arange(5 * 6 * 7.0).reshape(5, 6, 7)
    seen, there = x[::2, 1:, ::-3], on_device(x)[::2, 1:, ::-3]
    mask = seen % 2 == 0
    np.testing.assert_array_equal(there[on_device(mask)].get(), seen[mask])


@pytest.mark.parametrize(
    ("key", "message"),
    [
        (np.array([0, 6]), "index 6 is out of bounds for axis 0 with size 6"),
        ((..., np.array([-6])), "index -6 is out of bounds for axis 2 with size 5"),
        (np.ones(5, bool), "boolean index did not match"),
        ((np.array([0, 1]), np.array([0, 1, 2])), "shape mismatch"),
        (np.array([0.5]), "must be of integer"),
    ],
)
def test_refusals(key: Any, message: str) -> None:
    x, given = on_device(X), on_device(key)
    with pytest.raises(IndexError, match=message):
        x[given]
    with pytest.raises(IndexError, match=message):
        x[given] = np.arange(2.0)[:, None, None]


def test_an_element_is_a_number_in_numpy_programs() -> None:
    x, place = on_device(np.arange(5.0)), on_device(np.array(3))
    with dc.config(scalars="numpy"):
        assert type(x[place]) is np.float64
        assert x[..., place].shape == ()
        one = dc.zeros((), device=DEVICE)
        one[one == 0] = 4
        assert one.get() == 4
    assert x[place].shape == ()


def test_views_see_what_was_written_and_recorded_values_do_not() -> None:
    x, places = on_device(np.zeros(10)), on_device(np.array([2, 3]))
    part, turned, pending = x[2:5], x.reshape(2, 5).T, x + 1
    with dc.profile() as profile:
        x[places] = 7
    assert len(profile.of_kind("library")) == 1
    assert [group.name for group in profile.groups] == ["add"]  # it reads the memory
    assert part.get().tolist() == [7, 7, 0]
    assert turned.get()[2].tolist() == [7, 0]
    assert pending.get().tolist() == [1] * 10
    part[places - 2] = 1
    part[2] = 5
    assert x.get().tolist() == [0, 0, 1, 1, 5, 0, 0, 0, 0, 0]


def test_complex_values_lose_their_imaginary_parts() -> None:
    x, given = on_device(np.zeros(3)), on_device(np.array([1 + 2j]))
    for key in (on_device(np.array([0, 2])), slice(0, 3, 2)):
        with pytest.warns(np.exceptions.ComplexWarning):
            x[key] = given
    assert x.get().tolist() == [1, 0, 1]


def test_as_many_axes_as_there_can_be() -> None:
    x = on_device(np.zeros((1,) * 64))
    x[..., on_device(np.array([0]))] = 1
    x[(0,) * 30 + (on_device(np.array([0])),)] += 1
    assert x.get() == 2
    with pytest.raises(IndexError):
        x[(on_device(np.array(True)),) * 20]


CALLS: list[Any] = [
    lambda np, x, mask, k, v: np.compress(mask[0, 0], x, axis=2),
    lambda np, x, mask, k, v: np.extract(mask, x),
    lambda np, x, mask, k, v: np.take(x, k, axis=1),
    lambda np, x, mask, k, v: (np.put(x, k, v), x)[1],
    lambda np, x, mask, k, v: (np.put(x, k * 99, v, mode="wrap"), x)[1],
    lambda np, x, mask, k, v: (np.place(x, mask, v), x)[1],
    lambda np, x, mask, k, v: (np.putmask(x, mask, v), x)[1],
]


@pytest.mark.parametrize("call", CALLS, ids=range(len(CALLS)))
def test_functions(call: Any) -> None:
    mask, k, v = X % 3 == 0, np.array([3, -1, 0]), np.array([7, 8], np.float32)
    given = [on_device(x) for x in (X, mask, k, v)]
    with dc.profile() as profile:
        got = call(dc, *given)
    assert not profile.of_kind("transfer")
    np.testing.assert_array_equal(got.get(), call(np, X.copy(), mask, k, v))


def test_nothing_to_place() -> None:
    x = on_device(X)
    dc.place(x, x > 1000, [])
    dc.putmask(x, x > 5, np.array([], np.float32))
    np.testing.assert_array_equal(x.get(), X)
    with pytest.raises(ValueError, match="Cannot insert from an empty array"):
        dc.place(x, x > 5, [])


def test_what_goes_to_the_device_is_shown() -> None:
    x, places = on_device(X), np.arange(100) % 6
    with dc.profile() as profile:
        x[places]
    moved = [(e.device, e.nbytes) for e in profile.of_kind("transfer")]
    assert moved == [(f"cpu -> {DEVICE}", 800)]
