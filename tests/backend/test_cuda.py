"""The CUDA backend, on a GPU."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import numpy as np
import pytest

import dcarray as dc
from dcarray.backends.registry import counted
from dcarray.errors import CompileError, LaunchError
from dcarray.kernel.grid import global_id
from dcarray.kernel.nodes import Array
from dcarray.kernel.parse import parse
from dcarray.testing import BackendSuite

pytestmark = pytest.mark.skipif(not counted("cuda"), reason="needs CuPy and a GPU")

F32 = np.dtype(np.float32)
DEVICE = "cuda:0"


def backend() -> Any:
    from dcarray.backends.registry import backend_for

    return backend_for(DEVICE)


class TestCuda(BackendSuite):
    def make(self) -> Any:
        from dcarray.backends.cuda import CudaBackend

        return CudaBackend()


def double(x: Any) -> None:
    x[global_id(0)] = x[global_id(0)] * 2


def kernel() -> Any:
    return parse(double, [Array("x", F32, writable=True)])


# ---------------------------------------------------------------------------- skeleton
def test_a_chain_and_its_sum_are_one_kernel_each() -> None:
    host = [np.linspace(0, 1, 1000, dtype=np.float32) + k for k in range(3)]
    a, b, c = (dc.asarray(x, device=DEVICE) for x in host)
    with dc.config(fallback="error"), dc.profile() as seen:
        y = dc.exp(a * b + c)
        total = y.sum()
        assert y.device == total.device == DEVICE
        got, summed = y.get(), total.get()
    wanted = np.exp(host[0] * host[1] + host[2])
    assert np.allclose(got, wanted, rtol=1e-6)
    assert np.allclose(summed, wanted.sum(), rtol=1e-6)
    groups = [event for event in seen.events if event.kind == "group"]
    assert len(groups) <= 2


# ------------------------------------------------------------------------------ errors
def test_text_that_does_not_compile() -> None:
    text = 'extern "C" __global__ void double_(float *x) { x[0] = nonsense; }'
    with pytest.raises(CompileError, match="nonsense") as caught:
        backend().build(text, kernel())
    assert caught.value.source == text
    assert caught.value.device == DEVICE


def test_group_that_does_not_divide_the_grid() -> None:
    device = backend()
    memory = device.allocate(4 * 100)
    with pytest.raises(LaunchError) as caught:
        device.run(kernel(), (100,), (64,), [memory])
    assert caught.value.grid == (100,)
    device.run(kernel(), (100,), (50,), [memory])  # the device works on


def test_group_that_is_too_large_is_halved_where_it_makes_no_difference() -> None:
    device = backend()
    size = 2 * device.limits.group
    host = np.ones(size, np.float32)
    memory = device.allocate(4 * size)
    device.upload(host.view(np.uint8), memory)
    device.run(kernel(), (size,), (size,), [memory])
    device.download(memory, host.view(np.uint8))
    assert (host == 2).all()


def test_a_kernel_that_faults_takes_the_device_and_nothing_else() -> None:
    """In a process of its own, whose context is lost."""
    script = """
import numpy as np, dcarray as dc
from dcarray.backends.registry import backend_for
from dcarray.errors import DeviceLostError
import cupy
both = dc.asarray(np.arange(8.0), device="cuda:0"); both.prefetch("cpu")
only = dc.asarray(np.arange(8.0), device="cuda:0") * 2
dc.evaluate(only)
bad = cupy.RawKernel('extern "C" __global__ void bad(float *x) { *x = 1; }', "bad")
bad((1,), (1,), (np.uint64(8),))
try:
    dc.synchronize()
except DeviceLostError as error:
    assert "new one" in str(error), error
else:
    raise SystemExit("nobody noticed")
assert both.get().tolist() == list(range(8))
try:
    only.get()
except DeviceLostError:
    pass
else:
    raise SystemExit("lost bytes came back")
assert float(dc.arange(5.0).sum()) == 10
print("went on")
"""
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=False
    )
    assert "went on" in done.stdout, done.stderr


# ---------------------------------------------------------------------------- exchange
def test_cupy_sees_the_same_memory() -> None:
    import cupy

    x = dc.arange(6, dtype="f4", device=DEVICE).reshape(2, 3)
    seen = cupy.from_dlpack(x.__dlpack__(copy=False))
    assert seen.shape == (2, 3)
    seen += 1
    cupy.cuda.Device().synchronize()
    assert x.get().tolist() == [[1, 2, 3], [4, 5, 6]]


# --------------------------------------------------------------------------- libraries
@pytest.mark.parametrize("dtype", ["f2", "f4", "f8", "c8", "c16", "i4", "b1"])
def test_products(dtype: str) -> None:
    rng = np.random.default_rng(1)
    x = rng.integers(0, 3, (3, 20, 30)).astype(dtype)
    y = rng.integers(0, 3, (30, 25)).astype(dtype)
    a, b = dc.asarray(x, device=DEVICE), dc.asarray(y, device=DEVICE)
    with dc.config(fallback="error"):
        got = a @ b
        turned = dc.matmul(b.T, a[0].T)
    assert got.dtype == x.dtype
    assert np.array_equal(got.get(), x @ y)
    assert np.array_equal(turned.get(), y.T @ x[0].T)


def test_transforms_and_solvers() -> None:
    rng = np.random.default_rng(2)
    x = rng.random((4, 64))
    square = rng.random((3, 16, 16)) + 16 * np.eye(16)
    a, m = dc.asarray(x, device=DEVICE), dc.asarray(square, device=DEVICE)
    right = dc.asarray(square[0, :, 0], device=DEVICE)
    with dc.config(fallback="error"):
        assert np.allclose(dc.fft.fft(a).get(), np.fft.fft(x))
        assert np.allclose(dc.fft.irfft(dc.fft.rfft(a)).get(), x)
        solved = dc.linalg.solve(m[0], right)
        assert np.allclose(solved.get(), np.linalg.solve(square[0], square[0, :, 0]))
        assert np.allclose(dc.linalg.inv(m).get(), np.linalg.inv(square))
        with pytest.raises(dc.linalg.LinAlgError):
            dc.linalg.cholesky(-m)
