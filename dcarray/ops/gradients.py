"""Gradients of the activations in `composed`: the gradient in the result, times the
derivative.

Operands are that gradient, the activation's operand and its parameters.  Where an
activation has a corner, the derivative of its left side counts, as in PyTorch.
"""

from __future__ import annotations

import math

from ..kernel.language import PI, Scalar, absolute, exp, sqrt, tanh, widen
from .composed import composed_row, sigmoid, tanh_softplus
from .error_function import erfc
from .spec import Op

__all__ = [
    "CELU_GRADIENT",
    "ELU_GRADIENT",
    "ERFC_GRADIENT",
    "ERF_GRADIENT",
    "GELU_GRADIENT",
    "GELU_TANH_GRADIENT",
    "HARDTANH_GRADIENT",
    "HARD_SHRINK_GRADIENT",
    "HARD_SIGMOID_GRADIENT",
    "HARD_SWISH_GRADIENT",
    "LEAKY_RELU_GRADIENT",
    "LOG_SIGMOID_GRADIENT",
    "MISH_GRADIENT",
    "RELU6_GRADIENT",
    "RELU_GRADIENT",
    "RSQRT_GRADIENT",
    "SELU_GRADIENT",
    "SIGMOID_GRADIENT",
    "SILU_GRADIENT",
    "SOFTPLUS_GRADIENT",
    "SOFTSIGN_GRADIENT",
    "SOFT_SHRINK_GRADIENT",
    "TABLE",
    "TANHSHRINK_GRADIENT",
]


def sigmoid_gradient(g: Scalar, x: Scalar) -> Scalar:
    e = exp(-absolute(widen(x)))
    return g * (e / ((1.0 + e) * (1.0 + e)))


def log_sigmoid_gradient(g: Scalar, x: Scalar) -> Scalar:
    return g * sigmoid(-x)


def silu_gradient(g: Scalar, x: Scalar) -> Scalar:
    a = widen(x)
    s = sigmoid(a)
    return g * (s * (1.0 + a * sigmoid(-a)))


def mish_gradient(g: Scalar, x: Scalar) -> Scalar:
    a = widen(x)
    t = tanh_softplus(a)
    return g * (t + a * sigmoid(a) * (1.0 - t * t))


def gelu_gradient(g: Scalar, x: Scalar) -> Scalar:
    a = widen(x)
    density = exp(-0.5 * a * a) * (1.0 / math.sqrt(2.0 * PI))
    return g * (0.5 * erfc(-a * math.sqrt(0.5)) + a * density)


def gelu_tanh_gradient(g: Scalar, x: Scalar) -> Scalar:
    a = widen(x)
    factor = math.sqrt(2.0 / PI)
    twice = 2.0 * factor * (a + 0.044715 * a * a * a)
    slope = 2.0 * factor * (1.0 + 3.0 * 0.044715 * a * a)
    # (1 + tanh(x)) / 2 as a sigmoid keeps its digits where the tangent is near -1.
    s = sigmoid(twice)
    return g * (s * (1.0 + a * sigmoid(-twice) * slope))


def relu_gradient(g: Scalar, x: Scalar) -> Scalar:
    return 0 if x <= 0 else g


def hardtanh_gradient(g: Scalar, x: Scalar, low: Scalar, high: Scalar) -> Scalar:
    below = 0.0 if x <= low else g
    return 0.0 if x >= high else below


def relu6_gradient(g: Scalar, x: Scalar) -> Scalar:
    return hardtanh_gradient(g, x, 0.0, 6.0)


def leaky_relu_gradient(g: Scalar, x: Scalar, slope: Scalar) -> Scalar:
    return g * slope if x <= 0 else g


def elu_gradient(g: Scalar, x: Scalar, alpha: Scalar) -> Scalar:
    a = widen(x)
    return g if a > 0 else g * alpha * exp(0.0 if a > 0 else a)


def celu_gradient(g: Scalar, x: Scalar, alpha: Scalar) -> Scalar:
    a = widen(x)
    return g if a > 0 else g * exp((0.0 if a > 0 else a) / alpha)


def selu_gradient(g: Scalar, x: Scalar) -> Scalar:
    return 1.0507009873554805 * elu_gradient(g, x, 1.6732632423543772)


def softplus_gradient(g: Scalar, x: Scalar) -> Scalar:
    return g * sigmoid(x)


def softsign_gradient(g: Scalar, x: Scalar) -> Scalar:
    root = 1.0 + absolute(x)
    return g / (root * root)


def tanhshrink_gradient(g: Scalar, x: Scalar) -> Scalar:
    t = tanh(widen(x))
    return g * (t * t)


def hard_sigmoid_gradient(g: Scalar, x: Scalar) -> Scalar:
    return hardtanh_gradient(g, x, -3.0, 3.0) / 6.0


def hard_swish_gradient(g: Scalar, x: Scalar) -> Scalar:
    middle = g * (x / 3.0 + 0.5)
    upper = g if x >= 3.0 else middle
    return 0.0 if x <= -3.0 else upper


def hard_shrink_gradient(g: Scalar, x: Scalar, limit: Scalar) -> Scalar:
    return 0.0 if absolute(x) <= limit else g


def erf_gradient(g: Scalar, x: Scalar) -> Scalar:
    a = widen(x)
    return g * (exp(-a * a) * (2.0 / math.sqrt(PI)))


def erfc_gradient(g: Scalar, x: Scalar) -> Scalar:
    return -erf_gradient(g, x)


def rsqrt_gradient(g: Scalar, x: Scalar) -> Scalar:
    root = 1.0 / sqrt(x)
    return g * (-0.5 * root * root * root)


SIGMOID_GRADIENT = composed_row("sigmoid_gradient", sigmoid_gradient, 2)
LOG_SIGMOID_GRADIENT = composed_row("log_sigmoid_gradient", log_sigmoid_gradient, 2)
SILU_GRADIENT = composed_row("silu_gradient", silu_gradient, 2, cancelling=1)
# The rounding error of 1 - t * t is multiplied by x.
MISH_GRADIENT = composed_row("mish_gradient", mish_gradient, 2, 32, cancelling=1)
GELU_GRADIENT = composed_row("gelu_gradient", gelu_gradient, 2, cancelling=1)
GELU_TANH_GRADIENT = composed_row(
    "gelu_tanh_gradient", gelu_tanh_gradient, 2, cancelling=1
)
RELU_GRADIENT = composed_row("relu_gradient", relu_gradient, 2, 0, integers=True)
RELU6_GRADIENT = composed_row("relu6_gradient", relu6_gradient, 2, 0)
LEAKY_RELU_GRADIENT = composed_row("leaky_relu_gradient", leaky_relu_gradient, 3, 0)
ELU_GRADIENT = composed_row("elu_gradient", elu_gradient, 3)
CELU_GRADIENT = composed_row("celu_gradient", celu_gradient, 3)
SELU_GRADIENT = composed_row("selu_gradient", selu_gradient, 2)
SOFTPLUS_GRADIENT = composed_row("softplus_gradient", softplus_gradient, 2)
SOFTSIGN_GRADIENT = composed_row("softsign_gradient", softsign_gradient, 2)
# OpenCL's tanh may be 5 units off, and is squared here.
TANHSHRINK_GRADIENT = composed_row("tanhshrink_gradient", tanhshrink_gradient, 2, 16)
HARDTANH_GRADIENT = composed_row("hardtanh_gradient", hardtanh_gradient, 4, 0)
HARD_SIGMOID_GRADIENT = composed_row("hard_sigmoid_gradient", hard_sigmoid_gradient, 2)
HARD_SWISH_GRADIENT = composed_row("hard_swish_gradient", hard_swish_gradient, 2)
HARD_SHRINK_GRADIENT = composed_row("hard_shrink_gradient", hard_shrink_gradient, 3, 0)
SOFT_SHRINK_GRADIENT = composed_row("soft_shrink_gradient", hard_shrink_gradient, 3, 0)
ERF_GRADIENT = composed_row("erf_gradient", erf_gradient, 2)
ERFC_GRADIENT = composed_row("erfc_gradient", erfc_gradient, 2)
RSQRT_GRADIENT = composed_row("rsqrt_gradient", rsqrt_gradient, 2)

TABLE: dict[str, Op] = {
    row.name: row
    for row in (
        *(SIGMOID_GRADIENT, LOG_SIGMOID_GRADIENT, SILU_GRADIENT, MISH_GRADIENT),
        *(GELU_GRADIENT, GELU_TANH_GRADIENT, RELU_GRADIENT, RELU6_GRADIENT),
        *(LEAKY_RELU_GRADIENT, ELU_GRADIENT, CELU_GRADIENT, SELU_GRADIENT),
        *(SOFTPLUS_GRADIENT, SOFTSIGN_GRADIENT, TANHSHRINK_GRADIENT),
        *(HARDTANH_GRADIENT, HARD_SIGMOID_GRADIENT, HARD_SWISH_GRADIENT),
        *(HARD_SHRINK_GRADIENT, SOFT_SHRINK_GRADIENT),
        *(ERF_GRADIENT, ERFC_GRADIENT, RSQRT_GRADIENT),
    )
}
"""Rows by name."""
