"""Gradients of the activations.

Each takes the gradient in the activation's result, and then what the activation took.
"""

from __future__ import annotations

from typing import Any

from ..api.conversion import as_array
from ..api.coverage import native
from ..ops import gradients
from ..ops.spec import Op
from .composing import applied

__all__ = [
    "celu_gradient",
    "elu_gradient",
    "erf_gradient",
    "erfc_gradient",
    "gelu_gradient",
    "hard_shrink_gradient",
    "hard_sigmoid_gradient",
    "hard_swish_gradient",
    "hardtanh_gradient",
    "leaky_relu_gradient",
    "log_sigmoid_gradient",
    "mish_gradient",
    "relu6_gradient",
    "relu_gradient",
    "rsqrt_gradient",
    "selu_gradient",
    "sigmoid_gradient",
    "silu_gradient",
    "soft_shrink_gradient",
    "softplus_gradient",
    "softsign_gradient",
    "tanhshrink_gradient",
]


def _apply(op: Op, gradient: Any, x: Any, *parameters: float) -> Any:
    return applied(op, (as_array(gradient), as_array(x)), parameters)


@native
def gelu_gradient(gradient: Any, x: Any, /, approximate: str = "none") -> Any:
    """The gradient of `gelu`."""
    if approximate not in ("none", "tanh"):
        raise ValueError(f"gelu_gradient: got {approximate!r}, takes 'none' or 'tanh'")
    if approximate == "none":
        return _apply(gradients.GELU_GRADIENT, gradient, x)
    return _apply(gradients.GELU_TANH_GRADIENT, gradient, x)


@native
def sigmoid_gradient(gradient: Any, x: Any, /) -> Any:
    """The gradient of `sigmoid`."""
    return _apply(gradients.SIGMOID_GRADIENT, gradient, x)


@native
def log_sigmoid_gradient(gradient: Any, x: Any, /) -> Any:
    """The gradient of `log_sigmoid`."""
    return _apply(gradients.LOG_SIGMOID_GRADIENT, gradient, x)


@native
def silu_gradient(gradient: Any, x: Any, /) -> Any:
    """The gradient of `silu`."""
    return _apply(gradients.SILU_GRADIENT, gradient, x)


@native
def mish_gradient(gradient: Any, x: Any, /) -> Any:
    """The gradient of `mish`."""
    return _apply(gradients.MISH_GRADIENT, gradient, x)


@native
def relu_gradient(gradient: Any, x: Any, /) -> Any:
    """The gradient of `relu`."""
    return _apply(gradients.RELU_GRADIENT, gradient, x)


@native
def relu6_gradient(gradient: Any, x: Any, /) -> Any:
    """The gradient of `relu6`."""
    return _apply(gradients.RELU6_GRADIENT, gradient, x)


@native
def leaky_relu_gradient(gradient: Any, x: Any, /, slope: float = 0.01) -> Any:
    """The gradient of `leaky_relu`."""
    return _apply(gradients.LEAKY_RELU_GRADIENT, gradient, x, slope)


@native
def elu_gradient(gradient: Any, x: Any, /, alpha: float = 1.0) -> Any:
    """The gradient of `elu`."""
    return _apply(gradients.ELU_GRADIENT, gradient, x, alpha)


@native
def celu_gradient(gradient: Any, x: Any, /, alpha: float = 1.0) -> Any:
    """The gradient of `celu`."""
    return _apply(gradients.CELU_GRADIENT, gradient, x, alpha)


@native
def selu_gradient(gradient: Any, x: Any, /) -> Any:
    """The gradient of `selu`."""
    return _apply(gradients.SELU_GRADIENT, gradient, x)


@native
def softplus_gradient(gradient: Any, x: Any, /) -> Any:
    """The gradient of `softplus`."""
    return _apply(gradients.SOFTPLUS_GRADIENT, gradient, x)


@native
def softsign_gradient(gradient: Any, x: Any, /) -> Any:
    """The gradient of `softsign`."""
    return _apply(gradients.SOFTSIGN_GRADIENT, gradient, x)


@native
def tanhshrink_gradient(gradient: Any, x: Any, /) -> Any:
    """The gradient of `tanhshrink`."""
    return _apply(gradients.TANHSHRINK_GRADIENT, gradient, x)


@native
def hardtanh_gradient(
    gradient: Any, x: Any, /, low: float = -1.0, high: float = 1.0
) -> Any:
    """The gradient of `hardtanh`."""
    return _apply(gradients.HARDTANH_GRADIENT, gradient, x, low, high)


@native
def hard_sigmoid_gradient(gradient: Any, x: Any, /) -> Any:
    """The gradient of `hard_sigmoid`."""
    return _apply(gradients.HARD_SIGMOID_GRADIENT, gradient, x)


@native
def hard_swish_gradient(gradient: Any, x: Any, /) -> Any:
    """The gradient of `hard_swish`."""
    return _apply(gradients.HARD_SWISH_GRADIENT, gradient, x)


@native
def hard_shrink_gradient(gradient: Any, x: Any, /, limit: float = 0.5) -> Any:
    """The gradient of `hard_shrink`."""
    return _apply(gradients.HARD_SHRINK_GRADIENT, gradient, x, limit)


@native
def soft_shrink_gradient(gradient: Any, x: Any, /, limit: float = 0.5) -> Any:
    """The gradient of `soft_shrink`."""
    return _apply(gradients.SOFT_SHRINK_GRADIENT, gradient, x, limit)


@native
def erf_gradient(gradient: Any, x: Any, /) -> Any:
    """The gradient of `erf`."""
    return _apply(gradients.ERF_GRADIENT, gradient, x)


@native
def erfc_gradient(gradient: Any, x: Any, /) -> Any:
    """The gradient of `erfc`."""
    return _apply(gradients.ERFC_GRADIENT, gradient, x)


@native
def rsqrt_gradient(gradient: Any, x: Any, /) -> Any:
    """The gradient of `rsqrt`."""
    return _apply(gradients.RSQRT_GRADIENT, gradient, x)
