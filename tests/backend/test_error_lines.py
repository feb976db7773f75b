"""Mistakes and failures on every device: typed errors that name the user's line."""

from __future__ import annotations

import contextlib
import inspect
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import dcarray as dc
from dcarray.backends import registry
from dcarray.backends.cpu import kernels as cpu_kernels
from dcarray.backends.grid import backend as grid_backend
from dcarray.backends.registry import counted
from dcarray.kernel import barrier, global_id, local_id, shared
from tests.metal_simulator import Simulator, installed
from tests.metal_simulator.library import compiler

F32 = np.float32


@pytest.fixture(params=["cpu", "opencl:0", "metal:0"])
def device(request: pytest.FixtureRequest) -> Iterator[str]:
    label = str(request.param)
    with contextlib.ExitStack() as stack:
        if label == "metal:0":
            if not compiler():
                pytest.skip("needs g++")
            stack.enter_context(installed(Simulator()))
            stack.callback(registry.remove, label)
        elif label != "cpu" and not counted(label.partition(":")[0]):
            pytest.skip(f"no {label} here")
        elif label != "cpu":
            registry.remove(label)  # nothing is built yet, whatever ran before
        yield label


@dc.kernel
def shifted(x, out):
    i = global_id(0)
    out[i] = x[i + 1]


@dc.kernel
def swapped(x, out):
    tile = shared(x.dtype, 32)
    tile[local_id(0)] = x[global_id(0)]
    barrier()
    out[global_id(0)] = tile[31 - local_id(0)]


@dc.kernel
def in_doubles(x, out):
    i = global_id(0)
    out[i] = np.float64(x[i]) / 3


def line_of(kernel: Any, text: str) -> str:
    """The line of a kernel's source that holds a text, as tracebacks write it."""
    lines, first = inspect.getsourcelines(kernel.function)
    (place,) = [k for k, line in enumerate(lines) if text in line]
    return f'test_error_lines.py", line {first + place}: {lines[place].strip()}'


# ---------------------------------------------------------------------- wrong launches
def test_groups_that_do_not_fit(device: str) -> None:
    x, out = (dc.zeros(100, dtype=F32, device=device) for _ in range(2))
    with pytest.raises(dc.LaunchError, match="do not fill the grid") as caught:
        swapped[100, 32](x, out)
    error = caught.value
    assert (error.device, error.kernel, error.grid) == (device, "swapped", (100,))
    assert names_the_call(error, "swapped[100, 32](x, out)")
    with pytest.raises(dc.LaunchError, match="items at most") as caught:
        swapped[1 << 20, 1 << 19](x, out)
    assert names_the_call(caught.value, "swapped[1 << 20, 1 << 19](x, out)")
    with pytest.raises(dc.LaunchError, match="one to three lengths") as caught:
        swapped[1, 2, 3, 4](x, out)
    assert names_the_call(caught.value, "swapped[1, 2, 3, 4](x, out)")


def names_the_call(error: dc.DeviceError, text: str) -> bool:
    """Whether the error's line is that of this file which starts with a text."""
    assert error.source_line is not None
    file, _, number = error.source_line.rpartition(":")
    with open(__file__, encoding="utf-8") as lines:
        found = list(lines)[int(number) - 1]
    return file == __file__ and found.strip().startswith(text)


# ------------------------------------------------------------------------ wrong indices
def test_index_out_of_range(device: str) -> None:
    x, out = (dc.zeros(8, dtype=F32, device=device) for _ in range(2))
    with dc.config(bounds_check=True), pytest.raises(IndexError) as caught:
        shifted(x, out)
    assert "index 8 is out of bounds for axis 0 of x with size 8" in str(caught.value)
    assert line_of(shifted, "out[i] = x[i + 1]") in str(caught.value)


# ------------------------------------------------------------------------ wrong dtypes
LACKS = {"opencl:0": np.longdouble, "metal:0": np.float64}


def test_dtype_that_the_device_lacks(device: str) -> None:
    if device == "cpu":
        with pytest.raises(dc.UnsupportedError, match="shifted: no kernel"):
            shifted(np.zeros(3, "U3"), np.zeros(3))
        return
    with pytest.raises(dc.UnsupportedError, match=f"{device}: no arrays of"):
        dc.zeros(3, dtype=LACKS[device], device=device)  # at the call
    if device == "metal:0":
        x, out = (dc.zeros(8, dtype=F32, device=device) for _ in range(2))
        with pytest.raises(
            dc.UnsupportedError, match="metal:0 has no float64"
        ) as caught:
            in_doubles(x, out)
        assert line_of(in_doubles, "np.float64(x[i])") in str(caught.value)


# ------------------------------------------------------------- text that does not build
@pytest.fixture
def broken(monkeypatch: pytest.MonkeyPatch) -> None:
    """All text that is generated holds a word that no compiler knows."""

    def worse(render: Callable[..., str]) -> Callable[..., str]:
        return lambda *given: render(*given).replace("{", "{ nonsense;", 1)

    def grid(*given: Any) -> tuple[str, int, int]:
        text, each, fixed = render_grid(*given)
        return text + "nonsense\n", each, fixed

    render_grid = cpu_kernels.render_grid
    monkeypatch.setattr(grid_backend, "render", worse(grid_backend.render))
    monkeypatch.setattr(cpu_kernels, "render_grid", grid)


@pytest.mark.usefixtures("broken")
def test_kernel_that_does_not_compile(device: str) -> None:
    @dc.kernel
    def tripled(x, out):
        i = global_id(0)
        out[i] = x[i] * 3

    x, out = (dc.zeros(8, dtype=F32, device=device) for _ in range(2))
    with pytest.raises(dc.CompileError, match=r"nonsense|top-level entity") as caught:
        tripled(x, out)
    error = caught.value
    assert (error.device, error.kernel) == (device, "tripled")
    assert error.source is not None and "nonsense" in error.source
    assert names_the_call(error, "def tripled(x, out):")


@pytest.mark.usefixtures("broken")
def test_group_that_does_not_compile(device: str) -> None:
    if device == "cpu":
        pytest.skip("then it runs block by block")
    x = dc.ones(8, dtype=F32, device=device)
    with dc.config(lazy="always", fallback="error"):
        y = x * 7 - 2
        y = y + 1
        with pytest.raises(dc.CompileError, match="nonsense") as caught:
            dc.evaluate(y)
    assert names_the_call(caught.value, "y = y + 1")  # not where it was needed
    with dc.config(fallback="error"):
        with pytest.raises(dc.CompileError, match="nonsense") as caught:
            dc.cumulative_sum(x)
        assert names_the_call(caught.value, "dc.cumulative_sum(x)")
        with pytest.raises(dc.CompileError, match="nonsense") as caught:
            dc.sum(x * 3)
        assert names_the_call(caught.value, "dc.sum(x * 3)")
