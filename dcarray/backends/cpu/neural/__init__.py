"""Convolution, pooling and attention on the CPU: tiles that stay in cache, all threads.

`convolution` and `weights` choose the way: for floats `direct`, tiles in registers by
the machine code of `micro` (`squares` and, for weights' gradients, `square_weights`
need fewer of them, and combine them by that of `combining`), to which `sides` brings
channels side by side by that of `moves`, or `linewise` with that of `lines` where a
group has few channels; for other numbers matrices of windows, which `columns` lays out
for BLAS (kept to one thread meanwhile by `blas`), or `taps`, which does without them.
`planes` cuts what treats every plane for itself, `norms` has softmax and norms (by
`moments`), and `scores` attention: in blocks, by the machine code of `attending` or by
BLAS.  `framing` copies what windows see at the edges.  `writing` and `spelling` help to
write machine code.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ....ops import neural as rows
from ....ops.spec import Op
from .convolution import convolution, convolution_input_gradient
from .norms import FUNCTIONS as NORMS
from .planes import by_planes, by_rows
from .scores import attention, attention_gradient
from .weights import convolution_weight_gradient

__all__ = ["FUNCTIONS"]

_PRODUCTS: dict[Op, Callable[..., Any]] = {
    rows.ATTENTION: attention,
    rows.ATTENTION_ADJOINT: rows.ATTENTION_ADJOINT.numpy,
    rows.ATTENTION_ALONE: rows.ATTENTION_ALONE.numpy,
    rows.ATTENTION_GRADIENT: attention_gradient,
    rows.CONVOLUTION: convolution,
    rows.CONVOLUTION_INPUT_GRADIENT: convolution_input_gradient,
    rows.CONVOLUTION_WEIGHT_GRADIENT: convolution_weight_gradient,
}

_BY_PLANES = (
    *(rows.MAX_POOL_WITH_INDICES, rows.SUM_POOL_GRADIENT),
    *(rows.ADAPTIVE_MAX_POOL, rows.ADAPTIVE_SUM_POOL),
    *(rows.ADAPTIVE_SUM_POOL_GRADIENT, rows.SCATTER_POSITIONS, rows.PLACE_POSITIONS),
)

SINGLE = np.dtype(np.float32)


def _summed_in_single(function: Callable[..., Any]) -> Callable[..., Any]:
    """A function that also takes floats shorter than float32, for a device that takes
    them itself and failed."""

    def called(*operands: Any, **options: Any) -> Any:
        dtype = operands[0].dtype
        if dtype.itemsize > 2 or dtype.kind not in "fV":
            return function(*operands, **options)
        found = function(*[_wide(x) for x in operands], **options)
        if type(found) is tuple:
            return tuple([x.astype(dtype) for x in found])
        return found.astype(dtype)

    return called


def _wide(x: Any) -> Any:
    return x.astype(SINGLE)


FUNCTIONS: dict[Op, Callable[..., Any]] = {
    **{row: _summed_in_single(function) for row, function in _PRODUCTS.items()},
    **{row: by_planes(row) for row in _BY_PLANES},
    rows.MAX_POOL: by_rows(rows.MAX_POOL, True),
    rows.SUM_POOL: by_rows(rows.SUM_POOL, False),
    **NORMS,
}
"""The CPU's own way for rows of `ops.neural`; called like their oracles."""
