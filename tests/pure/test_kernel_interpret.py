"""The interpreter: masks, arrays, work items in step, and what it refuses."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from dcarray.kernel.grid import (
    atomic_add,
    atomic_compare_exchange,
    barrier,
    global_id,
    global_size,
    group_id,
    local_id,
    local_size,
    shared,
)
from dcarray.kernel.interpret import interpret
from dcarray.kernel.language import PRIMITIVES, Scalar, cast
from dcarray.kernel.nodes import (
    Apply,
    Array,
    Assign,
    Atomic,
    Barrier,
    Constant,
    For,
    If,
    Kernel,
    Let,
    Load,
    Name,
    Shared,
    Store,
    Value,
)
from dcarray.kernel.parse import parse
from dcarray.kernel.verify import verify

F32 = np.dtype(np.float32)
I64 = np.dtype(np.int64)
I8 = np.dtype(np.int8)
BOOL = np.dtype(np.bool_)

ITEM = Name("item", I64)


def constant(value: int) -> Constant:
    return Constant(value, I64)


def test_work_items_in_step_share_and_meet() -> None:
    """Each item puts its number into shared memory and takes its neighbour's."""
    neighbour = Apply("bitwise_xor", (ITEM, constant(1)), I64)
    kernel = verify(
        Kernel(
            "exchange",
            (Value("item", I64), Array("out", I64, writable=True)),
            (
                Shared("tile", I64, 8),
                Store("tile", ITEM, Apply("multiply", (ITEM, constant(10)), I64)),
                Barrier(),
                Store("out", ITEM, Load("tile", neighbour, I64)),
            ),
        )
    )
    out = np.zeros(8, np.int64)
    interpret(kernel, [np.arange(8), out])
    assert out.tolist() == [10, 0, 30, 20, 50, 40, 70, 60]


def test_atomics_lose_nothing() -> None:
    bucket = Apply("truncate_remainder", (ITEM, constant(3)), I64)
    body = (
        Atomic("add", "out", bucket, constant(1)),
        Atomic("maximum", "top", constant(0), ITEM),
    )
    parameters = (
        Value("item", I64),
        Array("out", I64, writable=True),
        Array("top", I64, writable=True),
    )
    out = np.zeros(3, np.int64)
    top = np.zeros(1, np.int64)
    interpret(verify(Kernel("count", parameters, body)), [np.arange(100), out, top])
    assert out.tolist() == [34, 33, 33]
    assert top.tolist() == [99]


def test_masked_items_store_nothing_and_read_nothing() -> None:
    inside = Apply("less", (ITEM, constant(3)), BOOL)
    body = (
        Let("seen", constant(-1)),
        If(
            inside,
            (Assign("seen", Load("source", ITEM, I64)), Store("out", ITEM, ITEM)),
            (Assign("seen", constant(-2)),),
        ),
    )
    parameters = (
        Value("item", I64),
        Array("source", I64),
        Array("out", I64, writable=True),
    )
    kernel = verify(Kernel("guarded", parameters, body, (Name("seen", I64),)))
    out = np.full(6, -9)
    (seen,) = interpret(kernel, [np.arange(6), np.array([7, 8, 9]), out])
    assert seen.tolist() == [7, 8, 9, -2, -2, -2]
    assert out.tolist() == [0, 1, 2, -9, -9, -9]


@pytest.mark.parametrize("index", [-1, 3])
def test_access_out_of_bounds(index: int) -> None:
    kernel = Kernel(
        "bad",
        (Value("item", I64), Array("source", I64)),
        (),
        (Load("source", ITEM, I64),),
    )
    with pytest.raises(IndexError, match=f"index {index} of source"):
        interpret(kernel, [np.array([0, index]), np.arange(3)])


@pytest.mark.parametrize(
    ("start", "stop", "step"),
    [(0, 5, 1), (5, 0, -2), (0, 127, 100), (-128, 127, 85), (3, 3, 1), (0, 5, 0)],
)
def test_counting_does_not_wrap_round(start: int, stop: int, step: int) -> None:
    bounds = [Constant(item, I8) for item in (start, stop, step)]
    body = (
        Let("count", constant(0)),
        For(
            "i",
            *bounds[:3],
            (Assign("count", Apply("add", (Name("count", I64), constant(1)), I64)),),
        ),
    )
    kernel = verify(Kernel("loop", (), body, (Name("count", I64),)))
    (count,) = interpret(kernel, [])
    assert count == (len(range(start, stop, step)) if step else 0)


def test_shapes_broadcast() -> None:
    def total(x: Scalar, y: Scalar) -> tuple[Scalar, Scalar]:
        return x + y, cast(1, x)

    kernel = parse(total, [F32, F32])
    x = np.ones((3, 1), np.float32)
    y = np.ones((1, 0), np.float32)
    assert [item.shape for item in interpret(kernel, [x, y])] == [(3, 0), (3, 0)]
    assert [item.shape for item in interpret(kernel, [x, x.T])] == [(3, 3), (3, 3)]


def test_results_are_the_callers_own() -> None:
    def same(x: Scalar) -> Scalar:
        return x

    x = np.ones(3, np.float32)
    (result,) = interpret(parse(same, [F32]), [x])
    result[:] = 5
    assert x.tolist() == [1, 1, 1]


def test_wrong_dtype() -> None:
    def same(x: Scalar) -> Scalar:
        return x

    with pytest.raises(TypeError, match="x: got float64, needs float32"):
        interpret(parse(same, [F32]), [np.ones(3)])


def test_primitives_run_as_plain_python() -> None:
    for name, primitive in PRIMITIVES.items():
        assert primitive.name == name
        ufunc = getattr(np, name, None)
        if isinstance(ufunc, np.ufunc):
            assert primitive.numpy is ufunc
            assert primitive.arity == ufunc.nin
    assert PRIMITIVES["truncate_divide"](np.int8(-7), np.int8(2)) == -3
    assert PRIMITIVES["make_complex"](np.float32(1), np.float32(-0.0)).dtype == "F"
    assert PRIMITIVES["bits_to_float"](PRIMITIVES["float_to_bits"](1.5)) == 1.5


def test_groups_have_shared_memory_of_their_own() -> None:
    def reverse(x: Any, n: Any) -> None:
        tile = shared(np.int64, 4)
        tile[local_id(0)] = x[global_id(0)]
        barrier()
        x[global_id(0)] = tile[local_size(0) - 1 - local_id(0)] + n

    kernel = verify(parse(reverse, [Array("x", I64, writable=True), I64]))
    x = np.arange(12)
    interpret(kernel, [x, np.asarray(100)], grid=(12,), group=(4,))
    want = np.arange(12).reshape(3, 4)[:, ::-1].reshape(-1) + 100
    assert x.tolist() == want.tolist()


def test_places_of_a_grid_with_three_axes() -> None:
    def place(out: Any) -> None:
        index = global_id(0) + global_size(0) * (
            global_id(1) + global_size(1) * global_id(2)
        )
        out[index] = group_id(0) + 10 * group_id(1) + 100 * group_id(2)

    kernel = verify(parse(place, [Array("out", I64, writable=True)]))
    out = np.zeros((2, 6, 4), np.int64)
    interpret(kernel, [out], grid=(4, 6, 2), group=(2, 3, 1))
    k, j, i = np.indices(out.shape)
    assert np.array_equal(out, i // 2 + 10 * (j // 3) + 100 * k)


def test_atomics_give_the_old_element() -> None:
    def ticket(counter: Any, out: Any, n: Any) -> None:
        i = global_id(0)
        if i >= n:
            return
        out[i] = atomic_add(counter, 0, 1)
        atomic_compare_exchange(counter, 1, i, i + 1)

    arrays = [Array(name, I64, writable=True) for name in ("counter", "out")]
    kernel = verify(parse(ticket, [*arrays, I64]))
    counter, out = np.zeros(2, np.int64), np.full(8, -1)
    interpret(kernel, [counter, out, np.asarray(6)], grid=(8,), group=(4,))
    assert sorted(out.tolist()) == [-1, -1, 0, 1, 2, 3, 4, 5]
    assert counter.tolist() == [6, 6]
