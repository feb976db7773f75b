"""The Metal backend, on a simulated device."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import dcarray as dc
from dcarray.backends import registry
from dcarray.backends.metal import MetalBackend, count
from dcarray.backends.metal.functions import Numbers
from dcarray.backends.pair import adopted
from dcarray.errors import (
    CompileError,
    DeviceLostError,
    LaunchError,
    OutOfMemoryError,
    UnsupportedError,
)
from dcarray.kernel import nodes
from dcarray.layout import Layout
from dcarray.ops import elementwise
from dcarray.testing import BackendSuite
from dcarray.testing.workbench import Workbench, single
from tests.metal_simulator import Simulator, installed
from tests.metal_simulator.library import compiler
from tests.metal_simulator.module import CommandBuffer

pytestmark = pytest.mark.skipif(not compiler(), reason="needs g++")

FLOAT = np.dtype(np.float32)
INT = np.dtype(np.int32)
UINT = np.dtype(np.uint32)


def made(simulator: Simulator) -> MetalBackend:
    with installed(simulator):
        return MetalBackend()


class TestMetal(BackendSuite):
    @pytest.fixture(autouse=True)
    def bridge(self) -> Iterator[None]:
        with installed(Simulator()):
            yield

    def make(self) -> Any:
        return MetalBackend()


# ---------------------------------------------------------------------- where it is not
def test_no_devices_without_pyobjc(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "Metal", None)
    assert count() == 0
    with pytest.raises(UnsupportedError, match="no device"):
        registry.backend_for("metal:0")


def test_no_devices_where_the_system_has_none(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    module: Any = Simulator().module()
    module.MTLCreateSystemDefaultDevice = lambda: None
    monkeypatch.setitem(sys.modules, "Metal", module)
    assert count() == 0


# ------------------------------------------------------------------------------- errors
@pytest.fixture
def simulator() -> Iterator[Simulator]:
    with installed(Simulator(memory=1 << 24)) as found:
        yield found


@pytest.fixture
def bench(simulator: Simulator) -> Workbench:
    class Bench(Workbench):
        def make(self) -> Any:
            return MetalBackend()

    return Bench()


ADD = single(elementwise.ADD, (FLOAT, FLOAT))


def added(bench: Workbench) -> np.ndarray[Any, Any]:
    x = np.arange(100, dtype=np.float32)
    (got,) = bench.execute(ADD, x.shape, [x, x])
    return got


def test_a_text_that_does_not_compile(bench: Workbench) -> None:
    kernel = nodes.Kernel("wrong", (), ())
    text = "kernel void wrong() {\n  int x = y;\n}\n"
    with pytest.raises(CompileError, match=r"program_source:2.*'?y") as caught:
        bench.backend.build(text, kernel)  # type: ignore[attr-defined]
    assert caught.value.device == "metal:0"
    assert caught.value.kernel == "wrong"
    assert caught.value.source == text


@pytest.mark.parametrize(
    ("code", "kind", "transient"),
    [
        (3, LaunchError, False),
        (2, LaunchError, True),
        (8, OutOfMemoryError, False),
        (11, DeviceLostError, False),
    ],
)
def test_a_command_buffer_that_fails(
    simulator: Simulator,
    bench: Workbench,
    code: int,
    kind: type[Exception],
    transient: bool,
) -> None:
    simulator.fail(code)
    with pytest.raises(kind, match="on demand") as caught:
        added(bench)
    assert (caught.value.code, caught.value.transient) == (code, transient)  # type: ignore[attr-defined]
    assert caught.value.kernel == "map"  # type: ignore[attr-defined]
    assert added(bench)[5] == 10


def test_what_a_failed_kernel_should_have_written_cannot_be_read(
    simulator: Simulator, bench: Workbench
) -> None:
    """Neither can what was made of it; all else can."""
    backend: Any = bench.backend
    x = np.arange(100, dtype=np.float32)
    given = bench.operand(x)
    views = []
    for _ in range(3):
        memory = backend.allocate(x.nbytes)
        views.append(backend.view(memory, Layout.dense(x.shape, 4), FLOAT))
    executable = backend.compile(ADD)
    simulator.fail(3)
    backend.launch(executable, x.shape, [given, given], (), [views[0]])
    backend.launch(executable, x.shape, [views[0], given], (), [views[1]])
    backend.launch(executable, x.shape, [given, given], (), [views[2]])
    with pytest.raises(LaunchError, match="on demand"):
        backend.synchronize()
    backend.synchronize()
    for view in views[:2]:
        with pytest.raises(LaunchError, match="on demand"):
            bench.download(view.memory, np.empty_like(x))
        with pytest.raises(LaunchError, match="on demand"):
            backend.launch(executable, x.shape, [view, given], (), [views[2]])
    assert bench.download(views[2].memory, np.empty_like(x))[7] == 14
    assert bench.download(given.memory, np.empty_like(x))[7] == 7


def test_memory_ends(bench: Workbench) -> None:
    backend: Any = bench.backend
    with pytest.raises(OutOfMemoryError):
        backend.allocate(1 << 30)
    kept = [backend.allocate(6 << 20), backend.allocate(6 << 20)]
    with pytest.raises(OutOfMemoryError, match="are in use"):
        backend.allocate(6 << 20)
    del kept[0]
    assert backend.allocate(6 << 20).nbytes == 6 << 20


# ----------------------------------------------------------------------------- launches
def test_many_launches_on_the_way(bench: Workbench) -> None:
    backend: Any = bench.backend
    x = np.ones(1000, np.float32)
    total = bench.operand(np.zeros(1000, np.float32))
    one = bench.operand(x)
    executable = backend.compile(ADD)
    for _ in range(200):
        backend.launch(executable, x.shape, [total, one], (), [total])
    got = bench.download(total.memory, np.empty_like(x))
    assert (got == 200).all()


def test_kernels_with_little_room(simulator: Simulator, bench: Workbench) -> None:
    """Threadgroups are as small as the pipeline state asks for."""
    simulator.pipeline_group = 64
    assert added(bench)[9] == 18


def test_a_threadgroup_that_is_too_large(
    simulator: Simulator, bench: Workbench
) -> None:
    simulator.pipeline_group = 64
    local = nodes.Index("local_id", 0, INT)
    kernel = nodes.Kernel(
        "places",
        (nodes.Array("x", INT, True),),
        (nodes.Store("x", nodes.Index("global_id", 0, INT), local),),
    )
    backend: Any = bench.backend
    memory = backend.allocate(1024)
    with pytest.raises(LaunchError, match="64 threads at most"):
        backend.run(kernel, (256,), (128,), [memory])
    backend.run(kernel, (256,), (32,), [memory])
    got = bench.download(memory, np.empty(256, np.int32))
    assert np.array_equal(got, np.arange(256) % 32)


def test_shared_memory_is_seen_without_a_copy(bench: Workbench) -> None:
    backend: Any = bench.backend
    memory = bench.upload(np.arange(4, dtype=np.float32))
    seen = backend.host_bytes(memory).view(np.float32)
    seen[1] = 7
    assert bench.download(memory, np.empty(4, np.float32)).tolist() == [0, 7, 2, 3]


def test_numbers_lie_as_in_a_struct() -> None:
    packed = Numbers().packed([np.int8(1), np.int64(2), np.float32(3), np.uint8(4)])
    assert len(packed) == 24
    assert packed[0] == 1
    assert int.from_bytes(packed[8:16], "little") == 2
    assert np.frombuffer(packed[16:20], np.float32)[0] == 3
    assert packed[20] == 4


# ------------------------------------------------------------------------------ kernels
def of_dtype(name: str, dtype: np.dtype[Any]) -> nodes.Constant:
    value = -3 if name == "minimum" else 3
    return nodes.Constant(float(value) if dtype == FLOAT else value, dtype)


@pytest.mark.parametrize("shared", [False, True])
@pytest.mark.parametrize(
    ("operation", "dtype", "want"),
    [
        ("add", INT, 768),
        ("add", UINT, 768),
        ("add", FLOAT, 768),
        ("minimum", INT, -3),
        ("minimum", FLOAT, -3),
        ("maximum", UINT, 3),
        ("maximum", FLOAT, 3),
        ("bitwise_or", UINT, 3),
        ("exchange", FLOAT, 3),
        ("exchange", INT, 3),
    ],
)
def test_atomics(
    bench: Workbench, operation: str, dtype: np.dtype[Any], want: int, shared: bool
) -> None:
    """256 work items at one place, in memory of the device or of the group."""
    zero = nodes.Constant(0, INT)
    target = "part" if shared else "x"
    is_first = nodes.Apply(
        "equal", (nodes.Index("local_id", 0, INT), zero), np.dtype(bool)
    )
    change = nodes.Atomic(operation, target, zero, of_dtype(operation, dtype))
    first = nodes.Constant(0 if dtype != FLOAT else 0.0, dtype)
    body: tuple[nodes.Statement, ...] = (change,)
    if shared:
        body = (
            nodes.Shared("part", dtype, 1),
            nodes.If(is_first, (nodes.Store("part", zero, first),)),
            nodes.Barrier(),
            change,
            nodes.Barrier(),
            nodes.If(
                is_first,
                (nodes.Store("x", zero, nodes.Load("part", zero, dtype)),),
            ),
        )
    kernel = nodes.Kernel("change", (nodes.Array("x", dtype, True),), body)
    backend: Any = bench.backend
    memory = bench.upload(np.zeros(1, dtype))
    backend.run(kernel, (256,), (256,) if shared else (64,), [memory])
    assert bench.download(memory, np.empty(1, dtype))[0] == want


@pytest.mark.parametrize("dtype", [INT, UINT, FLOAT])
def test_compare_exchange(bench: Workbench, dtype: np.dtype[Any]) -> None:
    """One of many work items finds what it expects."""
    zero = nodes.Constant(0, INT)
    place = nodes.Index("global_id", 0, INT)
    value: nodes.Scalar = nodes.Apply("add", (place, nodes.Constant(1, INT)), INT)
    none: nodes.Scalar = zero
    if dtype != INT:
        value, none = nodes.Cast(value, dtype), nodes.Cast(none, dtype)
    kernel = nodes.Kernel(
        "claim",
        (nodes.Array("x", dtype, True), nodes.Array("y", dtype, True)),
        (
            nodes.Atomic("compare_exchange", "x", zero, value, "old", none),
            nodes.Store("y", place, nodes.Name("old", dtype)),
        ),
    )
    backend: Any = bench.backend
    x, y = bench.upload(np.zeros(1, dtype)), bench.upload(np.zeros(640, dtype))
    backend.run(kernel, (640,), (64,), [x, y])
    winner = bench.download(x, np.empty(1, dtype))[0]
    found = bench.download(y, np.empty(640, dtype))
    assert (found == 0).sum() == 1
    assert np.flatnonzero(found == 0)[0] + 1 == winner
    assert set(found.tolist()) == {0, winner}


@pytest.mark.parametrize("code", ["q", "Q", "h"])
def test_atomics_that_metal_lacks(bench: Workbench, code: str) -> None:
    dtype = np.dtype(code)
    change = nodes.Atomic("add", "x", nodes.Constant(0, INT), nodes.Constant(1, dtype))
    kernel = nodes.Kernel("change", (nodes.Array("x", dtype, True),), (change,))
    backend: Any = bench.backend
    with pytest.raises(UnsupportedError, match="atomic add"):
        backend.run(kernel, (1,), (1,), [backend.allocate(8)])


def test_ids_along_three_axes(bench: Workbench) -> None:
    kinds = ("global_id", "local_id", "group_id", "global_size", "local_size")
    flat: nodes.Scalar = nodes.Index("global_id", 0, INT)
    step = 1
    for axis, length in ((1, 4), (2, 6)):
        step *= length
        along = nodes.Apply(
            "multiply",
            (nodes.Index("global_id", axis, INT), nodes.Constant(step, INT)),
            INT,
        )
        flat = nodes.Apply("add", (flat, along), INT)
    values = [nodes.Index(kind, axis, INT) for kind in kinds for axis in range(3)]
    values += [nodes.Index("group_count", axis, INT) for axis in range(3)]
    body = tuple(
        nodes.Store(
            "x",
            nodes.Apply("add", (flat, nodes.Constant(k * 4 * 6 * 3, INT)), INT),
            value,
        )
        for k, value in enumerate(values)
    )
    kernel = nodes.Kernel("ids", (nodes.Array("x", INT, True),), body)
    backend: Any = bench.backend
    memory = backend.allocate(18 * 72 * 4)
    backend.run(kernel, (4, 6, 3), (2, 3, 1), [memory])
    got = bench.download(memory, np.empty((18, 3, 6, 4), np.int32))
    z, y, x = np.indices((3, 6, 4))
    want = [x, y, z, x % 2, y % 3, z * 0, x // 2, y // 3, z]
    want += [x * 0 + n for n in (4, 6, 3, 2, 3, 1, 2, 2, 3)]
    assert np.array_equal(got, want)


# --------------------------------------------------------------------------- one memory
def test_host_and_device_use_the_same_blocks(simulator: Simulator) -> None:
    backend = registry.backend_for("metal:0")
    try:
        with dc.profile() as profile:
            x = dc.asarray(np.arange(1000, dtype=np.float32), device="metal:0")
            y = x + 1
            assert y.get()[7] == 8
            y *= 2
            assert y.get()[7] == 16
        assert not profile.of_kind("transfer")
        buffer = y._bind().value.buffer
        assert buffer.pair is not None
        memory = buffer.read_on(backend)
        address = buffer.read_on(registry.backend_for("cpu")).ctypes.data
        assert memory.buffer.address == address
    finally:
        registry.remove("metal:0")


def test_the_host_waits_for_what_uses_a_block(
    bench: Workbench, monkeypatch: pytest.MonkeyPatch
) -> None:
    """And for nothing that was launched later."""
    backend: Any = bench.backend
    x = np.ones(1000, np.float32)
    one, early, late = [bench.operand(x) for _ in range(3)]
    executable = backend.compile(ADD)
    waits = []
    wait = CommandBuffer.waitUntilCompleted
    monkeypatch.setattr(
        CommandBuffer, "waitUntilCompleted", lambda c: (waits.append(c), wait(c))
    )
    backend.launch(executable, x.shape, [early, one], (), [early])
    for _ in range(20):
        backend.launch(executable, x.shape, [late, one], (), [late])
    backend.sharing.to_host(early.memory, False)
    assert (backend.sharing.bytes_of(early.memory).view(np.float32) == 2).all()
    assert len(waits) <= 1
    backend.sharing.to_host(late.memory, True)
    assert (backend.sharing.bytes_of(late.memory).view(np.float32) == 21).all()
    assert waits


def test_memory_of_whole_pages_is_used_in_place(simulator: Simulator) -> None:
    backend = registry.backend_for("metal:0")
    try:
        x = dc.asarray(np.arange(1 << 18, dtype=np.float32))
        with dc.profile() as profile:
            y = x * 2  # in memory of the pool
            dc.evaluate(y)
            y.prefetch("metal:0")
            buffer = y._bind().value.buffer
            memory = buffer.read_on(backend)
            assert buffer.pair is not None
            address = buffer.read_on(registry.backend_for("cpu")).ctypes.data
            assert memory.buffer.address == address
            assert memory.nbytes == y.nbytes
            assert y.get()[5] == 10
        assert not profile.of_kind("transfer")
        del buffer, memory, y
    finally:
        registry.remove("metal:0")


def test_memory_used_in_place_lives_as_long_as_kernels(bench: Workbench) -> None:
    backend: Any = bench.backend
    x = np.ones(1 << 18, np.float32)
    executable = backend.compile(ADD)
    total = bench.operand(np.zeros(1 << 18, np.float32))
    pool = registry.backend_for("cpu")
    for turn in range(1, 9):
        block = pool.allocate(x.nbytes)
        block.view(np.float32)[:] = turn
        pair = adopted(backend, block, block.nbytes)
        assert pair is not None
        given = backend.view(pair.memory, Layout.dense(x.shape, 4), FLOAT)
        backend.launch(executable, x.shape, [total, given], (), [total])
        del block, pair, given
        pool.allocate(x.nbytes).view(np.float32)[:] = -1000
    got = bench.download(total.memory, np.empty_like(x))
    assert (got == 36).all()
