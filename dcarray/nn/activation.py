"""Activations: on the CPU recorded as the operations that their bodies are made of, on
other devices one operation."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..api.conversion import as_array
from ..api.coverage import native
from ..array import DeviceArray, calls
from ..ops import composed, elementwise as ops
from ..ops.spec import Op

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
    "log_softmax",
    "mish",
    "relu",
    "relu6",
    "rsqrt",
    "selu",
    "sigmoid",
    "silu",
    "soft_shrink",
    "softmax",
    "softplus",
    "softsign",
    "tanhshrink",
]


def _run(op: Op, *operands: Any) -> Any:
    """One operation of a body; a cast has its dtype for second operand."""
    if op is not ops.CAST:
        return calls.elementwise(DeviceArray, op, operands)
    x, dtype = operands
    return x.astype(dtype)


def _apply(op: Op, x: Any, *parameters: float) -> Any:
    given = as_array(x)
    if given._device.kind not in ("auto", "cpu"):
        return calls.elementwise(DeviceArray, op, (given, *parameters))
    dtypes = [given.dtype, *map(type, parameters)]
    (result,) = composed.trace(op, _run, [given, *parameters], dtypes)
    return result


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


# --------------------------------------------------------------- along a whole axis
def _shifted(x: Any, axis: Any) -> tuple[Any, Any, Any]:
    """x minus its largest value, its exponential, and the sum of that."""
    given = as_array(x)
    if given.dtype.kind in "biu":
        given = given.astype(np.float64)
    shifted = _run(ops.SUBTRACT, given, given.max(axis, keepdims=True))
    powers = _run(ops.EXP, shifted)
    return shifted, powers, powers.sum(axis, keepdims=True)


@native
def softmax(x: Any, /, axis: int | tuple[int, ...] | None = -1) -> Any:
    """Exponentials of x, divided by their sum along ``axis``."""
    _, powers, total = _shifted(x, axis)
    return _run(ops.DIVIDE, powers, total)


@native
def log_softmax(x: Any, /, axis: int | tuple[int, ...] | None = -1) -> Any:
    """The logarithm of `softmax`."""
    shifted, _, total = _shifted(x, axis)
    return _run(ops.SUBTRACT, shifted, _run(ops.LOG, total))
