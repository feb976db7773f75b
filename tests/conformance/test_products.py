"""Products of matrices that NumPy has no BLAS for: the same integers, modulo 2**bits;
short floats within their rounding."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest

import dcarray as dc
from dcarray.backends.cpu.wholes import exact, products

INTEGERS = "bBhHiIlLqQ"


def integers(seed: int, shape: tuple[int, ...], dtype: Any, bits: int = 64) -> Any:
    """Over the whole range, or of so many bits, both ends among them."""
    dtype = np.dtype(dtype)
    low, high = int(np.iinfo(dtype).min), int(np.iinfo(dtype).max)
    low, high = max(low, -(1 << bits - 1)), min(high, (1 << bits - 1) - 1)
    x = np.random.default_rng(seed).integers(low, high, shape, dtype, endpoint=True)
    x[..., :2, :2] = [[low, high], [high, low]]
    return x


@pytest.fixture(autouse=True)
def small_ones_too(monkeypatch: Any) -> None:
    monkeypatch.setattr(products, "LEAST", dict.fromkeys(products.LEAST, 1))


def same(found: Any, wanted: Any) -> None:
    found = found._array() if isinstance(found, dc.ndarray) else found
    assert found.dtype == wanted.dtype
    assert found.strides == wanted.strides
    np.testing.assert_array_equal(found, wanted)


@pytest.mark.parametrize("bits", [2, 8, 17, 64])
@pytest.mark.parametrize("char", INTEGERS)
def test_integers(char: str, bits: int, monkeypatch: Any) -> None:
    monkeypatch.setattr(exact, "SHORTEST", 8)  # sums of several parts
    a, b = integers(1, (35, 300), char, bits), integers(2, (300, 40), char, bits)
    same(dc.asarray(a) @ dc.asarray(b), a @ b)


@pytest.mark.parametrize("pair", ["bh", "Bi", "iq", "bB", "??"])
def test_mixed_dtypes(pair: str) -> None:
    a = integers(1, (40, 60), np.int8).astype(pair[0])
    b = integers(2, (60, 50), np.int8).astype(pair[1])
    same(dc.matmul(dc.asarray(a), dc.asarray(b)), a @ b)


def test_panels(monkeypatch: Any) -> None:
    monkeypatch.setattr(exact, "PANEL", 1000)
    a, b = integers(1, (70, 300), "q"), integers(2, (300, 300), "q")
    same(products.matmul(a, b), a @ b)


def test_stacks_and_layouts() -> None:
    a, b = integers(1, (3, 1, 40, 60), "i"), integers(2, (2, 60, 50), "i")
    same(dc.matmul(dc.asarray(a), dc.asarray(b)), a @ b)
    same(dc.matmul(dc.asarray(a), dc.asarray(b[1])), a @ b[1])
    same(dc.asarray(b.mT) @ dc.asarray(a.mT), b.mT @ a.mT)
    same(products.matmul(a[:, :, ::-2], b[:, :, ::2]), a[:, :, ::-2] @ b[:, :, ::2])
    swapped = a.astype(">i4")
    same(products.matmul(swapped, b), swapped @ b)


FUNCTIONS: dict[str, tuple[Any, tuple[int, ...], tuple[int, ...]]] = {
    "dot": (lambda n, a, b: n.dot(a, b), (3, 40, 30), (2, 30, 20)),
    "inner": (lambda n, a, b: n.inner(a, b), (3, 40, 30), (2, 20, 30)),
    "tensordot": (lambda n, a, b: n.tensordot(a, b), (9, 10, 30), (10, 30, 50)),
    "tensordot axes": (
        lambda n, a, b: n.tensordot(a, b, ([0, -1], [2, 1])),
        (9, 40, 30),
        (50, 30, 9),
    ),
    "einsum": (lambda n, a, b: n.einsum("ij,jk->ik", a, b), (50, 30), (30, 60)),
    "einsum of rows": (lambda n, a, b: n.einsum("ij,kj->ik", a, b), (50, 30), (60, 30)),
    "einsum over two": (
        lambda n, a, b: n.einsum("iaj,ja k -> ik", a, b),
        (50, 5, 30),
        (30, 5, 60),
    ),
    "multi_dot": (lambda n, a, b: n.linalg.multi_dot([a, b]), (50, 30), (30, 60)),
}


@pytest.mark.parametrize("name", FUNCTIONS)
@pytest.mark.parametrize("char", "bQe")
def test_kin_of_matmul(name: str, char: str) -> None:
    function, first, second = FUNCTIONS[name]
    a, b = integers(1, first, np.int8), integers(2, second, np.int8)
    if char == "e":
        a, b = (a / 100).astype(char), (b / 100).astype(char)
        found = function(dc, dc.asarray(a), dc.asarray(b))._array()
        wanted = function(np, a, b)
        assert found.dtype == wanted.dtype
        assert found.strides == wanted.strides
        np.testing.assert_allclose(found, wanted, 2e-3, 2e-2)
    else:
        a, b = a.astype(char), b.astype(char)
        same(function(dc, dc.asarray(a), dc.asarray(b)), function(np, a, b))


def test_short_floats() -> None:
    from ml_dtypes import bfloat16

    rng = np.random.default_rng(3)
    for dtype, epsilon in ((np.float16, 2.0**-11), (bfloat16, 2.0**-8)):
        a = rng.normal(size=(60, 90)).astype(dtype)
        b = rng.normal(size=(90, 70)).astype(dtype)
        right = a.astype(float) @ b.astype(float)
        for function in (dc.dot, dc.matmul):
            found = function(dc.asarray(a), dc.asarray(b))
            wanted = getattr(np, function.__name__)(a, b)
            assert found.dtype == wanted.dtype
            error = abs(found._array().astype(float) - right)
            assert (error <= epsilon * abs(right) + 1e-5).all()


def told(function: Any, *operands: Any) -> list[str]:
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        function(*operands)
    return sorted({str(x.message) for x in found})


@pytest.mark.parametrize("name", ["matmul", "dot"])
def test_warnings_of_short_floats(name: str) -> None:
    ours, theirs = getattr(products, name), getattr(np, name)
    a = np.ones((40, 40), np.float16)
    large, endless, missing = a.copy(), a.copy(), a.copy()
    large[3, 4], endless[3, 4], missing[3, 4] = 65504, np.inf, np.nan
    cases = ((a, a), (a, large), (a, large * 0 + large), (endless, a))
    cases += ((missing, a), (endless, 0 * a), (endless, -endless + a))
    seen = set()
    for x, y in cases:
        with np.errstate(all="ignore"):
            np.testing.assert_array_equal(ours(x, y), theirs(x, y))
        assert told(ours, x, y) == told(theirs, x, y)
        seen.update(told(ours, x, y))
    assert len(seen) == 2
    with np.errstate(over="raise"), pytest.raises(FloatingPointError, match=name):
        ours(large, large)


def test_out_and_errors() -> None:
    a, b = integers(1, (40, 60), "h"), integers(2, (60, 50), "h")
    out = dc.zeros((40, 50), dtype=dc.int16)
    assert dc.matmul(dc.asarray(a), dc.asarray(b), out=out) is out
    same(out, a @ b)
    wide = dc.zeros((40, 50), dtype=dc.int64)
    assert dc.matmul(dc.asarray(a), dc.asarray(b), out=wide) is wide
    same(wide, np.matmul(a, b, out=np.zeros((40, 50), np.int64)))
    for function in (dc.matmul, dc.dot):
        with pytest.raises(ValueError) as ours:
            function(dc.asarray(a), dc.asarray(a))
        with pytest.raises(ValueError) as theirs:
            getattr(np, function.__name__)(a, a)
        assert str(ours.value) == str(theirs.value)
    with pytest.raises(ValueError):
        dc.dot(dc.asarray(a), dc.asarray(b), out=wide)
    assert dc.dot(dc.asarray(a), dc.asarray(b), out=out) is out
    square = dc.asarray(integers(1, (50, 50), "h"))
    wanted = square._array() @ square._array()
    dc.matmul(square, square, out=square)
    same(square, wanted)
