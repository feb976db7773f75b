"""Every rule of the IR is checked: a kernel that breaks one is named."""

from __future__ import annotations

import importlib

import numpy as np
import pytest

from dcarray.kernel.nodes import (
    Apply,
    Array,
    Assign,
    Atomic,
    Cast,
    Constant,
    For,
    If,
    Kernel,
    Let,
    Load,
    Name,
    Select,
    Shared,
    Statement,
    Store,
    Value,
    While,
)
from dcarray.kernel.rewrite import simplify
from dcarray.kernel.verify import BrokenRule, between, verify

F32 = np.dtype(np.float32)
F64 = np.dtype(np.float64)
I64 = np.dtype(np.int64)
BOOL = np.dtype(np.bool_)

X = Name("x", F32)
N = Name("n", I64)
ZERO = Constant(0, I64)
NARROW = Constant(1, np.dtype(np.int32))
ONE = Constant(1.0, F32)
TRUE = Constant(True, BOOL)
PARAMETERS = (
    Value("x", F32),
    Value("n", I64),
    Array("source", F32),
    Array("target", F32, writable=True),
)


def kernel(
    *body: Statement, parameters: tuple[Value | Array, ...] = PARAMETERS
) -> Kernel:
    return Kernel("example", parameters, body)


def value(*expressions: object) -> Kernel:
    return kernel(Let("v", expressions[0]))  # type: ignore[arg-type]


GOOD = [
    kernel(
        Let("y", Apply("add", (X, ONE), F32)), Assign("y", X), Store("target", N, X)
    ),
    kernel(For("i", ZERO, N, ZERO, (Store("target", Name("i", I64), X),))),
    kernel(While(Apply("less", (X, ONE), BOOL), ()), If(TRUE, (), ())),
    kernel(Shared("tile", F32, 8), Atomic("add", "tile", ZERO, X)),
    value(Select(TRUE, Load("source", ZERO, F32), X, F32)),
    value(Cast(X, F64)),
]

BROKEN = [
    ("a name is defined before its use", value(Name("y", F32))),
    ("a name has the dtype of its definition", value(Name("x", F64))),
    ("names are unique", kernel(Let("x", ONE))),
    ("names are unique", kernel(Let("y", ONE), Let("y", ONE))),
    ("names are unique", kernel(Shared("source", F32, 8))),
    ("names are unique", kernel(parameters=(Value("x", F32), Value("x", F32)))),
    ("a primitive is known", value(Apply("frobnicate", (X,), F32))),
    ("a primitive takes its arguments", value(Apply("left_shift", (X, X), F32))),
    ("a primitive takes its arguments", value(Apply("add", (X,), F32))),
    ("arguments and result have", value(Apply("add", (X, Constant(1.0, F64)), F64))),
    ("arguments and result have", value(Apply("add", (X, ONE), F64))),
    ("a cast changes the dtype", value(Cast(X, F32))),
    ("a condition is a bool", value(Select(X, X, X, F32))),
    ("both sides of a select", value(Select(TRUE, X, N, F32))),
    ("a constant has a value of its dtype", value(Constant(1.5, I64))),
    ("an array is a parameter or shared", value(Load("nowhere", ZERO, F32))),
    ("an element has the dtype", value(Load("source", ZERO, F64))),
    ("an index is an integer", value(Load("source", X, F32))),
    ("only a writable array", kernel(Store("source", ZERO, X))),
    ("an element has the dtype", kernel(Store("target", ZERO, N))),
    ("only a variable is assigned to", kernel(Assign("x", ONE))),
    ("only a variable is assigned to", kernel(Assign("y", ONE))),
    ("a variable keeps its dtype", kernel(Let("y", ONE), Assign("y", N))),
    ("a condition is a bool", kernel(While(N, ()))),
    ("a condition is a bool", kernel(If(X, ()))),
    ("a loop counts in one integer", kernel(For("i", ONE, ONE, ONE, ()))),
    (
        "a loop counts in one integer",
        kernel(For("i", ZERO, N, NARROW, ())),
    ),
    ("a shared array has a size", kernel(Shared("tile", F32, 0))),
    ("an atomic operation is known", kernel(Atomic("divide", "target", ZERO, X))),
    # What a branch or a loop defines ends with it.
    ("a name is defined", kernel(If(TRUE, (Let("y", ONE),)), Let("z", Name("y", F32)))),
    ("a name is defined", kernel(For("i", ZERO, N, N, ()), Let("z", Name("i", I64)))),
]


@pytest.mark.parametrize("good", GOOD)
def test_right_kernels_pass(good: Kernel) -> None:
    assert verify(good) is good


@pytest.mark.parametrize(("rule", "broken"), BROKEN)
def test_a_broken_rule_is_named(rule: str, broken: Kernel) -> None:
    with pytest.raises(BrokenRule, match=f"example: {rule}"):
        verify(broken)


def test_constants_are_equal_as_numbers() -> None:
    assert Constant(0.0, F32) != Constant(-0.0, F32)
    assert Constant(float("nan"), F32) == Constant(float("nan"), F32)
    assert len({Constant(1, I64), Constant(True, I64), Constant(1, I64)}) == 2


def test_each_pass_is_checked_while_tests_run(monkeypatch: pytest.MonkeyPatch) -> None:
    """Elsewhere only the last one is: a hundred thousand nodes take their time."""
    broken = value(Name("y", F32))
    with pytest.raises(BrokenRule, match="before its use"):
        between(broken)
    monkeypatch.setattr(importlib.import_module(verify.__module__), "thorough", False)
    assert between(broken) is broken
    with pytest.raises(BrokenRule, match="before its use"):
        simplify(kernel(Store("target", N, Name("y", F32))))
