"""Linear algebra."""

from __future__ import annotations

import numpy as np
import pytest

import dcarray as dc

from .against_numpy import PLACES, Case, case, everywhere, numbers, run

A = numbers(4, 4)
S = A @ A.T + 4 * np.eye(4)
STACK = numbers(3, 4, 4)
TALL = numbers(6, 3)
CASES = [
    case("linalg.cholesky", S),
    case("linalg.cholesky", S, upper=True),
    case("linalg.cholesky", -S),
    case("linalg.qr", TALL),
    case("linalg.qr", TALL, mode="complete"),
    case("linalg.qr", TALL, mode="r"),
    case("linalg.svd", TALL),
    case("linalg.svd", TALL, full_matrices=False),
    case("linalg.svd", TALL, compute_uv=False),
    case("linalg.svdvals", TALL),
    case("linalg.eig", A + 9j),
    case("linalg.eigh", S),
    case("linalg.eigh", S, UPLO="U"),
    case("linalg.eigvals", A + 9j),
    case("linalg.eigvalsh", S),
    case("linalg.inv", STACK),
    case("linalg.inv", np.zeros((2, 2))),
    case("linalg.inv", TALL),
    case("linalg.pinv", TALL),
    case("linalg.pinv", TALL, rtol=1e-3),
    case("linalg.solve", A, numbers(4)),
    case("linalg.solve", STACK, numbers(3, 4, 2)),
    case("linalg.lstsq", TALL, numbers(6)),
    case("linalg.det", STACK),
    case("linalg.slogdet", STACK),
    case("linalg.matrix_rank", TALL),
    case("linalg.matrix_rank", TALL, rtol=1e-3),
    case("linalg.cond", S),
    case("linalg.norm", TALL),
    case("linalg.norm", TALL, ord="nuc"),
    case("linalg.norm", TALL, axis=0, ord=1),
    case("linalg.vector_norm", TALL, axis=1, ord=3),
    case("linalg.matrix_norm", STACK, ord=2, keepdims=True),
    case("linalg.matrix_power", A, 3),
    case("linalg.matrix_power", A, -1),
    case("linalg.multi_dot", [A, S, A]),
    case("linalg.tensorsolve", numbers(2, 3, 6), numbers(2, 3)),
    case("linalg.tensorinv", numbers(6, 2, 3), ind=1),
    case("linalg.matmul", A, S),
    case("linalg.vecdot", A, S),
    case("linalg.vecdot", A, S, axis=0),
    case("linalg.tensordot", A, S, axes=1),
    case("linalg.outer", A[0], A[1]),
    case("linalg.cross", numbers(2, 3), numbers(2, 3)),
    case("linalg.diagonal", STACK, offset=1),
    case("linalg.trace", STACK, offset=-1, dtype=np.float32),
    case("linalg.matrix_transpose", STACK),
]


@everywhere
@pytest.mark.parametrize("one", CASES, ids=repr)
def test_linear_algebra(one: Case, place: str) -> None:
    run(one, place)


@everywhere
def test_results_have_names(place: str) -> None:
    device, settings = PLACES[place]
    with dc.config(**settings):
        found = dc.linalg.svd(dc.asarray(TALL, device=device), full_matrices=False)
        again = (found.U * found.S) @ found.Vh
    assert isinstance(found.U, dc.ndarray)
    np.testing.assert_allclose(again.get(), TALL)


def test_diagonal_is_a_view() -> None:
    x = dc.zeros((3, 3))
    diagonal = dc.linalg.diagonal(x)
    x[1, 1] = 5
    assert diagonal.get().tolist() == [0, 5, 0]


def test_error_is_numpys() -> None:
    assert dc.linalg.LinAlgError is np.linalg.LinAlgError


@everywhere
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_eigenvalues_are_complex(place: str, dtype: type) -> None:
    device, settings = PLACES[place]
    wanted = np.result_type(dtype, np.complex64)
    with dc.config(**settings):
        x = dc.asarray(S.astype(dtype), device=device)
        values, vectors = dc.linalg.eig(x)
        assert values.dtype == vectors.dtype == dc.linalg.eigvals(x).dtype == wanted
    assert (values.get() == np.linalg.eig(S.astype(dtype)).eigenvalues).all()
    with dc.config(scalars="numpy"):
        assert dc.linalg.eigvals(x).dtype == np.linalg.eigvals(x.get()).dtype
