"""The simulated Metal device itself: what it runs, and what it refuses."""

from __future__ import annotations

import struct
from typing import Any

import numpy as np
import pytest

from tests.metal_simulator import CompilationError, Library, Simulator
from tests.metal_simulator.library import compiler
from tests.metal_simulator.module import CompileOptions, Refused

pytestmark = pytest.mark.skipif(not compiler(), reason="needs g++")

HEAD = "#include <metal_stdlib>\nusing namespace metal;\n"
TEXT = (
    HEAD
    + """
kernel void total(
    device const float* x [[buffer(0)]], device float* y [[buffer(1)]],
    constant uint& n [[buffer(2)]], uint3 place [[thread_position_in_grid]],
    uint local [[thread_index_in_threadgroup]],
    uint3 group [[threadgroup_position_in_grid]],
    uint3 size [[threads_per_threadgroup]])
{
  threadgroup float part[256];
  part[local] = place.x < n ? x[place.x] : 0.0f;
  for (uint step = size.x / 2; step > 0; step /= 2) {
    threadgroup_barrier(mem_flags::mem_threadgroup);
    if (local < step) part[local] += part[local + step];
  }
  if (local == 0) y[group.x] = part[0];
}
kernel void lanes(device int* y [[buffer(0)]], uint i [[thread_position_in_grid]]) {
  int ones = i % 2 ? simd_sum(1) : 0;
  y[i] = simd_sum(int(i)) + 1000 * ones + simd_shuffle_xor(int(i), 1) * 10000;
}
kernel void count(device atomic_int* y [[buffer(0)]],
                  uint i [[thread_position_in_grid]]) {
  atomic_fetch_add_explicit(&y[i % 3], 1, memory_order_relaxed);
  device atomic_uint* last = (device atomic_uint*)y + 3;
  uint found = atomic_load_explicit(last, memory_order_relaxed);
  while (!atomic_compare_exchange_weak_explicit(
      last, &found, found + 2, memory_order_relaxed, memory_order_relaxed)) {}
}
kernel void some(device int* y [[buffer(0)]], uint i [[thread_position_in_grid]]) {
  if (i < 5) threadgroup_barrier(mem_flags::mem_none);
  y[i] = 1;
}
kernel void apart(device int* y [[buffer(0)]], uint i [[thread_position_in_grid]]) {
  if (i < 5) {
    threadgroup_barrier(mem_flags::mem_none);
  } else {
    threadgroup_barrier(mem_flags::mem_none);
  }
  y[i] = 1;
}
kernel void beyond(device int* y [[buffer(0)]]) { y[130] = 1; }
kernel void halves(device half* y [[buffer(0)]], uint2 i [[thread_position_in_grid]],
                   uint2 n [[threads_per_grid]]) {
  y[i.y * n.x + i.x] = half(float(i.x) / 3.0f) + as_type<half>(ushort(0x3c00));
}
kernel void unset(device int* y [[buffer(0)]], uint i [[thread_position_in_grid]]) {
  threadgroup int shared_part[64];
  threadgroup_barrier(mem_flags::mem_threadgroup);
  y[i] = shared_part[i];
}
kernel void two(device int* y [[buffer(0)]], uint i [[thread_position_in_grid]]) {
  threadgroup int low[64];
  threadgroup int high[64];
  low[i] = i;
  high[i] = 64 * i;
  threadgroup_barrier(mem_flags::mem_threadgroup);
  y[i] = low[63 - i] + high[(i + 1) % 64];
}
"""
)


@pytest.fixture(scope="module")
def device() -> Any:
    return Simulator(memory=1 << 20, group=512).device


@pytest.fixture(scope="module")
def library(device: Any) -> Any:
    found, error = device.newLibraryWithSource_options_error_(
        TEXT, CompileOptions.alloc().init(), None
    )
    assert error is None
    return found


def run(
    device: Any,
    library: Any,
    name: str,
    threads: tuple[int, int, int],
    group: tuple[int, int, int],
    *given: Any,
) -> tuple[Any, list[np.ndarray]]:
    """Error and contents of the buffers after a run; numbers are sent as bytes."""
    function = library.newFunctionWithName_(name)
    state, error = device.newComputePipelineStateWithFunction_error_(function, None)
    assert error is None
    commands = device.newCommandQueue().commandBuffer()
    encoder = commands.computeCommandEncoder()
    encoder.setComputePipelineState_(state)
    seen = []
    for at, value in enumerate(given):
        if isinstance(value, int):
            encoder.setBytes_length_atIndex_(struct.pack("I", value), 4, at)
            continue
        buffer = device.newBufferWithLength_options_(value.nbytes, 0)
        shown = np.frombuffer(buffer.contents().as_buffer(value.nbytes), value.dtype)
        shown[...] = value.ravel()
        encoder.setBuffer_offset_atIndex_(buffer, 0, at)
        seen.append((buffer, shown))
    encoder.dispatchThreads_threadsPerThreadgroup_(threads, group)
    encoder.endEncoding()
    commands.commit()
    commands.waitUntilCompleted()
    return commands.error(), [shown.copy() for _, shown in seen]


def test_threadgroups_with_barriers(device: Any, library: Any) -> None:
    x = np.arange(10_000, dtype=np.float32) % 7
    groups = 40
    y = np.zeros(groups, np.float32)
    error, (_, got) = run(
        device, library, "total", (groups * 256, 1, 1), (256, 1, 1), x, y, x.size
    )
    assert error is None
    padded = np.zeros(groups * 256, np.float32)
    padded[: x.size] = x
    assert np.array_equal(got, padded.reshape(groups, 256).sum(axis=1))


def test_simdgroups(device: Any, library: Any) -> None:
    error, (got,) = run(
        device, library, "lanes", (64, 1, 1), (64, 1, 1), np.zeros(64, np.int32)
    )
    assert error is None
    i = np.arange(64)
    sums = np.where(i < 32, np.arange(32).sum(), np.arange(32, 64).sum())
    assert np.array_equal(got, sums + i % 2 * 16000 + (i ^ 1) * 10000)


def test_atomics_over_many_threadgroups(device: Any, library: Any) -> None:
    y = np.zeros(4, np.int32)
    error, (got,) = run(device, library, "count", (30_000, 1, 1), (100, 1, 1), y)
    assert error is None
    assert got.tolist() == [10_000, 10_000, 10_000, 60_000]


def test_grids_of_two_axes_with_a_rest(device: Any, library: Any) -> None:
    y = np.zeros((5, 7), np.float16)
    error, (got,) = run(device, library, "halves", (7, 5, 1), (4, 2, 1), y)
    assert error is None
    row = (np.arange(7, dtype=np.float32) / np.float32(3)).astype(np.float16)
    assert np.array_equal(got, np.tile(row + np.float16(1), 5))


def test_a_barrier_that_some_threads_miss(device: Any, library: Any) -> None:
    y = np.zeros(64, np.int32)
    for name in ("some", "apart"):
        error, _ = run(device, library, name, (64, 1, 1), (64, 1, 1), y)
        assert "barrier" in error.localizedDescription()
    error, _ = run(device, library, "lanes", (64, 1, 1), (64, 1, 1), y)
    assert error is None


def test_a_write_beside_a_buffer(device: Any, library: Any) -> None:
    y = np.zeros(128, np.int32)
    error, _ = run(device, library, "beyond", (1, 1, 1), (1, 1, 1), y)
    assert "beside a buffer" in error.localizedDescription()


def test_shared_memory_holds_nothing_of_use(device: Any, library: Any) -> None:
    y = np.zeros(64, np.int32)
    _, (got,) = run(device, library, "unset", (64, 1, 1), (64, 1, 1), y)
    assert (got.view(np.uint32) == 0xCBCBCBCB).all()


def test_two_arrays_of_a_threadgroup(device: Any, library: Any) -> None:
    y = np.zeros(64, np.int32)
    _, (got,) = run(device, library, "two", (64, 1, 1), (64, 1, 1), y)
    i = np.arange(64)
    assert np.array_equal(got, 63 - i + (i + 1) % 64 * 64)


def test_memory_ends(device: Any) -> None:
    assert device.newBufferWithLength_options_(1 << 21, 0) is None
    kept = device.newBufferWithLength_options_(1 << 19, 0)
    assert device.currentAllocatedSize() >= 1 << 19
    assert device.newBufferWithLength_options_(1 << 20, 0) is None
    del kept
    assert device.newBufferWithLength_options_(1 << 19, 0) is not None


def test_validation(device: Any, library: Any) -> None:
    y = np.zeros(4096, np.int32)
    with pytest.raises(Refused, match="must be <= 512"):
        run(device, library, "some", (1024, 1, 1), (1024, 1, 1), y)
    with pytest.raises(Refused, match="missing buffer binding"):
        run(device, library, "total", (64, 1, 1), (64, 1, 1), y, y)
    assert library.newFunctionWithName_("nothing") is None


@pytest.mark.parametrize(
    ("text", "where", "message"),
    [
        ("kernel void f(device double* x [[buffer(0)]]) {}", "3:22", "'double'"),
        ("kernel void f(float* x [[buffer(0)]]) {}", "3:", "device or constant"),
        ("kernel void f(device float* x) {}", "3:", "kernel function"),
        ("float f(float* x) {\n  return *x;\n}", "3:", "address space"),
        ("float f(float x) {\n  return expm1(x);\n}", "4:", "expm1"),
        ("float f(float x) {\n  return x;\n", "", "expected"),
        ("#include <cmath>", "3:10", "not found"),
        ("kernel void f(constant int& n [[buffer(0)]]) {\n  n = 1;\n}", "4:", "read"),
        ("kernel void f(device int* n [[buffer(31)]]) {}", "3:", "buffer(31)"),
        (
            "kernel void f(device atomic_float* x [[buffer(0)]]) {\n"
            "  atomic_fetch_max_explicit(x, 1.0f, memory_order_relaxed);\n}",
            "4:",
            "no such atomic",
        ),
    ],
)
def test_what_metal_refuses(text: str, where: str, message: str) -> None:
    with pytest.raises(CompilationError) as caught:
        Library(HEAD + text)
    assert message in str(caught.value)
    assert f"program_source:{where}" in str(caught.value)


@pytest.mark.parametrize(
    ("expression", "want"),
    [
        ("select(1.0f, 2.0f, true)", 2),
        ("clamp(5, 1, 3)", 3),
        ("float(popcount(uint(255)))", 8),
        ("float(clz(ushort(1)))", 15),
        ("float(ctz(8))", 3),
        ("float(rotate(uchar(129), uchar(1)))", 3),
        ("float(reverse_bits(uchar(1)))", 128),
        ("float(mulhi(-2147483647, 4))", -2),
        ("float(addsat(char(100), char(100)))", 127),
        ("float(addsat(char(-100), char(-100)))", -128),
        ("float(subsat(uchar(1), uchar(2)))", 0),
        ("precise::sqrt(16.0f) + fast::exp(0.0f)", 5),
        ("dot(float3(1, 2, 3), float3(4.0f))", 24),
        ("(float2(1, 2) * 2.0f + float2(1)).y", 5),
        ("float(int3(1, 2, 3)[1])", 2),
        ("fract(2.25f) + sign(-3.0f) + saturate(7.0f)", 0.25),
        ("float(as_type<uint>(1.0f) == 0x3f800000u)", 1),
        ("float(nextafter(half(1), half(2)) > half(1))", 1),
        ("fma(2.0f, 3.0f, 1.0f)", 7),
        ("fmod(-7.0f, 3.0f)", -1),
        ("1.0 / 3.0 - 1.0f / 3.0f", 0),
    ],
)
def test_the_standard_library(expression: str, want: float) -> None:
    text = f"kernel void f(device float* y [[buffer(0)]]) {{ y[0] = {expression}; }}"
    y = np.zeros(1, np.float32)
    assert Library(HEAD + text).run("f", [y.ctypes.data], (1, 1, 1), (1, 1, 1)) is None
    assert y[0] == want
