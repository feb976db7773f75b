"""DLPack, in both directions."""

from __future__ import annotations

import numpy as np
import pytest

import dcarray as dc

DTYPES = "bool int8 int64 uint16 float16 float32 float64 complex64 complex128".split()


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", [(), (0,), (5,), (3, 4)])
def test_round_trip(dtype: str, shape: tuple[int, ...]) -> None:
    x = np.arange(np.prod(shape, dtype=int)).reshape(shape).astype(dtype)
    y = dc.from_dlpack(x)
    assert isinstance(y, dc.DeviceArray)
    assert (y.dtype, y.shape, y.strides) == (x.dtype, x.shape, x.strides)
    back = np.from_dlpack(y)
    assert type(back) is np.ndarray
    np.testing.assert_array_equal(back, x)


def test_memory_is_shared_both_ways() -> None:
    x = np.zeros(5)
    y = dc.from_dlpack(x)
    y[1] = 7
    x[2] = 8
    assert x.tolist() == y.tolist() == [0, 7, 8, 0, 0]
    z = np.from_dlpack(y)
    z[3] = 9
    assert y[3] == x[3] == 9


def test_shared_memory_is_read_at_once() -> None:
    x = np.ones(100_000)
    y = dc.from_dlpack(x) + 1
    x[:] = 50
    assert y.max() == 2


def test_an_export_runs_pending_readers_first() -> None:
    x = dc.ones(100_000)
    y = x + 1
    n = np.from_dlpack(x)
    n[:] = 50
    assert y.max() == 2
    assert x.min() == 50


def test_a_strided_view() -> None:
    x = np.arange(12.0).reshape(3, 4)
    y = dc.from_dlpack(x[::2, ::-1])
    assert y.strides == x[::2, ::-1].strides
    np.testing.assert_array_equal(np.from_dlpack(y[:, 1:]), x[::2, ::-1][:, 1:])


def test_copies() -> None:
    x = np.zeros(3)
    y = dc.from_dlpack(x, copy=True)
    x[0] = 1
    assert y[0] == 0
    z = dc.from_dlpack(y, copy=True)
    z[0] = 5
    assert y[0] == 0
    w = dc.from_dlpack(y, copy=False)
    w[0] = 6
    assert y[0] == 6


def test_devices() -> None:
    x = np.arange(3.0)
    assert dc.ones(3).__dlpack_device__() == (1, 0)
    assert dc.ones(3, device="cpu").__dlpack_device__() == (1, 0)
    assert dc.from_dlpack(x, device="cpu").device == "cpu"
    there = dc.from_dlpack(x, device="test:0")
    assert there.device == "test:0"
    assert there.tolist() == [0, 1, 2]
    with pytest.raises(ValueError, match="cannot be shared"):
        dc.from_dlpack(x, device="test:0", copy=False)
    assert dc.from_dlpack(there, device="cpu").tolist() == [0, 1, 2]


def test_versions_and_flags() -> None:
    x = dc.ones(3)
    for version in (None, (0, 8), (1, 0), (2, 0)):
        assert "dltensor" in repr(x.__dlpack__(max_version=version))
    assert "dltensor" in repr(x.__dlpack__(dl_device=(1, 0), copy=True))
    with pytest.raises(BufferError):
        x.__dlpack__(dl_device=(2, 0))


def test_a_read_only_array_stays_read_only() -> None:
    x = dc.broadcast_to(dc.ones(1), (4,))
    n = np.from_dlpack(x)
    assert not n.flags.writeable
    y = dc.from_dlpack(n)
    with pytest.raises(ValueError, match="read-only"):
        y[0] = 1


class Foreign:
    """An array of a library that knows DLPack and nothing else."""

    def __init__(self, array: np.ndarray) -> None:
        self.array = array

    def __dlpack__(self, **keywords: object) -> object:
        return self.array.__dlpack__(**keywords)  # type: ignore[arg-type]

    def __dlpack_device__(self) -> tuple[int, int]:
        return (1, 0)


def test_asarray_takes_foreign_arrays() -> None:
    x = np.arange(4.0)
    y = dc.asarray(Foreign(x))
    x[0] = 9
    assert y.tolist() == [0, 1, 2, 3]
    shared = dc.asarray(Foreign(x), copy=False)
    x[1] = 9
    assert shared.tolist() == [9, 9, 2, 3]
