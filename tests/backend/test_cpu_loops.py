"""NumPy's inner loops, called block by block, give the bits that NumPy gives."""

from __future__ import annotations

import ctypes
import itertools
import warnings
from typing import Any

import numpy as np
import pytest

from dcarray.backends.cpu import loops
from dcarray.backends.cpu.loops import NUMERIC, find_loop, numeric_ufuncs, struct_agrees

LENGTH = 259
SPLITS = [(0, LENGTH), (0, 1, 2, 9, LENGTH), (0, 7, 8, 72, 73, 200, LENGTH)]
LOOP = ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * 4)


def same(found: Any, wanted: Any) -> bool:
    if found.dtype.kind == "c":
        return same(found.real, wanted.real) and same(found.imag, wanted.imag)
    if found.dtype.kind != "f":
        return np.array_equal(found, wanted)
    alike = (found == wanted) & (np.signbit(found) == np.signbit(wanted))
    return bool(np.all(alike | (np.isnan(found) & np.isnan(wanted))))


def operand(dtype: np.dtype[Any], seed: int, name: str) -> Any:
    g = np.random.default_rng(seed)
    if dtype.kind == "b":
        return g.integers(0, 2, LENGTH).astype(dtype)
    if dtype.kind in "iu":
        low = 0 if dtype.kind == "u" or name in ("power", "float_power") else -20
        return g.integers(low, 20, LENGTH).astype(dtype)
    values = g.standard_normal(LENGTH) * 3
    values[::17] = [0.0, -0.0, np.inf, -np.inf, np.nan, 1.0, 2.0, 0.5] * 2
    if dtype.kind == "c":
        real = values
        values = np.empty(LENGTH, np.complex128)
        values.real, values.imag = real, np.roll(real, 5)
    return values.astype(dtype)


def call(
    loop: loops.Loop, operands: list[Any], strides: list[int], start: int, count: int
) -> None:
    """One call of a loop on a block."""
    places = [
        a.ctypes.data + start * step for a, step in zip(operands, strides, strict=True)
    ]
    args = (ctypes.c_void_p * len(places))(*places)
    steps = (ctypes.c_ssize_t * len(places))(*strides)
    length = ctypes.c_ssize_t(count)
    LOOP(loop.function)(args, ctypes.byref(length), steps, loop.data)


ROWS = sorted(
    {
        (ufunc.__name__, signature)
        for ufunc in numeric_ufuncs()
        for signature in ufunc.types
        if set(signature) <= set(NUMERIC + "->")
    }
)


def test_the_struct_is_what_it_is_taken_for() -> None:
    assert struct_agrees()
    assert len(ROWS) > 900


@pytest.mark.parametrize("name", sorted({name for name, _ in ROWS}))
def test_blocks_give_numpys_bits(name: str) -> None:
    ufunc = getattr(np, name)
    for signature in sorted({row for known, row in ROWS if known == name}):
        given, made = (tuple(map(np.dtype, kinds)) for kinds in signature.split("->"))
        loop = find_loop(ufunc, given, made)
        assert loop is not None, signature
        inputs = [operand(dtype, k + 1, name) for k, dtype in enumerate(given)]
        # The first row with this signature is the one that NumPy's dispatch finds.
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            wanted = ufunc(*inputs, signature=(*given, *made))
        results = wanted if ufunc.nout > 1 else (wanted,)
        for edges in SPLITS:
            found = [np.empty(LENGTH, dtype) for dtype in made]
            operands = [*inputs, *found]
            strides = [a.itemsize for a in operands]
            for start, stop in itertools.pairwise(edges):
                call(loop, operands, strides, start, stop - start)
            for one, other in zip(found, results, strict=True):
                assert same(one, other), (signature, edges)


def test_the_first_row_that_matches_is_taken() -> None:
    """Later rows with the same types exist, and some give other bits."""
    repeated = 0
    for ufunc in numeric_ufuncs():
        head = loops._UFuncHead.from_address(id(ufunc))
        for row, signature in enumerate(ufunc.types):
            if not set(signature) <= set(NUMERIC + "->"):
                continue
            first = ufunc.types.index(signature)
            repeated += first != row
            kinds = [tuple(map(np.dtype, part)) for part in signature.split("->")]
            loop = find_loop(ufunc, *kinds)
            assert loop is not None
            assert loop.function == head.functions[first]
            assert loop.data == ((head.data[first] or 0) if head.data else 0)
    assert repeated > 10


def test_a_scalar_exponent_takes_its_own_path() -> None:
    """Rule 2: the stride of an operand is part of what a loop computes."""
    kind = np.dtype("f")
    loop = find_loop(np.power, (kind, kind), (kind,))
    assert loop is not None
    x = np.random.default_rng(0).random(LENGTH).astype(kind) * 7
    for exponent in (2.0, 0.5, -1.0, 3.0):
        y = np.full(LENGTH, exponent, kind)
        for step, wanted in ((4, np.power(x, y)), (0, np.power(x, y[:1]))):
            found = np.empty_like(x)
            call(loop, [x, y, found], [4, step, 4], 0, LENGTH)
            assert same(found, wanted)


def test_objects_and_foreign_byte_orders_have_no_loop() -> None:
    kind = np.dtype("O")
    assert find_loop(np.add, (kind, kind), (kind,)) is None
    swapped = np.dtype("f4").newbyteorder()
    assert find_loop(np.add, (swapped, swapped), (swapped,)) is None
    assert find_loop(np.add, (np.dtype("f"),) * 2, (np.dtype("d"),)) is None


def test_a_struct_of_another_shape_turns_the_engine_off(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    class Other(ctypes.Structure):
        _fields_ = (("header", ctypes.c_byte * 64), *loops._UFuncHead._fields_[1:])

    monkeypatch.setattr(loops, "_UFuncHead", Other)
    struct_agrees.cache_clear()
    loops._row.cache_clear()
    try:
        assert not struct_agrees()
        assert find_loop(np.exp, (np.dtype("f"),), (np.dtype("f"),)) is None
    finally:
        monkeypatch.undo()
        struct_agrees.cache_clear()
        loops._row.cache_clear()
