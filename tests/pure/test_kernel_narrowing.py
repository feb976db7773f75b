"""Doubles that are only chosen to be rounded."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from dcarray.kernel import nodes
from dcarray.kernel.interpret import interpret
from dcarray.kernel.language import Scalar, absolute, cast
from dcarray.kernel.narrowing import round_early
from dcarray.kernel.parse import parse
from dcarray.kernel.rewrite import simplify
from dcarray.kernel.walk import expressions, parts, statements

SINGLE = np.dtype(np.float32)
DOUBLE = np.dtype(np.float64)


def chosen(x: Scalar) -> Scalar:
    scale = cast(2.0**-70 if x > 1.0 else (0.1 if x < 0.5 else 3.0), x)
    return x * scale


def in_steps(x: Scalar) -> Scalar:
    up = 0.1 if absolute(x) < 0.5 else 1.0
    scale = 0.3 if x > 1.0 else up
    return x * cast(scale, x) + cast(up, x)


def computed(x: Scalar) -> Scalar:
    scale = 0.1 if x > 1.0 else 0.3
    return cast(scale * scale, x) + cast(scale, x)


def made(function: Any) -> nodes.Kernel:
    return simplify(parse(function, (SINGLE,)))


def has_doubles(kernel: nodes.Kernel) -> bool:
    found = [item for node in statements(kernel.body) for item in expressions(node)]
    found += kernel.results
    return any(part.dtype == DOUBLE for item in found for part in parts(item))


@pytest.mark.parametrize("function", [chosen, in_steps, computed])
def test_the_same_values(function: Any) -> None:
    x = np.linspace(-2, 2, 101, dtype=np.float32)
    before = made(function)
    after = round_early(before)
    (want,), (got,) = interpret(before, [x]), interpret(after, [x])
    assert got.dtype == want.dtype == np.float32
    assert got.tobytes() == want.tobytes()


@pytest.mark.parametrize("function", [chosen, in_steps])
def test_no_doubles_are_left(function: Any) -> None:
    assert has_doubles(made(function))
    assert not has_doubles(round_early(made(function)))


def test_doubles_that_are_computed_with_stay() -> None:
    assert has_doubles(round_early(made(computed)))


def test_loops_and_branches() -> None:
    """Also inside of them; and what is stored stays as it was."""
    zero, three = (
        nodes.Constant(0, np.dtype(np.int32)),
        nodes.Constant(3, np.dtype("i")),
    )
    one = nodes.Constant(1, np.dtype("i"))
    k = nodes.Name("k", np.dtype("i"))
    is_first = nodes.Apply("equal", (k, zero), np.dtype(bool))
    low, high = nodes.Constant(0.1, DOUBLE), nodes.Constant(0.7, DOUBLE)
    value = nodes.Name("value", DOUBLE)
    kernel = nodes.Kernel(
        "fill",
        (nodes.Array("x", SINGLE, True),),
        (
            nodes.For(
                "k",
                zero,
                three,
                one,
                (
                    nodes.Let("value", nodes.Select(is_first, low, high, DOUBLE)),
                    nodes.If(
                        is_first,
                        (nodes.Store("x", k, nodes.Cast(value, SINGLE)),),
                        (nodes.Store("x", k, nodes.Cast(value, SINGLE)),),
                    ),
                ),
            ),
        ),
    )
    after = round_early(kernel)
    assert has_doubles(kernel)
    assert not has_doubles(after)
    (loop,) = after.body
    assert isinstance(loop, nodes.For)
    assert [type(node) for node in loop.body] == [nodes.Let, nodes.If]


def test_kernels_without_doubles_are_left_alone() -> None:
    kernel = made(twice)
    assert round_early(kernel) is kernel


def twice(x: Scalar) -> Scalar:
    return x + x
