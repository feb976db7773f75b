"""Attention of float32 and float64 through all of its scores, where these are few:
two products and a softmax between them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ..grid.views import GridView
from .kernels.scores import scores_text, threads_of
from .raw import signature

if TYPE_CHECKING:
    from .raw import Raw

__all__ = ["attention"]

MOST = 1 << 26
"""Bytes of scores at most, which stay in the device's cache or nearly so."""

DTYPES = (np.dtype(np.float32), np.dtype(np.float64))

_SCORES = signature("scores", "wwqqqd")


def attention(
    raw: Raw, q: Any, k: Any, v: Any, *, mask: Any, causal: bool, scale: float
) -> tuple[GridView, GridView] | None:
    """``nn.attention``: means of values, and the logarithms of the rows' sums.

    The result lies as q does, where one batch lies within the rows of q.
    """
    if mask is not None or not all([type(x) is GridView for x in (q, k, v)]):
        return None
    dtype = q.dtype
    if dtype not in DTYPES or k.dtype != dtype or v.dtype != dtype:
        return None
    (batch, queries, features), keys = q.shape, k.shape[1]
    rows, size = batch * queries, dtype.itemsize
    if not 0 < rows * keys * size <= MOST or 0 in (features, v.shape[2]):
        return None
    multiply = raw.backend._blas.product
    scores = multiply(q, k.through(lambda a: a.swapaxes(1, 2)))
    if scores is None:
        return None
    logs = raw.new((batch, queries, 1), dtype)
    threads = threads_of(keys)
    numbers = (keys, queries, int(causal), float(scale))
    raw.run(
        scores_text(dtype, threads), _SCORES, (rows,), threads, scores, logs, *numbers
    )
    width = features * size
    is_within = q.layout.strides == (width, batch * width, size)
    found = multiply(scores, v, is_within)
    return None if found is None else (found, logs)
