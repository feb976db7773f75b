"""Convolutions (correlations, in the language of signals) and their adjoints.

Weights have the shape (channels out, channels in / groups, \\*kernel) in either layout.
"""

from __future__ import annotations

import math

import numpy as np

from ..spec import Kind, Op
from .windows import NDArray, Sizes, at, channels_first, overlaps, restored

__all__ = [
    "CONVOLUTION",
    "CONVOLUTION_INPUT_GRADIENT",
    "CONVOLUTION_WEIGHT_GRADIENT",
]


def _grouped(x: NDArray, groups: int, channels_last: bool) -> NDArray:
    """(batch, groups, channels of a group, \\*positions)."""
    x = channels_first(x, channels_last)
    return x.reshape(x.shape[0], groups, x.shape[1] // groups, *x.shape[2:])


def _flat(x: NDArray) -> NDArray:
    """All positions along one axis."""
    return x.reshape(*x.shape[:3], math.prod(x.shape[3:]))


def _convolution(
    x: NDArray,
    w: NDArray,
    *,
    stride: Sizes,
    low: Sizes,
    dilation: Sizes,
    size: Sizes,
    groups: int,
    channels_last: bool,
) -> NDArray:
    """``y[o] = sum of x[o * stride + tap * dilation - low] * w[tap]``."""
    parts = _grouped(x, groups, channels_last)
    weights = w.reshape(groups, w.shape[0] // groups, *w.shape[1:])
    dtype = np.result_type(x, w)
    y = np.zeros((x.shape[0], groups, weights.shape[1], *size), dtype)
    kernel = w.shape[2:]
    for tap, outer, inner in overlaps(
        parts.shape[3:], size, kernel, stride, low, dilation
    ):
        y[at(outer)] += np.einsum(
            "ngi...,goi->ngo...",
            parts[at(inner)],
            weights[at(tap)],
            optimize=True,
        )
    return restored(y.reshape(x.shape[0], w.shape[0], *size), channels_last)


def _convolution_input_gradient(
    gradient: NDArray,
    w: NDArray,
    *,
    stride: Sizes,
    low: Sizes,
    dilation: Sizes,
    size: Sizes,
    groups: int,
    channels_last: bool,
) -> NDArray:
    """The adjoint of `_convolution` in its operand: ``size`` are positions of that."""
    parts = _grouped(gradient, groups, channels_last)
    weights = w.reshape(groups, w.shape[0] // groups, *w.shape[1:])
    dtype = np.result_type(gradient, w)
    x = np.zeros((gradient.shape[0], groups, w.shape[1], *size), dtype)
    kernel = w.shape[2:]
    for tap, outer, inner in overlaps(
        size, parts.shape[3:], kernel, stride, low, dilation
    ):
        x[at(inner)] += np.einsum(
            "ngo...,goi->ngi...",
            parts[at(outer)],
            weights[at(tap)],
            optimize=True,
        )
    whole = x.reshape(gradient.shape[0], groups * w.shape[1], *size)
    return restored(whole, channels_last)


def _convolution_weight_gradient(
    x: NDArray,
    gradient: NDArray,
    *,
    stride: Sizes,
    low: Sizes,
    dilation: Sizes,
    kernel: Sizes,
    groups: int,
    channels_last: bool,
) -> NDArray:
    """The adjoint of `_convolution` in its weights."""
    parts = _grouped(x, groups, channels_last)
    results = _grouped(gradient, groups, channels_last)
    dtype = np.result_type(x, gradient)
    w = np.zeros((groups, results.shape[2], parts.shape[2], *kernel), dtype)
    for tap, outer, inner in overlaps(
        parts.shape[3:], results.shape[3:], kernel, stride, low, dilation
    ):
        w[at(tap)] = np.einsum(
            "ngop,ngip->goi",
            _flat(results[at(outer)]),
            _flat(parts[at(inner)]),
            optimize=True,
        )
    return w.reshape(-1, parts.shape[2], *kernel)


CONVOLUTION = Op("nn.convolution", Kind.CONTRACTION, _convolution, 2)
CONVOLUTION_INPUT_GRADIENT = Op(
    "nn.convolution_input_gradient",
    Kind.CONTRACTION,
    _convolution_input_gradient,
    2,
)
CONVOLUTION_WEIGHT_GRADIENT = Op(
    "nn.convolution_weight_gradient",
    Kind.CONTRACTION,
    _convolution_weight_gradient,
    2,
)
