"""Linear algebra, `numpy.linalg` with the standard's keywords.

Solvers and decompositions are left to tuned libraries: NumPy's LAPACK on the host, the
vendor's elsewhere.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.linalg import LinAlgError, lapack_lite
from numpy.linalg._linalg import (
    EighResult,
    EigResult,
    QRResult,
    SlogdetResult,
    SVDResult,
)

from .api import calling, contraction, elementwise
from .api.calling import served
from .api.conversion import as_array
from .api.coverage import native
from .array import DeviceArray
from .array.fallback import on_host
from .array.movement import moved
from .backends.registry import AUTO
from .config import current
from .ops import contraction as products, solving as rows

__all__ = [
    "LinAlgError",
    "cholesky",
    "cond",
    "cross",
    "det",
    "diagonal",
    "eig",
    "eigh",
    "eigvals",
    "eigvalsh",
    "gemm",
    "inv",
    "lapack_lite",
    "lstsq",
    "matmul",
    "matrix_norm",
    "matrix_power",
    "matrix_rank",
    "matrix_transpose",
    "multi_dot",
    "norm",
    "outer",
    "pinv",
    "qr",
    "slogdet",
    "solve",
    "svd",
    "svdvals",
    "tensordot",
    "tensorinv",
    "tensorsolve",
    "trace",
    "vecdot",
    "vector_norm",
]

# --------------------------------------------------------------------------- products
matrix_power = served(rows.MATRIX_POWER)
cross = served(rows.CROSS)


@native
def outer(x1: Any, x2: Any, /) -> Any:
    """Products of all pairs of elements of two vectors, as `numpy.linalg.outer`."""
    x, y = as_array(x1), as_array(x2)
    if x.ndim != 1 or y.ndim != 1:
        raise ValueError(
            "Input arrays must be one-dimensional, but they are "
            f"x1.ndim={x.ndim} and x2.ndim={y.ndim}."
        )
    return contraction.outer(x, y)


@native
def matmul(x1: Any, x2: Any, /) -> Any:
    """Matrix product, as `numpy.linalg.matmul`."""
    return elementwise.matmul(x1, x2)


@native
def gemm(
    a: Any,
    b: Any,
    c: Any = None,
    alpha: Any = 1,
    beta: Any = 0,
    transpose_a: bool = False,
    transpose_b: bool = False,
) -> Any:
    """``alpha * a @ b + beta * c``, as BLAS has it.

    Parameters
    ----------
    a, b : array_like
        Matrices, or stacks of them.
    c : array_like, optional
        Added to the product; it broadcasts.
    alpha, beta : scalar
    transpose_a, transpose_b : bool
        Whether the matrices of a factor are transposed first; nothing is copied.
    """
    first, second = as_array(a), as_array(b)
    if transpose_a:
        first = matrix_transpose(first)
    if transpose_b:
        second = matrix_transpose(second)
    found = elementwise.matmul(first, second)
    if alpha != 1:
        found = found * alpha
    return found if c is None or beta == 0 else found + as_array(c) * beta


@native
def vecdot(x1: Any, x2: Any, /, *, axis: int = -1) -> Any:
    """Products of vectors, the first one conjugated, as `numpy.linalg.vecdot`."""
    return elementwise.vecdot(x1, x2, axis=axis)


@native
def tensordot(x1: Any, x2: Any, /, *, axes: Any = 2) -> Any:
    """Sums of products over ``axes`` of two arrays, as `numpy.linalg.tensordot`."""
    return contraction.tensordot(x1, x2, axes)


@native
def multi_dot(arrays: Any, *, out: Any = None) -> Any:
    """Product of several matrices in the cheapest order, as
    `numpy.linalg.multi_dot`."""
    if calling.named_device((arrays,), {}) is AUTO:
        return on_host(DeviceArray, np.linalg.multi_dot, arrays, out=out)
    return calling.call_row(products.MULTI_DOT, tuple(arrays), out)


# ----------------------------------------------------------------------------- solving
solve = served(rows.SOLVE)
inv = served(rows.INV)
pinv = served(rows.PINV)
lstsq = served(rows.LSTSQ)
tensorsolve = served(rows.TENSORSOLVE)
tensorinv = served(rows.TENSORINV)

# -------------------------------------------------------------------- decompositions
cholesky = served(rows.CHOLESKY)
qr = served(rows.QR, QRResult)
svd = served(rows.SVD, SVDResult)
svdvals = served(rows.SVDVALS)
eigh = served(rows.EIGH, EighResult)
eigvalsh = served(rows.EIGVALSH)

_eig = served(rows.EIG, EigResult)
_eigvals = served(rows.EIGVALS)


@native
def eig(a: Any) -> Any:
    """Eigenvalues and eigenvectors of matrices, as `numpy.linalg.eig`.

    They are complex, as the standard asks; in a NumPy program (``scalars="numpy"``)
    they are real where all of them turn out so.

    Parameters
    ----------
    a : array_like
        Square matrices.

    Returns
    -------
    EigResult
        ``eigenvalues`` and ``eigenvectors``.
    """
    found = _eig(a)
    return EigResult(_complex(found.eigenvalues), _complex(found.eigenvectors))


@native
def eigvals(a: Any) -> Any:
    """Eigenvalues of matrices, as `numpy.linalg.eigvals`; complex as those of `eig`."""
    return _complex(_eigvals(a))


def _complex(x: Any) -> Any:
    if current().scalars == "numpy" or x.dtype.kind == "c":
        return x
    return x.astype(np.result_type(x.dtype, np.complex64))


# ------------------------------------------------------------------- norms and numbers
det = served(rows.DET)
slogdet = served(rows.SLOGDET, SlogdetResult)
norm = served(rows.NORM)
matrix_norm = served(rows.MATRIX_NORM)
vector_norm = served(rows.VECTOR_NORM)
matrix_rank = served(rows.MATRIX_RANK)
cond = served(rows.COND)


# --------------------------------------------------------------------------- diagonals
@native
def matrix_transpose(x: Any, /) -> Any:
    """Matrices with their last two axes exchanged, a view."""
    return contraction.matrix_transpose(x)


@native
def diagonal(x: Any, /, *, offset: int = 0) -> Any:
    """Diagonals of matrices, a view, as `numpy.linalg.diagonal`."""
    if not isinstance(x, DeviceArray):
        return on_host(DeviceArray, np.linalg.diagonal, x, offset=offset)
    return moved(x, lambda a: np.linalg.diagonal(a, offset=offset))


@native
def trace(x: Any, /, *, offset: int = 0, dtype: Any = None) -> Any:
    """Sums along diagonals of matrices, as `numpy.linalg.trace`."""
    if calling.named_device((x,), {}) is AUTO:
        return on_host(DeviceArray, np.linalg.trace, x, offset=offset, dtype=dtype)
    return x.trace(offset, -2, -1, dtype)
