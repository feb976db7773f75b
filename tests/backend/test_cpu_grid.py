"""Kernels over a grid in machine code: against NumPy in step, one by one."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import dcarray as dc
from dcarray.backends.cpu.kernels import compiled, run_in_step, run_kernel
from dcarray.kernel import (
    atomic_add,
    barrier,
    global_id,
    infer,
    local_id,
    nodes,
    shared,
)
from dcarray.kernel.grid import (
    atomic_and,
    atomic_compare_exchange,
    atomic_exchange,
    atomic_max,
    atomic_min,
    atomic_or,
    atomic_xor,
)
from dcarray.kernel.language import LANES, PRIMITIVES
from dcarray.kernel.rewrite import simplify
from dcarray.kernel.specialise import ArrayOf, specialise
from dcarray.kernel.verify import verify

INT = np.dtype(np.int64)
DTYPES = [np.dtype(code) for code in "?bBhHiIqQefdFD"]
EXACT = set(
    "add subtract multiply divide negative absolute sqrt truncate_divide fmod "
    "truncate_remainder floor ceil trunc rint copysign real imag conjugate ldexp "
    "make_complex nextafter round_to_half popcount float_to_bits bits_to_float".split()
)
ONLY = {
    **dict.fromkeys(("accumulate", "fma", "fmod", "power"), "f"),
    **dict.fromkeys(("float_to_bits", "make_complex"), "f"),
    **dict.fromkeys(("truncate_divide", "truncate_remainder"), "iu"),
    **dict.fromkeys(("popcount", "bits_to_float"), "u"),
    **dict.fromkeys(("real", "imag"), "c"),
}
"""Kinds of dtypes that a primitive is for."""


def values(dtype: Any, seed: int) -> Any:
    """300 numbers, the unpleasant ones first."""
    generator = np.random.default_rng(seed)
    if dtype.kind == "b":
        return generator.integers(0, 2, 300).astype(bool)
    if dtype.kind in "iu":
        limits = np.iinfo(dtype)
        found = generator.integers(limits.min, limits.max, 300, dtype, endpoint=True)
        found[:4] = limits.min, limits.max, 0, 1
        generator.shuffle(found)
        return found
    real = np.empty(0, dtype).real.dtype
    special = [0.0, -0.0, 1.0, -1.0, 0.5, -2.5, np.inf, -np.inf, np.nan]
    parts = []
    for _ in range(2 if dtype.kind == "c" else 1):
        part = (generator.normal(size=300) * 3).astype(real)
        part[: len(special)] = special
        generator.shuffle(part)
        parts.append(part)
    if dtype.kind == "f":
        return parts[0]
    found = np.empty(300, dtype)
    found.real, found.imag = parts
    return found


def loaded(name: str, dtype: Any, index: Any) -> nodes.Scalar:
    return nodes.Load(name, index, dtype)


def kernel_of(name: str, dtypes: Any) -> nodes.Kernel | None:
    index = nodes.Name("place", INT)
    operands = [loaded(f"x{k}", dtype, index) for k, dtype in enumerate(dtypes)]
    try:
        value = infer.apply(name, *operands)
    except TypeError:
        return None
    arrays = [nodes.Array(f"x{k}", dtype) for k, dtype in enumerate(dtypes)]
    out = nodes.Array("out", value.dtype, writable=True)
    body = (
        nodes.Let("place", nodes.Index("global_id", 0, INT)),
        nodes.Store("out", index, value),
    )
    return simplify(verify(nodes.Kernel("one", (*arrays, out), body)))


@pytest.mark.parametrize("name", sorted(PRIMITIVES.keys() - LANES))
def test_primitives(name: str) -> None:
    arity = PRIMITIVES[name].arity
    tried = 0
    for dtype in DTYPES:
        dtypes = [dtype] * arity
        if name == "ldexp":
            dtypes[1] = np.dtype(np.int32)
        if name in ONLY and dtype.kind not in ONLY[name]:
            continue
        if name == "round_to_half" and dtype != np.float32:
            continue
        if name == "bits_to_float" and dtype.itemsize < 4:
            continue
        kernel = kernel_of(name, dtypes)
        if kernel is None:
            continue
        given = [values(d, seed) for seed, d in enumerate(dtypes)]
        if name in ("truncate_divide", "truncate_remainder"):
            given[1][(given[1] == 0) | (given[1].astype(float) == -1)] = 3
        if name in ("left_shift", "right_shift"):
            given[1] = (given[1] & (8 * dtype.itemsize - 1)).astype(dtype)
        result = next(x for x in kernel.parameters if x.name == "out").dtype
        got, want = np.zeros(300, result), np.zeros(300, result)
        assert compiled(kernel) is not None, (name, dtype)
        run_kernel(kernel, (300,), (30,), [*given, got])
        run_in_step(kernel, (300,), (30,), [*given, want])
        tried += 1
        if result.kind not in "fc" or (name in EXACT and dtype.kind != "c"):
            np.testing.assert_array_equal(got, want, f"{name} {dtype}")
            continue
        eps = np.finfo(result).eps
        with np.errstate(all="ignore"):
            np.testing.assert_allclose(
                got, want, 16 * eps, 16 * eps, err_msg=f"{name} {dtype}"
            )
    assert tried


@pytest.mark.parametrize("source", DTYPES, ids=str)
def test_casts(source: Any) -> None:
    index = nodes.Name("place", INT)
    for target in DTYPES:
        if target == source:
            continue
        value = nodes.Cast(nodes.Load("x", index, source), target)
        body = (
            nodes.Let("place", nodes.Index("global_id", 0, INT)),
            nodes.Store("out", index, value),
        )
        arrays = (nodes.Array("x", source), nodes.Array("out", target, writable=True))
        kernel = verify(nodes.Kernel("cast", arrays, body))
        x = values(source, 5)
        if source.kind in "fc" and target.kind in "iu":
            # Out of range it is for the processor to say.
            x = np.nan_to_num(x, nan=0, posinf=3, neginf=2)
            x = np.abs(x.real).clip(0, 100).astype(source)
        got, want = np.zeros(300, target), np.zeros(300, target)
        assert compiled(kernel) is not None
        run_kernel(kernel, (300,), (100,), [x, got])
        run_in_step(kernel, (300,), (100,), [x, want])
        np.testing.assert_array_equal(got, want, f"{source} to {target}")


# ------------------------------------------------------------------------- atomics
def adds(x, out):
    atomic_add(out, 0, x[global_id(0)])


def lows(x, out):
    atomic_min(out, 0, x[global_id(0)])


def highs(x, out):
    atomic_max(out, 0, x[global_id(0)])


def ands(x, out):
    atomic_and(out, 0, x[global_id(0)])


def ors(x, out):
    atomic_or(out, 0, x[global_id(0)])


def xors(x, out):
    atomic_xor(out, 0, x[global_id(0)])


def swaps(x, out):
    i = global_id(0)
    atomic_exchange(out, i & 7, x[i & 7])


def claims(x, out):
    i = global_id(0)
    old = atomic_compare_exchange(out, i, 1, x[i])
    atomic_add(out, (i + 1) % 8 + 300, old)


@pytest.mark.parametrize(
    "function", [adds, lows, highs, ands, ors, xors, swaps, claims]
)
def test_atomics(function: Any) -> None:
    for dtype in (np.dtype(code) for code in "bBhHiIqQfd"):
        if dtype.kind == "f" and function in (ands, ors, xors):
            continue
        types = [ArrayOf(dtype, 1), ArrayOf(dtype, 1)]
        kernel = specialise(function, types).kernel
        x = np.arange(1, 301).astype(dtype)
        x[::7] = 100
        got, want = np.ones(310, dtype), np.ones(310, dtype)
        names = [item.name for item in kernel.parameters]
        given = {"x": x, "x_n0": 300, "out_n0": 310}
        assert compiled(kernel) is not None
        for result, run in ((got, run_kernel), (want, run_in_step)):
            run(kernel, (300,), (4,), [{**given, "out": result}[n] for n in names])
        assert got.tolist() == want.tolist(), dtype


# ---------------------------------------------------------------- regions and control
@dc.kernel
def meets_in_loops(x, out, rounds):
    """Barriers in loops and branches; variables that live across them."""
    tile = shared(x.dtype, 32)
    i, mine = global_id(0), local_id(0)
    kept = x[i] * 2
    tile[mine] = x[i]
    barrier()
    total = 0
    for k in range(rounds):
        if k % 2 == 0:
            total += tile[(mine + k) % 32]
            barrier()
        else:
            total -= kept
        swapped = tile[31 - mine]
        barrier()
        tile[mine] = swapped + k
        barrier()
    left = rounds
    while left > 0:
        value = tile[(mine + left) % 32]
        barrier()
        tile[mine] = value
        barrier()
        left -= 1
    out[i] = total + kept + tile[mine]


@pytest.mark.parametrize("rounds", [0, 1, 5])
@pytest.mark.parametrize("threads", [1, 4])
def test_regions(rounds: int, threads: int) -> None:
    x = np.random.default_rng(1).integers(0, 100, 32 * 300)
    results = []
    for engine in ("auto", "interpreter"):
        with dc.config(engine=engine, threads=threads):
            out = dc.zeros(x.size, dtype=np.int64)
            meets_in_loops[x.size, 32](dc.asarray(x), out, rounds)
            results.append(out.tolist())
    assert results[0] == results[1]


@dc.kernel
def counts(out, start, stop, step):
    total = 0
    for k in range(start, stop, step):
        total += k
    out[global_id(0)] = total


@pytest.mark.parametrize("bounds", [(0, 10, 3), (10, 0, -3), (0, 10, 0), (3, 3, 1)])
@pytest.mark.parametrize("dtype", [np.int8, np.uint8, np.int64, np.uint64])
def test_counters(bounds: Any, dtype: Any) -> None:
    if dtype in (np.uint8, np.uint64) and bounds[2] < 0:
        bounds = (0, 200, 90)
    out = dc.zeros(2, dtype=np.int64)
    counts(out, *map(dtype, bounds))
    assert out.tolist() == [sum(range(*bounds)) if bounds[2] else 0] * 2


@dc.kernel
def three_axes(out):
    i, j, k = global_id(0), global_id(1), global_id(2)
    out[i, j, k] = 100 * i + 10 * j + k


def test_three_axes() -> None:
    out = dc.zeros((3, 4, 5), dtype=np.int64)
    want = np.fromfunction(lambda i, j, k: 100 * i + 10 * j + k, (3, 4, 5))
    three_axes(out)
    assert (out.get() == want).all()
    again = dc.zeros((3, 4, 5), dtype=np.int64)
    three_axes[(3, 4, 5), (1, 2, 5)](again)
    assert (again.get() == want).all()
