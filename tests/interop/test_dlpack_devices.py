"""DLPack from devices whose memory is a handle: the capsules, and how they share."""

from __future__ import annotations

import ctypes
import gc
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import dcarray as dc
from dcarray.array.capsule import _Tensor, _Versioned
from dcarray.backends import registry
from dcarray.errors import UnsupportedError
from tests.metal_simulator import Simulator, installed
from tests.metal_simulator.library import compiler

NEW = (1, 0)
A = np.arange(12, dtype=np.float32).reshape(3, 4)


@pytest.fixture(params=["opencl:0", "metal:0"])
def device(request: pytest.FixtureRequest) -> Iterator[str]:
    label = request.param
    if label == "metal:0":
        if not compiler():
            pytest.skip("needs g++")
        with installed(Simulator()):
            yield label
            registry.remove(label)
    else:
        if not registry.counted("opencl"):
            pytest.skip("needs pyopencl and a driver")
        yield label


class Consumer:
    """What a library does that takes a capsule."""

    def __init__(self, capsule: Any, device: str) -> None:
        api = ctypes.pythonapi
        held = ctypes.py_object(capsule)
        open_ = api["PyCapsule_GetPointer"]
        open_.restype = ctypes.c_void_p
        self.is_new = bool(api["PyCapsule_IsValid"](held, b"dltensor_versioned"))
        name = b"dltensor_versioned" if self.is_new else b"dltensor"
        self.address = open_(held, name)
        self.name = b"used_" + name
        api["PyCapsule_SetName"](held, self.name)
        kind: Any = _Versioned if self.is_new else _Tensor
        self.managed = kind.from_address(self.address)
        self.tensor = self.managed.tensor if self.is_new else self.managed
        self.device = device

    def close(self) -> None:
        """Let go, as C code does, without the GIL."""
        if self.is_new:
            deleter = self.managed.deleter
        else:
            place = self.address + ctypes.sizeof(_Tensor) + 8
            deleter = ctypes.c_void_p.from_address(place).value
        ctypes.CFUNCTYPE(None, ctypes.c_void_p)(deleter)(self.address)

    @property
    def shape(self) -> tuple[int, ...]:
        numbers = ctypes.c_int64 * self.tensor.ndim
        return tuple(numbers.from_address(self.tensor.shape))

    def _run(self, host: np.ndarray[Any, Any], writes: bool) -> None:
        """Copy between the host and the first bytes of the tensor, by the driver."""
        offset = self.tensor.byte_offset
        if self.device == "metal:0":
            buffer: Any = ctypes.cast(self.tensor.data, ctypes.py_object).value
            seen = np.frombuffer(buffer.contents().as_buffer(buffer.length()), "u1")
            seen = seen[offset : offset + host.nbytes].view(host.dtype)
            seen = seen.reshape(host.shape)
            np.copyto(*((seen, host) if writes else (host, seen)))
            return
        import pyopencl as cl

        buffer = cl.MemoryObject.from_int_ptr(self.tensor.data, True)
        backend: Any = registry.backend_for(self.device)
        with cl.CommandQueue(backend._context) as queue:
            if writes:
                cl.enqueue_copy(queue, buffer, host, dst_offset=offset)
            else:
                cl.enqueue_copy(queue, host, buffer, src_offset=offset)
            queue.finish()

    def read(self, dtype: Any) -> np.ndarray[Any, Any]:
        host = np.empty(self.shape, dtype)
        self._run(host, False)
        return host

    def write(self, host: np.ndarray[Any, Any]) -> None:
        self._run(host, True)


def in_use(device: str) -> int:
    gc.collect()
    pool: Any = registry.backend_for(device)
    return int(pool.pool.statistics().in_use)


@pytest.mark.parametrize("version", [None, (0, 8), NEW, (2, 0)])
@pytest.mark.parametrize("copy", [None, True, False])
@pytest.mark.parametrize("dtype", ["bool", "int8", "uint32", "float32", "complex64"])
def test_a_capsule_holds_the_memory(
    device: str, dtype: str, copy: bool | None, version: tuple[int, int] | None
) -> None:
    host = A.astype(dtype)
    x = dc.asarray(host, device=device)
    kind, number = x.__dlpack_device__()
    assert (int(kind), number) == ({"opencl:0": 4, "metal:0": 8}[device], 0)
    capsule = x.__dlpack__(max_version=version, copy=copy)
    consumer = Consumer(capsule, device)
    tensor = consumer.tensor
    assert consumer.is_new == (version in (NEW, (2, 0)))
    assert (tensor.device_type, tensor.device_id) == (kind, number)
    codes = {"b": 6, "i": 0, "u": 1, "f": 2, "c": 5}
    assert (tensor.code, tensor.bits, tensor.lanes) == (
        codes[host.dtype.kind],
        host.itemsize * 8,
        1,
    )
    assert consumer.shape == host.shape
    if consumer.is_new:
        assert consumer.managed.flags == (0 if copy is False else 2)
    del capsule, x
    gc.collect()
    np.testing.assert_array_equal(consumer.read(dtype), host)
    consumer.close()


@pytest.mark.parametrize("version", [None, NEW])
@pytest.mark.parametrize("copy", [True, False])
def test_memory_goes_back(
    device: str, copy: bool, version: tuple[int, int] | None
) -> None:
    before = in_use(device)
    x = dc.asarray(np.ones(5000, np.float32), device=device)
    one = in_use(device) - before
    capsule = x.__dlpack__(max_version=version, copy=copy)
    assert in_use(device) - before == (2 * one if copy else one)
    del capsule  # nobody took it
    assert in_use(device) - before == one
    consumer = Consumer(x.__dlpack__(max_version=version, copy=copy), device)
    del x
    assert in_use(device) - before == one
    consumer.close()
    assert in_use(device) == before


def test_numpy_says_that_it_cannot(device: str) -> None:
    """NumPy lets the capsule go while its exception is on the way."""
    before = in_use(device)
    x = dc.asarray(A, device=device)
    one = in_use(device) - before
    for _ in range(3):
        with pytest.raises((BufferError, RuntimeError), match=r"[Dd]evice"):
            np.from_dlpack(x)
    assert in_use(device) - before == one
    np.testing.assert_array_equal(np.from_dlpack(x, device="cpu"), A)


def test_a_copy_is_one(device: str) -> None:
    x = dc.asarray(A, device=device)
    consumer = Consumer(x.__dlpack__(), device)
    consumer.write(np.zeros_like(A))
    x += 1
    np.testing.assert_array_equal(x.get(), A + 1)
    np.testing.assert_array_equal(consumer.read(np.float32), 0 * A)
    consumer.close()


def test_sharing_goes_both_ways(device: str) -> None:
    x = dc.asarray(A, device=device)
    late = x * 2  # recorded before others can write
    consumer = Consumer(x.__dlpack__(copy=False), device)
    with dc.config(fallback="error"):
        consumer.write(A + 5)
        np.testing.assert_array_equal(late.get(), A * 2)
        np.testing.assert_array_equal(x.get(), A + 5)
        y = x + 1
        total = x.sum()
        dc.synchronize()
        consumer.write(A)
        np.testing.assert_array_equal(y.get(), A + 6)
        assert float(total) == (A + 5).sum()
        x += 1
        x[0, :2] = 7
        dc.synchronize()
        want = A + 1
        want[0, :2] = 7
        np.testing.assert_array_equal(consumer.read(np.float32), want)
        np.testing.assert_array_equal(x.get(), want)
        x[...] = x[::-1]
        np.testing.assert_array_equal(x.get(), want[::-1])
        dc.synchronize()
        np.testing.assert_array_equal(consumer.read(np.float32), want[::-1])
    consumer.close()
    x += 1
    np.testing.assert_array_equal((x + 0).get(), want[::-1] + 1)


def test_a_view_says_where_it_begins(device: str) -> None:
    x = dc.asarray(A, device=device)
    consumer = Consumer(x[1:].__dlpack__(copy=False), device)
    assert consumer.tensor.byte_offset == 16
    np.testing.assert_array_equal(consumer.read(np.float32), A[1:])
    consumer.close()
    turned = Consumer(x.T[:, 1].__dlpack__(copy=False), device)
    strides = (ctypes.c_int64 * 1).from_address(turned.tensor.strides)
    assert (turned.shape, *strides) == ((4,), 1)
    turned.close()


def test_two_consumers_of_one_memory(device: str) -> None:
    x = dc.asarray(A, device=device)
    first = Consumer(x.__dlpack__(copy=False), device)
    second = Consumer(x[0].__dlpack__(copy=False), device)
    first.write(A + 1)
    np.testing.assert_array_equal(x.get(), A + 1)
    second.close()
    first.write(A + 2)
    np.testing.assert_array_equal(x.get(), A + 2)
    first.close()
    assert not x._is_shared()


def test_one_place_of_sharing(device: str) -> None:
    """What others write on the device, the host may not write, and the reverse."""
    x = dc.asarray(A, device=device)
    consumer = Consumer(x.__dlpack__(copy=False), device)
    with pytest.raises(BufferError, match=f"shared on {device}"):
        x.__dlpack__(dl_device=(1, 0), copy=False)
    with pytest.raises(UnsupportedError, match=f"shared with others on {device}"):
        x._writable_array()
    np.testing.assert_array_equal(
        np.from_dlpack(x, device="cpu", copy=True), consumer.read(np.float32)
    )
    consumer.close()
    host = np.from_dlpack(x, device="cpu", copy=False)
    with pytest.raises(BufferError, match="shared on cpu"):
        x.__dlpack__(copy=False)
    host[0, 0] = 9
    assert float(x[0, 0]) == 9
    del host
    Consumer(x.__dlpack__(copy=False), device).close()


def test_shared_memory_is_not_spilled(device: str) -> None:
    x = dc.asarray(A, device=device)
    buffer = x._bind().value.buffer
    assert buffer is not None
    consumer = Consumer(x.__dlpack__(copy=False), device)
    assert buffer.spill(device) == buffer.drop(device) == 0
    assert buffer.valid_devices() == [device]
    consumer.close()
    assert buffer.spill(device) == buffer.nbytes
    np.testing.assert_array_equal(x.get(), A)


def test_what_a_capsule_cannot_say(device: str) -> None:
    x = dc.asarray(A, device=device)
    with pytest.raises(BufferError, match="stream=3"):
        x.__dlpack__(stream=3)
    with pytest.raises(BufferError, match="dl_device"):
        x.__dlpack__(dl_device=(2, 0))
    x.setflags(write=False)
    with pytest.raises(BufferError):
        x.__dlpack__(copy=False)
    locked = Consumer(x.__dlpack__(copy=False, max_version=NEW), device)
    assert locked.managed.flags == 1
    locked.close()
    Consumer(x.__dlpack__(), device).close()


def test_numbers_that_numpy_does_not_export() -> None:
    bfloat16 = pytest.importorskip("ml_dtypes").bfloat16
    if not compiler():
        pytest.skip("needs g++")
    with installed(Simulator()):
        x = dc.asarray(A.astype(bfloat16), device="metal:0")
        consumer = Consumer(x.__dlpack__(), "metal:0")
        assert (consumer.tensor.code, consumer.tensor.bits) == (4, 16)
        assert (consumer.read(bfloat16) == A.astype(bfloat16)).all()
        consumer.close()
        registry.remove("metal:0")


class Foreign:
    """An array of another library on a GPU that gives no copies."""

    def __dlpack__(self, **keywords: object) -> object:
        raise BufferError("only here")

    def __dlpack_device__(self) -> tuple[int, int]:
        return (4, 0)


def test_a_foreign_capsule_is_refused() -> None:
    with pytest.raises(BufferError, match=r"OpenCL memory \(DLPack's type 4\)"):
        dc.from_dlpack(Foreign())
