"""Normalisation by mean and variance, or by the root of the mean square.

Means are made, and numbers scaled, in float64 on the host and rounded once; or, where
it can be done in one piece, as `ops.kernels.rows` says.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.lib.array_utils import normalize_axis_index, normalize_axis_tuple

from ..api.conversion import as_array
from ..api.coverage import native
from ..api.elementwise import sqrt
from ..array.repeated import repeated
from ..ops.wholes import (
    BATCH_NORM,
    BATCH_NORM_GRADIENT,
    GROUP_NORM,
    GROUP_NORM_GRADIENT,
    LAYER_NORM,
    LAYER_NORM_GRADIENT,
    RMS_NORM,
)
from .composing import by_channel, by_row, narrowed
from .norms import Norm, wide
from .windows import needs

__all__ = [
    "batch_norm",
    "batch_norm_gradient",
    "group_norm",
    "group_norm_gradient",
    "layer_norm",
    "layer_norm_gradient",
    "rms_norm",
    "rms_norm_gradient",
]

Axes = int | tuple[int, ...]


def _arrays(*parameters: Any) -> list[Any]:
    return [None if one is None else as_array(one) for one in parameters]


# ------------------------------------------------------------------------ over a batch
def _by_channel(name: str, x: Any, axis: int) -> Norm:
    given = as_array(x)
    needs(given.ndim >= 1, f"{name}: got a number, takes an array")
    channel = normalize_axis_index(axis, given.ndim)
    axes = tuple([k for k in range(given.ndim) if k != channel])
    kept = tuple([n if k == channel else 1 for k, n in enumerate(given.shape)])
    count = (given.shape[channel],)
    return Norm(name, given, wide(name, given), axes, kept, count)


def _by_statistics(
    norm: Norm, mean: Any, variance: Any, epsilon: float
) -> tuple[Any, Any]:
    """Numbers normalised by what the caller knows; None stands for the batch's own."""
    if mean is None and variance is None:
        return norm.centred(epsilon)
    needs(
        mean is not None and variance is not None,
        f"{norm.name}: got one of mean and variance, takes both or none",
    )
    factor = 1.0 / sqrt(norm.parameter("variance", variance, 1.0) + epsilon)
    return (norm.x - norm.parameter("mean", mean, 0.0)) * factor, factor


@native
@repeated
def batch_norm(
    x: Any,
    /,
    mean: Any = None,
    variance: Any = None,
    weight: Any = None,
    bias: Any = None,
    epsilon: float = 1e-5,
    *,
    axis: int = 1,
) -> Any:
    """Numbers less their channel's mean, divided by its standard deviation.

    Parameters
    ----------
    x : array_like
        Real numbers.
    mean, variance : array_like, optional
        A number for each channel, as kept from training.  Without them those of the
        batch are used: the variance is then the mean square of distances (divided by
        their number, not by one less).
    weight, bias : array_like, optional
        A number for each channel, multiplied by and added at the end.
    epsilon : float
        Added to the variance.
    axis : int
        Of the channels.

    Raises
    ------
    ValueError
        Shapes that do not fit; mean without variance.

    References
    ----------
    Ioffe and Szegedy, "Batch Normalization", 2015.
    """
    given = as_array(x)
    if mean is None and variance is None and axis == 1:
        parameters = _arrays(weight, bias)
        found = by_channel(BATCH_NORM, given, *parameters, epsilon=float(epsilon))
        if found is not None:
            return found
    norm = _by_channel("batch_norm", given, axis)
    normal, _ = _by_statistics(norm, mean, variance, epsilon)
    return norm.scaled(normal, weight, bias)


@native
@repeated
def batch_norm_gradient(
    gradient: Any,
    x: Any,
    /,
    mean: Any = None,
    variance: Any = None,
    weight: Any = None,
    epsilon: float = 1e-5,
    *,
    axis: int = 1,
) -> tuple[Any, Any, Any]:
    """The gradients of `batch_norm` in x, weight and bias.

    Parameters
    ----------
    gradient : array_like
        The gradient in the result.
    x, mean, variance, weight, epsilon, axis
        As they were given to `batch_norm`.
    """
    given, back = as_array(x), as_array(gradient)
    if mean is None and variance is None and axis == 1:
        found = by_channel(
            BATCH_NORM_GRADIENT,
            given,
            *_arrays(weight),
            alike=(back,),
            epsilon=float(epsilon),
        )
        if found is not None:
            return found  # type: ignore[no-any-return]
    norm = _by_channel("batch_norm_gradient", given, axis)
    g = norm.gradient_of(gradient)
    normal, factor = _by_statistics(norm, mean, variance, epsilon)
    if mean is None:
        found = norm.back(g, weight, normal, factor)
    else:
        found = narrowed(g * norm.parameter("weight", weight, 1.0) * factor, norm.given)
    return found, norm.of_parameters(g * normal), norm.of_parameters(g)


# ------------------------------------------------------------------- within one example
def _within(name: str, x: Any, axis: Axes) -> Norm:
    given = as_array(x)
    axes = normalize_axis_tuple(axis, given.ndim)
    kept = tuple([n if k in axes else 1 for k, n in enumerate(given.shape)])
    parameters = tuple([given.shape[k] for k in sorted(axes)])
    return Norm(name, given, wide(name, given), axes, kept, parameters)


@native
@repeated
def layer_norm(
    x: Any,
    /,
    weight: Any = None,
    bias: Any = None,
    epsilon: float = 1e-5,
    *,
    axis: Axes = -1,
) -> Any:
    """Numbers less their mean along ``axis``, divided by their standard deviation.

    Parameters
    ----------
    x : array_like
        Real numbers.
    weight, bias : array_like, optional
        A number for each element along ``axis`` (of the shape of those axes),
        multiplied by and added at the end.
    epsilon : float
        Added to the variance.
    axis : int or tuple of int
        Axes over which means are made.

    Raises
    ------
    ValueError
        Shapes that do not fit.

    References
    ----------
    Ba, Kiros and Hinton, "Layer Normalization", 2016.
    """
    given, parameters = as_array(x), _arrays(weight, bias)
    found = by_row(LAYER_NORM, given, axis, *parameters, epsilon=float(epsilon))
    if found is not None:
        return found
    norm = _within("layer_norm", given, axis)
    return norm.scaled(norm.centred(epsilon)[0], weight, bias)


@native
@repeated
def layer_norm_gradient(
    gradient: Any,
    x: Any,
    /,
    weight: Any = None,
    epsilon: float = 1e-5,
    *,
    axis: Axes = -1,
) -> tuple[Any, Any, Any]:
    """The gradients of `layer_norm` in x, weight and bias.

    Parameters
    ----------
    gradient : array_like
        The gradient in the result.
    x, weight, epsilon, axis
        As they were given to `layer_norm`.
    """
    given, back = as_array(x), as_array(gradient)
    options: dict[str, Any] = {"alike": (back,), "epsilon": float(epsilon)}
    found = by_row(LAYER_NORM_GRADIENT, given, axis, *_arrays(weight), **options)
    if found is not None:
        return found  # type: ignore[no-any-return]
    norm = _within("layer_norm_gradient", given, axis)
    return _centred_gradient(norm, back, weight, epsilon)


def _centred_gradient(
    norm: Norm, gradient: Any, weight: Any, epsilon: float
) -> tuple[Any, Any, Any]:
    g = norm.gradient_of(gradient)
    normal, factor = norm.centred(epsilon)
    found = norm.back(g, weight, normal, factor)
    return found, norm.of_parameters(g * normal), norm.of_parameters(g)


def _least(x: Any) -> float:
    """The distance from 1 to the next number."""
    short = x.dtype if x.dtype.kind == "f" else np.float64
    return float(np.finfo(short).eps)


def _root_mean_square(norm: Norm, epsilon: float | None) -> tuple[Any, Any]:
    if epsilon is None:
        epsilon = _least(norm.given)
    factor = 1.0 / sqrt(norm.mean(norm.x * norm.x) + epsilon)
    return norm.x * factor, factor


@native
@repeated
def rms_norm(
    x: Any,
    /,
    weight: Any = None,
    epsilon: float | None = None,
    *,
    axis: Axes = -1,
) -> Any:
    """Numbers divided by the root of their mean square along ``axis``.

    Parameters
    ----------
    x : array_like
        Real numbers.
    weight : array_like, optional
        A number for each element along ``axis``, multiplied by at the end.
    epsilon : float, optional
        Added to the mean square; by default the distance from 1 to the next number of
        the dtype.
    axis : int or tuple of int

    References
    ----------
    Zhang and Sennrich, "Root Mean Square Layer Normalization", 2019.
    """
    given = as_array(x)
    if epsilon is None:
        epsilon = _least(given)
    found = by_row(RMS_NORM, given, axis, *_arrays(weight), epsilon=float(epsilon))
    if found is not None:
        return found
    norm = _within("rms_norm", given, axis)
    return norm.scaled(_root_mean_square(norm, epsilon)[0], weight, None)


@native
@repeated
def rms_norm_gradient(
    gradient: Any,
    x: Any,
    /,
    weight: Any = None,
    epsilon: float | None = None,
    *,
    axis: Axes = -1,
) -> tuple[Any, Any]:
    """The gradients of `rms_norm` in x and weight.

    Parameters
    ----------
    gradient : array_like
        The gradient in the result.
    x, weight, epsilon, axis
        As they were given to `rms_norm`.
    """
    norm = _within("rms_norm_gradient", x, axis)
    g = norm.gradient_of(gradient)
    normal, factor = _root_mean_square(norm, epsilon)
    found = norm.back(g, weight, normal, factor, centred=False)
    return found, norm.of_parameters(g * normal)


# ---------------------------------------------------------------------- within groups
def _in_groups(name: str, x: Any, groups: int, layout: str) -> Norm:
    given = as_array(x)
    needs(
        layout in ("NCHW", "NHWC"),
        f"{name}: layout is {layout!r}, takes 'NCHW' or 'NHWC'",
    )
    needs(
        given.ndim >= 2,
        f"{name}: got an array of shape {tuple(given.shape)}, takes at least two axes",
    )
    last = layout == "NHWC"
    channels = given.shape[-1 if last else 1]
    needs(
        groups >= 1 and channels % groups == 0,
        f"{name}: {channels} channels in {groups} groups, takes what divides them",
    )
    split = (groups, channels // groups)
    if last:
        shape = (*given.shape[:-1], *split)
        kept = (1,) * (given.ndim - 1) + split
        axes = (*range(1, given.ndim - 1), given.ndim)
    else:
        shape = (given.shape[0], *split, *given.shape[2:])
        kept = (1, *split) + (1,) * (given.ndim - 2)
        axes = tuple(range(2, given.ndim + 1))
    shaped = wide(name, given.reshape(shape))
    return Norm(name, given, shaped, axes, kept, (channels,))


@native
@repeated
def group_norm(
    x: Any,
    /,
    groups: int,
    weight: Any = None,
    bias: Any = None,
    epsilon: float = 1e-5,
    *,
    layout: str = "NCHW",
) -> Any:
    """Numbers less the mean of their group of channels, divided by its standard
    deviation, each example of the batch for itself.

    Parameters
    ----------
    x : array_like
        (batch, channels, \\*positions), or with ``layout="NHWC"`` (batch, \\*positions,
        channels).
    groups : int
        As many as there are channels give instance normalisation.
    weight, bias : array_like, optional
        A number for each channel, multiplied by and added at the end.
    epsilon : float
        Added to the variance.
    layout : {"NCHW", "NHWC"}

    Raises
    ------
    ValueError
        Shapes that do not fit; groups that do not divide the channels.

    References
    ----------
    Wu and He, "Group Normalization", 2018.
    """
    given = as_array(x)
    if layout == "NCHW" and given.ndim > 2 and groups >= 1:
        options: dict[str, Any] = {"groups": groups, "epsilon": float(epsilon)}
        if given.shape[1] % groups == 0:
            found = by_channel(GROUP_NORM, given, *_arrays(weight, bias), **options)
            if found is not None:
                return found
    norm = _in_groups("group_norm", given, groups, layout)
    return norm.scaled(norm.centred(epsilon)[0], weight, bias)


@native
@repeated
def group_norm_gradient(
    gradient: Any,
    x: Any,
    /,
    groups: int,
    weight: Any = None,
    epsilon: float = 1e-5,
    *,
    layout: str = "NCHW",
) -> tuple[Any, Any, Any]:
    """The gradients of `group_norm` in x, weight and bias.

    Parameters
    ----------
    gradient : array_like
        The gradient in the result.
    x, groups, weight, epsilon, layout
        As they were given to `group_norm`.
    """
    given, back = as_array(x), as_array(gradient)
    if layout == "NCHW" and given.ndim > 2 and groups >= 1:
        options: dict[str, Any] = {"groups": groups, "epsilon": float(epsilon)}
        if given.shape[1] % groups == 0:
            op = GROUP_NORM_GRADIENT
            parameters = _arrays(weight)
            found = by_channel(op, given, *parameters, alike=(back,), **options)
            if found is not None:
                return found  # type: ignore[no-any-return]
    norm = _in_groups("group_norm_gradient", given, groups, layout)
    return _centred_gradient(norm, back, weight, epsilon)
