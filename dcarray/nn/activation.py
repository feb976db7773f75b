"""Activations: on the CPU recorded as the operations that their bodies are made of, on
other devices one operation."""

from __future__ import annotations

from typing import Any

from ..api.conversion import as_array
from ..api.coverage import native
from ..ops import composed
from ..ops.spec import Op
from .composing import applied

__all__ = [
    "celu",
    "elu",
    "erf",
    "erfc",
    "gelu",
    "hard_shrink",
    "hard_sigmoid",
    "hard_swish",
    "hardtanh",
    "leaky_relu",
    "log_sigmoid",
    "mish",
    "relu",
    "relu6",
    "rsqrt",
    "selu",
    "sigmoid",
    "silu",
    "soft_shrink",
    "softplus",
    "softsign",
    "tanhshrink",
]


def _apply(op: Op, x: Any, *parameters: float) -> Any:
    return applied(op, (as_array(x),), parameters)


@native
def sigmoid(x: Any, /) -> Any:
    """1 / (1 + exp(-x)), without overflow.

    Parameters
    ----------
    x : array_like
        Real numbers.
    """
    return _apply(composed.SIGMOID, x)


@native
def log_sigmoid(x: Any, /) -> Any:
    """The logarithm of `sigmoid`."""
    return _apply(composed.LOG_SIGMOID, x)


@native
def silu(x: Any, /) -> Any:
    """x times `sigmoid` of x."""
    return _apply(composed.SILU, x)


@native
def mish(x: Any, /) -> Any:
    """x times the hyperbolic tangent of `softplus` of x."""
    return _apply(composed.MISH, x)


@native
def gelu(x: Any, /, approximate: str = "none") -> Any:
    """x times the normal distribution's cumulative probability at x.

    Parameters
    ----------
    x : array_like
        Real numbers.
    approximate : {"none", "tanh"}
        Whether to use the common approximation by a hyperbolic tangent.
    """
    if approximate not in ("none", "tanh"):
        raise ValueError(f"gelu: got {approximate!r}, takes 'none' or 'tanh'")
    return _apply(composed.GELU if approximate == "none" else composed.GELU_TANH, x)


@native
def relu(x: Any, /) -> Any:
    """x where it is positive, else 0."""
    return _apply(composed.RELU, x)


@native
def relu6(x: Any, /) -> Any:
    """x limited to the interval from 0 to 6."""
    return _apply(composed.RELU6, x)


@native
def leaky_relu(x: Any, /, slope: float = 0.01) -> Any:
    """x where it is positive, else ``slope`` times x."""
    return _apply(composed.LEAKY_RELU, x, slope)


@native
def elu(x: Any, /, alpha: float = 1.0) -> Any:
    """x where it is positive, else ``alpha`` times (exp(x) - 1)."""
    return _apply(composed.ELU, x, alpha)


@native
def celu(x: Any, /, alpha: float = 1.0) -> Any:
    """x where it is positive, else ``alpha`` times (exp(x / alpha) - 1)."""
    return _apply(composed.CELU, x, alpha)


@native
def selu(x: Any, /) -> Any:
    """`elu`, scaled so that mean and variance are kept from layer to layer."""
    return _apply(composed.SELU, x)


@native
def softplus(x: Any, /) -> Any:
    """log(1 + exp(x)), without overflow."""
    return _apply(composed.SOFTPLUS, x)


@native
def softsign(x: Any, /) -> Any:
    """x / (1 + abs(x))."""
    return _apply(composed.SOFTSIGN, x)


@native
def tanhshrink(x: Any, /) -> Any:
    """x - tanh(x)."""
    return _apply(composed.TANHSHRINK, x)


@native
def hardtanh(x: Any, /, low: float = -1.0, high: float = 1.0) -> Any:
    """x limited to the interval from ``low`` to ``high``."""
    return _apply(composed.HARDTANH, x, low, high)


@native
def hard_sigmoid(x: Any, /) -> Any:
    """`sigmoid` by straight lines: (x + 3) / 6 limited to the interval from 0 to 1."""
    return _apply(composed.HARD_SIGMOID, x)


@native
def hard_swish(x: Any, /) -> Any:
    """x times `hard_sigmoid` of x."""
    return _apply(composed.HARD_SWISH, x)


@native
def hard_shrink(x: Any, /, limit: float = 0.5) -> Any:
    """x where its absolute value is above ``limit``, else 0."""
    return _apply(composed.HARD_SHRINK, x, limit)


@native
def soft_shrink(x: Any, /, limit: float = 0.5) -> Any:
    """x moved towards 0 by ``limit``, and 0 where it is nearer than that."""
    return _apply(composed.SOFT_SHRINK, x, limit)


@native
def erf(x: Any, /) -> Any:
    """The error function."""
    return _apply(composed.ERF, x)


@native
def erfc(x: Any, /) -> Any:
    """1 - `erf`, exact also where that is near 0."""
    return _apply(composed.ERFC, x)


@native
def rsqrt(x: Any, /) -> Any:
    """1 / sqrt(x)."""
    return _apply(composed.RSQRT, x)
