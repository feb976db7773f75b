"""Which functions are spelled in LLVM as NumPy's loops on this processor do them.

NumPy has several loops for a function and takes one by the processor's features.  The
bits that it gives for a sample of inputs tell which one it took.
"""

from __future__ import annotations

import functools
import hashlib
import operator
from functools import lru_cache
from typing import Any

import numpy as np

from ...render.llvm_elementary import ELEMENTARY
from .engine import engine

__all__ = ["can_inline", "products_agree", "sums_agree"]

_DIGESTS = {
    (
        "exp",
        np.dtype("f"),
    ): "8aef35d784032664efb400a0f577eaa2bbaabb67eda006277f65fd2c61ba93e1"
}
"""Of the bits that the loop gives which is spelled, see `digest_of`."""


_PRODUCTS = {
    "F": "bdd0710442979af06fabcf2193fd8612166331fbf5fd4fc8464631cf56a75c50",
    "D": "5f70a9ae1798eae9a7b735301540b54476856de25eb1abed797fdd224e811768",
}
"""The same for `digest_of_products`."""


def can_inline(name: str, inputs: tuple[np.dtype[Any], ...]) -> bool:
    """Whether LLVM gives the bits of NumPy's loop for a function of one operand."""
    return (name, inputs[0]) in ELEMENTARY and _agrees(name, inputs[0])


@lru_cache
def _agrees(name: str, dtype: np.dtype[Any]) -> bool:
    return digest_of(getattr(np, name), dtype) == _DIGESTS[name, dtype]


@lru_cache
def products_agree(dtype: np.dtype[Any]) -> bool:
    """Whether NumPy multiplies complex numbers as `parts` does: by fused multiply-adds
    that leave the second product rounded."""
    found = engine()
    if found is None or not found.has_fused:
        return False
    return digest_of_products(dtype) == _PRODUCTS[dtype.char]


def digest_of_products(dtype: np.dtype[Any]) -> str:
    """A digest of 4001 products and squares, in loops of many lengths."""
    part = np.empty(0, dtype).real.dtype
    numbers = np.sqrt(np.arange(1, 16005, dtype=part)) - part.type(50)
    a, b = numbers.reshape(2, 4001, 2).view(dtype)[..., 0]
    digest = hashlib.sha256()
    start, length = 0, 2
    while start + length <= len(a):
        piece = slice(start, start + length)
        for found in (a[piece] * b[piece], np.square(a[piece]), a[piece] * b[start]):
            digest.update(found.astype(dtype.newbyteorder("<")).tobytes())
        start += length
        length = length % 37 + 2
    return digest.hexdigest()


def digest_of(ufunc: np.ufunc, dtype: np.dtype[Any]) -> str:
    """A digest of what a function gives for 16384 floats of all magnitudes."""
    x = np.arange(0, 2**32, 2**18 + 2**5 + 1, dtype=np.uint32).view(np.float32)
    with np.errstate(all="ignore"):
        found = ufunc(x.astype(dtype))
    found[np.isnan(found)] = np.nan  # with one sign and payload
    return hashlib.sha256(found.astype(dtype.newbyteorder("<")).tobytes()).hexdigest()


@lru_cache
def sums_agree(dtype: np.dtype[Any]) -> bool:
    """Whether NumPy adds up contiguous floats as `llvm_pairwise` does."""
    if dtype.char not in "fd":
        return False
    x = (np.arange(1003) * 0.7310585 % 1 - 0.3).astype(dtype)
    return all(np.add.reduce(x[k:]) == _pairwise(x[k:]) for k in (0, 505, 747, 998))


def _pairwise(x: np.ndarray[Any, Any]) -> Any:
    length = len(x)
    if length > 128:
        half = length // 2
        half -= half % 8
        return _pairwise(x[:half]) + _pairwise(x[half:])
    total = x.dtype.type(-0.0)
    whole = length - length % 8
    if whole:
        r = functools.reduce(np.add, x[:whole].reshape(-1, 8))
        total = ((r[0] + r[1]) + (r[2] + r[3])) + ((r[4] + r[5]) + (r[6] + r[7]))
    return functools.reduce(operator.add, x[whole:], total)
