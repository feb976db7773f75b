"""Linear algebra beyond products: decompositions, solvers, norms.

A row is named as in NumPy, ``linalg.solve``.  Operands are arrays; everything else is a
keyword option.
"""

from __future__ import annotations

import numpy as np

from .spec import Kind, Op

__all__ = [
    "CHOLESKY",
    "COND",
    "CROSS",
    "DET",
    "EIG",
    "EIGH",
    "EIGVALS",
    "EIGVALSH",
    "INV",
    "LSTSQ",
    "MATRIX_NORM",
    "MATRIX_POWER",
    "MATRIX_RANK",
    "NORM",
    "PINV",
    "QR",
    "SLOGDET",
    "SOLVE",
    "SVD",
    "SVDVALS",
    "TABLE",
    "TENSORINV",
    "TENSORSOLVE",
    "VECTOR_NORM",
]

CHOLESKY = Op("linalg.cholesky", Kind.SOLVER, np.linalg.cholesky)
COND = Op("linalg.cond", Kind.SOLVER, np.linalg.cond)
CROSS = Op("linalg.cross", Kind.SOLVER, np.linalg.cross, 2)
DET = Op("linalg.det", Kind.SOLVER, np.linalg.det)
EIG = Op("linalg.eig", Kind.SOLVER, np.linalg.eig)
EIGH = Op("linalg.eigh", Kind.SOLVER, np.linalg.eigh)
EIGVALS = Op("linalg.eigvals", Kind.SOLVER, np.linalg.eigvals)
EIGVALSH = Op("linalg.eigvalsh", Kind.SOLVER, np.linalg.eigvalsh)
INV = Op("linalg.inv", Kind.SOLVER, np.linalg.inv)
LSTSQ = Op("linalg.lstsq", Kind.SOLVER, np.linalg.lstsq, 2)
MATRIX_NORM = Op("linalg.matrix_norm", Kind.SOLVER, np.linalg.matrix_norm)
MATRIX_POWER = Op("linalg.matrix_power", Kind.SOLVER, np.linalg.matrix_power)
MATRIX_RANK = Op("linalg.matrix_rank", Kind.SOLVER, np.linalg.matrix_rank)
NORM = Op("linalg.norm", Kind.SOLVER, np.linalg.norm)
PINV = Op("linalg.pinv", Kind.SOLVER, np.linalg.pinv)
QR = Op("linalg.qr", Kind.SOLVER, np.linalg.qr)
SLOGDET = Op("linalg.slogdet", Kind.SOLVER, np.linalg.slogdet)
SOLVE = Op("linalg.solve", Kind.SOLVER, np.linalg.solve, 2)
SVD = Op("linalg.svd", Kind.SOLVER, np.linalg.svd)
SVDVALS = Op("linalg.svdvals", Kind.SOLVER, np.linalg.svdvals)
TENSORINV = Op("linalg.tensorinv", Kind.SOLVER, np.linalg.tensorinv)
TENSORSOLVE = Op("linalg.tensorsolve", Kind.SOLVER, np.linalg.tensorsolve, 2)
VECTOR_NORM = Op("linalg.vector_norm", Kind.SOLVER, np.linalg.vector_norm)

TABLE: dict[str, Op] = {
    row.name: row
    for row in (
        *(CHOLESKY, COND, CROSS, DET, EIG),
        *(EIGH, EIGVALS, EIGVALSH, INV, LSTSQ, MATRIX_NORM),
        *(MATRIX_POWER, MATRIX_RANK, NORM, PINV, QR),
        *(SLOGDET, SOLVE, SVD, SVDVALS, TENSORINV, TENSORSOLVE),
        *(VECTOR_NORM,),
    )
}
"""Rows by name."""
