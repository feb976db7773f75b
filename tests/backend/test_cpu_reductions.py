"""Reductions with and without a prologue, bit by bit against `ufunc.reduce`."""

from __future__ import annotations

import dataclasses
import itertools
import random
from typing import Any

import numpy as np
import pytest

from dcarray.backends.cpu import CpuBackend
from dcarray.backends.cpu.pairwise import branches, join_branches
from dcarray.config import config
from dcarray.layout import dense_strides
from dcarray.ops.program import Inner, Node, Program, Reduction
from dcarray.ops.spec import Kind, Op

UFUNCS = [np.add, np.multiply, np.minimum, np.maximum, np.fmin, np.fmax]
LOGICAL = [np.logical_and, np.logical_or, np.bitwise_xor]
MULTIPLY = Op("multiply", Kind.ELEMENTWISE, np.multiply, 2)
EXP = Op("exp", Kind.ELEMENTWISE, np.exp)
ADD = Op("add", Kind.ELEMENTWISE, np.add, 2)


def reduction(ufunc: np.ufunc) -> Op:
    return Op(ufunc.__name__, Kind.REDUCTION, ufunc, 1)


def same(found: Any, wanted: Any) -> bool:
    if found.dtype.kind == "c":
        return same(found.real, wanted.real) and same(found.imag, wanted.imag)
    if found.dtype.kind != "f":
        return np.array_equal(found, wanted)
    alike = (found == wanted) & (np.signbit(found) == np.signbit(wanted))
    return bool(np.all(alike | (np.isnan(found) & np.isnan(wanted))))


@pytest.fixture(scope="module")
def backend() -> CpuBackend:
    return CpuBackend()


def values(g: np.random.Generator, shape: tuple[int, ...], dtype: Any) -> Any:
    dtype = np.dtype(dtype)
    if dtype.kind in "iub":
        return g.integers(0, 100, shape).astype(dtype)
    found = g.standard_normal(shape)
    if dtype.kind == "c":
        found = found + 1j * g.standard_normal(shape)
    return found.astype(dtype)


def prologue(dtype: Any, ufunc: np.ufunc, inner: Inner) -> Program:
    """``a * b + a`` and its reduction."""
    dtype = np.dtype(dtype)
    dense = Inner.CONTIGUOUS
    nodes = (
        Node(MULTIPLY, (0, 1), (dtype,), (inner, inner)),
        Node(ADD, (2, 0), (dtype,), (dense, inner)),
    )
    return Program((dtype, dtype), (), nodes, (), Reduction(reduction(ufunc), 3, dtype))


SHAPES = [(5,), (1000,), (70_001,), (300_000,), (7, 40_000), (40_000, 7), (300, 500)]
SHAPES += [
    (40, 4097),
    (30, 8193),
    (2, 130_000),
    (130_000, 2),
    (50, 60, 70),
    (3, 1, 70_000),
    (9, 100_000),
]


def axes_of(ndim: int) -> list[tuple[int, ...]]:
    return [
        c for n in range(1, ndim + 1) for c in itertools.combinations(range(ndim), n)
    ]


@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize("engine", ["auto", "interpreter"])
@pytest.mark.parametrize("dtype", ["f", "d", "i8", "F", "?"])
def test_fused_reductions_give_numpys_bits(
    backend: CpuBackend, shape: tuple[int, ...], engine: str, dtype: str
) -> None:
    g = np.random.default_rng(len(shape))
    a, b = values(g, shape, dtype), values(g, shape, dtype)
    with np.errstate(all="ignore"):
        whole = a * b + a
    for ufunc in (np.add, np.multiply, np.maximum):
        executable = backend.compile(prologue(dtype, ufunc, Inner.CONTIGUOUS))
        for axes in axes_of(len(shape)):
            with np.errstate(all="ignore"):
                wanted = ufunc.reduce(
                    whole, axis=axes, keepdims=True, dtype=whole.dtype
                )
            target = np.empty_like(wanted)
            with config(engine=engine):
                backend.launch(executable, shape, [a, b], [], [], target, whole.strides)
            assert same(target, wanted), (ufunc, axes)


@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize("target_order", ["C", "F"])
def test_values_are_stored_on_the_way(
    backend: CpuBackend, shape: tuple[int, ...], target_order: str
) -> None:
    g = np.random.default_rng(5)
    a, b = values(g, shape, "f"), values(g, shape, "f")
    whole = a * b + a
    for ufunc in (np.add, np.maximum):
        program = prologue("f", ufunc, Inner.CONTIGUOUS)
        program = dataclasses.replace(program, outputs=(3, 2))
        executable = backend.compile(program)
        for axes in axes_of(len(shape)):
            wanted = ufunc.reduce(whole, axis=axes, keepdims=True)
            target = np.empty_like(wanted)
            kept = [np.empty(shape, np.float32, target_order) for _ in range(2)]
            backend.launch(
                executable, shape, [a, b], [], kept, target, whole.strides, 11
            )
            assert same(target, wanted), (ufunc, axes)
            assert same(kept[0], whole) and same(kept[1], a * b)
        if target_order == "C" and len(shape) == 1:
            assert all(executable.folds.values())


@pytest.mark.parametrize("seed", range(30))
def test_fused_reductions_of_any_layout(backend: CpuBackend, seed: int) -> None:
    pick = random.Random(seed)
    g = np.random.default_rng(seed)
    shape = tuple(
        pick.choice([1, 2, 3, 17, 130, 700]) for _ in range(pick.randint(1, 3))
    )
    wide = tuple(2 * n for n in shape)
    a = values(g, wide, "f")[tuple(slice(None, None, 2) for _ in shape)]
    b = values(g, shape[::-1], "f").T
    order = dense_strides(shape, 4, pick.choice("CF"))
    whole = np.ndarray(shape, np.float32, bytearray(4 * a.size), 0, order)
    whole[...] = a * b + a
    for ufunc in (np.add, np.minimum, np.multiply):
        executable = backend.compile(prologue("f", ufunc, Inner.STRIDED))
        for axes in axes_of(len(shape)):
            wanted = ufunc.reduce(whole, axis=axes, keepdims=True)
            target = np.empty_like(wanted)
            backend.launch(executable, shape, [a, b], [], [], target, order)
            assert same(target, wanted), (shape, ufunc, axes, order)


@pytest.mark.parametrize("dtype", ["f", "d", "e", "F", "D", "i4", "u1", "?"])
@pytest.mark.parametrize(
    "shape", [(400_001,), (700, 900), (3, 90_000), (90_000, 3)], ids=str
)
def test_stored_values_are_reduced_in_parts(
    backend: CpuBackend, dtype: str, shape: tuple[int, ...]
) -> None:
    g = np.random.default_rng(1)
    array = values(g, shape, dtype)
    ufuncs = UFUNCS if dtype != "?" else LOGICAL
    views = [array, array[..., ::2], array.T, array[::-1]]
    for ufunc, view in itertools.product(ufuncs, views):
        for axes in axes_of(view.ndim):
            with np.errstate(all="ignore"):
                wanted = ufunc.reduce(view, axis=axes, keepdims=True, dtype=view.dtype)
                target = np.empty_like(wanted)
                backend.reduce(ufunc, view, axes, target)
            assert same(target, wanted), (ufunc, axes, view.strides)


def test_a_minimum_of_zeros_has_numpys_sign(backend: CpuBackend) -> None:
    g = np.random.default_rng(2)
    for _ in range(20):
        array = np.where(g.random(300_001) < 0.5, 0.0, -0.0).astype(np.float32)
        for ufunc in (np.minimum, np.maximum, np.fmin, np.fmax):
            wanted = ufunc.reduce(array, keepdims=True)
            target = np.empty_like(wanted)
            backend.reduce(ufunc, array, (0,), target)
            assert np.signbit(target) == np.signbit(wanted)
            executable = backend.compile(prologue("f", ufunc, Inner.CONTIGUOUS))
            one = np.ones_like(array)
            whole = array * one + array
            wanted = ufunc.reduce(whole, keepdims=True)
            backend.launch(executable, whole.shape, [array, one], [], [], target, (4,))
            assert np.signbit(target) == np.signbit(wanted)


@pytest.mark.parametrize("length", [1, 7, 8, 129, 1000, 4097, 100_000, 1_234_567])
def test_branches_join_to_numpys_sum(length: int) -> None:
    array = np.random.default_rng(3).standard_normal(length).astype(np.float32)
    edges = branches(length, 1024)
    assert edges[0] == 0 and edges[-1] == length
    sums = [np.add.reduce(array[a:b]) for a, b in itertools.pairwise(edges)]
    assert join_branches(np.array(sums)) == np.add.reduce(array)


def test_reductions_tell_which_operation_raised(backend: CpuBackend) -> None:
    dtype = np.dtype("f")
    nodes = (
        Node(MULTIPLY, (0, 0), (dtype,), (Inner.CONTIGUOUS,) * 2),
        Node(EXP, (1,), (dtype,), (Inner.CONTIGUOUS,)),
    )
    program = Program((dtype,), (), nodes, (), Reduction(reduction(np.add), 2, dtype))
    executable = backend.compile(program)
    target = np.empty(1, dtype)
    a = np.ones(300_000, dtype)
    assert not backend.launch(executable, a.shape, [a], [], [], target, (4,), 15 & ~4)
    a[200_000] = 20.0  # exp(400) overflows
    raised = backend.launch(executable, a.shape, [a], [], [], target, (4,), 11)
    assert [(entry.node, entry.flags) for entry in raised] == [(1, 2)]
    a[:] = 9.4  # exp of it is 1e38, and the sum overflows
    raised = backend.launch(executable, a.shape, [a], [], [], target, (4,), 11)
    assert [(entry.node, entry.flags) for entry in raised] == [(2, 2)]
