"""Contractions: operations that sum products over axes, left to tuned libraries.

Operands are arrays; options (axes, subscripts) are keywords.  Rows with ``inputs`` 0
take any number of operands.
"""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np

from .spec import Kind, Op

__all__ = [
    "CONVOLVE",
    "CORRELATE",
    "CROSS",
    "DOT",
    "EINSUM",
    "INNER",
    "KRON",
    "LINEAR",
    "MATMUL",
    "MATVEC",
    "MULTI_DOT",
    "TABLE",
    "TENSORDOT",
    "VDOT",
    "VECDOT",
    "VECMAT",
]

NDArray: TypeAlias = np.ndarray[Any, np.dtype[Any]]


def _einsum(*operands: NDArray, subscripts: str, **options: Any) -> Any:
    """`numpy.einsum` with the subscripts as a keyword."""
    return np.einsum(subscripts, *operands, **options)


def _matvec(x: NDArray, y: NDArray) -> Any:
    """`numpy.matvec`, which NumPy has since 2.2."""
    return np.matmul(x, y[..., np.newaxis])[..., 0]


def _vecmat(x: NDArray, y: NDArray) -> Any:
    """`numpy.vecmat`, which NumPy has since 2.2."""
    return np.matmul(np.conjugate(x)[..., np.newaxis, :], y)[..., 0, :]


def _multi_dot(*arrays: NDArray) -> Any:
    return np.linalg.multi_dot(arrays)


def _linear(
    x: NDArray, w: NDArray, bias: NDArray | None = None, *, cut: bool
) -> NDArray:
    """``x @ w.T + bias``, and 0 in the place of what is below it if ``cut``."""
    found = np.matmul(x, w.T)
    found = found if bias is None else (found + bias).astype(found.dtype)
    cut_off: NDArray = np.maximum(found, found.dtype.type(0))
    return cut_off if cut else found


MATMUL = Op("matmul", Kind.CONTRACTION, np.matmul, 2)
MATVEC = Op("matvec", Kind.CONTRACTION, getattr(np, "matvec", _matvec), 2)
VECMAT = Op("vecmat", Kind.CONTRACTION, getattr(np, "vecmat", _vecmat), 2)
VECDOT = Op("vecdot", Kind.CONTRACTION, np.vecdot, 2)
DOT = Op("dot", Kind.CONTRACTION, np.dot, 2)
VDOT = Op("vdot", Kind.CONTRACTION, np.vdot, 2)
INNER = Op("inner", Kind.CONTRACTION, np.inner, 2)
CROSS = Op("cross", Kind.CONTRACTION, np.cross, 2)
KRON = Op("kron", Kind.CONTRACTION, np.kron, 2)
TENSORDOT = Op("tensordot", Kind.CONTRACTION, np.tensordot, 2)
EINSUM = Op("einsum", Kind.CONTRACTION, _einsum, 0)
MULTI_DOT = Op("linalg.multi_dot", Kind.CONTRACTION, _multi_dot, 0)
CONVOLVE = Op("convolve", Kind.CONTRACTION, np.convolve, 2)
CORRELATE = Op("correlate", Kind.CONTRACTION, np.correlate, 2)

LINEAR = Op("nn.linear", Kind.CONTRACTION, _linear, 2)
"""Of devices that have it in one launch; `nn.linear` makes it of others elsewhere."""

TABLE: dict[str, Op] = {
    row.name: row
    for row in (
        *(MATMUL, MATVEC, VECMAT, VECDOT, DOT, VDOT, INNER, KRON),
        *(TENSORDOT, EINSUM, CONVOLVE, CORRELATE, CROSS, MULTI_DOT),
    )
}
"""Rows by name."""
