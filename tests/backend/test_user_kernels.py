"""Kernels of the user: the same answers on every device that is at hand."""

from __future__ import annotations

import math
from collections.abc import Iterator
from math import copysign
from typing import Any

import numpy as np
import pytest

import dcarray as dc
from dcarray.backends.registry import counted
from dcarray.kernel import (
    atomic_add,
    barrier,
    global_id,
    global_size,
    group_id,
    local_id,
    local_size,
    shared,
)

DEVICES = ["auto", "cpu", "in step", "opencl:0"]


@pytest.fixture(params=DEVICES)
def device(request: pytest.FixtureRequest) -> Iterator[str]:
    if request.param == "in step":
        with dc.config(engine="interpreter"):
            yield "cpu"
        return
    kind = request.param.partition(":")[0]
    if kind not in ("auto", "cpu") and not counted(kind):
        pytest.skip(f"no {kind} device here")
    yield str(request.param)


def near(got: Any, want: Any, ulp: float = 4.0) -> None:
    found = got.get()
    assert found.dtype == want.dtype
    np.testing.assert_allclose(found, want, rtol=ulp * np.finfo(want.dtype).eps)


# ---------------------------------------------------------------------------- kernels
@dc.kernel
def saxpy(x, y, out, a):
    i = global_id(0)
    out[i] = a * x[i] + np.exp(y[i])


@dc.kernel
def partial_sums(x, out):
    tile = shared(x.dtype, local_size(0))
    mine = local_id(0)
    i = global_id(0)
    tile[mine] = x[i] if i < len(x) else 0
    barrier()
    step = local_size(0) // 2
    while step > 0:
        if mine < step:
            tile[mine] += tile[mine + step]
        barrier()
        step = step // 2
    if mine == 0:
        out[group_id(0)] = tile[0]


@dc.kernel
def histogram(x, bins):
    i = global_id(0)
    if i < len(x) and x[i] >= 0:
        atomic_add(bins, x[i], 1)


@dc.kernel
def transposed(a, b):
    i, j = global_id(0), global_id(1)
    b[i, j] = a[j, i]


@dc.kernel
def row_sums(a, out):
    i = global_id(0)
    row = a[i]
    total = 0.0
    for j in range(a.shape[1]):
        total += row[j]
    out[i] = total


@dc.kernel
def polynomial(x, out, *, coefficients, scale=1):
    i = global_id(0)
    value = 0.0
    for c in coefficients:
        value = value * x[i] + c
    out[i] = scale * value


@dc.kernel(constants=("n",))
def strided(x, out, n):
    i = global_id(0)
    for k in range(n):
        out[i] += x[i + k * global_size(0)]


@dc.kernel
def first_above(a, limit, place, value):
    """In each row; and the sum of what came before, without negative numbers."""
    i = global_id(0)
    found, before = -1, 0.0
    for j in range(a.shape[1]):
        if a[i, j] > limit:
            found = j
            break
        if a[i, j] < 0:
            continue
        before += a[i, j]
    place[i] = found
    value[i] = before


# ------------------------------------------------------------------------------ tests
def test_automatic_grid(device: str) -> None:
    x = np.linspace(0, 1, 1003, dtype=np.float32)
    out = dc.zeros(1003, dtype=np.float32, device=device)
    saxpy(dc.asarray(x, device=device), dc.asarray(x, device=device)[::-1], out, 2.0)
    near(out, np.float32(2) * x + np.exp(x[::-1]))


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.int32])
def test_groups_share_and_meet(device: str, dtype: Any) -> None:
    x = np.arange(1000).astype(dtype)
    out = dc.zeros(8, dtype=dtype, device=device)
    partial_sums[1024, 128](dc.asarray(x, device=device), out)
    want = np.concatenate([x, np.zeros(24, dtype)]).reshape(8, 128).sum(1, dtype=dtype)
    assert out.get().tolist() == want.tolist()


def test_atomics_and_a_condition_that_guards_a_read(device: str) -> None:
    x = np.random.default_rng(0).integers(-1, 5, 1000).astype(np.int32)
    bins = dc.zeros(5, dtype=np.int32, device=device)
    histogram[1024](dc.asarray(x, device=device), bins)
    assert bins.get().tolist() == np.bincount(x[x >= 0]).tolist()


def test_strides_of_all_kinds(device: str) -> None:
    a = np.arange(12.0).reshape(3, 4)
    given = dc.asarray(a, device=device)
    out = dc.zeros((4, 3), device=device)
    transposed(given, out)
    assert (out.get() == a.T).all()
    transposed(given.T[::-1, ::2], given[1:, ::-1][:, :2].T.copy().T[:, :2])
    into = dc.zeros((6, 8), device=device)
    transposed(given[:, ::-1], into[1:5, 1::3])
    want = np.zeros((6, 8))
    want[1:5, 1::3] = a[:, ::-1].T
    assert (into.get() == want).all()


def test_numbers_take_the_dtype_that_they_meet(device: str) -> None:
    a = np.random.default_rng(1).random((5, 7), np.float32)
    out = dc.zeros(5, dtype=np.float32, device=device)
    row_sums(dc.asarray(a, device=device)[:, ::-1], out)
    want = np.zeros(5, np.float32)
    for j in reversed(range(7)):
        want += a[:, j]
    assert (out.get() == want).all()


def test_constants(device: str) -> None:
    x = np.linspace(0, 1, 10)
    out = dc.zeros(10, device=device)
    given = dc.asarray(x, device=device)
    polynomial(given, out, coefficients=(1.0, 2.0, 3.0), scale=2)
    near(out, 2 * ((1.0 * x + 2.0) * x + 3.0))
    polynomial(given, out, coefficients=(np.float32(5.0),), scale=np.int8(1))
    near(out, np.full(10, 5.0))
    total = dc.zeros(5, device=device)
    strided(given, total, 2)
    near(total, x[:5] + x[5:])
    strided(given, total, n=0)
    near(total, x[:5] + x[5:])


@dc.kernel
def many_functions(x, out):
    i = global_id(0)
    y = x[i]
    out[0, i] = dc.nn.silu(y) + dc.nn.leaky_relu(y)
    out[1, i] = np.hypot(y, 2) + dc.sign(y) + np.maximum(y, 0)
    out[2, i] = np.where(y > 0, dc.sqrt(abs(y)), math.sin(y))
    out[3, i] = min(y, 0.5, -y) + max(y, 1) + y**2 + y // 0.3


def test_functions_of_the_table(device: str) -> None:
    x = np.linspace(-2, 2, 50)
    out = dc.zeros((4, 50), device=device)
    many_functions(dc.asarray(x, device=device), out, size=50)
    got = out.get()
    want = [
        x / (1 + np.exp(-x)) + np.where(x > 0, x, 0.01 * x),
        np.hypot(x, 2) + np.sign(x) + np.maximum(x, 0),
        np.where(x > 0, np.sqrt(abs(x)), np.sin(x)),
        np.minimum(np.minimum(x, 0.5), -x) + np.maximum(x, 1) + x**2 + x // 0.3,
    ]
    np.testing.assert_allclose(got, want, rtol=1e-14, atol=1e-15)


@dc.kernel
def halved(out, *, number):
    i = global_id(0)
    out[i] = 1 / number if number < 0 else number / 2
    if number == 0:
        out[i] = copysign(1.0, number)


def test_constants_that_are_equal_are_not_the_same() -> None:
    out = dc.zeros(1)
    for number, want in ((3, 1.5), (-0.5, -2.0), (0.0, 1.0), (-0.0, -1.0), (0, 1.0)):
        halved(out, number=number)
        assert out.tolist() == [want]
    with pytest.raises(dc.KernelTypeError, match="constants are numbers, tuples"):
        halved(out, number=[1])


def test_loops_that_are_left(device: str) -> None:
    a = np.random.default_rng(2).normal(size=(50, 30)).astype(np.float32)
    a[3] = 0
    place = dc.zeros(50, dtype=np.int64, device=device)
    value = dc.zeros(50, dtype=np.float32, device=device)
    first_above(dc.asarray(a, device=device), 1.5, place, value)
    wanted = [np.flatnonzero(row > 1.5)[:1].tolist() for row in a]
    assert place.get().tolist() == [row[0] if row else -1 for row in wanted]
    for row, stop, got in zip(a, place.get(), value.get(), strict=True):
        kept = row[: stop if stop >= 0 else None]
        near_total = np.cumsum(kept[kept >= 0], dtype=np.float32)
        assert got == (near_total[-1] if near_total.size else 0)
    again = dc.zeros(50, dtype=np.int64, device=device)
    first_above.interpret(dc.asarray(a, device=device), 1.5, again, value)
    assert (again.get() == place.get()).all()


def test_arrays_of_numpy_are_copied_back(device: str) -> None:
    a = np.arange(12.0).reshape(3, 4)
    host = np.zeros((4, 3))
    transposed(dc.asarray(a, device=device), host)
    assert (host == a.T).all()
    big = a.astype(">f8")
    back = np.zeros((4, 3), ">f8")
    with dc.config(device=device):
        transposed(big, back)
    assert (back == a.T).all()


def test_what_is_pending_runs_first(device: str) -> None:
    with dc.config(lazy="always"):
        x = dc.asarray(np.arange(10.0), device=device)
        y = x + 1
        z = x * 2
        saxpy(y, x * 0, x, 1.0)
        assert z.get().tolist() == (np.arange(10.0) * 2).tolist()
        near(x, np.arange(10.0) + 2)


def test_a_kernel_writes_through_views(device: str) -> None:
    base = dc.zeros((4, 5), device=device)
    view = base[1:3, ::2]
    transposed(dc.ones((3, 2), device=device), view)
    want = np.zeros((4, 5))
    want[1:3, ::2] = 1
    assert (base.get() == want).all()


# ------------------------------------------------------------------- as plain Python
@pytest.mark.parametrize("device", ["auto", "opencl:0"])
def test_interpret_gives_the_same(device: str) -> None:
    if device != "auto" and not counted("opencl"):
        pytest.skip("no OpenCL device here")
    x = dc.asarray(np.arange(20.0, dtype=np.float32), device=device)
    out = dc.zeros(3, dtype=np.float32, device=device)
    partial_sums.interpret[24, 8](x, out)
    again = dc.zeros(3, dtype=np.float32, device=device)
    partial_sums[24, 8](x, again)
    assert out.get().tolist() == again.get().tolist() == [28.0, 92.0, 70.0]
    a = np.arange(6.0).reshape(2, 3)
    b = dc.zeros((3, 2), device=device)
    transposed.interpret(dc.asarray(a, device=device), b)
    assert (b.get() == a.T).all()


@dc.kernel
def talks(out):
    i = global_id(0)
    print("item", i)
    if i == 1:
        barrier()
    out[i] = i


def test_a_kernel_that_prints(capsys: pytest.CaptureFixture[str]) -> None:
    out = dc.zeros(3)
    talks[3, 1](out)
    assert capsys.readouterr().out == ""
    assert out.tolist() == [0.0, 1.0, 2.0]
    talks.interpret[3, 1](out)
    assert capsys.readouterr().out == "item 0\nitem 1\nitem 2\n"


def test_a_barrier_that_not_all_reach() -> None:
    with pytest.raises(dc.LaunchError, match=r"ended while \(1, 0, 0\) waits"):
        talks.interpret[3, 3](dc.zeros(3))


@dc.kernel
def shifted(x, out):
    i = global_id(0)
    out[i] = x[i - 1]


def test_an_index_below_zero_is_no_index_from_the_end() -> None:
    @dc.kernel
    def computed(x, out):
        i = global_id(0)
        out[i] = x[-1] + x[np.int64(i) - 1]

    with pytest.raises(IndexError, match="index -1 is out of bounds"):
        computed.interpret(dc.ones(3), dc.zeros(3))


# --------------------------------------------------------------------------- mistakes
@dc.kernel
def two_axes(a, out):
    i, j = global_id(0), global_id(1)
    out[i, j] = a[i, j + 2]


@pytest.mark.parametrize(
    ("kernel", "shapes", "words", "line"),
    [
        (shifted, (4, 4), "index -1 is out of bounds for axis 0 of x with size 4", 3),
        (shifted, (4, 6), "for axis 0 of x with size 4", 3),
        (two_axes, ((3, 3), (3, 2)), "index 3 is out of bounds for axis 1 of a", 3),
    ],
)
def test_bounds_check(
    device: str, kernel: Any, shapes: Any, words: str, line: int
) -> None:
    x, out = (dc.zeros(shape, device=device) for shape in shapes)
    line += kernel.function.__code__.co_firstlineno
    with dc.config(bounds_check=True), pytest.raises(IndexError) as caught:
        kernel(x, out)
    assert words in str(caught.value)
    assert f'test_user_kernels.py", line {line}: ' in str(caught.value)
    with dc.config(bounds_check=True):
        transposed(dc.ones((3, 2), device=device), dc.zeros((2, 3), device=device))


def test_stores_and_atomics_out_of_bounds_change_nothing(device: str) -> None:
    bins = dc.zeros(4, dtype=np.int32, device=device)
    x = dc.asarray(np.array([0, 1, 9, 3, 3], np.int32), device=device)
    with dc.config(bounds_check=True), pytest.raises(IndexError, match="index 9"):
        histogram[5](x, bins)
    assert bins.get().tolist() == [1, 1, 0, 2]


@pytest.mark.parametrize(
    ("grid", "group", "words"),
    [
        (100, 64, r"do not fill.*round it up to \(128,\)"),
        ((8, 8), 8, r"a grid \(8, 8\) in groups of \(8,\)"),
        (8, 0, "do not fill"),
        (1 << 20, 1 << 18, "items at most"),
        ((1, 2, 3, 4), 1, "one to three lengths"),
        (-1, 1, "one to three lengths"),
    ],
)
def test_wrong_groups(device: str, grid: Any, group: Any, words: str) -> None:
    out = dc.zeros(8, device=device)
    with pytest.raises(dc.LaunchError, match=words):
        partial_sums[grid, group](out, out)


def test_groups_that_meet_need_a_size(device: str) -> None:
    out = dc.zeros(8, dtype=np.float32, device=device)
    words = r"shared takes a launch as kernel\[grid, group"
    with pytest.raises(dc.KernelSyntaxError, match=words):
        partial_sums(out, out)


def test_wrong_arguments(device: str) -> None:
    x = dc.zeros(8, device=device)
    with pytest.raises(dc.KernelTypeError, match="takes 2 arguments, got 3"):
        shifted(x, x, x)
    with pytest.raises(TypeError, match="argument 2 is a str"):
        shifted(x, "x")
    with pytest.raises(dc.KernelTypeError, match="out has 1 axes, got 2 indices"):
        two_axes(dc.zeros((2, 2), device=device), x, size=(2, 2))
    with pytest.raises(dc.KernelSyntaxError, match="takes no 'y'"):
        shifted(x, x, y=3)
    with pytest.raises(ValueError, match="argument 2 is read-only"):
        shifted(np.zeros(8), np.broadcast_to(0.0, 8))
    with pytest.raises(dc.UnsupportedError, match="no kernel computes with"):
        shifted(np.zeros(8, "U3"), x)
    with pytest.raises(dc.LaunchError, match="stores to no array"):
        stores_nothing(x)
    assert x.get().tolist() == [0.0] * 8


@dc.kernel
def stores_nothing(x):
    if x[global_id(0)] > 0:
        return


@dc.kernel
def narrow_atomic(x):
    atomic_add(x, 0, 1)


def test_what_a_device_lacks_names_the_line() -> None:
    if not counted("opencl"):
        pytest.skip("no OpenCL device here")
    line = narrow_atomic.function.__code__.co_firstlineno + 2
    with pytest.raises(
        dc.UnsupportedError, match=f"atomic.*int8|char.*\n.*line {line}"
    ):
        narrow_atomic[4](dc.zeros(4, dtype=np.int8, device="opencl:0"))


def test_devices_do_not_mix() -> None:
    if not counted("opencl"):
        pytest.skip("no OpenCL device here")
    with pytest.raises(dc.DeviceMismatchError, match="shifted"):
        shifted(dc.zeros(3, device="cpu"), dc.zeros(3, device="opencl:0"))
