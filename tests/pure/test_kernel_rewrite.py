"""Passes keep what a kernel computes, and do what they are for."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from dcarray.kernel import nodes
from dcarray.kernel.interpret import interpret
from dcarray.kernel.language import Scalar, cast, exp
from dcarray.kernel.parse import parse
from dcarray.kernel.rewrite import (
    eliminate_dead,
    fold_constants,
    inline_single_uses,
    share_subexpressions,
    simplify,
)
from dcarray.kernel.verify import verify
from dcarray.kernel.walk import census, statements
from dcarray.ops.bodies import body_kernel
from dcarray.ops.elementwise import TABLE

from . import op_values
from .rendered import kernels_of

F32 = np.dtype(np.float32)
F64 = np.dtype(np.float64)
I64 = np.dtype(np.int64)

PASSES = [
    fold_constants,
    share_subexpressions,
    eliminate_dead,
    inline_single_uses,
    simplify,
]


def repeated(x: Scalar) -> Scalar:
    return exp(x + 1.0) * exp(x + 1.0) + exp(x + 1.0)


def constants(x: Scalar) -> Scalar:
    factor = cast(3.0, x) / 7.0
    return x * factor if factor > 0 else exp(x)


def wasteful(x: Scalar) -> Scalar:
    unused = exp(x)
    also_unused = unused + 1
    count = cast(0, x)
    for i in range(3):
        count = count + i
    return x + 1 if also_unused is None else x


def zeros(x: Scalar) -> tuple[Scalar, Scalar]:
    return cast(0.0, x) / x, cast(-0.0, x) / x


def changing(n: Scalar) -> Scalar:
    total = cast(0, n)
    i = cast(0, n)
    while i < n:
        before = i * i + 1
        i = i + 1
        after = i * i + 1
        total = total + before * after
    return total


def counted(kernel: nodes.Kernel, primitive: str) -> int:
    return repr(kernel).count(f"primitive='{primitive}'")


def test_equal_expressions_are_computed_once() -> None:
    kernel = parse(repeated, [F32])
    assert counted(kernel, "exp") == 3
    assert counted(share_subexpressions(kernel), "exp") == 1
    assert counted(share_subexpressions(kernel), "add") == 2


def test_constants_are_folded_in_their_dtype() -> None:
    kernel = simplify(parse(constants, [F32]))
    assert counted(kernel, "divide") == counted(kernel, "exp") == 0
    (got,) = interpret(kernel, [np.array([1.0], np.float32)])
    assert got[0] == np.float32(3) / np.float32(7)


def test_zeros_of_different_sign_stay_apart() -> None:
    kernel = simplify(parse(zeros, [F64]))
    first, second = interpret(kernel, [np.array([1.0])])
    assert np.signbit([first[0], second[0]]).tolist() == [False, True]


def test_what_nothing_reads_is_removed() -> None:
    def loop_without_effect(n: Scalar) -> Scalar:
        count = cast(0, n)
        for i in range(n):
            count = count + i
        return n

    kernel = simplify(parse(loop_without_effect, [I64]))
    assert kernel.body == ()


def test_values_that_change_are_not_shared() -> None:
    n = np.arange(6)
    want = [sum((i * i + 1) * ((i + 1) ** 2 + 1) for i in range(k)) for k in n.tolist()]
    for change in PASSES:
        kernel = verify(change(parse(changing, [I64])))
        assert interpret(kernel, [n])[0].tolist() == want


def test_loads_keep_their_place() -> None:
    def exchange(a: Scalar) -> None:
        first = a[0]
        a[0] = a[1]
        a[1] = first

    kernel = parse(exchange, [nodes.Array("a", F32, writable=True)])
    for change in PASSES:
        data = np.array([1.0, 2.0], np.float32)
        interpret(verify(change(kernel)), [data])
        assert data.tolist() == [2.0, 1.0]


def test_inlining_undoes_sharing() -> None:
    def line(x: Scalar) -> Scalar:
        a = x * 2.0
        b = a + 1.0
        return exp(b)

    kernel = share_subexpressions(parse(line, [F32]))
    assert len(kernel.body) == 3
    inlined = verify(inline_single_uses(kernel))
    assert inlined.body == ()
    assert share_subexpressions(inlined).body != ()


def test_what_all_lanes_do_stays_out_of_a_choice() -> None:
    """There only some of them would do it."""
    x, lane = nodes.Name("x", F32), nodes.Constant(3, np.dtype(np.uint32))
    positive = nodes.Apply("greater", (x, nodes.Constant(0.0, F32)), np.dtype(bool))
    given = (
        nodes.Let("other", nodes.Apply("lane_value", (x, lane), F32)),
        nodes.Let("twice", nodes.Apply("add", (x, x), F32)),
    )
    chosen = nodes.Select(
        positive, nodes.Name("other", F32), nodes.Name("twice", F32), F32
    )
    kernel = nodes.Kernel("f", (nodes.Value("x", F32),), given, (chosen,))
    inlined = verify(inline_single_uses(kernel))
    assert inlined.body == given[:1]
    assert inlined.results[0].when_false == given[1].value  # type: ignore[union-attr]


def test_a_choice_between_equal_values_is_none() -> None:
    def equal(x: Scalar) -> Scalar:
        first = exp(x)
        second = exp(x)
        return first if x > 0 else second

    (shared,) = simplify(parse(equal, [F32])).body
    assert isinstance(shared, nodes.Let)
    assert shared.value == nodes.Apply("exp", (nodes.Name("x", F32),), F32)


def test_an_assignment_after_the_last_use_keeps_what_it_reads() -> None:
    def late(x: Scalar) -> Scalar:
        total = x
        found = x
        for _ in range(2):
            found = total
            step = exp(x)
            total = total + step
        return found

    kernel = parse(late, [F32])
    lean = verify(eliminate_dead(kernel))
    assert counted(lean, "exp") == 1
    x = np.array([0.0, 1.0], np.float32)
    assert interpret(lean, [x])[0].tolist() == interpret(kernel, [x])[0].tolist()


@pytest.mark.parametrize("change", PASSES, ids=lambda item: item.__name__)
@pytest.mark.parametrize("code", "bQefD")
def test_passes_keep_the_bits_of_all_bodies(
    change: Callable[[nodes.Kernel], nodes.Kernel], code: str
) -> None:
    for op in TABLE.values():
        dtypes = (np.dtype(code),) * op.inputs
        if op.body is None or dtypes not in op_values.signatures(op):
            continue
        kernel = parse(op.body, dtypes)
        operands = [item[:4000] for item in op_values.grid(dtypes)]
        if op.name == "power" and dtypes[1].kind == "i":
            operands[1] = np.maximum(operands[1], 0)
        before = interpret(kernel, operands)
        after = interpret(verify(change(kernel)), operands)
        for got, want in zip(after, before):
            assert not op_values.units(got, want).any(), op.name


def test_bodies_are_small() -> None:
    """A straight-line body holds each operation once."""
    kernel: Any = body_kernel(TABLE["floor_divide"], (F64, F64))
    values = [node.value for node in statements(kernel.body)]
    assert len(values) == len(set(values))


@pytest.mark.parametrize("code", "?bfF")
def test_a_simple_kernel_stays_as_it_is(code: str) -> None:
    """So it may be given back unread."""
    for kernel in kernels_of(code):
        anew = replace(kernel)  # of which nothing is known
        assert not anew.memo
        simple = simplify(anew)
        assert simple == kernel
        assert simplify(simple) is simple


def test_census() -> None:
    x = nodes.Name("x", F32)
    wide = nodes.Cast(x, F64)
    kernel = nodes.Kernel(
        "f",
        (nodes.Value("x", F32), nodes.Array("out", F64, True)),
        (
            nodes.Shared("part", I64, 4),
            nodes.If(
                nodes.Constant(True, np.dtype(np.bool_)),
                (
                    nodes.Store(
                        "out",
                        nodes.Constant(0, np.dtype(np.int32)),
                        nodes.Apply("exp", (wide,), F64),
                    ),
                ),
            ),
        ),
    )
    found = census(kernel)
    assert found.dtypes == {F32, F64, I64, np.dtype(np.bool_), np.dtype(np.int32)}
    assert found.primitives == {"exp"}
    assert found.casts == {(F32, F64)}
    assert census(kernel) is found
