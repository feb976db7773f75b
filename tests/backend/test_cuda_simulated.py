"""CUDA's runtime on a simulated one: streams, memory, graphs, exchange."""

from __future__ import annotations

import ctypes
import gc
import struct
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import dcarray as dc
from dcarray.backends.cuda.functions import Launcher
from dcarray.backends.cuda.streams import Streams
from dcarray.backends.registry import backend_for, counted
from dcarray.errors import CompileError
from dcarray.testing import SimulatedDevice
from tests.cuda_simulator import Runtime, installed
from tests.interop.test_dlpack_devices import Consumer

pytestmark = pytest.mark.skipif(bool(counted("cuda")), reason="there is a real one")

DEVICE = "cuda:0"
A = np.arange(24, dtype="f4").reshape(4, 6)


@pytest.fixture(scope="module")
def device() -> Iterator[Runtime]:
    with installed() as made:
        yield made


@pytest.fixture
def runtime(device: Runtime) -> Runtime:
    device.log.clear()
    return device


def backend() -> Any:
    return backend_for(DEVICE)


def on_gpu(host: Any) -> dc.DeviceArray:
    return dc.asarray(np.asarray(host), device=DEVICE)


def pointer(stream: dc.DeviceArray) -> int:
    return int(stream.__cuda_stream__()[1])  # type: ignore[attr-defined]


# ---------------------------------------------------------------------------- streams
def test_one_stream_waits_for_nothing(runtime: Runtime) -> None:
    x = on_gpu(A)
    y = x * 2 + 1
    assert np.array_equal(y.get(), A * 2 + 1)
    assert not {"record", "wait"} & {what for what, _ in runtime.log}


def test_streams_wait_where_they_meet(runtime: Runtime) -> None:
    x = on_gpu(A)
    first, second = dc.stream(), dc.stream()
    one, two = pointer(first), pointer(second)
    assert len({0, one, two}) == 3
    with first:
        y = x * 2
        dc.evaluate(y)
    runtime.log.clear()
    with first:
        dc.evaluate(y + 1)  # it made y itself
    assert runtime.log == [("kernel", one)]
    runtime.log.clear()
    with second:
        z = y * 3
        dc.evaluate(z)
    assert runtime.log == [("record", one), ("wait", two), ("kernel", two)]
    runtime.log.clear()
    with second:
        dc.evaluate(y * 4)  # it has waited
    assert runtime.log == [("kernel", two)]
    runtime.log.clear()
    y[...] = 0  # both others have used it
    waits = [("record", one), ("wait", 0), ("record", two), ("wait", 0)]
    assert [entry for entry in runtime.log if entry[0] != "copy"] == [
        *waits,
        ("kernel", 0),
    ]
    assert np.array_equal(z.get(), A * 6)


def test_streams_keep_their_memory(runtime: Runtime) -> None:
    x = on_gpu(np.ones(5000, "f4"))
    stream, other = dc.stream(), dc.stream()
    with stream:
        y = x + 1
        dc.evaluate(y)
    block = y._bind().value.buffer._copies[DEVICE]  # type: ignore[union-attr, index]
    address = block.pointer
    del y, block
    gc.collect()
    with other:
        dc.evaluate(x + 2)
    with stream:
        z = x + 3
        dc.evaluate(z)
    again = z._bind().value.buffer._copies[DEVICE]  # type: ignore[union-attr, index]
    assert again.pointer == address
    with other:
        dc.evaluate(z * 2)
    del z, again
    gc.collect()
    runtime.log.clear()
    with stream:
        dc.evaluate(x + 4)  # in memory that the other stream may still read
    assert runtime.log[:2] == [("record", pointer(other)), ("wait", pointer(stream))]


def test_streams_of_others(runtime: Runtime) -> None:
    class Theirs:
        def __cuda_stream__(self) -> tuple[int, int]:
            return (0, 4096)

    x = on_gpu(A)
    with dc.stream(Theirs()) as stream:
        y = x + 1
        dc.evaluate(y)
    assert pointer(stream) == 4096 and ("kernel", 4096) in runtime.log
    assert np.array_equal((y + 1).get(), A + 2)
    assert pointer(dc.stream(0)) == 0
    with pytest.raises(TypeError, match="takes a stream"):
        dc.stream("mine")


def test_streams_inside_of_each_other_and_events(runtime: Runtime) -> None:
    first, second = dc.stream(), dc.stream()
    x = on_gpu(A)
    with first, second, first:
        dc.evaluate(x + 1)
        event = first.record()
    assert runtime.log[-2:] == [("kernel", pointer(first)), ("record", pointer(first))]
    second.wait(event)
    assert event.done and event.since(first.record()) == 1e-3
    first.synchronize()
    assert first.done and "cuda:0" in repr(first)
    dc.evaluate(x + 2)
    assert runtime.log[-1] == ("kernel", 0)


def test_other_devices_have_one_stream() -> None:
    with dc.stream(device="cpu") as stream:
        assert (dc.ones(3) + 1).tolist() == [2, 2, 2]
    stream.synchronize()
    assert stream.done
    with pytest.raises(AttributeError, match="no streams"):
        stream.__cuda_stream__()
    with pytest.raises(dc.UnsupportedError, match="no events"):
        stream.record()


# ----------------------------------------------------------------------------- graphs
def test_a_graph_is_launched_and_nothing_else(runtime: Runtime) -> None:
    w = on_gpu(A[0])
    calls = []

    @dc.graph
    def step(x: Any, factor: Any = 2, *, more: Any = ()) -> Any:
        calls.append(factor)
        y = dc.sqrt(x) * factor + w
        return {"y": y, "sum": y.sum(axis=1)}, y[::2, 1:], [x, more, factor]

    for k in range(5):
        host = A + k
        x = on_gpu(host[:, ::-1]) if k > 3 else on_gpu(host)
        named, part, (same, more, factor) = step(x, more=(x, 7))
        y = np.sqrt(x.get()) * 2 + w.get()
        assert np.allclose(named["y"].get(), y)
        assert np.allclose(named["sum"].get(), y.sum(axis=1))
        assert np.allclose(part.get(), y[::2, 1:])
        assert np.array_equal(same.get(), x.get())
        assert np.array_equal(more[0].get(), x.get()) and (more[1], factor) == (7, 2)
        if k == 2:
            w += 1
    assert calls == [2, 2]
    kept = named["y"].get()
    runtime.log.clear()
    step(on_gpu(A * 0), more=(x, 7))  # two arrays now, and so another graph
    step(on_gpu(A), 3)
    assert calls == [2, 2, 2, 3]
    assert np.array_equal(named["y"].get(), kept)
    step.clear()
    step(x, more=(x, 7))
    assert calls[4:] == [2]


def test_a_replay_is_in_order_with_other_streams(runtime: Runtime) -> None:
    double = dc.graph(lambda x: x * 2)
    x = on_gpu(A)
    double(x), double(x), double(x)
    stream = dc.stream()
    runtime.log.clear()
    with stream:
        y = double(x)
    launches = [entry for entry in runtime.log if entry[0] in ("graph", "kernel")]
    assert launches == [("graph", pointer(stream))]
    assert ("record", 0) in runtime.log and ("wait", pointer(stream)) in runtime.log
    assert np.array_equal((y + 1).get(), A * 2 + 1)


def _on_a_stream(x: Any) -> Any:
    with dc.stream():
        return x + 1


def _assigned(x: Any) -> Any:
    x += 1
    return x


@pytest.mark.parametrize(
    ("function", "message"),
    [
        (lambda x: float(x.sum()), "reads an array on the host"),
        (_assigned, "writes an array that was there before"),
        (lambda x: x + dc.asarray(A, device=DEVICE), "brings data of the host"),
        (lambda x: dc.synchronize(), "waits for the device"),
        (_on_a_stream, "one stream"),
    ],
)
def test_what_a_graph_cannot_repeat(
    runtime: Runtime, function: Any, message: str
) -> None:
    captured = dc.graph(function)
    x = on_gpu(A)
    captured(x)
    for _ in range(2):
        with pytest.raises(dc.CaptureError, match=message) as caught:
            captured(x)
        assert caught.value.device == DEVICE
    assert np.array_equal((x + 1).get(), x.get() + 1)


def test_graphs_inside_of_graphs(runtime: Runtime) -> None:
    double = dc.graph(lambda x: x * 2)
    outer = dc.graph(lambda x: double(double(x) + 1))
    x = on_gpu(A)
    for _ in range(4):
        assert np.array_equal(outer(x).get(), (A * 2 + 1) * 2)
    runtime.log.clear()
    outer(x)
    assert [what for what, _ in runtime.log].count("graph") == 1


def test_random_numbers_are_not_repeated(runtime: Runtime) -> None:
    with dc.config(device=DEVICE):
        rng = dc.random.Generator(np.random.Philox(1))
        draw = dc.graph(lambda x: x + rng.random(3))
        x = on_gpu(np.zeros(3))
        draw(x)
        with pytest.raises(dc.CaptureError, match="random numbers"):
            draw(x)


def test_graphs_take_arrays_and_hashable_values(runtime: Runtime) -> None:
    first = dc.graph(lambda x, y: x)
    with pytest.raises(TypeError, match="got an argument of type ndarray"):
        first(on_gpu(A), A)
    assert first(dc.ones(3), A).shape == (3,)  # simply called


def test_what_graphs_hold_goes_back(runtime: Runtime) -> None:
    def use() -> None:
        chain = dc.graph(lambda x: dc.sqrt(x).sum(axis=0) * 2)
        for _ in range(3):
            chain(on_gpu(A))

    use()
    gc.collect()
    before = backend().pool.statistics().in_use
    for _ in range(3):
        use()
    gc.collect()
    assert backend().pool.statistics().in_use == before
    assert len(runtime.graphs) <= 8


# -------------------------------------------------------------------------- transfers
def test_large_arrays_go_straight(
    runtime: Runtime, monkeypatch: pytest.MonkeyPatch
) -> None:
    from dcarray.backends.cuda import transfers

    monkeypatch.setattr(transfers, "LARGE", 1 << 20)
    monkeypatch.setattr(transfers, "CHUNK", 400_000)
    host = np.random.default_rng(0).integers(0, 255, 2_500_001).astype("u1")
    wanted = host.copy()
    x = dc.asarray(host, device=DEVICE)
    host[...] = 0
    assert runtime.log.count(("copy", 0)) == 7
    events = runtime.events
    buffer = x._bind().value.buffer
    assert buffer is not None and buffer.valid_devices() == [DEVICE]
    out = dc.pinned_empty(host.shape, "u1")
    assert x.get(out=out) is out
    assert np.array_equal(out, wanted) and np.array_equal(x.get(), wanted)
    assert buffer.valid_devices() == [DEVICE]
    there = x.to_device("cpu")
    assert there.device == "cpu" and np.array_equal(there, wanted)
    assert runtime.events <= events + 2  # those of the last transfer
    with pytest.raises(ValueError, match="shape"):
        x.get(out=out[1:])


def test_memory_that_is_full(runtime: Runtime, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(runtime, "limit", runtime._used + 5 * 4096)
    backend().pool.trim()
    kept = [on_gpu(np.full(1000, k, "f4")) for k in range(12)]
    total = kept[0]
    for x in kept[1:]:
        total = total + x
        dc.evaluate(total)
    assert total.get().tolist() == [sum(range(12))] * 1000
    assert [float(x[0]) for x in kept] == list(range(12))


def test_memory_that_cupy_keeps_is_taken_back(
    runtime: Runtime, monkeypatch: pytest.MonkeyPatch
) -> None:
    backend().pool.trim()
    monkeypatch.setattr(runtime, "limit", runtime._used + 3 * 4096)
    runtime.theirs.idle += [runtime.malloc(4096), runtime.malloc(4096)]
    with dc.config(fallback="error"), dc.profile() as seen:
        x = on_gpu(np.ones(1000, "f4"))
        y = x + 1
        assert y.get().tolist() == [2] * 1000
    assert not runtime.theirs.idle and not seen.of_kind("spill")


def test_without_a_compiler_another_device_computes(
    runtime: Runtime, monkeypatch: pytest.MonkeyPatch
) -> None:
    from dcarray.backends.cuda import backend as module

    def build(self: Any, text: str, kernel: Any) -> Any:
        self._builder.lacks_compiler = True
        raise CompileError("no NVRTC", device=DEVICE)

    x = on_gpu(A)
    assert backend().instead() == []
    monkeypatch.setattr(module.CudaBackend, "build", build)
    with SimulatedDevice() as device:
        monkeypatch.setattr(module.CudaBackend, "instead", lambda self: [device.label])
        with dc.profile() as seen:
            y = dc.hypot(x, 3)
            assert np.allclose(y.get(), np.hypot(A, 3)) and y.device == DEVICE
    assert [event.device for event in seen.fallbacks] == [device.label]
    with dc.profile() as seen:
        monkeypatch.setattr(module.CudaBackend, "instead", lambda self: [])
        assert np.allclose(dc.hypot(x, 4).get(), np.hypot(A, 4))
    assert [event.device for event in seen.fallbacks] == ["cpu"]
    with dc.config(fallback="error"), pytest.raises(CompileError):
        dc.hypot(x, x).get()
    monkeypatch.undo()
    monkeypatch.setattr(module, "counted", lambda kind: 2)
    monkeypatch.setattr(module, "is_nvidia", lambda label: label == "opencl:1")
    assert backend().instead() == ["opencl:1"]
    backend()._builder.lacks_compiler = False


# --------------------------------------------------------------------------- exchange
def test_capsules_share_and_the_consumer_waits(runtime: Runtime) -> None:
    x = on_gpu(A)
    consumer = Consumer(x[1:].__dlpack__(stream=1, max_version=(1, 0)), DEVICE)
    tensor = consumer.tensor
    assert (tensor.device_type, tensor.byte_offset) == (2, 24)
    assert consumer.shape == (3, 6) and consumer.managed.flags == 0
    assert x._is_shared() and not {"record", "wait"} & {w for w, _ in runtime.log}
    consumer.close()
    assert not x._is_shared()
    x.__dlpack__(stream=4096)
    assert runtime.log[-2:] == [("record", 0), ("wait", 4096)]
    runtime.log.clear()
    x.__dlpack__(stream=-1)
    assert not runtime.log
    copied = Consumer(x.__dlpack__(copy=True, max_version=(1, 0)), DEVICE)
    assert copied.managed.flags == 2 and not x._is_shared()
    copied.close()
    for stream in (0, -2):
        with pytest.raises(BufferError, match=f"stream={stream}"):
            x.__dlpack__(stream=stream)
    x.setflags(write=False)
    old = Consumer(x.__dlpack__(), DEVICE)  # has no word for it: a copy
    assert not x._is_shared()
    old.close()


def test_the_interface_of_cuda(runtime: Runtime) -> None:
    x = on_gpu(A)
    late = x * 2
    y = x[1:, ::2]
    told = y.__cuda_array_interface__
    memory = y._bind().value.buffer._copies[DEVICE]  # type: ignore[union-attr, index]
    assert told["data"] == (memory.pointer + 24, False)
    assert (told["shape"], told["strides"]) == ((3, 3), (24, 8))
    assert (told["typestr"], told["version"], told["stream"]) == ("<f4", 3, 1)
    assert not late._is_pending() and y._is_shared() and x._is_shared()
    del y
    assert not x._is_shared()
    for other in (dc.ones(3), dc.ones(3, device="cpu")):
        assert not hasattr(other, "__cuda_array_interface__")


# --------------------------------------------------------------------------- launches
@pytest.mark.parametrize(
    ("codes", "last"),
    [
        ("QQfdbHi", [-9]),
        ("QQfdbH", []),
        ("QQfdbHq", [-9]),
        ("QQfdbHbid", [-1, 2**31 - 1, 0.5]),
    ],
)
def test_the_driver_gets_arguments_as_c_has_them(codes: str, last: list[Any]) -> None:
    """Compiled, by a call in C; from the sources, by the function that packs them."""
    seen: list[tuple[int, tuple[int, ...], int, bytes]] = []
    word = ctypes.c_uint
    kind = ctypes.CFUNCTYPE(
        *(ctypes.c_int, ctypes.c_void_p, *[word] * 7, ctypes.c_void_p, ctypes.c_void_p),
        ctypes.POINTER(ctypes.c_void_p),
    )

    def driver(function: Any, *rest: Any) -> int:
        *sizes, _, stream, _, extra = rest
        size = ctypes.cast(extra[3], ctypes.POINTER(ctypes.c_size_t))[0]
        room = ctypes.string_at(extra[1], size)
        seen.append((function, tuple(sizes), stream or 0, room))
        return 0

    def packed(_: Any, sizes: Any, stream: int, given: Any) -> bool:
        seen.append((7, sizes, stream, struct.pack("@" + codes, *given)))
        return True

    entry = kind(driver)
    function = SimpleNamespace(handle=7, codes=codes.encode(), writes=())
    function.launched = packed
    home = SimpleNamespace(_is_only=True, streams=Streams(DEVICE, lambda: None))
    home.entry = ctypes.cast(entry, ctypes.c_void_p).value
    starter: Any = Launcher(home, pytest.fail, function, (1, 2, 3, 4, 5, 6), last)  # type: ignore[arg-type]
    memories = [SimpleNamespace(pointer=2**40), SimpleNamespace(pointer=2**63)]
    numbers = (np.float32(1.1), 2.1, -3, np.uint16(65535))
    starter(memories, numbers)
    wanted = struct.pack("@" + codes, 2**40, 2**63, *numbers, *last)
    assert seen == [(7, (1, 2, 3, 4, 5, 6), 0, wanted)]
