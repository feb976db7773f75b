"""Elements that masks choose on CUDA: one launch, whose count the host waits for."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import dcarray as dc
from dcarray.backends.cuda import selecting
from dcarray.backends.registry import backend_for, counted
from dcarray.errors import CaptureError
from dcarray.profile import counters
from tests.cuda_simulator import Runtime, installed

pytestmark = pytest.mark.skipif(bool(counted("cuda")), reason="there is a real one")

DEVICE = "cuda:0"
RNG = np.random.default_rng(11)


@pytest.fixture(scope="module")
def device() -> Iterator[Runtime]:
    with installed() as made:
        yield made


@pytest.fixture
def runtime(device: Runtime) -> Runtime:
    device.log.clear()
    return device


def on_gpu(host: Any) -> dc.DeviceArray:
    return dc.asarray(np.asarray(host), device=DEVICE)


def kernels(runtime: Runtime) -> int:
    return [what for what, _ in runtime.log].count("kernel")


@pytest.mark.parametrize("dtype", ["?", "f2", "i4", "f8", "c16"])
def test_it_is_numpys(runtime: Runtime, dtype: str) -> None:
    host, mask = (RNG.random((6, 7)) * 9).astype(dtype), RNG.random((6, 7)) > 0.5
    x, truths = on_gpu(host), on_gpu(mask)
    runtime.log.clear()
    before = counters["library"]
    found = x[truths]
    assert counters["library"] == before + 1
    assert kernels(runtime) == 1
    assert found.shape == host[mask].shape
    assert found.dtype == host.dtype
    assert found.device == dc.Device(DEVICE)
    assert np.array_equal(found.get(), host[mask])
    assert np.array_equal(x[~truths].get(), host[~mask])
    assert np.array_equal(dc.flatnonzero(truths).get(), np.flatnonzero(mask))


def test_nothing_and_all(runtime: Runtime) -> None:
    x = on_gpu(np.arange(5.0))
    assert x[x < 0].shape == (0,)
    assert np.array_equal((x[x < 0] + 1).get(), [])
    assert np.array_equal(x[x >= 0].get(), np.arange(5.0))


def test_what_is_pending_runs_at_once(runtime: Runtime) -> None:
    host = RNG.random(50)
    x = on_gpu(host)
    runtime.log.clear()
    z = x * 2
    found = z[z > 1.0] + 1
    assert kernels(runtime) == 2  # z and the mask, and the choice
    assert np.array_equal(found.get(), (host * 2)[host * 2 > 1.0] + 1)
    assert np.array_equal(z.get(), host * 2)


def test_the_memory_is_its_own(runtime: Runtime) -> None:
    host = RNG.random(50)
    x = on_gpu(host)
    found = x[x > 0.5]
    found[...] = 0
    x[...] = 1
    assert np.array_equal(x.get(), np.ones(50))
    assert not found.get().any()


def test_parts_and_other_shapes(runtime: Runtime) -> None:
    host = RNG.random((6, 8))
    x = on_gpu(host)
    rows = on_gpu(np.arange(6) % 2 == 0)
    for part in (x[:3], x[2:], x.T, x[:, ::2]):
        seen = part.get()
        with dc.config(fallback="allow"):
            assert np.array_equal(part[on_gpu(seen > 0.5)].get(), seen[seen > 0.5])
    assert np.array_equal(x[rows].get(), host[::2])
    with pytest.raises(IndexError):
        x[on_gpu(np.ones(5, np.bool))]
    with pytest.raises(dc.errors.DeviceMismatchError):
        x[dc.asarray(host > 0.5, device="cpu")]


def test_little_of_much_is_copied(
    runtime: Runtime, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(selecting, "SPARE", 0)
    host = np.arange(1000.0)
    x = on_gpu(host)
    for bound, copies in ((990, 1), (10, 0)):
        runtime.log.clear()
        found = x[x >= bound]
        assert [what for what, _ in runtime.log].count("copy") == copies
        assert np.array_equal(found.get(), host[bound:])


def test_what_is_large_is_counted_before(
    runtime: Runtime, monkeypatch: pytest.MonkeyPatch
) -> None:
    backend: Any = backend_for(DEVICE)
    monkeypatch.setattr(selecting, "LARGEST", 100)
    memory = backend.allocate(200)
    assert backend.select(memory, memory, 200, 1, 0) is None
    assert backend.select(memory, memory, 25, 8, 0) is None


def test_memory_that_begins_elsewhere(runtime: Runtime) -> None:
    backend: Any = backend_for(DEVICE)
    memory = backend.allocate(200)
    memory.pointer += 8
    assert backend.select(memory, memory, 10, 8, 0) is None
    memory.pointer -= 8


def test_a_count_that_does_not_come(
    runtime: Runtime, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The usual way says what is wrong; here it finds another one."""
    x = on_gpu(np.arange(5.0))
    mask = x > 2
    dc.evaluate(mask)
    monkeypatch.setattr(Runtime, "_select", lambda *_: None)
    runtime.log.clear()
    with dc.config(fallback="allow"):
        assert np.array_equal(x[mask].get(), [3, 4])
    assert "synchronize" in [what for what, _ in runtime.log]


def test_it_is_seen(runtime: Runtime) -> None:
    x = on_gpu(np.arange(5.0))
    with dc.profile() as seen:
        assert np.array_equal(x[x > 2].get(), [3, 4])
    assert [event.name for event in seen.of_kind("library")] == ["get"]


def test_graphs_refuse_it(runtime: Runtime) -> None:
    graph = dc.graph(lambda x: x[x > 2])
    x = on_gpu(np.arange(5.0))
    assert np.array_equal(graph(x).get(), [3, 4])
    with pytest.raises(CaptureError, match="reads an array on the host"):
        graph(x)
    assert np.array_equal(x[x > 2].get(), [3, 4])


def test_streams_count_by_themselves(runtime: Runtime) -> None:
    host = np.arange(50.0)
    x = on_gpu(host)
    with dc.stream() as stream:
        pointer = int(stream.__cuda_stream__()[1])
        runtime.log.clear()
        found = x[x > 20]
        assert {one for what, one in runtime.log if what == "kernel"} == {pointer}
        assert np.array_equal(found.get(), host[host > 20])
    assert np.array_equal(x[x > 30].get(), host[host > 30])


def test_threads(runtime: Runtime) -> None:
    wrong: list[int] = []

    def work(seed: int) -> None:
        rng = np.random.default_rng(seed)
        for _ in range(20):
            host = rng.random(rng.integers(1, 200))
            x = on_gpu(host)
            if not np.array_equal(x[x > 0.3].get(), host[host > 0.3]):
                wrong.append(seed)

    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(4)]
    for one in threads:
        one.start()
    for one in threads:
        one.join()
    assert not wrong
