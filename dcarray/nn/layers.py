"""Layers of one line: linear, embedding, dropout, each with its gradient."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ..api.conversion import as_array
from ..api.coverage import native
from ..api.elementwise import matmul
from ..api.indexing import take, where
from ..array import DeviceArray, calls
from ..array.repeated import repeated
from ..backends.registry import backend_for
from ..ops import neural as rows
from ..ops.contraction import LINEAR
from ..random import default_rng
from .activation import relu
from .composing import total
from .correlation import conjugated, narrowed, widened
from .windows import needs

__all__ = [
    "dropout",
    "dropout_gradient",
    "embedding",
    "embedding_gradient",
    "linear",
    "linear_gradient",
]


FLOATS = ("float32", "float64", "float16", "bfloat16")


# ------------------------------------------------------------------------------ linear
def _features(name: str, x: Any, w: Any) -> tuple[Any, Any]:
    x, w = as_array(x), as_array(w)
    needs(
        w.ndim == 2 and x.ndim >= 1 and x.shape[-1] == w.shape[1],
        f"{name}: got arrays of shapes {tuple(x.shape)} and {tuple(w.shape)}, takes "
        "(..., features) and (features of the result, features)",
    )
    return x, w


@native
def linear(
    x: Any,
    w: Any,
    /,
    bias: Any = None,
    *,
    activation: Callable[[Any], Any] | None = None,
) -> Any:
    """Products of vectors with a matrix, ``x @ w.T + bias``.

    Parameters
    ----------
    x : array_like
        (..., features)
    w : array_like
        (features of the result, features)
    bias : array_like, optional
        (features of the result,)
    activation : callable, optional
        What is applied to the result; on a CUDA device `relu` takes no launch of its
        own, and neither does the bias.

    Raises
    ------
    ValueError
        Shapes that do not fit.
    """
    if activation is None:
        return _linear(x, w, bias, False)
    if activation is relu:
        return _linear(x, w, bias, True)
    return activation(_linear(x, w, bias, False))


@repeated
def _linear(x: Any, w: Any, bias: Any, cut: bool) -> Any:
    x, w = _features("linear", x, w)
    operands = [x, w]
    if bias is not None:
        operands.append(as_array(bias))
        shape = operands[2].shape
        needs(
            shape == (w.shape[0],),
            f"linear: bias has shape {tuple(shape)}, takes ({w.shape[0]},)",
        )
    if _at_once(operands):
        return calls.library(DeviceArray, LINEAR, operands, cut=cut)
    dtype, (a, b) = widened("linear", x, w)
    found = matmul(a, b.T)
    if bias is not None:
        dtype = np.result_type(dtype, operands[2].dtype)
        found = found + operands[2]
    found = narrowed(found, dtype)
    return relu(found) if cut else found


def _at_once(operands: Sequence[Any]) -> bool:
    """Whether the operands' device has the whole of it."""
    first = operands[0]
    if not first._device.is_named or first.dtype.name not in FLOATS:
        return False
    if any(
        [x.dtype != first.dtype or x._device is not first._device for x in operands]
    ):
        return False
    return LINEAR.name in backend_for(first._device.label).native


@native
@repeated
def linear_gradient(gradient: Any, x: Any, w: Any, /) -> tuple[Any, Any, Any]:
    """The gradients of `linear` in x, w and bias.

    Parameters
    ----------
    gradient : array_like
        The gradient in the result.
    x, w : array_like
        As they were given to `linear`.
    """
    x, w = _features("linear_gradient", x, w)
    g = as_array(gradient)
    wanted = (*x.shape[:-1], w.shape[0])
    needs(
        g.shape == wanted,
        f"linear_gradient: a gradient of shape {tuple(g.shape)}, takes {wanted}",
    )
    dtype, (g, a, b) = widened("linear_gradient", g, x, w)
    count = math.prod(x.shape[:-1])
    flat = g.reshape(count, w.shape[0])
    of_w = matmul(flat.T, conjugated(a).reshape(count, x.shape[-1]))
    found = (matmul(g, conjugated(b)), of_w, total(flat, 0, keepdims=False))
    of_x, of_w, of_bias = [narrowed(one, dtype) for one in found]
    return of_x, of_w, of_bias


# --------------------------------------------------------------------------- embedding
@native
def embedding(indices: Any, w: Any, /) -> Any:
    """Rows of a table.

    Parameters
    ----------
    indices : array_like of int
        Which; negative ones count from the end.
    w : array_like
        (rows, features)

    Returns
    -------
    DeviceArray
        Of the shape of the indices, and features.

    Raises
    ------
    IndexError
        There is no such row.
    ValueError
        Indices that are no integers; a table with other than two axes.
    """
    places, table = as_array(indices), as_array(w)
    needs(
        places.dtype.kind in "iu" and table.ndim == 2,
        f"embedding: got indices of {places.dtype} and a table of shape "
        f"{tuple(table.shape)}, takes integers and two axes",
    )
    return take(table, places, axis=0)


@native
def embedding_gradient(
    gradient: Any, indices: Any, /, count: int, padding_index: int | None = None
) -> Any:
    """The gradient of `embedding` in its table.

    Parameters
    ----------
    gradient : array_like
        The gradient in the result.
    indices : array_like of int
        As they were given to `embedding`.
    count : int
        Rows of the table.
    padding_index : int, optional
        A row that gets no gradient.

    Raises
    ------
    IndexError
        There is no such row.
    ValueError
        Shapes that do not fit.
    """
    g, places = as_array(gradient), as_array(indices)
    needs(
        places.dtype.kind in "iu" and g.ndim >= 1 and g.shape[:-1] == places.shape,
        f"embedding_gradient: a gradient of shape {tuple(g.shape)} and indices of "
        f"{places.dtype} of shape {tuple(places.shape)}, takes the shape of the "
        "indices and features",
    )
    places = where(places < 0, places + count, places)
    if padding_index is not None:
        padding = padding_index % count
        g = where((places == padding)[..., None], 0, g).astype(g.dtype)
    dtype, (wide,) = widened("embedding_gradient", g)
    row = rows.EMBEDDING_GRADIENT
    found = calls.library(DeviceArray, row, (wide, places), count=count)
    return narrowed(found, dtype)


# ----------------------------------------------------------------------------- dropout
def _check_rate(name: str, rate: float) -> None:
    needs(0 <= rate <= 1, f"{name}: rate is {rate}, takes 0 to 1")


@native
def dropout(
    x: Any,
    /,
    rate: float = 0.5,
    generator: Any = None,
    *,
    return_mask: bool = False,
) -> Any:
    """Numbers of which each is replaced by 0 with probability ``rate``, and otherwise
    divided by ``1 - rate``.

    Parameters
    ----------
    x : array_like
    rate : float
        From 0 to 1.
    generator : Generator, int or None
        What `dcarray.random.default_rng` takes.  With the same state or seed the same
        numbers are replaced, on whichever device.
    return_mask : bool
        Whether to return too which numbers were kept, as `dropout_gradient` needs it.

    Raises
    ------
    ValueError
        A rate outside of 0 to 1.
    """
    _check_rate("dropout", rate)
    given = as_array(x)
    drawn = default_rng(generator, device=given._device).random(given.shape, np.float32)
    mask = as_array(drawn >= np.float32(rate))
    found = _dropped(given, mask, rate)
    return (found, mask) if return_mask else found


def _dropped(x: Any, mask: Any, rate: float) -> Any:
    factor = 1.0 / (1.0 - rate) if rate < 1 else 0.0
    return where(mask, x * factor, 0.0)


@native
def dropout_gradient(gradient: Any, mask: Any, /, rate: float = 0.5) -> Any:
    """The gradient of `dropout`.

    Parameters
    ----------
    gradient : array_like
        The gradient in the result.
    mask : array_like of bool
        Which numbers were kept.
    rate : float
        As it was given to `dropout`.
    """
    _check_rate("dropout_gradient", rate)
    return _dropped(as_array(gradient), as_array(mask), rate)
