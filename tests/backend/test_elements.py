"""Elements that the host reads, and arrays of numbers that a program asks for again."""

from __future__ import annotations

import numpy as np
import pytest

import dcarray as dc

DEVICE = "test:0"


def on_device(x: object) -> dc.DeviceArray:
    return dc.asarray(x, device=DEVICE, copy=True)


def computed(x: object) -> dc.DeviceArray:
    """The same, without a copy on the host."""
    made = on_device(x) + 0
    dc.evaluate(made)
    return made


# --------------------------------------------------------------------- single elements
def test_a_small_array_is_brought_once():
    x = computed(np.arange(100))
    with dc.profile() as profile:
        assert [int(x[k]) for k in range(100)] == list(range(100))
    assert len(profile.of_kind("transfer")) == 1
    assert not profile.of_kind("group")


def test_an_array_is_brought_that_is_read_often():
    x = computed(np.arange(1 << 15))
    with dc.profile() as profile:
        assert [int(x[k]) for k in range(50)] == list(range(50))
    nbytes = [event.nbytes for event in profile.of_kind("transfer")]
    assert nbytes.count(x.nbytes) == 1
    assert sum(nbytes) < 1.01 * x.nbytes


def test_what_is_written_is_seen():
    x = on_device(np.arange(10.0))
    assert float(x[3]) == 3
    x[3] = 7
    assert float(x[3]) == 7
    x += 1
    assert float(x[3]) == 8
    assert float(x[-1]) == 10


def test_an_element_is_what_it_was_when_it_was_taken():
    x = on_device(np.arange(10.0))
    taken, other = x[2], x[5]
    assert float(other) == 5
    x[2] = 9
    assert float(taken) == 2
    assert float(x[2]) == 9


def test_ends_of_slices_are_read_on_the_host():
    ends = on_device(np.array([0, 2, 5, 9], np.uint32))
    x = on_device(np.arange(10))
    for k in range(3):
        got = x[ends[k] : ends[k + 1]]
        np.testing.assert_array_equal(
            got.get(), np.arange(10)[ends.get()[k] :][: len(got)]
        )
        assert got.shape == (int(ends[k + 1]) - int(ends[k]),)
    with pytest.raises(TypeError):
        x[on_device(1.5) :]


# ------------------------------------------------------------------------------ places
@pytest.mark.parametrize("dtype", [np.int64, np.uint32, np.int8])
def test_places_are_looked_at_once(dtype):
    host = np.arange(40.0)
    x, places = on_device(host), on_device(np.arange(20, dtype=dtype))
    for start in range(10):
        got = x[places[start : start + 3]]
        np.testing.assert_array_equal(got.get(), host[start : start + 3])
    with dc.profile() as profile:
        got = x[places[3:9]]
    assert not profile.of_kind("transfer")
    np.testing.assert_array_equal(got.get(), host[3:9])


def test_places_from_the_end():
    host = np.arange(10.0)
    x, places = on_device(host), on_device(np.array([-1, 0, -10, 9]))
    for _ in range(3):
        np.testing.assert_array_equal(x[places].get(), host[[-1, 0, -10, 9]])


def test_wrong_places_are_errors_at_the_call():
    x, places = on_device(np.arange(10.0)), on_device(np.array([1, 2, 3]))
    for _ in range(3):
        assert x[places].get().tolist() == [1, 2, 3]
    places[1] = 10
    for _ in range(3):
        with pytest.raises(IndexError, match="index 10 is out of bounds"):
            x[places]
    places[1] = -10
    for _ in range(3):
        assert x[places].get().tolist() == [1, 0, 3]
    with pytest.raises(IndexError):
        x[:9][places]


# -------------------------------------------------------------------------- new arrays
CALLS = [
    lambda: dc.zeros(5, device=DEVICE),
    lambda: dc.zeros((2, 3), np.complex128, device=DEVICE),
    lambda: dc.ones((2, 3), np.int16, device=DEVICE),
    lambda: dc.full(4, -0.0, device=DEVICE),
    lambda: dc.full(4, 0.0, device=DEVICE),
    lambda: dc.full((4, 2), 7, device=DEVICE),
    lambda: dc.full(3, 1, np.bool, device=DEVICE),
    lambda: dc.arange(7, device=DEVICE),
    lambda: dc.arange(7.0, device=DEVICE),
    lambda: dc.arange(3, 30, 4, np.float32, device=DEVICE),
    lambda: dc.arange(20_000, device=DEVICE),
    lambda: dc.linspace(0, 1, 9, device=DEVICE),
    lambda: dc.linspace(-0.0, 0, 1, device=DEVICE),
    lambda: dc.linspace(0.0, 0, 1, device=DEVICE),
    lambda: dc.eye(4, device=DEVICE),
    lambda: dc.eye(200, 100, 3, device=DEVICE),
    lambda: dc.tri(4, device=DEVICE),
    lambda: dc.indices((3, 4), device=DEVICE),
]


@pytest.mark.parametrize("number", range(len(CALLS)))
def test_calls_that_come_again_give_arrays_of_their_own(number):
    call = CALLS[number]
    host = call().get()
    for turn in range(4):
        x = call()
        got = x.get()
        assert got.dtype == host.dtype
        assert got.tobytes() == host.tobytes()
        x[...] = turn + 2
        assert (x.get() == (turn + 2 if host.dtype != bool else True)).all()


def test_grids_that_come_again_are_arrays_of_their_own():
    with dc.config(device=DEVICE):
        for turn in range(4):
            small, large = dc.mgrid[0:3, 1:5], dc.mgrid[0:3, 5:40_005]
            np.testing.assert_array_equal(small.get(), np.mgrid[0:3, 1:5])
            np.testing.assert_array_equal(large.get(), np.mgrid[0:3, 5:40_005])
            small += turn
            large += turn


def test_arrays_like_another_one_lie_like_it():
    for host in (np.ones((3, 4)), np.ones((3, 4), order="F"), np.ones((2, 6))[:, ::2]):
        x = on_device(host)
        for _ in range(3):
            zeros, empty = dc.zeros_like(x), dc.empty_like(x)
            wanted = np.zeros_like(host)
            np.testing.assert_array_equal(zeros.get(), wanted)
            assert zeros.strides == empty.strides == wanted.strides
            assert dc.ones_like(x, dtype=np.int32).dtype == np.int32


def test_arguments_that_numpy_refuses_stay_refused():
    for _ in range(3):
        with pytest.raises(ValueError, match="negative dimensions"):
            dc.empty((3, -1), device=DEVICE)
        with pytest.raises(TypeError):
            dc.zeros((3, 1.5), device=DEVICE)


def test_reshaping_a_transpose_again():
    host = np.arange(24.0).reshape(4, 6)
    x = on_device(host)
    for _ in range(3):
        got = x.T.reshape(3, 8)
        np.testing.assert_array_equal(got.get(), host.T.reshape(3, 8))
        got[0, 0] = 5
        np.testing.assert_array_equal(x.get(), host)
