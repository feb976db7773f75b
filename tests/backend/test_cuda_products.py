"""How products are put to cuBLASLt: one of NumPy stands for it."""

from __future__ import annotations

import ctypes
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import dcarray as dc
from dcarray.backends.cuda import blas, calling, products
from dcarray.backends.registry import counted

from ..cuda_simulator import Runtime, installed

pytestmark = pytest.mark.skipif(bool(counted("cuda")), reason="there is a real one")

RNG = np.random.default_rng(4)
PRODUCT = blas.Blas.product
CODES = {0: "f4", 1: "f8", 2: "f2", 4: "c8", 5: "c16"}
SIZES = {3: 4, 4: 4, 5: 4, 6: 8, 7: 4, 8: 8}
"""Of attributes of descriptors and layouts, in bytes."""


class Library:
    """cuBLASLt's functions, on memory of the host.

    Attributes
    ----------
    chosen, run : int
        How often an algorithm was looked for, and used.
    workspace : int
        Bytes that it asks for.
    """

    def __init__(self, runtime: Runtime) -> None:
        self._runtime = runtime
        self.things: dict[int, dict[Any, Any]] = {}
        self.chosen = self.run = self.workspace = 0
        self.is_able = True
        # Their addresses are taken.
        self.cublasLtMatmul = calling._MATMUL(self._matmul)
        self.cublasLtMatmulDescSetAttribute = calling._CHANGE(self._change)

    def _make(self, handle: Any, **facts: Any) -> int:
        handle._obj.value = len(self.things) + 1
        self.things[handle._obj.value] = facts
        return 0

    def cublasLtCreate(self, handle: Any) -> int:
        return self._make(handle)

    def cublasLtMatmulDescCreate(self, handle: Any, compute: int, scale: int) -> int:
        return self._make(handle, compute=compute, scale=scale)

    def cublasLtMatrixLayoutCreate(
        self, handle: Any, kind: int, rows: Any, columns: Any, leading: Any
    ) -> int:
        shape = (rows.value, columns.value)
        assert leading.value >= rows.value
        return self._make(handle, code=CODES[kind], shape=shape, leading=leading.value)

    def cublasLtMatmulPreferenceCreate(self, handle: Any) -> int:
        return self._make(handle, is_wish=True)

    def _set(self, thing: Any, attribute: Any, value: Any, size: Any) -> int:
        attribute = getattr(attribute, "value", attribute)
        wanted = SIZES.get(attribute)
        if not self.things[thing.value].get("is_wish"):
            assert size.value == wanted
        self.things[thing.value][attribute] = value._obj.value
        return 0

    def _change(self, thing: int, attribute: int, value: int, size: int) -> int:
        assert size == SIZES[attribute]
        found = int.from_bytes(ctypes.string_at(value, size), "little")
        self.things[thing][attribute] = found
        return 0

    cublasLtMatrixLayoutSetAttribute = _set
    cublasLtMatmulPreferenceSetAttribute = _set

    def _drop(self, thing: Any) -> int:
        self.things[thing.value] = {}
        return 0

    cublasLtMatmulDescDestroy = _drop
    cublasLtMatrixLayoutDestroy = _drop
    cublasLtMatmulPreferenceDestroy = _drop

    def cublasLtMatmulAlgoGetHeuristic(self, *given: Any) -> int:
        *_, wish, wanted, choice, returned = given
        assert self.things[wish.value][1] == products.WORKSPACE
        assert {self.things[wish.value][k] for k in (5, 6, 7, 8)} <= {2, 4, 8, 16}
        choice._obj.workspace = self.workspace
        returned._obj.value = int(self.is_able)
        self.chosen += wanted
        return 0

    def _matmul(self, handle: int, *given: Any) -> int:
        values = [x or 0 for x in given]
        self._runtime._run("product", values[-1], lambda: self._multiply(*values))
        self.run += 1
        return 0

    def _seen(self, address: int, layout: int) -> Any:
        facts = self.things[layout]
        size = np.dtype(facts["code"]).itemsize
        rows, columns = facts["shape"]
        count, step = facts.get(5, 1), facts.get(6, 0)
        reach = (count - 1) * step + (columns - 1) * facts["leading"] + rows
        raw = (ctypes.c_char * (reach * size)).from_address(address)
        strides = (step * size, size, facts["leading"] * size)
        return np.ndarray((count, rows, columns), facts["code"], raw, strides=strides)

    def _multiply(self, *values: Any) -> None:
        description, _, x, a, y, b, _, out, c, _, _, _, room, size, _ = values
        assert room > 0 or not size
        facts = self.things[description]
        first, second = self._seen(x, a), self._seen(y, b)
        first = first.mT if facts[3] else first
        second = second.mT if facts[4] else second
        found = first @ second
        if facts[7] & products.BIAS:
            rows = found.shape[1]
            raw = (ctypes.c_char * (rows * found.itemsize)).from_address(facts[8])
            found = found + np.ndarray((rows, 1), found.dtype, raw)
        if facts[7] & products.RELU:
            found = np.maximum(found, 0)
        self._seen(out, c)[...] = found


class Blas:
    """cuBLAS's functions; those that multiply are not to be called."""

    def cublasCreate_v2(self, handle: Any) -> int:
        return 0

    def cublasGemmStridedBatchedEx(self, *given: Any) -> int:
        raise AssertionError("cuBLASLt was to do it")


@pytest.fixture
def library(monkeypatch: pytest.MonkeyPatch) -> Iterator[Library]:
    with installed() as runtime, dc.config(fallback="error"):
        made = Library(runtime)
        monkeypatch.setattr(products, "_library", lambda: made)
        monkeypatch.setattr(blas, "_library", Blas)
        monkeypatch.setattr(blas.Blas, "product", PRODUCT)
        yield made


def put(x: Any) -> Any:
    return dc.asarray(x, device="cuda:0")


def numbers(*shape: int, code: str = "f4") -> Any:
    found = RNG.integers(-4, 5, shape)
    return (found + 1j * RNG.integers(-4, 5, shape) if "c" in code else found).astype(
        code
    )


@pytest.mark.parametrize("code", ["f2", "f4", "f8", "c8", "c16"])
def test_matrices_as_they_lie(library: Library, code: str) -> None:
    a, b = numbers(6, 8, code=code), numbers(8, 4, code=code)
    x, y = put(a), put(b)
    for _ in range(3):
        assert np.array_equal((x @ y).get(), a @ b)
    assert library.chosen == 1
    assert library.run == 3
    assert np.array_equal((y.T @ x.T).get(), b.T @ a.T)
    assert np.array_equal((x[1:5, 2:6] @ y[4:, :3]).get(), a[1:5, 2:6] @ b[4:, :3])


def test_stacks(library: Library) -> None:
    library.workspace = 4096
    a, b = numbers(3, 5, 6, 8), numbers(5, 8, 7)
    x, y = put(a), put(b)
    assert np.array_equal((x @ y).get(), a @ b)
    assert np.array_equal((x @ y[0]).get(), a @ b[0])
    assert np.array_equal((x[0, :, :3] @ y).get(), a[0, :, :3] @ b)
    runs = library.run
    # Rows of a stack are those of one matrix.
    assert np.array_equal((x @ y[1].mT[:, :8].mT).get(), a @ b[1].mT[:, :8].mT)
    assert library.run == runs + 1


@pytest.mark.parametrize("shape", [(6, 8), (3, 5, 8)])
def test_linear_layers(library: Library, shape: tuple[int, ...]) -> None:
    a, b, c = numbers(*shape), numbers(4, 8), numbers(4)
    x, w, bias = put(a), put(b), put(c)
    want = a @ b.T + c
    for _ in range(3):
        assert np.array_equal(dc.nn.linear(x, w).get(), a @ b.T)
        assert np.array_equal(dc.nn.linear(x, w, bias).get(), want)
        found = dc.nn.linear(x, w, bias, activation=dc.nn.relu)
        assert np.array_equal(found.get(), np.maximum(want, 0))
        found = dc.nn.linear(x, w, activation=dc.nn.relu)
        assert np.array_equal(found.get(), np.maximum(a @ b.T, 0))
    assert library.run == 12
    found = dc.nn.linear(x, w, bias, activation=dc.negative)
    assert np.array_equal(found.get(), -want)
    # Stacks that do not lie in one piece are a product and an addition.
    found = dc.nn.linear(x[..., 2:6], w[:, 4:], bias, activation=dc.nn.relu)
    assert np.array_equal(found.get(), np.maximum(a[..., 2:6] @ b[:, 4:].T + c, 0))


def test_products_are_captured(library: Library) -> None:
    library.workspace = 512
    w, b = numbers(8, 8), numbers(8)
    weight, bias = put(w), put(b)
    step = dc.graph(lambda x: dc.nn.linear(x @ weight, weight, bias))
    for _ in range(3):
        host = numbers(3, 8)
        assert np.array_equal(step(put(host)).get(), host @ w @ w.T + b)


def test_what_it_does_not_have(library: Library, monkeypatch: Any) -> None:
    library.is_able = False
    a, b, c = numbers(6, 8), numbers(4, 8), numbers(4)
    called = []

    def multiply(self: Any, *given: Any) -> int:
        called.append(given)
        return 0

    monkeypatch.setattr(Blas, "cublasGemmStridedBatchedEx", multiply)
    monkeypatch.setattr(Blas, "cublasSetStream_v2", lambda *_: 0, raising=False)
    dc.evaluate(dc.nn.linear(put(a), put(b), put(c)))
    assert len(called) == 1
