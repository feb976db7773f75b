"""CUDA's runtime: exchange, transfers, streams, graphs, faults, on a GPU."""

from __future__ import annotations

import subprocess
import sys
import threading
from typing import Any

import numpy as np
import pytest

import dcarray as dc
from dcarray.backends.registry import counted

pytestmark = pytest.mark.skipif(not counted("cuda"), reason="needs CuPy and a GPU")

DEVICE = "cuda:0"
DTYPES = "bool int8 uint16 int32 int64 float16 float32 float64 complex64".split()


def backend() -> Any:
    from dcarray.backends.registry import backend_for

    return backend_for(DEVICE)


def on_gpu(host: Any) -> dc.DeviceArray:
    return dc.asarray(np.asarray(host), device=DEVICE)


def in_a_process(script: str, **variables: str) -> str:
    import os

    done = subprocess.run(
        [sys.executable, "-c", script],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, **variables},
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


# --------------------------------------------------------------------- exchange, out
@pytest.mark.parametrize("dtype", DTYPES)
def test_cupy_takes_arrays(dtype: str) -> None:
    import cupy

    host = np.arange(24).reshape(2, 3, 4).astype(dtype)
    x = on_gpu(host)
    for seen in (cupy.from_dlpack(x[:, ::2]), cupy.asarray(x[:, ::2])):
        assert seen.dtype == host.dtype
        assert np.array_equal(seen.get(), host[:, ::2])
        assert x._is_shared()
        seen[0] = 1
        host[0, ::2] = 1
        assert np.array_equal(x.get(), host)
        del seen
    x[1] = 0
    host[1] = 0
    assert np.array_equal((x + x).get(), host + host)


@pytest.mark.parametrize("dtype", [*DTYPES, "bfloat16"])
def test_pytorch_takes_arrays_and_gives_them(dtype: str) -> None:
    torch = pytest.importorskip("torch")
    ml_dtypes = pytest.importorskip("ml_dtypes")
    kind = np.dtype(ml_dtypes.bfloat16 if dtype == "bfloat16" else dtype)
    host = np.arange(12).reshape(3, 4).astype(kind)
    x = on_gpu(host)
    seen = torch.from_dlpack(x)
    assert seen.is_cuda and str(seen.dtype) == f"torch.{dtype}"
    assert seen.data_ptr() == backend().dlpack_handle(memory_of(x))
    assert seen.ne(0).cpu().tolist() == (host != 0).tolist()
    if kind.kind != "b" and dtype != "uint16":  # PyTorch adds none of these
        seen += 1
        assert np.array_equal(x.get(), host + kind.type(1))
    back = dc.from_dlpack(seen.T)
    assert back.device == DEVICE and back.dtype == kind and back._is_shared()
    assert np.array_equal(back.get(), x.get().T)
    if kind.kind != "b" and dtype not in ("uint16", "bfloat16"):
        back *= 2
        torch.cuda.synchronize()
        assert np.array_equal(x.get(), (host + kind.type(1)) * kind.type(2))


def memory_of(x: dc.DeviceArray) -> Any:
    buffer = x._bind().value.buffer
    assert buffer is not None
    return buffer.read_on(backend())


def test_jax_takes_arrays_and_gives_them() -> None:
    jnp = pytest.importorskip("jax.numpy")
    host = np.arange(12, dtype="f4").reshape(3, 4)
    x = on_gpu(host) * 2
    seen = jnp.from_dlpack(x)
    assert np.array_equal(np.asarray(seen), host * 2)
    made = jnp.asarray(host) + 1
    back = dc.from_dlpack(made)
    assert back.device == DEVICE and not back._is_shared()
    assert np.array_equal((back * 2).get(), (host + 1) * 2)
    with pytest.raises(ValueError, match="read-only"):
        back[0, 0] = 1


def test_a_consumer_on_another_stream_waits() -> None:
    torch = pytest.importorskip("torch")
    x = on_gpu(np.ones(1 << 24, "f4"))
    side = torch.cuda.Stream()
    for k in range(5):
        y = x * 1.0001
        for _ in range(20):
            y = dc.sin(y) + dc.cos(y)
        y = y * 0 + k
        with torch.cuda.stream(side):
            seen = torch.from_dlpack(y) + 1
        side.synchronize()
        assert float(seen.min()) == float(seen.max()) == k + 1


def test_pending_readers_run_before_others_can_write() -> None:
    import cupy

    x = on_gpu(np.arange(5.0))
    late = x * 2
    seen = cupy.asarray(x)
    seen[...] = 0
    assert late.get().tolist() == [0, 2, 4, 6, 8]
    assert x.get().tolist() == [0] * 5


def test_what_cannot_go_out() -> None:
    x = on_gpu(np.arange(5.0))
    for stream in (0, -2):
        with pytest.raises(BufferError, match=f"stream={stream}"):
            x.__dlpack__(stream=stream)
    assert not hasattr(dc.ones(3), "__cuda_array_interface__")
    x.setflags(write=False)
    import cupy

    seen = cupy.from_dlpack(x)
    seen += 1  # CuPy does not know read-only memory
    assert cupy.asarray(x).shape == (5,)
    assert x.__cuda_array_interface__["data"][1]


# ---------------------------------------------------------------------- exchange, in
def test_memory_of_cupy_is_shared_and_read_at_once() -> None:
    import cupy

    theirs = cupy.arange(12, dtype="f4").reshape(3, 4)[1:, ::-1]
    for x in (dc.from_dlpack(theirs), dc.asarray(theirs)):
        assert x.device == DEVICE and x.strides == theirs.strides and x._is_shared()
        y = x + 1
        before = theirs.get()
        theirs += 1
        assert np.array_equal(y.get(), before + 1)
        assert np.array_equal(x.get(), before + 1)
        x[0, 0] = 50
        assert float(theirs[0, 0]) == 50
    copied = dc.asarray(theirs, copy=True)
    assert not copied._is_shared() and copied.device == DEVICE
    on_host = dc.from_dlpack(theirs, device="cpu")
    assert on_host.device == "cpu" and np.array_equal(on_host, theirs.get())
    with pytest.raises(ValueError, match="cannot be shared"):
        dc.from_dlpack(theirs, device="cpu", copy=False)
    assert dc.asarray(theirs, dtype="f8").dtype == np.float64


def test_what_another_stream_makes_is_waited_for() -> None:
    import cupy

    with cupy.cuda.Stream(non_blocking=True):
        made = cupy.full(1 << 24, 2, "f4")
        for _ in range(50):
            made = cupy.sqrt(made * made)
        x = dc.from_dlpack(made)
    assert float((x + 1).min()) == 3


def test_products_and_sorts_of_foreign_memory() -> None:
    torch = pytest.importorskip("torch")
    theirs = torch.arange(1, 1 + 33 * 33, device="cuda", dtype=torch.float32)
    x = dc.from_dlpack(theirs[1:].reshape(-1, 32))  # begins where nothing is aligned
    host = theirs[1:].reshape(-1, 32).cpu().numpy()
    assert np.array_equal((x * 2 + 1).get(), host * 2 + 1)
    assert np.array_equal(x.sum(axis=0).get(), host.sum(axis=0))
    assert np.allclose((x @ x.T).get(), host @ host.T)


# ------------------------------------------------------------------------- transfers
@pytest.mark.parametrize("nbytes", [4, 1000, 70_000, 3_000_000, 40_000_004])
@pytest.mark.parametrize("pinned", [False, True])
def test_transfers(nbytes: int, pinned: bool) -> None:
    count = nbytes // 4
    host = dc.pinned_empty(count, "i4") if pinned else np.empty(count, "i4")
    host[...] = np.random.default_rng(0).integers(0, 1 << 30, count)
    wanted = host.copy()
    x = dc.asarray(host, device=DEVICE)
    host[...] = 0  # the array has its own memory
    out = dc.pinned_empty(count, "i4") if pinned else np.empty(count, "i4")
    assert x.get(out=out) is out
    assert np.array_equal(out, wanted)
    assert np.array_equal((x + 1).get(), wanted + 1)
    assert np.array_equal(x.to_device("cpu"), wanted)


def test_get_checks_where_it_writes() -> None:
    x = on_gpu(np.arange(4.0))
    with pytest.raises(ValueError, match="shape"):
        x.get(out=np.empty(5))
    with pytest.raises(TypeError):
        x.get(out=np.empty(4, "f4"))
    out = np.empty(8)[::2]
    assert x.get(out=out).tolist() == [0, 1, 2, 3]


def test_small_uploads_do_not_wait_for_the_device() -> None:
    import time

    x = on_gpu(np.ones(1 << 26, "f4"))
    small = np.arange(100.0)
    dc.synchronize()
    for _ in range(30):
        x = dc.sin(x) + 1
        dc.evaluate(x)
    began = time.perf_counter()
    y = dc.asarray(small, device=DEVICE)
    uploaded = time.perf_counter() - began
    dc.synchronize()
    whole = time.perf_counter() - began
    assert uploaded < whole / 2
    small[...] = 0
    assert y.get().tolist() == list(range(100))


@pytest.mark.skipif(counted("cuda") < 2, reason="needs two GPUs")
def test_copies_between_gpus() -> None:
    x = on_gpu(np.arange(1 << 20, dtype="f4")) * 2
    with dc.profile() as seen:
        y = x.to_device("cuda:1")
    assert y.device == "cuda:1"
    assert np.array_equal(y.get(), x.get())
    assert np.array_equal((y + 1).get(), x.get() + 1)
    routes = [event.device for event in seen.of_kind("transfer")]
    assert routes == ["cuda:0 -> cuda:1"]


# --------------------------------------------------------------------------- streams
def test_arrays_of_several_streams_meet() -> None:
    x = on_gpu(np.ones(1 << 22, "f4"))
    streams = [dc.stream() for _ in range(4)]
    for round_ in range(5):
        parts = []
        for number, stream in enumerate(streams):
            with stream:
                y = x * (number + round_)
                for _ in range(10):
                    y = y + 1
                    dc.evaluate(y)
                parts.append(y)
        total = parts[0] + parts[1] + parts[2] + parts[3]
        wanted = sum(number + round_ + 10 for number in range(4))
        with streams[round_ % 4]:
            low = float(total.min())
        assert low == float(total.max()) == wanted
        parts[0][...] = 0  # its stream, and those that read it, have passed
        x[...] = 1


def test_memory_goes_to_another_stream_when_it_is_free() -> None:
    first, second = dc.stream(), dc.stream()
    for k in range(20):
        with first:
            a = on_gpu(np.full(1 << 22, k, "f4"))
            b = dc.sin(dc.cos(a)) * 0 + k
            dc.evaluate(b)
        with second:
            c = b * 2
            dc.evaluate(c)
        del a, b
        with first:
            d = on_gpu(np.full(1 << 22, -1, "f4"))
            dc.evaluate(d + 1)
        assert float(c.min()) == float(c.max()) == 2 * k
        del d
    assert dc.memory_stats()


def test_streams_of_others_and_libraries() -> None:
    import cupy

    theirs = cupy.cuda.Stream(non_blocking=True)
    a = on_gpu(np.eye(64))
    with dc.stream(theirs) as stream:
        assert stream.__cuda_stream__() == (0, theirs.ptr)
        b = a @ a
        y = dc.fft.fft(b[0])
    assert np.allclose(y.get(), np.fft.fft(np.eye(64)[0]))
    with dc.stream():
        c = (b @ a + 1) @ a
    assert np.allclose(c.get(), (np.eye(64) + 1) @ np.eye(64))
    assert dc.stream(0).__cuda_stream__() == (0, 0)
    with pytest.raises(TypeError, match="takes a stream"):
        dc.stream("first")


def test_events() -> None:
    x = on_gpu(np.ones(1 << 24, "f4"))
    stream = dc.stream()
    with stream:
        before = stream.record()
        dc.evaluate(dc.sin(x) + 1)
        after = stream.record()
    other = dc.stream()
    other.wait(after)
    assert after.since(before) > 0 and after.done
    stream.synchronize()
    other.synchronize()
    assert stream.done


def test_each_thread_has_its_stream() -> None:
    x = on_gpu(np.arange(1000.0))
    results: list[Any] = [None] * 4

    def work(number: int) -> None:
        with dc.stream():
            y = x
            for _ in range(50):
                y = y + number
                dc.evaluate(y)
            results[number] = y

    threads = [threading.Thread(target=work, args=(k,)) for k in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for number, y in enumerate(results):
        assert np.array_equal(y.get(), np.arange(1000.0) + 50 * number)


# ---------------------------------------------------------------------------- graphs
def test_a_graph_gives_what_the_function_gives() -> None:
    rng = np.random.default_rng(0)
    w = on_gpu(rng.random((64, 64), dtype="f4"))
    calls = []

    @dc.graph
    def step(x: Any, options: Any) -> Any:
        calls.append(1)
        h = dc.tanh(x @ w) * options["scale"]
        return {"h": h, "loss": (h * h).sum(axis=0)}, h[::2], x

    for k in range(6):
        host = rng.random((32, 64), dtype="f4")
        x = on_gpu(host)
        found, part, same = step(x, {"scale": 2})
        if k == 4:
            w += 1
        h = np.tanh(host @ (w.get() - (k == 4))) * 2
        assert np.allclose(found["h"].get(), h, rtol=1e-5, atol=1e-5)
        assert np.allclose(found["loss"].get(), (h * h).sum(axis=0), rtol=1e-4)
        assert np.array_equal(part.get(), found["h"].get()[::2])
        assert np.array_equal(same.get(), host)
    assert len(calls) == 2
    kept = step(on_gpu(host), {"scale": 2})[0]["h"]
    before = kept.get()
    step(on_gpu(host * 0), {"scale": 2})
    assert np.array_equal(kept.get(), before)
    step(on_gpu(host[:5]), {"scale": 2})
    step(on_gpu(host), {"scale": 3})
    assert len(calls) == 4


def test_graphs_on_streams() -> None:
    double = dc.graph(lambda x: dc.sin(x) * 0 + x * 2)
    x = on_gpu(np.arange(1 << 20, dtype="f4"))
    double(x), double(x)
    results = []
    for k in range(8):
        with dc.stream():
            results.append(double(x + k))
    for k, y in enumerate(results):
        assert np.array_equal(y.get(), (np.arange(1 << 20, dtype="f4") + k) * 2)


def _on_a_stream(x: Any) -> Any:
    with dc.stream():
        return x + 1


@pytest.mark.parametrize(
    ("function", "message"),
    [
        (lambda x: float(x.sum()), "reads an array on the host"),
        (lambda x: x[x > 1], "reads an array on the host"),
        (lambda x: x.__iadd__(1), "writes an array that was there before"),
        (lambda x: x + dc.asarray(np.ones(3), device=DEVICE), "brings data"),
        (lambda x: dc.synchronize(), "waits for the device"),
        (lambda x: _on_a_stream(x), "one stream"),
    ],
)
def test_what_a_graph_cannot_repeat(function: Any, message: str) -> None:
    x = on_gpu(np.arange(3.0))
    captured = dc.graph(function)
    captured(x)
    with pytest.raises(dc.CaptureError, match=message):
        captured(x)
    assert np.array_equal((on_gpu(np.arange(3.0)) + 1).get(), [1, 2, 3])
    assert dc.graph(lambda x: x + 1)(x).shape == (3,)


def test_random_numbers_are_not_captured() -> None:
    with dc.config(device=DEVICE):
        rng = dc.random.Generator(np.random.Philox(1))
        draw = dc.graph(lambda x: x + rng.random(3))
        x = on_gpu(np.zeros(3))
        draw(x)
        with pytest.raises(dc.CaptureError):
            draw(x)


def test_memory_of_graphs_goes_back() -> None:
    import gc

    x = on_gpu(np.ones(1 << 20, "f4"))

    def use() -> None:
        chain = dc.graph(lambda x: dc.sin(x) @ x)
        for _ in range(3):
            chain(x)

    use()
    gc.collect()
    before = backend().pool.statistics().in_use
    for _ in range(40):
        use()
    gc.collect()
    dc.synchronize()
    assert backend().pool.statistics().in_use == before


def test_networks_are_captured() -> None:
    rng = np.random.default_rng(1)

    def new(*shape: int) -> Any:
        return on_gpu(rng.random(shape, dtype="f4") - 0.5)

    kernel, weights = new(8, 3, 3, 3), new(8 * 7 * 7, 10)
    image = new(1, 3, 16, 16)

    def network(x: Any) -> Any:
        y = dc.nn.relu(dc.nn.conv2d(x, kernel))
        y = dc.nn.max_pool2d(y, 2)
        return dc.nn.softmax(y.reshape(1, -1) @ weights, axis=-1)

    wanted = network(image).get()
    captured = dc.graph(network)
    for _ in range(4):
        assert np.allclose(captured(image).get(), wanted, rtol=1e-5)


# ---------------------------------------------------------------------------- faults
def test_memory_that_is_full_is_spilled() -> None:
    """In a process of its own, with the pool's limit in place of the card's."""
    script = """
import numpy as np, dcarray as dc
one = 1 << 26
with dc.config(pool_limit=6 * one * 4):
    kept = [dc.asarray(np.full(one, k, "f4"), device="cuda:0") for k in range(7)]
    with dc.profile() as seen:
        total = kept[0]
        for x in kept[1:]:
            total = total + x
            dc.evaluate(total)
    assert float(total.min()) == float(total.max()) == sum(range(7))
    for k, x in enumerate(kept):
        assert float(x.min()) == float(x.max()) == k, k
    assert seen.of_kind("spill") or seen.of_kind("transfer")
print("right")
"""
    assert "right" in in_a_process(script)


def test_the_whole_card_is_filled_and_then_used(request: Any) -> None:
    if not request.config.getoption("--long"):
        pytest.skip("takes the memory from all that runs beside it")
    script = """
import numpy as np, dcarray as dc
from dcarray.backends.registry import backend_for
b = backend_for("cuda:0")
hog = []
size = 1 << 34
while size >= 1 << 28:
    try:
        hog.append(b._runtime.malloc(size))
    except Exception:
        size //= 2
b._runtime.free(hog.pop())
x = dc.asarray(np.full(1 << 24, 1, "f4"), device="cuda:0")
y = [x + k for k in range(6)]
dc.evaluate(y)
y = [float((a * 2).max()) for a in y]
assert y == [2 * (1 + k) for k in range(6)], y
for pointer in hog:
    b._runtime.free(pointer)
z = x * 3
assert float(z.min()) == 3
print("right")
"""
    assert "right" in in_a_process(script)


@pytest.mark.parametrize(
    "fault",
    [
        "*x = 1;",
        'asm("trap;");',
        'if (*y == 0) asm volatile("trap;");',
    ],
)
def test_kernels_that_fault(fault: str) -> None:
    script = f"""
import warnings
warnings.simplefilter("ignore")
import numpy as np, dcarray as dc, cupy
from dcarray.errors import DeviceLostError
both = dc.asarray(np.arange(8.0), device="cuda:0"); both.prefetch("cpu")
auto = dc.arange(8.0) * 2
only = dc.asarray(np.arange(8.0), device="cuda:0") * 2
dc.evaluate(only)
waiting = both + 1
text = 'extern "C" __global__ void bad(float *x, float *y) {{ {fault} }}'
bad = cupy.RawKernel(text, "bad")
zero = cupy.zeros(1, "f4")
bad((1,), (1,), (np.uint64(8), zero))
seen = 0
try:
    dc.synchronize()
except DeviceLostError:
    seen += 1
try:
    only.get()
except DeviceLostError:
    seen += 1
assert seen == 2, seen
assert both.get().tolist() == list(range(8))
assert waiting.get().tolist() == list(range(1, 9))
assert auto.get().tolist() == list(range(0, 16, 2))
assert float(dc.ones(100000).sum()) == 100000
try:
    dc.asarray(np.ones(3), device="cuda:0")
except DeviceLostError:
    print("went on")
"""
    assert "went on" in in_a_process(script)


def test_a_machine_whose_driver_shows_no_device() -> None:
    script = """
import dcarray as dc
print([str(d) for d in dc.devices() if d.kind == "cuda"])
print(dc.ones(3).sum())
"""
    said = in_a_process(script, CUDA_VISIBLE_DEVICES="")
    assert "[]" in said and "3" in said


def test_without_nvrtc_the_next_device_computes(tmp_path: Any) -> None:
    script = """
import numpy as np, dcarray as dc
from cupy.cuda import nvrtc
def gone(*_):
    raise RuntimeError("no libnvrtc")
nvrtc.createProgram = gone
x = dc.asarray(np.arange(4.0), device="cuda:0")
with dc.profile() as seen:
    y = (x * 2 + 1).get()
print(y.tolist(), len(seen.fallbacks))
"""
    folder = tmp_path / "cache"
    folder.mkdir(mode=0o700)
    said = in_a_process(script, DCARRAY_CACHE_DIR=str(folder))
    assert said.strip() == "[1.0, 3.0, 5.0, 7.0] 1"
    build = script.replace("nvrtc.createProgram = gone", "")
    in_a_process(build, DCARRAY_CACHE_DIR=str(folder))
    said = in_a_process(script, DCARRAY_CACHE_DIR=str(folder))
    assert said.strip() == "[1.0, 3.0, 5.0, 7.0] 0"
