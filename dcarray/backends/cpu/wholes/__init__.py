"""Whole functions of NumPy on all cores: products, sorting, Fourier transforms.

Each one is called like NumPy's, with all of its parameters, and gives what NumPy gives:
it does the part that pays (large arrays of numbers, plain options) and leaves the rest
to NumPy, which also says what is wrong with arguments.  `products` takes matrices of
integers and short floats through BLAS; `sorting` shares sorting among threads, and has
the stable order of a long run by its digits (`radix`).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ....ops import contraction, indexing
from ....ops.spec import Op
from . import products, sorting

__all__ = ["FUNCTIONS"]

FUNCTIONS: dict[Op, Callable[..., Any]] = {
    contraction.DOT: products.dot,
    contraction.EINSUM: products.einsum,
    contraction.INNER: products.inner,
    contraction.MATMUL: products.matmul,
    contraction.TENSORDOT: products.tensordot,
    indexing.ARGSORT: sorting.argsort,
    indexing.SORT: sorting.sort,
    indexing.UNIQUE: sorting.unique,
}
"""The CPU's own way for rows; called like their oracles."""
