"""Rows of `numpy.linalg` through CuPy's cuSOLVER: its functions, and what NumPy makes
of singular values.

They take CuPy's arrays.  A `TypeError` leaves a call to the host, where NumPy computes
it, or says what is wrong with it.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

__all__ = ["rows"]

SOLVERS = ("det", "inv", "slogdet", "solve", "svd")
"""CuPy's functions that do as NumPy's."""


def rows() -> dict[str, Callable[..., Any]]:
    """The functions by the names of their rows."""
    from cupy import linalg

    found = {name: getattr(linalg, name) for name in SOLVERS}
    found |= {
        "cholesky": _cholesky,
        "cond": _cond,
        "eigh": _eigh,
        "eigvalsh": _eigvalsh,
        "lstsq": _lstsq,
        "matrix_rank": _matrix_rank,
        "pinv": _pinv,
        "qr": _qr,
        "svdvals": _svdvals,
        "tensorinv": _tensorinv,
        "tensorsolve": _tensorsolve,
    }
    return {f"linalg.{name}": function for name, function in found.items()}


def _cholesky(a: Any, *, upper: bool = False) -> Any:
    """`numpy.linalg.cholesky`."""
    from cupy import linalg

    if not upper or a.ndim < 2:
        return linalg.cholesky(a)
    return linalg.cholesky(a.swapaxes(-2, -1).conj()).swapaxes(-2, -1).conj()


def _eigh(a: Any, UPLO: str = "L") -> Any:
    """`numpy.linalg.eigh`."""
    from cupy import linalg

    return linalg.eigh(a, UPLO.upper())


def _eigvalsh(a: Any, UPLO: str = "L") -> Any:
    """`numpy.linalg.eigvalsh`."""
    from cupy import linalg

    return linalg.eigvalsh(a, UPLO.upper())


def _qr(a: Any, mode: str = "reduced") -> Any:
    """`numpy.linalg.qr`, which every matrix has: nothing is waited for."""
    import cupyx
    from cupy import linalg

    with cupyx.errstate(linalg="ignore"):
        return linalg.qr(a, mode)


def _svdvals(x: Any) -> Any:
    """`numpy.linalg.svdvals`."""
    from cupy import linalg

    return linalg.svd(x, compute_uv=False)


def _cond(x: Any, p: Any = None) -> Any:
    """`numpy.linalg.cond`."""
    if p not in (None, 2, -2):
        raise TypeError(f"cond: got p={p!r}, takes what singular values tell")
    from cupy import linalg

    return linalg.cond(x, p)


def _matrix_rank(
    A: Any, tol: Any = None, hermitian: bool = False, *, rtol: Any = None
) -> Any:
    """`numpy.linalg.matrix_rank`."""
    if tol is not None and rtol is not None:
        raise ValueError("`tol` and `rtol` can't be both set.")
    if A.ndim < 2 or not A.size or hermitian or not _is_number(tol, rtol):
        raise TypeError("matrix_rank: of matrices, by singular values")
    sizes = _svdvals(A)
    if tol is None:
        if rtol is None:
            rtol = max(A.shape[-2:]) * np.finfo(sizes.dtype).eps
        tol = sizes.max(axis=-1, keepdims=True) * rtol
    return (sizes > tol).sum(axis=-1, dtype=np.intp)


def _pinv(
    a: Any, rcond: Any = None, hermitian: bool = False, *, rtol: Any = np._NoValue
) -> Any:
    """`numpy.linalg.pinv`."""
    from cupy import linalg

    if hermitian or not _is_number(rcond, None if rtol is np._NoValue else rtol):
        raise TypeError("pinv: of matrices that need not be symmetric")
    if rcond is None:
        rcond = 1e-15 if rtol is np._NoValue else rtol
    elif rtol is not np._NoValue:
        raise ValueError("`rtol` and `rcond` can't be both set.")
    if rcond is None:
        exact = a.dtype.char.lower() if a.dtype.char in "fdFD" else "d"
        rcond = max(a.shape[-2:]) * np.finfo(exact).eps
    return linalg.pinv(a, rcond)


def _lstsq(a: Any, b: Any, rcond: float | None = None) -> Any:
    """`numpy.linalg.lstsq`."""
    from cupy import linalg

    if rcond == 0 or not a.size or not b.size:
        raise TypeError("lstsq: CuPy has rules of its own for these")
    return linalg.lstsq(a, b, rcond)


def _tensorinv(a: Any, ind: int = 2) -> Any:
    """`numpy.linalg.tensorinv`."""
    from cupy import linalg

    if ind <= 0 or math.prod(a.shape[:ind]) != math.prod(a.shape[ind:]):
        raise TypeError("tensorinv: of what is a square matrix")
    return linalg.tensorinv(a, ind)


def _tensorsolve(a: Any, b: Any, axes: Any = None) -> Any:
    """`numpy.linalg.tensorsolve`."""
    from cupy import linalg

    is_square = math.prod(a.shape[b.ndim :]) == math.prod(a.shape[: b.ndim])
    if axes is not None or not is_square or not a.size:
        raise TypeError("tensorsolve: by what is a square matrix")
    return linalg.tensorsolve(a, b)


def _is_number(*given: Any) -> bool:
    return all(x is None or np.ndim(x) == 0 for x in given)
