"""The kernel language as users write it: plain Python says what is right."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import dcarray as dc
from dcarray.backends import registry
from dcarray.backends.registry import counted
from dcarray.kernel import (
    atomic_add,
    atomic_compare_exchange,
    atomic_max,
    atomic_min,
    barrier,
    global_id,
    group_id,
    local_id,
    shared,
)
from tests.metal_simulator import Simulator, installed
from tests.metal_simulator.library import compiler

F32 = np.dtype(np.float32)


@pytest.fixture(scope="module", params=["cpu", "in step", "opencl:0", "metal:0"])
def device(request: pytest.FixtureRequest) -> Iterator[str]:
    name = str(request.param)
    if name == "opencl:0" and not counted("opencl"):
        pytest.skip("no OpenCL device here")
    if name != "metal:0":
        yield name
        return
    if not compiler():
        pytest.skip("needs g++")
    with installed(Simulator()):
        yield name
        registry.remove(name)


def numbers(*shape: int, dtype: Any = F32) -> Any:
    found = np.random.default_rng(len(shape)).normal(size=shape) * 3
    return found.astype(dtype)


# ------------------------------------------------------------------------- functions
def place_of(row, limit):
    for j in range(len(row)):
        if row[j] > limit:
            return j, row[j]
    return -1, 0.0


def root(n):
    k = 0
    while True:
        if k * k > n:
            return k - 1
        k += 1


def sign(x):
    if x > 0:
        return 1
    if x < 0:
        return -1
    return 0


double = lambda x, y=0.5: 2 * x + y  # noqa: E731


class Scales:
    UNIT = 3

    @staticmethod
    def scaled(x: Any) -> Any:
        return x * Scales.UNIT


# --------------------------------------------------------------------------- kernels
@dc.kernel
def returns(a, out):
    """From one loop and from two, with one value, with two and with none."""
    i = global_id(0)
    j, value = place_of(a[i], 0.8)
    out[i, 0] = j + value
    out[i, 1] = root(i * 7)
    for row in a:
        for x in row:
            if x > i:
                out[i, 2] = x
                return
    out[i, 2] = -1


@dc.kernel
def parts(a, out):
    """Slices are views, and loops run over them."""
    i = global_id(0)
    row, backwards, column = a[i, 1:], a[i, ::-1], a[:, 2]
    total = column[i] + len(row) + backwards[-1] + backwards[0]
    for x, y in zip(row, backwards):
        total += x * y
    around = a[max(i - 1, 0) : i + 2, 1:-1:2]
    for line in around:
        for k, x in enumerate(line, 1):
            if x < -2:
                continue
            total += k * x
    out[i, 0] = total
    out[i, 1] = around.shape[0] + 10 * a[i, i:2].size + 100 * a[4:1:-1, i].size
    last = out[i, 2:]
    for k in reversed(range(0, len(last), 2)):
        last[k] = k + i
    out[i, 3] += (out[i, 2] + a[-1, -1]) if i else 0


@dc.kernel
def words(x, out, *, bias=None, steps=(1, 2)):
    """Small words of Python."""
    i = global_id(0)
    a = b = x[i]
    a, (b, c) = b, (a, double(a) + double(a, y=1))
    out[0, i] = a + b + c + sum((a, 1.0)) + max((a, 0.5))
    out[1, i] = round(x[i]) + pow(x[i], 2) + divmod(x[i], 2)[1]
    for step in steps:
        if x[step] > 100:
            break
    else:
        out[2, i] = 7 if i in (1, 3) and bias is None else Scales.scaled(sign(x[i]))
    if bias is not None:
        out[2, i] = bias


@dc.kernel
def order(x, count):
    """What is read first stays what it was."""
    i = global_id(0)
    if i == 0:
        x[0], x[1] = x[1], x[0]
        pair = (x[2], x[3])
        x[2] = 9
        x[3] = pair[0] + 2 * pair[1]
        count[1] = count[0] + atomic_add(count, 0, 5)
        x[atomic_add(count, 0, 1)] += 1


@dc.kernel
def weak(x, out):
    """Numbers of Python take the dtype of what they meet, and need no doubles."""
    i = global_id(0)
    factor = 0.5 if x[i] > 0 else 0.1
    if i > 3:
        factor = 0.3
    out[0, i] = x[i] * factor + 0.5 * i
    total, best = 0.0, -1e30
    for k in range(5):
        total += x[k] * k
        if x[k] > best:
            best = x[k]
    out[1, i] = total / 3 + (i + 1) / len(x) + best
    out[2, i] = 1 if 0.5 * i < 2.2 else i * 0.25
    out[3, i] = np.sqrt(i / 2) + np.float32(i) * 0.1


@dc.kernel
def meetings(x, out):
    """Barriers in loops and in branches that a whole group takes."""
    tile = shared(x.dtype, 8)
    mine, i = local_id(0), global_id(0)
    tile[mine] = x[i]
    rounds = 0
    while True:
        barrier()
        value = tile[(mine + 1) % 8]
        barrier()
        tile[mine] = value
        rounds += 1
        if rounds == group_id(0) + 2:
            break
    if group_id(0) == 1:
        barrier()
        out[i] = tile[7 - mine]
        return
    out[i] = tile[mine]


@dc.kernel
def together(x, total, limits):
    i = global_id(0)
    atomic_min(limits, 0, x[i])
    atomic_max(limits, 1, x[i])
    done = False
    while not done:
        old = total[0]
        done = atomic_compare_exchange(total, 0, old, old + 2) == old


CASES: dict[Any, Any] = {
    returns: (lambda dtype: [numbers(6, 8, dtype=dtype), np.zeros((6, 3), dtype)], 6),
    parts: (lambda dtype: [numbers(6, 8, dtype=dtype), np.zeros((6, 8), dtype)], 6),
    words: (lambda dtype: [numbers(6, dtype=dtype), np.zeros((3, 6), dtype)], 6),
    order: (lambda dtype: [np.arange(6).astype(dtype), np.zeros(2, np.int32)], 1),
    weak: (lambda dtype: [numbers(6, dtype=dtype), np.zeros((4, 6), dtype)], 6),
    together: (
        lambda dtype: [
            numbers(20, dtype=dtype),
            np.zeros(1, np.int32),
            np.array([9e9, -9e9], dtype),
        ],
        20,
    ),
}


def run(
    kernel: Any, arguments: Any, device: str, sizes: Any = None, **more: Any
) -> Any:
    home = "cpu" if device == "in step" else device
    given = [dc.asarray(x, device=home) for x in arguments]
    launch = kernel if sizes is None else kernel[sizes]
    with dc.config(engine="interpreter" if device == "in step" else "auto"):
        launch(*given, **more)
    return [x.get() for x in given]


@pytest.mark.parametrize("kernel", CASES, ids=lambda kernel: kernel.__name__)
def test_it_is_what_python_says(device: str, kernel: Any) -> None:
    make, size = CASES[kernel]
    want = make(F32)
    kernel.interpret(*want, size=size)
    got = run(kernel, make(F32), device, size=size)
    for x, y in zip(got, want, strict=True):
        assert x.dtype == y.dtype
        np.testing.assert_allclose(x, y, rtol=1e-6, atol=1e-6)


def test_constants_may_be_none(device: str) -> None:
    x, out = numbers(6), np.zeros((3, 6), F32)
    got = run(words, [x, out], device, size=6, bias=4, steps=())[1]
    assert got[2].tolist() == [4.0] * 6


@dc.kernel
def scaled(x, factor):
    i = global_id(0)
    x[i] = int(x[i] * factor)


def test_a_number_among_integers(device: str) -> None:
    x = np.arange(6, dtype=np.int16)
    assert run(scaled, [x], device, factor=1.5)[0].tolist() == [0, 1, 3, 4, 6, 7]


def test_groups_meet_in_loops(device: str) -> None:
    x = numbers(24)
    want = np.zeros(24, F32)
    meetings.interpret[24, 8](x, want)
    got = run(meetings, [x, np.zeros(24, F32)], device, (24, 8))[1]
    assert got.tolist() == want.tolist()
    turned = np.concatenate(
        [np.roll(row, -k - 2) for k, row in enumerate(x.reshape(3, 8))]
    )
    turned[8:16] = turned[8:16][::-1]
    assert got.tolist() == turned.tolist()


@dc.kernel
def turned(z, half, out):
    i = global_id(0)
    total = 0j
    for x in z[: i + 1]:
        total += x * half[i] * 1j
    out[i] = total if i else total.real - 1


def test_complex_numbers_and_halves(device: str) -> None:
    z = (numbers(6) + 1j * numbers(6)[::-1]).astype(np.complex64)
    half, want = numbers(6, dtype=np.float16), np.zeros(6, np.complex64)
    turned.interpret(z, half, want)
    got = run(turned, [z, half, np.zeros(6, np.complex64)], device)[2]
    np.testing.assert_allclose(got, want, rtol=1e-5)


@dc.kernel
def rounds(a, weights, out):
    """Loops with as many rounds for all, and one with fewer for some."""
    i = global_id(0)
    n = len(weights)
    total, most, scale, count = 0.0, 0.0, 1.0, 0
    for j in range(n):
        x = a[i, 0] * weights[j] + weights[n - 1]
        for k in range(6):
            total += x * k
            if total > most:
                most = total
        scale = scale * 0.5
        count += 1
    for j in range(min(i, n)):
        total += weights[j] * scale
    out[i, 0] = total
    out[i, 1] = most + count


@pytest.mark.parametrize("size", [0, 7])
def test_rounds_that_are_the_same_for_all(device: str, size: int) -> None:
    a, weights = numbers(300, 2), numbers(size)
    want = np.zeros((300, 2), F32)
    rounds.interpret(a, weights, want, size=300)
    got = run(rounds, [a, weights, np.zeros((300, 2), F32)], device, size=300)[2]
    np.testing.assert_allclose(got, want, rtol=1e-5, atol=1e-5)


# ----------------------------------------------------------- barriers that do not meet
@dc.kernel
def apart(x, out):
    if x[global_id(0)] > 0:
        barrier()
    out[0] = 1


@dc.kernel
def gone(x, out):
    if local_id(0) > 3:
        return
    barrier()
    out[0] = 1


@dc.kernel
def different(x, out):
    for _ in range(local_id(0)):
        barrier()
    out[0] = 1


@dc.kernel
def left(x, out):
    k = 0
    while k < 9:
        barrier()
        k += 1
        if k > x[local_id(0)]:
            break
    out[0] = 1


@pytest.mark.parametrize("kernel", [apart, gone, different, left])
def test_barriers_that_not_all_reach(kernel: Any) -> None:
    x, out = dc.ones(8), dc.zeros(1)
    with pytest.raises(dc.KernelSyntaxError, match="not all work items") as caught:
        kernel[8, 4](x, out)
    assert caught.value.text is not None and "barrier()" in caught.value.text
    assert out.tolist() == [0.0]
    kernel[8, 1](x, out)  # a group of one is always complete
    assert out.tolist() == [1.0]


@dc.kernel
def beyond(a, out):
    i = global_id(0)
    row = a[i, 1:]
    for k in range(len(row) + i):
        out[i] += row[k]


def test_bounds_of_a_slice(device: str) -> None:
    a = np.ones((3, 4), F32)
    with dc.config(bounds_check=True):
        with pytest.raises(
            IndexError, match=r"index 3 .* axis 1 of a with size 3\n.*row"
        ):
            run(beyond, [a, np.zeros(3, F32)], device, size=3)
        got = run(beyond, [a, np.zeros(3, F32)], device, size=1)[1]
    assert got.tolist() == [3.0, 0.0, 0.0]


def test_names_of_a_class_are_looked_up_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    @dc.kernel
    def fill(out):
        out[global_id(0)] = Scales.scaled(Scales.UNIT)

    out = dc.zeros(2)
    fill(out)
    assert out.tolist() == [9.0, 9.0]
    monkeypatch.setattr(Scales, "UNIT", 5)
    fill(out)
    assert out.tolist() == [25.0, 25.0]
