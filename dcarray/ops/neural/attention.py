"""Attention and its gradient, for devices that do better than the blocks of `nn`.

Operands are (batch, queries or keys, features), all with the same batch.  ``mask``, if
there is one, has the shape of the scores, or 1 along axes that it repeats: booleans say
what is seen, numbers are added.  The rows ``ALONE`` and ``ADJOINT`` are for libraries
that do better with less; they take any axes of batch, to which a mask broadcasts.
"""

from __future__ import annotations

import math

import numpy as np

from ..spec import Kind, Op
from .windows import NDArray

__all__ = [
    "ATTENTION",
    "ATTENTION_ADJOINT",
    "ATTENTION_ALONE",
    "ATTENTION_GRADIENT",
]


def _scores(
    q: NDArray, k: NDArray, mask: NDArray | None, causal: bool, scale: float
) -> NDArray:
    scores: NDArray = q @ k.swapaxes(1, 2) * scale
    if mask is not None:
        scores = (
            np.where(mask, scores, -np.inf) if mask.dtype == bool else scores + mask
        )
    if causal:
        rows, columns = scores.shape[1:]
        scores = np.where(np.tri(rows, columns, dtype=bool), scores, -np.inf)
    return scores.astype(q.dtype)


def _attention(
    q: NDArray,
    k: NDArray,
    v: NDArray,
    *,
    mask: NDArray | None,
    causal: bool,
    scale: float,
) -> tuple[NDArray, NDArray]:
    """Means of values, and the logarithm of each row's sum of exponentials; 0 and
    infinity for a row that sees nothing."""
    scores = _scores(q, k, mask, causal, scale)
    top = scores.max(-1, keepdims=True, initial=-np.inf)
    empty = top == -np.inf
    powers = np.exp(scores - np.where(empty, 0, top))
    total = np.where(empty, 1, powers.sum(-1, keepdims=True))
    logs = np.where(empty, np.inf, top + np.log(total))
    return (powers @ v / total).astype(q.dtype), logs.astype(q.dtype)


def _attention_gradient(
    gradient: NDArray,
    q: NDArray,
    k: NDArray,
    v: NDArray,
    logs: NDArray,
    mean: NDArray,
    *,
    mask: NDArray | None,
    causal: bool,
    scale: float,
) -> tuple[NDArray, NDArray, NDArray]:
    """The gradients in q, k and v, given `logs` and the sums of each row of
    ``gradient * result``."""
    shares = np.exp(_scores(q, k, mask, causal, scale) - logs)
    slope = shares * (gradient @ v.swapaxes(1, 2) - mean) * np.asarray(scale, q.dtype)
    return (
        slope @ k,
        slope.swapaxes(1, 2) @ q,
        shares.swapaxes(1, 2) @ gradient,
    )


def _flat(x: NDArray, batch: tuple[int, ...]) -> NDArray:
    """An array with one axis of batch."""
    whole = np.broadcast_to(x, (*batch, *x.shape[-2:]))
    return whole.reshape(math.prod(batch), *x.shape[-2:])


def _attention_alone(
    q: NDArray,
    k: NDArray,
    v: NDArray,
    *,
    mask: NDArray | None,
    causal: bool,
    scale: float,
) -> NDArray:
    """`_attention` without the logarithms, and with any axes of batch."""
    batch = q.shape[:-2]
    mask = None if mask is None else _flat(mask, batch)
    flat = [_flat(x, batch) for x in (q, k, v)]
    found, _ = _attention(*flat, mask=mask, causal=causal, scale=scale)
    return found.reshape(*batch, *found.shape[1:])


def _attention_adjoint(
    gradient: NDArray,
    q: NDArray,
    k: NDArray,
    v: NDArray,
    *,
    mask: NDArray | None,
    causal: bool,
    scale: float,
) -> tuple[NDArray, NDArray, NDArray]:
    """The gradients of `_attention_alone`."""
    batch = q.shape[:-2]
    mask = None if mask is None else _flat(mask, batch)
    g, *flat = [_flat(x, batch) for x in (gradient, q, k, v)]
    result, logs = _attention(*flat, mask=mask, causal=causal, scale=scale)
    mean = (g * result).sum(-1, keepdims=True)
    found = _attention_gradient(
        *(g, *flat, logs, mean), mask=mask, causal=causal, scale=scale
    )
    of_q, of_k, of_v = [x.reshape(*batch, *x.shape[1:]) for x in found]
    return of_q, of_k, of_v


ATTENTION = Op("nn.attention", Kind.CONTRACTION, _attention, 3, 2)
ATTENTION_GRADIENT = Op(
    "nn.attention_gradient", Kind.CONTRACTION, _attention_gradient, 6, 3
)
ATTENTION_ALONE = Op("nn.attention_alone", Kind.CONTRACTION, _attention_alone, 3)
ATTENTION_ADJOINT = Op(
    "nn.attention_adjoint", Kind.CONTRACTION, _attention_adjoint, 4, 3
)
