"""The OpenCL backend, on PoCL: a CPU is a device, too."""

from __future__ import annotations

import subprocess
import sys
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import dcarray as dc
from dcarray.backends.cache import object_cache
from dcarray.backends.opencl import OpenClBackend, count
from dcarray.errors import CompileError, LaunchError
from dcarray.kernel.grid import global_id
from dcarray.kernel.nodes import Array
from dcarray.kernel.parse import parse
from dcarray.testing import BackendSuite

pytestmark = pytest.mark.skipif(not count(), reason="needs pyopencl and a driver")

F32 = np.dtype(np.float32)


class TestOpenCl(BackendSuite):
    def make(self) -> Any:
        return OpenClBackend()


@pytest.fixture(scope="module")
def backend() -> Iterator[OpenClBackend]:
    yield OpenClBackend()


def double(x: Any) -> None:
    x[global_id(0)] = x[global_id(0)] * 2


def kernel() -> Any:
    return parse(double, [Array("x", F32, writable=True)])


# ------------------------------------------------------------------------------ errors
def test_text_that_does_not_compile(backend: OpenClBackend) -> None:
    text = "__kernel void double_(__global float *x) {\n  x[0] = nonsense;\n}\n"
    with pytest.raises(CompileError, match="nonsense") as caught:
        backend.build(text, kernel())
    assert caught.value.source == text
    assert caught.value.device == "opencl:0"


def test_group_that_does_not_divide_the_grid(backend: OpenClBackend) -> None:
    memory = backend.allocate(4 * 100)
    with pytest.raises(LaunchError) as caught:
        backend.run(kernel(), (100,), (64,), [memory])
    assert caught.value.grid == (100,)
    backend.run(kernel(), (100,), (50,), [memory])  # the device works on


def test_group_that_is_too_large(backend: OpenClBackend) -> None:
    size = 2 * backend.limits.group
    memory = backend.allocate(4 * size)
    with pytest.raises(LaunchError):
        backend.run(kernel(), (size,), (size,), [memory])


# -------------------------------------------------------------------------- the device
def test_properties(backend: OpenClBackend) -> None:
    found = backend.properties()
    assert found.device == "opencl:0"
    assert found.name and found.vendor and found.driver
    assert found.memory_total is not None and found.memory_total > 1 << 20
    assert found.compute_units > 0
    assert found.dtypes == backend.supported
    assert found.pools[0].device == "opencl:0"


def test_transfers_of_memory_with_gaps(backend: OpenClBackend) -> None:
    memory = backend.allocate(50)
    backend.upload(np.arange(100, dtype=np.uint8)[::2], memory)
    got = np.zeros(100, np.uint8)
    backend.download(memory, got[::2])
    assert got[::2].tolist() == list(range(0, 100, 2))
    assert not got[1::2].any()


def test_arguments_that_change_between_launches(backend: OpenClBackend) -> None:
    """Only memory that differs from the launch before is set."""
    first, second = (backend.allocate(4 * 64) for _ in range(2))
    host = np.arange(64, dtype=np.float32)
    built = kernel()
    for memory in (first, second):
        backend.upload(host.view(np.uint8), memory)
    for memory in (first, second, first, first):
        backend.run(built, (64,), (64,), [memory])
    got = np.zeros_like(host)
    backend.download(first, got.view(np.uint8))
    assert np.array_equal(got, host * 8)
    backend.download(second, got.view(np.uint8))
    assert np.array_equal(got, host * 2)


def plus(x: Any, by: Any, times: Any) -> None:
    x[global_id(0)] = x[global_id(0)] + by * times


def test_numbers_that_change_between_launches(backend: OpenClBackend) -> None:
    """From the second value on, the driver's wrapper knows their dtypes."""
    parameters = [Array("x", F32, writable=True), F32, np.dtype(np.int8)]
    built = parse(plus, parameters)
    memories = [backend.allocate(4 * 64) for _ in range(2)]
    host = np.zeros(64, np.float32)
    for memory in memories:
        backend.upload(host.view(np.uint8), memory)
    for place, by, times in ((0, 0.5, 2), (0, 0.5, 2), (1, 8.0, -1), (0, 64.0, 3)):
        backend.run(built, (64,), (64,), [memories[place], by, times])
    for memory, wanted in zip(memories, (194, -8), strict=True):
        backend.download(memory, host.view(np.uint8))
        assert (host == wanted).all()


# ---------------------------------------------------------------------- kernels on disk
PROGRAM = """
import numpy as np, dcarray as dc
x = dc.asarray(np.arange(1000, dtype=np.float32), device="opencl:0")
with dc.profile() as p:
    total = float((dc.sqrt(x) * 2 + 1).sum().get())
print(len(p.of_kind("compile")), total)
"""


def test_second_process_compiles_nothing(tmp_path: Path) -> None:
    environment = {"DCARRAY_CACHE_DIR": str(tmp_path / "kernels")}
    found = [_output(PROGRAM, environment).split() for _ in range(2)]
    assert int(found[0][0]) > 0
    assert int(found[1][0]) == 0
    assert found[0][1] == found[1][1]


def test_damaged_binary_is_built_again(tmp_path: Path) -> None:
    folder = tmp_path / "kernels"
    folder.mkdir(mode=0o700)
    with dc.config(cache_dir=str(folder)):
        first = OpenClBackend()
        first.run(kernel(), (64,), (64,), [first.allocate(4 * 64)])

        cache = object_cache()
        for path in folder.iterdir():
            path.write_bytes(path.read_bytes()[:-7])
        assert cache.statistics().writes > 0
        before = cache.statistics().rejected
        OpenClBackend().function(kernel())
        assert cache.statistics().rejected > before


def _output(code: str, environment: dict[str, str]) -> str:
    import os

    done = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        check=True,
        env={**os.environ, **environment},
    )
    return done.stdout


# ------------------------------------------------------------------------------- arrays
def test_chain_and_reduction_in_one_kernel() -> None:
    host = np.linspace(0, 1, 100_003, dtype=np.float32)
    x = dc.asarray(host, device="opencl:0")
    with warnings.catch_warnings(), dc.config(fallback="error"):
        warnings.simplefilter("error")
        y = dc.exp(-x * x) * 0.5 - dc.sqrt(x)
        with dc.profile() as p:
            total = y.sum()
        assert len(p.of_kind("group")) == 1
    want = np.exp(-host * host) * np.float32(0.5) - np.sqrt(host)
    np.testing.assert_allclose(y.get(), want, rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(total.get(), want.sum(), rtol=1e-5)


def test_a_kernel_that_leaves_no_room_for_a_group() -> None:
    """A driver that has registers for 16 items of it, said by a double."""
    import pyopencl as cl

    launched: list[int] = []

    class Function:
        def __init__(self, function: Any) -> None:
            self.function = function

        def __getattr__(self, name: str) -> Any:
            return getattr(self.function, name)

        def get_work_group_info(self, wanted: Any, device: Any) -> int:
            assert wanted == cl.kernel_work_group_info.WORK_GROUP_SIZE
            return 16

    class Driver:
        def __getattr__(self, name: str) -> Any:
            return getattr(cl, name)

        def enqueue_nd_range_kernel(
            self, queue: Any, function: Function, grid: Any, group: Any
        ) -> Any:
            launched.append(group[0])
            if group[0] > 16:
                raise cl.LogicError("INVALID_WORK_GROUP_SIZE")
            return cl.enqueue_nd_range_kernel(queue, function.function, grid, group)

    made = OpenClBackend()
    built = kernel()
    made._functions[id(built)] = (built, Function(made.function(built)))
    made._cl = Driver()
    memory = made.allocate(4 * 64)
    host = np.arange(64, dtype=np.float32)
    made.upload(host.view(np.uint8), memory)
    for _ in range(2):
        made.run(built, (64,), (64,), [memory])
    assert launched == [64, 16, 16]  # it is remembered
    got = np.zeros_like(host)
    made.download(memory, got.view(np.uint8))
    assert np.array_equal(got, host * 4)
    with pytest.raises(LaunchError):  # what no kernel could have is a mistake
        size = 2 * made.limits.group
        made.run(kernel(), (size,), (size,), [memory])
