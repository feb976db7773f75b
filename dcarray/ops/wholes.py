"""Operations that are made of others where a device has no kernel for the whole.

Those that have one read their operand once: it must be floating-point numbers.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from .spec import Kind, Op

__all__ = [
    "BATCH_NORM",
    "BATCH_NORM_GRADIENT",
    "GROUP_NORM",
    "GROUP_NORM_GRADIENT",
    "LAYER_NORM",
    "LAYER_NORM_GRADIENT",
    "LOG_SOFTMAX",
    "MEAN",
    "RMS_NORM",
    "SOFTMAX",
    "VARIANCE",
]

NDArray = np.ndarray[Any, Any]


def _mean(x: NDArray, *, axes: Sequence[int], keepdims: bool) -> Any:
    return np.mean(x, tuple(axes), keepdims=keepdims)


def _variance(
    x: NDArray, *, axes: Sequence[int], keepdims: bool, number: float, root: bool
) -> Any:
    """Sums of squared distances from the mean, divided by ``number``; with ``root``
    the root of that."""
    apart = x - np.mean(x, tuple(axes), keepdims=True)
    found = np.sum(apart * apart, tuple(axes), keepdims=keepdims) / x.dtype.type(number)
    return np.sqrt(found) if root else found


def _shifted(x: NDArray) -> NDArray:
    found: NDArray = x - x.max(-1, keepdims=True)
    return found


def _softmax(x: NDArray) -> Any:
    powers = np.exp(_shifted(x))
    return powers / powers.sum(-1, keepdims=True)


def _log_softmax(x: NDArray) -> Any:
    shifted = _shifted(x)
    return shifted - np.log(np.exp(shifted).sum(-1, keepdims=True))


def _scaled(x: NDArray, weights: NDArray | None, bias: NDArray | None) -> Any:
    if weights is not None:
        x = x * weights
    return x if bias is None else x + bias


def _layer_norm(
    x: NDArray,
    weights: NDArray | None = None,
    bias: NDArray | None = None,
    *,
    epsilon: float,
) -> Any:
    apart = x - x.mean(-1, keepdims=True)
    return _scaled(_divided(apart, epsilon), weights, bias)


def _by_channel(parameter: NDArray | None, ndim: int) -> NDArray | None:
    """Weights or bias along the second axis."""
    if parameter is None:
        return None
    return parameter.reshape(-1, *[1] * (ndim - 2))


def _batch_norm(
    x: NDArray,
    weights: NDArray | None = None,
    bias: NDArray | None = None,
    *,
    epsilon: float,
) -> Any:
    """Each channel, along the second axis, over all of the others."""
    axes = (0, *range(2, x.ndim))
    apart = x - x.mean(axes, keepdims=True)
    square = (apart * apart).mean(axes, keepdims=True)
    found = apart / np.sqrt(square + x.dtype.type(epsilon))
    return _scaled(found, _by_channel(weights, x.ndim), _by_channel(bias, x.ndim))


def _group_norm(
    x: NDArray,
    weights: NDArray | None = None,
    bias: NDArray | None = None,
    *,
    groups: int,
    epsilon: float,
) -> Any:
    """Groups of channels, along the second axis, of each example for itself."""
    rows = x.reshape(x.shape[0], groups, -1)
    found = _layer_norm(rows, epsilon=epsilon).reshape(x.shape)
    return _scaled(found, _by_channel(weights, x.ndim), _by_channel(bias, x.ndim))


def _rms_norm(x: NDArray, weights: NDArray | None = None, *, epsilon: float) -> Any:
    return _scaled(_divided(x, epsilon), weights, None)


def _divided(x: NDArray, epsilon: float) -> NDArray:
    found: NDArray = x / np.sqrt(
        (x * x).mean(-1, keepdims=True) + x.dtype.type(epsilon)
    )
    return found


def _norm_gradient(
    x: NDArray, g: NDArray, axes: tuple[int, ...], epsilon: float
) -> tuple[NDArray, NDArray]:
    """The gradient in x where means are made along axes, and the normal numbers."""
    apart = x - x.mean(axes, keepdims=True)
    square = (apart * apart).mean(axes, keepdims=True)
    factor = 1 / np.sqrt(square + x.dtype.type(epsilon))
    normal = apart * factor
    less = g.mean(axes, keepdims=True) + normal * (g * normal).mean(axes, keepdims=True)
    return (g - less) * factor, normal


def _layer_norm_gradient(
    x: NDArray, gradient: NDArray, weights: NDArray | None = None, *, epsilon: float
) -> tuple[NDArray, NDArray, NDArray]:
    """The gradients in x, weights and bias."""
    g = _scaled(gradient, weights, None)
    found, normal = _norm_gradient(x, g, (-1,), epsilon)
    others = tuple(range(x.ndim - 1))
    return found, (gradient * normal).sum(others), gradient.sum(others)


def _batch_norm_gradient(
    x: NDArray, gradient: NDArray, weights: NDArray | None = None, *, epsilon: float
) -> tuple[NDArray, NDArray, NDArray]:
    axes = (0, *range(2, x.ndim))
    g = _scaled(gradient, _by_channel(weights, x.ndim), None)
    found, normal = _norm_gradient(x, g, axes, epsilon)
    return found, (gradient * normal).sum(axes), gradient.sum(axes)


def _group_norm_gradient(
    x: NDArray,
    gradient: NDArray,
    weights: NDArray | None = None,
    *,
    groups: int,
    epsilon: float,
) -> tuple[NDArray, NDArray, NDArray]:
    axes, shape = (0, *range(2, x.ndim)), (x.shape[0], groups, -1)
    g = _scaled(gradient, _by_channel(weights, x.ndim), None)
    rows = _norm_gradient(x.reshape(shape), g.reshape(shape), (-1,), epsilon)
    found, normal = [y.reshape(x.shape) for y in rows]
    return found, (gradient * normal).sum(axes), gradient.sum(axes)


MEAN = Op("mean", Kind.STATISTIC, _mean)
VARIANCE = Op("variance", Kind.STATISTIC, _variance)
SOFTMAX = Op("nn.softmax", Kind.STATISTIC, _softmax)
LOG_SOFTMAX = Op("nn.log_softmax", Kind.STATISTIC, _log_softmax)
BATCH_NORM = Op("nn.batch_norm", Kind.STATISTIC, _batch_norm)
GROUP_NORM = Op("nn.group_norm", Kind.STATISTIC, _group_norm)
LAYER_NORM = Op("nn.layer_norm", Kind.STATISTIC, _layer_norm)
RMS_NORM = Op("nn.rms_norm", Kind.STATISTIC, _rms_norm)
BATCH_NORM_GRADIENT = Op(
    "nn.batch_norm_gradient", Kind.STATISTIC, _batch_norm_gradient, 2, 3
)
GROUP_NORM_GRADIENT = Op(
    "nn.group_norm_gradient", Kind.STATISTIC, _group_norm_gradient, 2, 3
)
LAYER_NORM_GRADIENT = Op(
    "nn.layer_norm_gradient", Kind.STATISTIC, _layer_norm_gradient, 2, 3
)
