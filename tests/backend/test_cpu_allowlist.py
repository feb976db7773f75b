"""Every operation that LLVM computes gives the bits of NumPy's loop."""

from __future__ import annotations

import itertools
import warnings
from typing import Any

import numpy as np
import pytest

import dcarray as dc
from dcarray.backends.cpu import CpuBackend
from dcarray.backends.cpu.same_loops import can_inline
from dcarray.ops.program import Inner, Node, Program
from dcarray.ops.spec import Kind, Op
from dcarray.render.llvm_elementary import ELEMENTARY
from dcarray.render.llvm_scalar import TEMPLATES, can_cast, can_lower, kind_of
from tests.stress.elementary import differences

DTYPES = [np.dtype(kind) for kind in "?bBhHiIqQlLfd"]
LENGTHS = [1, 5, 8, 31, 64, 1000, 8195]
CAST = Op("cast", Kind.ELEMENTWISE, np.asarray)
WHERE = Op("where", Kind.ELEMENTWISE, np.where, 3)
NAMES = sorted({name for rows in TEMPLATES.values() for name in rows})
WIDE = dict(enumerate([1, 3, 7, 8, 15, 31, 32, 63, 64, 100, -1, -8]))


@pytest.fixture(scope="module")
def backend() -> CpuBackend:
    return CpuBackend()


def values(dtype: np.dtype[Any], length: int, seed: int) -> Any:
    g = np.random.default_rng(seed)
    if dtype.kind == "b":
        return g.integers(0, 2, length).astype(dtype)
    if dtype.kind in "iu":
        info = np.iinfo(dtype)
        found = g.integers(info.min, info.max, length, dtype, endpoint=True)
        edge = [info.min, info.max, 0, 1, *(v for v in WIDE.values() if v > 0)]
        edge += [-1, -2, -8, -64] if dtype.kind == "i" else []
        edge = [v for v in edge if info.min <= v <= info.max]
        hits = g.random(length) < 0.6
        return np.where(hits, g.choice(np.array(edge, dtype), length), found)
    info = np.finfo(dtype)
    special = [0.0, -0.0, np.inf, -np.inf, np.nan, 1.0, -1.0, 0.5, 1.5, 2.5, -2.5]
    special += [info.max, info.min, info.tiny, info.smallest_subnormal, 2.0**31, 1e10]
    if dtype.itemsize == 2 or dtype.kind == "c":
        return (g.standard_normal(length) * 9).astype(dtype)
    found = g.standard_normal(length) * 10.0 ** g.integers(-9, 10, length)
    hits = g.random(length) < 0.5
    return np.where(hits, g.choice(special, length), found).astype(dtype)


def same(found: Any, wanted: Any) -> bool:
    if found.dtype.kind != "f":
        return np.array_equal(found, wanted)
    alike = (found == wanted) & (np.signbit(found) == np.signbit(wanted))
    return bool(np.all(alike | (np.isnan(found) & np.isnan(wanted))))


def compiled(
    backend: CpuBackend, op: Op, dtypes: tuple[Any, ...], made: Any, inputs: list[Any]
) -> Any:
    """The operation twice over (one alone is not compiled), by the engine."""
    count = len(dtypes)
    node = Node(op, tuple(range(count)), (made,), (Inner.CONTIGUOUS,) * count)
    executable = backend.compile(Program(dtypes, (), (node, node), (count, count + 1)))
    targets = [np.empty(inputs[0].shape, made) for _ in range(2)]
    backend.launch(executable, inputs[0].shape, inputs, [], targets)
    assert any(bound is not None for bound in executable._bound.values())
    assert targets[0].tobytes() == targets[1].tobytes()
    return targets[0]


@pytest.mark.parametrize("name", NAMES)
def test_lowered_operations_give_numpys_bits(backend: CpuBackend, name: str) -> None:
    ufunc = getattr(np, name)
    op = Op(name, Kind.ELEMENTWISE, ufunc, ufunc.nin)
    tried = 0
    for dtype in DTYPES:
        given = (dtype,) * ufunc.nin
        try:
            found = ufunc.resolve_dtypes((*given, None))
        except TypeError:
            continue
        if found[:-1] != given or not can_lower(name, given, found[-1]):
            continue
        tried += 1
        for length in LENGTHS:
            inputs = [values(dtype, length, seed) for seed in range(ufunc.nin)]
            with np.errstate(all="ignore"):
                wanted = ufunc(*inputs)
            assert same(compiled(backend, op, given, found[-1], inputs), wanted), dtype
    assert tried == sum(
        name in TEMPLATES[kind_of(dtype)]
        for dtype in DTYPES
        if _accepts(ufunc, dtype, name)
    )
    assert tried


def _accepts(ufunc: Any, dtype: Any, name: str) -> bool:
    try:
        found = ufunc.resolve_dtypes((dtype,) * ufunc.nin + (None,))
    except TypeError:
        return False
    return bool(found[0] == dtype)


@pytest.mark.parametrize("source", DTYPES, ids=lambda dtype: dtype.char)
def test_lowered_casts_give_numpys_bits(
    backend: CpuBackend, source: np.dtype[Any]
) -> None:
    for target, length in itertools.product(DTYPES, LENGTHS):
        if can_cast(source, target) and source != target:
            array = values(source, length, 4)
            with np.errstate(all="ignore"):
                wanted = array.astype(target)
            found = compiled(backend, CAST, (source,), target, [array])
            assert same(found, wanted), target


def test_floats_do_not_become_wide_unsigned_in_a_kernel() -> None:
    assert not can_cast(np.dtype("f"), np.dtype("I"))
    assert not can_cast(np.dtype("d"), np.dtype("Q"))
    assert not can_cast(np.dtype("d"), np.dtype("e"))
    assert can_cast(np.dtype("f"), np.dtype("?"))


@pytest.mark.parametrize(
    "dtype", [*DTYPES, *map(np.dtype, "eFD")], ids=lambda dtype: dtype.char
)
def test_a_lowered_choice_keeps_the_bits(
    backend: CpuBackend, dtype: np.dtype[Any]
) -> None:
    truth = np.dtype("?")
    for length in LENGTHS:
        c = values(truth, length, 0)
        x, y = values(dtype, length, 1), values(dtype, length, 2)
        found = compiled(backend, WHERE, (truth, dtype, dtype), dtype, [c, x, y])
        assert found.tobytes() == np.where(c, x, y).tobytes()


@pytest.mark.parametrize(
    ("name", "dtype"), ELEMENTARY, ids=[f"{n}-{d.char}" for n, d in ELEMENTARY]
)
def test_an_inlined_function_has_numpys_bits(
    backend: CpuBackend, name: str, dtype: np.dtype[Any]
) -> None:
    if not can_inline(name, (dtype,)):
        pytest.skip("NumPy runs another loop on this processor")
    op = Op(name, Kind.ELEMENTWISE, getattr(np, name), 1)
    for length in LENGTHS:
        x = values(dtype, length, 1)
        with np.errstate(all="ignore"):
            wanted = op.numpy(x)
        assert same(compiled(backend, op, (dtype,), dtype, [x]), wanted)
    # Eight runs of neighbours, for both signs; all 2**32 are for the stress test.
    for wrong in differences(name, range(0, 1 << 32, 1 << 29), 1 << 16):
        assert not wrong.size, wrong


@pytest.mark.parametrize(
    ("value", "message"),
    [(100.0, "overflow"), (np.inf, ""), (-np.inf, ""), (np.nan, ""), (-200.0, "")],
)
def test_an_inlined_exponential_warns_as_numpy_does(value: float, message: str) -> None:
    x = np.linspace(0, 1, 50001, dtype="f")
    x[777] = value
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        y = dc.exp(dc.asarray(x) * 1) + 1
        dc.evaluate(y)
    assert [str(w.message) for w in caught] == (
        [f"{message} encountered in exp"] if message else []
    )
    with np.errstate(all="ignore"):
        assert same(y.get(), np.exp(x) + 1)
