"""Softmax and its logarithm, with gradients."""

from __future__ import annotations

from typing import Any

from ..api.conversion import as_array
from ..api.coverage import native
from ..api.elementwise import exp, log
from ..array.repeated import repeated
from ..ops.wholes import LOG_SOFTMAX, SOFTMAX
from .composing import by_row, floating, narrowed, total

__all__ = [
    "log_softmax",
    "log_softmax_gradient",
    "softmax",
    "softmax_gradient",
]

Axes = int | tuple[int, ...] | None


def _powers(x: Any, axis: Axes) -> tuple[Any, Any, Any]:
    """x minus its largest value, the exponential of that, and its sum."""
    shifted = x - x.max(axis, keepdims=True)
    powers = exp(shifted)
    return shifted, powers, total(powers, axis).astype(x.dtype)


def _softmax(x: Any, axis: Axes) -> Any:
    """Of floating-point numbers."""
    found = by_row(SOFTMAX, x, axis)
    if found is not None:
        return found
    _, powers, whole = _powers(x, axis)
    return powers / whole


@native
@repeated
def softmax(x: Any, /, axis: Axes = -1) -> Any:
    """Exponentials of x, divided by their sum along ``axis``.

    Parameters
    ----------
    x : array_like
        Real numbers.
    axis : int, tuple of int or None
        None stands for all axes.
    """
    given = as_array(x)
    found = by_row(SOFTMAX, given, axis)
    if found is not None:
        return found
    return narrowed(_softmax(floating("softmax", given), axis), given)


@native
@repeated
def log_softmax(x: Any, /, axis: Axes = -1) -> Any:
    """The logarithm of `softmax`."""
    given = as_array(x)
    found = by_row(LOG_SOFTMAX, given, axis)
    if found is not None:
        return found
    shifted, _, whole = _powers(floating("log_softmax", given), axis)
    return narrowed(shifted - log(whole), given)


@native
@repeated
def softmax_gradient(gradient: Any, x: Any, /, axis: Axes = -1) -> Any:
    """The gradient of `softmax`.

    Parameters
    ----------
    gradient : array_like
        The gradient in the result.
    x, axis
        As they were given to `softmax`.
    """
    given = as_array(x)
    g = floating("softmax_gradient", as_array(gradient))
    y = _softmax(floating("softmax_gradient", given), axis)
    mean = total(g * y, axis).astype(y.dtype)
    return narrowed(y * (g - mean), given)


@native
@repeated
def log_softmax_gradient(gradient: Any, x: Any, /, axis: Axes = -1) -> Any:
    """The gradient of `log_softmax`.

    Parameters
    ----------
    gradient : array_like
        The gradient in the result.
    x, axis
        As they were given to `log_softmax`.
    """
    given = as_array(x)
    g = floating("log_softmax_gradient", as_array(gradient))
    y = _softmax(floating("log_softmax_gradient", given), axis)
    return narrowed(g - y * total(g, axis).astype(y.dtype), given)
