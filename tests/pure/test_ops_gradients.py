"""Gradients of activations: against differences of the activations themselves."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from dcarray.kernel.interpret import interpret
from dcarray.ops import composed, gradients
from dcarray.ops.bodies import body_kernel
from dcarray.ops.spec import Op

from . import op_values

OPTIONS: dict[str, tuple[float, ...]] = {
    "leaky_relu": (0.125,),
    "elu": (1.5,),
    "celu": (1.5,),
    "hardtanh": (-1.0, 2.0),
    "hard_shrink": (0.5,),
    "soft_shrink": (0.5,),
}

rows = pytest.mark.parametrize(
    "op", list(gradients.TABLE.values()), ids=lambda op: op.name
)


def activation(op: Op) -> Op:
    return composed.TABLE[op.name.removesuffix("_gradient")]


def given(op: Op) -> tuple[float, ...]:
    return OPTIONS.get(op.name.removesuffix("_gradient"), ())


@rows
def test_derivative(op: Op) -> None:
    """Where the activation has no corner; all corners lie at multiples of a quarter."""
    x = np.linspace(-8.0, 8.0, 257) + 0.0171
    if op.name.startswith("rsqrt"):
        x = np.abs(x) + 0.5
    step = 1e-5
    function = activation(op).numpy
    above, below = (function(x + h, *given(op)) for h in (step, -step))
    want = 3.0 * (above - below) / (2 * step)
    got = op.numpy(np.full_like(x, 3.0), x, *given(op))
    np.testing.assert_allclose(got, want, rtol=1e-6, atol=1e-8)


@rows
@pytest.mark.parametrize("code", ["e", "f", "d"])
def test_interpreted_body_is_the_traced_one(op: Op, code: str) -> None:
    x = op_values.values(np.dtype(code))
    g = np.full_like(x, 2)
    parameters = [np.dtype(code).type(item) for item in given(op)]
    with np.errstate(all="ignore"):
        want = op.numpy(g, x, *parameters)
    kernel = body_kernel(op, (np.dtype(code),) * op.inputs)
    operands = [g, x, *[np.asarray(item) for item in parameters]]
    (got,) = interpret(kernel, operands)
    assert got.dtype == want.dtype == code
    assert not op_values.units(got, want).any()


@rows
def test_large_operands_have_a_slope(op: Op) -> None:
    """The limits: none is lost to an overflow on the way."""
    x = np.array([200.0] if op.name.startswith("rsqrt") else [-200.0, 200.0])
    with np.errstate(over="raise", invalid="raise"):
        got = op.numpy(np.ones_like(x), x, *given(op))
    assert np.isfinite(got).all()


@rows
def test_row_is_complete(op: Op) -> None:
    assert op.composed
    assert getattr(gradients, op.name.upper()) is op
    assert op.name.upper() in gradients.__all__
    assert op.inputs == 1 + activation(op).inputs


def test_every_activation_has_a_gradient() -> None:
    missing = {
        name for name in composed.TABLE if f"{name}_gradient" not in gradients.TABLE
    }
    assert missing == {"sinc"}


def test_corners_have_the_slope_of_their_left_side() -> None:
    def slope(op: Op, x: float, *parameters: float) -> Any:
        return op.numpy(np.ones(1), np.array([x]), *parameters)[0]

    assert slope(gradients.RELU_GRADIENT, 0.0) == 0
    assert slope(gradients.LEAKY_RELU_GRADIENT, 0.0, 0.5) == 0.5
    assert slope(gradients.HARDTANH_GRADIENT, -1.0, -1.0, 1.0) == 0
    assert slope(gradients.HARDTANH_GRADIENT, 1.0, -1.0, 1.0) == 0
    assert gradients.RELU_GRADIENT.numpy(np.array([5]), np.array([1])).dtype == int
