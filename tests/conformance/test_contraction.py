"""Products that sum over axes."""

from __future__ import annotations

import numpy as np
import pytest

from .against_numpy import Case, case, everywhere, numbers, run

A, B = numbers(3, 4), numbers(4, 5)
V = numbers(4)
C = numbers(2, 3, 4, dtype=np.complex64)
CASES = [
    case("matmul", A, B),
    case("matmul", A, V),
    case("matmul", A, A),
    case("matmul", C, V.astype(np.complex64)),
    case("vecdot", A, V),
    case("vecdot", C, C),
    case("dot", A, B),
    case("dot", V, V),
    case("dot", A, A),
    case("vdot", C, C),
    case("inner", A, V),
    case("outer", V, A),
    case("kron", A, B),
    case("tensordot", A, B, 1),
    case("tensordot", C, C, axes=((1, 2), (1, 2))),
    case("cross", numbers(4, 3), numbers(4, 3)),
    case("einsum", "ij,jk->ik", A, B),
    case("einsum", "ij->ji", A),
    case("einsum", A, [0, 1], B, [1, 2], [0, 2]),
    case("einsum", "...j,j", C, V.astype(np.complex64), optimize=True),
    case("einsum", "ij,jk,kl->il", A, B, numbers(5, 2), optimize="greedy"),
    case("einsum", "ij,kj->ik", A, B),
    case("trace", A),
    case("trace", C, offset=1, axis1=1, axis2=2),
    case("matrix_transpose", C),
    case("matrix_transpose", V),
]


@everywhere
@pytest.mark.parametrize("one", CASES, ids=repr)
def test_products(one: Case, place: str) -> None:
    run(one, place)
