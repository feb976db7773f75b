"""Copies, products with vectors and pooling by our own texts, on a device of CUDA."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import dcarray as dc
from dcarray.backends.registry import counted

pytestmark = pytest.mark.skipif(not counted("cuda"), reason="needs a CUDA device")

RNG = np.random.default_rng(11)


def put(host: Any) -> dc.DeviceArray:
    return dc.asarray(host, device="cuda:0")


# ------------------------------------------------------------------------------ vectors
@pytest.mark.parametrize("code", ["f4", "f8", "f2"])
@pytest.mark.parametrize(
    "shape",
    [
        *((300, 400), (2, 70_001), (70_001, 2), (999, 1001), (5000, 64)),
        *((70_001, 12), (70_001, 4), (1001, 1028), (9000, 31)),
    ],
)
def test_vectors(code: str, shape: tuple[int, int]) -> None:
    host = RNG.standard_normal(shape).astype(code)
    row, column = (RNG.standard_normal(n).astype(code) for n in shape)
    x, r, c = put(host), put(row), put(column)
    wide = host.astype("f8")
    rtol = {"f4": 1e-5, "f8": 1e-13, "f2": 2e-3}[code]
    for got, one, other in (
        (x @ c, wide, column.astype("f8")),
        (x.T @ r, wide.T, row.astype("f8")),
        (r @ x, row.astype("f8"), wide),
        (c @ x.T, column.astype("f8"), wide.T),
        (x[1:] @ c, wide[1:], column.astype("f8")),
        (x[:, 1:] @ c[1:], wide[:, 1:], column[1:].astype("f8")),
        (r[1:] @ x[1:], row[1:].astype("f8"), wide[1:]),
    ):
        bound = rtol * (abs(one) @ abs(other)) + (1e-7 if code == "f2" else 0)
        assert got.dtype == host.dtype
        assert (abs(got.get() - one @ other) <= bound).all()


@pytest.mark.parametrize("code", ["f4", "f8", "f2"])
@pytest.mark.parametrize("length", [1, 5, 129, 4001])
def test_vectors_of_other_steps(code: str, length: int) -> None:
    """Columns, reversed rows, and products of two vectors, three times each: found,
    kept, and done again."""
    host = RNG.standard_normal((length, 64)).astype(code)
    x = put(host)
    wide = host.astype("f8")
    rtol = {"f4": 1e-5, "f8": 1e-13, "f2": 4e-3}[code]
    for a, b in (
        (np.s_[:, 3], np.s_[:, 7:]),
        (np.s_[::-1, 3], np.s_[:, 7:]),
        (np.s_[:, 3], np.s_[:, 9]),
        (np.s_[::-1, 3], np.s_[:, 9]),
        (np.s_[0, ::-1], np.s_[0, :]),
    ):
        one, other = wide[a], wide[b]
        bound = rtol * (abs(one) @ abs(other)) + (1e-7 if code == "f2" else 0)
        for _ in range(3):
            got = x[a] @ x[b]
            assert got.dtype == host.dtype
            assert (abs(got.get() - one @ other) <= bound).all()
            assert (abs(dc.dot(x[a], x[b]).get() - one @ other) <= bound).all()


# ------------------------------------------------------------------ every other element
@pytest.mark.parametrize("code", ["f4", "f8", "i2", "u4", "u1"])
def test_every_other_element(code: str) -> None:
    host = (RNG.random((514, 1024)) * 99).astype(code)
    x = put(host)
    for key in (
        np.s_[::2, 1::2],
        np.s_[:, ::2],
        np.s_[1:, 4:-4:2],
        np.s_[:, 2::2],
        np.s_[:, 1::3],
        np.s_[::-1, ::2],
    ):
        assert np.array_equal(dc.copy(x[key]).get(), host[key])
    flat = put(host.reshape(-1)[:-3])
    assert np.array_equal(dc.copy(flat[::2]).get(), host.reshape(-1)[:-3:2])
    whole = dc.zeros((257, 1024), dtype=x.dtype, device="cuda:0")
    whole[:, 4:516] = x[::2, 1::2]
    assert np.array_equal(whole[:, 4:516].get(), host[::2, 1::2])
    assert not whole[:, 516:].get().any()


# ------------------------------------------------------------------------------ pooling
WINDOWS: list[tuple[Any, Any, Any]] = [
    (2, 2, 0),
    (3, 2, 1),
    (3, 1, 1),
    ((3, 2), (1, 3), (1, 0)),
    (1, 2, 0),
    (5, 3, 2),
]


@pytest.mark.parametrize("code", ["f4", "f8", "f2", "i4"])
@pytest.mark.parametrize(("kernel", "stride", "padding"), WINDOWS)
def test_pooling(code: str, kernel: Any, stride: Any, padding: Any) -> None:
    host = RNG.integers(0, 50, (3, 5, 29, 34)).astype(code)
    if code[0] == "f":
        host[0, 0, 3, 4:6] = np.nan
    window = (kernel, stride, padding)
    x, y = put(host), dc.asarray(host, device="cpu")
    found = dc.nn.max_pool2d(x, *window, return_indices=True)
    want = dc.nn.max_pool2d(y, *window, return_indices=True)
    for one, other in zip(found, want, strict=True):
        assert np.array_equal(one.get(), other.get(), equal_nan=code[0] == "f")
    got = dc.nn.max_pool2d(x, *window)
    assert np.array_equal(got.get(), want[0].get(), equal_nan=code[0] == "f")
    g = RNG.integers(0, 9, want[0].shape).astype(code)
    got = dc.nn.max_pool2d_gradient(put(g), x, *window)
    one = dc.nn.max_pool2d_gradient(dc.asarray(g, device="cpu"), y, *window)
    assert np.array_equal(got.get(), one.get())
    got, one = (dc.nn.avg_pool2d(z, *window) for z in (x, y))
    assert got.dtype == one.dtype
    np.testing.assert_allclose(
        got.get(), one.get(), rtol=2e-3 if code == "f2" else 1e-6
    )
    got = dc.nn.avg_pool2d_gradient(put(g), x, *window)
    one = dc.nn.avg_pool2d_gradient(dc.asarray(g, device="cpu"), y, *window)
    np.testing.assert_allclose(
        got.get(), one.get(), rtol=2e-3 if code == "f2" else 1e-6
    )


# ------------------------------------------------------------------------------- random
@pytest.mark.parametrize("code", ["f4", "f8"])
@pytest.mark.parametrize("size", [40_000, 1_000_003, 20_000_000])
def test_normal_numbers(code: str, size: int) -> None:
    ours, theirs = (np.random.Generator(np.random.PCG64(5)) for _ in range(2))
    generator = dc.random.Generator(ours.bit_generator)
    with dc.config(device="cuda:0", fallback="error"):
        for turn in range(3):  # a half of a word may be held at the second one
            got = generator.standard_normal(size, dtype=code)
            want = theirs.standard_normal(size, dtype=code)
            assert got.device == dc.Device("cuda:0")
            rtol = 1e-5 if code == "f4" else 1e-12
            np.testing.assert_allclose(got.get(), want, rtol=rtol)
            assert ours.bit_generator.state == theirs.bit_generator.state
            if code == "f4" and not turn:
                generator.standard_normal(1, dtype=code).get()
                theirs.standard_normal(1, dtype=code)
