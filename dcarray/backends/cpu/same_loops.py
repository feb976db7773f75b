"""Which functions `llvm_elementary` spells as NumPy's loops on this processor do.

NumPy has several loops for a function and takes one by the processor's features.  The
bits that it gives for a sample of inputs tell which one it took.
"""

from __future__ import annotations

import hashlib
from functools import lru_cache
from typing import Any

import numpy as np

from ...render.llvm_elementary import ELEMENTARY

__all__ = ["can_inline"]

_DIGESTS = {
    (
        "exp",
        np.dtype("f"),
    ): "8aef35d784032664efb400a0f577eaa2bbaabb67eda006277f65fd2c61ba93e1"
}
"""Of the bits that the loop gives which is spelled, see `digest_of`."""


def can_inline(name: str, inputs: tuple[np.dtype[Any], ...]) -> bool:
    """Whether LLVM gives the bits of NumPy's loop for a function of one operand."""
    return (name, inputs[0]) in ELEMENTARY and _agrees(name, inputs[0])


@lru_cache
def _agrees(name: str, dtype: np.dtype[Any]) -> bool:
    return digest_of(getattr(np, name), dtype) == _DIGESTS[name, dtype]


def digest_of(ufunc: np.ufunc, dtype: np.dtype[Any]) -> str:
    """A digest of what a function gives for 16384 floats of all magnitudes."""
    x = np.arange(0, 2**32, 2**18 + 2**5 + 1, dtype=np.uint32).view(np.float32)
    with np.errstate(all="ignore"):
        found = ufunc(x.astype(dtype))
    found[np.isnan(found)] = np.nan  # with one sign and payload
    return hashlib.sha256(found.astype(dtype.newbyteorder("<")).tobytes()).hexdigest()
