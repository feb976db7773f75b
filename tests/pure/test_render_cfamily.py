"""Text for OpenCL, CUDA and Metal: every row, every dtype, every dialect."""

from __future__ import annotations

import re
import time

import numpy as np
import pytest

from dcarray.errors import UnsupportedError
from dcarray.kernel import nodes
from dcarray.render.cfamily import render, render_all
from dcarray.render.cuda import CUDA, OPTIONS
from dcarray.render.dialect import Dialect
from dcarray.render.metal import METAL
from dcarray.render.opencl import OPENCL

from .. import nvrtc
from .rendered import CODES, kernels_of

INT = np.dtype(np.int32)
ZERO = nodes.Constant(0, INT)
ARCHITECTURES = ("sm_80", "sm_90", "sm_120")
DIALECTS = [pytest.param(item, id=item.name) for item in (OPENCL, CUDA, METAL)]

needs_nvrtc = pytest.mark.skipif(
    not nvrtc.available(), reason="needs nvidia-cuda-nvrtc, for Linux and Windows"
)


def atomic(
    operation: str, dtype: np.dtype, name: str = "change", shared: bool = False
) -> nodes.Kernel:
    """Every work item changes one place, in the memory of its group if ``shared``."""
    value: nodes.Scalar = nodes.Index("global_id", 0, INT)
    if dtype != INT:
        value = nodes.Cast(value, dtype)
    expected = value if operation == "compare_exchange" else None
    change = nodes.Atomic(
        operation, "part" if shared else "x", ZERO, value, "old", expected
    )
    body: tuple[nodes.Statement, ...] = (
        change,
        nodes.Store("x", ZERO, nodes.Name("old", dtype)),
    )
    if shared:
        body = (nodes.Shared("part", dtype, 4), nodes.Barrier(), *body)
    return nodes.Kernel(name, (nodes.Array("x", dtype, True),), body)


# ----------------------------------------------------------------- every row and dtype
@pytest.mark.parametrize("dialect", DIALECTS)
@pytest.mark.parametrize("code", CODES)
def test_every_row_is_spelled(code: str, dialect: Dialect) -> None:
    for kernel in kernels_of(code):
        dtypes = {item.dtype for item in kernel.parameters}
        wide = any(item.char in "dD" for item in dtypes)
        if dialect is METAL and wide:
            with pytest.raises(UnsupportedError, match="metal has no float64"):
                render(kernel, dialect)
            continue
        text = render(kernel, dialect)
        assert text.count(f" {kernel.name}(") == 1
        assert text.count("{") == text.count("}")


def test_the_table_is_whole() -> None:
    """Nothing is left out because its first operand has another dtype."""
    names = [kernel.name for code in CODES for kernel in kernels_of(code)]
    assert len(names) == len(set(names)) > 800


@needs_nvrtc
@pytest.mark.parametrize("architecture", ARCHITECTURES)
@pytest.mark.parametrize("code", CODES)
def test_cuda_compiles(code: str, architecture: str) -> None:
    kernels = kernels_of(code)
    ptx = nvrtc.compiled(render_all(kernels, CUDA), architecture, OPTIONS)
    entries = set(re.findall(r"\.entry (\w+)\(", ptx))
    assert entries == {kernel.name for kernel in kernels}


@needs_nvrtc
def test_a_product_and_a_sum_are_rounded_twice() -> None:
    """NumPy's complex product of floats is two products and a sum."""
    (kernel,) = [item for item in kernels_of("F") if item.name == "multiply_14_14"]
    text = render(kernel, CUDA)
    assert "fma" not in nvrtc.compiled(text, "sm_90", OPTIONS)
    assert "fma" in nvrtc.compiled(text, "sm_90")


@needs_nvrtc
def test_the_compilers_message() -> None:
    with pytest.raises(ValueError, match=r"test\.cu\(1\): error"):
        nvrtc.compiled("__global__ void f() { g(); }", "sm_90")


# ----------------------------------------------------------------------------- atomics
@needs_nvrtc
@pytest.mark.parametrize("architecture", ARCHITECTURES)
def test_atomics_of_cuda(architecture: str) -> None:
    operations = ("add", "minimum", "maximum", "exchange", "compare_exchange")
    cases = [(operation, code) for operation in operations for code in "iIqQfd"]
    cases += [
        (f"bitwise_{name}", code) for name in ("and", "or", "xor") for code in "iIqQ"
    ]
    kernels = [
        atomic(operation, np.dtype(code), f"{operation}_{code}_{shared:d}", shared)
        for operation, code in cases
        for shared in (False, True)
    ]
    ptx = nvrtc.compiled(render_all(kernels, CUDA), architecture, OPTIONS)
    for kernel in kernels:
        body = ptx.split(f".entry {kernel.name}(")[1].split(".entry")[0]
        assert re.search(r"\b(atom|red)\.", body), kernel.name


@pytest.mark.parametrize("dialect", DIALECTS)
def test_atomics_that_no_dialect_has(dialect: Dialect) -> None:
    for code in "bBhHe":
        with pytest.raises(UnsupportedError, match="atomic add"):
            render(atomic("add", np.dtype(code)), dialect)


@pytest.mark.parametrize("dialect", [CUDA, OPENCL], ids=["cuda", "opencl"])
def test_floats_have_no_atomic_bits(dialect: Dialect) -> None:
    with pytest.raises(UnsupportedError, match="no atomic bitwise_and"):
        render(atomic("bitwise_and", np.dtype(np.float32)), dialect)


# ----------------------------------------------------------------------------- details
@pytest.mark.parametrize("dialect", DIALECTS)
def test_helpers_stand_once(dialect: Dialect) -> None:
    kernels = [atomic("minimum", np.dtype(np.float32), name) for name in ("a", "b")]
    text = render_all(kernels, dialect)
    assert text.count(dialect.preamble) == 1
    assert len(re.findall(r"dc_minimum_\w+\([^)]*place", text)) == 1
    assert len(re.findall(r"\b(void) [ab]\(", text)) == 2


def test_places_of_cuda_do_not_overflow() -> None:
    """A grid may have more work items than 32 bits count."""
    kernel = nodes.Kernel(
        "where_am_i",
        (nodes.Array("x", np.dtype(np.int64), True),),
        (nodes.Store("x", ZERO, nodes.Index("global_id", 1, np.dtype(np.int64))),),
    )
    text = render(kernel, CUDA)
    assert "(long long)((long long)blockIdx.y * blockDim.y + threadIdx.y)" in text


def test_shared_memory_and_barriers_of_cuda() -> None:
    text = render(atomic("add", INT, shared=True), CUDA)
    assert "__shared__ int part[4];" in text
    assert text.index("__syncthreads();") < text.index("atomicAdd(part + 0, ")


@pytest.mark.parametrize("dialect", DIALECTS)
def test_names_that_are_words_of_the_language(dialect: Dialect) -> None:
    kernel = nodes.Kernel(
        "map",
        (nodes.Array("half", INT, True), nodes.Value("max", INT)),
        (nodes.Store("half", ZERO, nodes.Name("max", INT)),),
    )
    assert "half_[0] = max_;" in render(kernel, dialect)


def test_a_thousand_kernels_in_a_second() -> None:
    """Of real numbers; halves and complex numbers are lowered first: longer."""
    kernels = [kernel for code in "?bBhHiIlLqQfd" for kernel in kernels_of(code)]
    render_all(kernels, OPENCL)
    start = time.process_time()
    text = render_all(kernels, OPENCL)
    taken = time.process_time() - start
    assert len(text) > 100_000
    assert taken / len(kernels) < 1e-3  # a third of that where nothing else runs
