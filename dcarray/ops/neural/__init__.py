"""Operations of neural networks that walk with windows over arrays, as rows.

Arrays are images: a batch, channels, and one to three axes of positions, in this order
or (``channels_last``) with the channels at the end.  Operands are arrays; everything
else is a keyword option, tuples of one number for each axis of positions:

``stride``, ``dilation``
    steps of the window and inside of it;
``low``
    how far the first window begins before the first position; it may be negative;
``size``
    positions of the result.  Positions of a window outside of the array count as 0 in
    sums and do not count in maxima.

The oracles take one tap of the window after the other.  `convolution` has the products,
`pooling` maxima and sums over windows, `scattering` their gradients; `attention` has no
windows.
"""

from __future__ import annotations

from ..spec import Op
from .attention import (
    ATTENTION,
    ATTENTION_ADJOINT,
    ATTENTION_ALONE,
    ATTENTION_GRADIENT,
)
from .convolution import (
    CONVOLUTION,
    CONVOLUTION_INPUT_GRADIENT,
    CONVOLUTION_WEIGHT_GRADIENT,
)
from .pooling import (
    ADAPTIVE_MAX_POOL,
    ADAPTIVE_SUM_POOL,
    ADAPTIVE_SUM_POOL_GRADIENT,
    MAX_POOL,
    MAX_POOL_GRADIENT,
    MAX_POOL_WITH_INDICES,
    SUM_POOL,
    SUM_POOL_GRADIENT,
)
from .scattering import EMBEDDING_GRADIENT, PLACE_POSITIONS, SCATTER_POSITIONS

__all__ = [
    "ADAPTIVE_MAX_POOL",
    "ADAPTIVE_SUM_POOL",
    "ADAPTIVE_SUM_POOL_GRADIENT",
    "ATTENTION",
    "ATTENTION_ADJOINT",
    "ATTENTION_ALONE",
    "ATTENTION_GRADIENT",
    "CONVOLUTION",
    "CONVOLUTION_INPUT_GRADIENT",
    "CONVOLUTION_WEIGHT_GRADIENT",
    "EMBEDDING_GRADIENT",
    "MAX_POOL",
    "MAX_POOL_GRADIENT",
    "MAX_POOL_WITH_INDICES",
    "PLACE_POSITIONS",
    "SCATTER_POSITIONS",
    "SUM_POOL",
    "SUM_POOL_GRADIENT",
    "TABLE",
]

TABLE: dict[str, Op] = {
    row.name: row
    for row in (
        *(CONVOLUTION, CONVOLUTION_INPUT_GRADIENT, CONVOLUTION_WEIGHT_GRADIENT),
        *(MAX_POOL, MAX_POOL_WITH_INDICES, MAX_POOL_GRADIENT),
        *(SUM_POOL, SUM_POOL_GRADIENT),
        *(ADAPTIVE_MAX_POOL, ADAPTIVE_SUM_POOL, ADAPTIVE_SUM_POOL_GRADIENT),
        *(SCATTER_POSITIONS, PLACE_POSITIONS, EMBEDDING_GRADIENT),
        *(ATTENTION, ATTENTION_ALONE, ATTENTION_GRADIENT, ATTENTION_ADJOINT),
    )
}
"""Rows by name."""
