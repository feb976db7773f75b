"""Rows whose oracles are NumPy functions: called with arrays and keyword options."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from dcarray.ops import contraction, indexing, reduction
from dcarray.ops.contraction import EINSUM, MATVEC, VECMAT, _matvec, _vecmat
from dcarray.ops.indexing import ARGSORT, GET, PUT, PUT_ALONG_AXIS, SORT, Slot
from dcarray.ops.spec import Kind, Op

X = np.array([[3, 1, 2], [9, 7, 8]])

CALLS: dict[str, tuple[tuple[Any, ...], dict[str, Any], Any]] = {
    "get": ((X,), {"key": (slice(None), [2, 0])}, [[2, 3], [8, 9]]),
    "put": ((X, np.array(0)), {"key": X > 5}, [[3, 1, 2], [0, 0, 0]]),
    "add_at": (
        (X, np.array(1), np.array([1, 1])),
        {"key": Slot(0)},
        [[3, 1, 2], [11, 9, 10]],
    ),
    "put_flat": (
        (X, np.array([0, 7]), np.array([5])),
        {"mode": "wrap"},
        [[5, 5, 2], [9, 7, 8]],
    ),
    "take": ((X, np.array([1])), {"axis": 1}, [[1], [7]]),
    "take_along_axis": ((X, np.argsort(X)), {"axis": 1}, [[1, 2, 3], [7, 8, 9]]),
    "put_along_axis": (
        (X, np.array([[0], [1]]), np.array([[5], [5]])),
        {"axis": 1},
        [[5, 1, 2], [9, 5, 8]],
    ),
    "choose": ((np.array([0, 1, 0]), X[0], X[1]), {}, [3, 7, 2]),
    "compress": ((np.array([True, False]), X), {"axis": 0}, [[3, 1, 2]]),
    "extract": ((X > 7, X), {}, [9, 8]),
    "nonzero": ((X > 7,), {}, ([1, 1], [0, 2])),
    "flatnonzero": ((X > 7,), {}, [3, 5]),
    "argwhere": ((X > 7,), {}, [[1, 0], [1, 2]]),
    "count_nonzero": ((X > 7,), {}, 2),
    "sort": ((X,), {"axis": 1, "descending": True}, [[3, 2, 1], [9, 8, 7]]),
    "argsort": ((X,), {"axis": 1}, [[1, 2, 0], [1, 2, 0]]),
    "lexsort": ((X[0], X[0]), {}, [1, 2, 0]),
    "partition": ((X,), {"kth": 1, "axis": 0}, X.tolist()),
    "argpartition": ((X,), {"kth": 1, "axis": 0}, [[0, 0, 0], [1, 1, 1]]),
    "searchsorted": (
        (np.array([1, 5, 9]), X),
        {"side": "right"},
        [[1, 1, 1], [3, 2, 2]],
    ),
    "isin": ((X, np.array([1, 9])), {}, [[False, True, False], [True, False, False]]),
    "unique": ((np.array([2, 1, 2]),), {}, [1, 2]),
    "unique_all": ((np.array([2, 1, 2]),), {}, ([1, 2], [1, 0], [1, 0, 1], [1, 2])),
    "unique_counts": ((np.array([2, 1, 2]),), {}, ([1, 2], [1, 2])),
    "unique_inverse": ((np.array([2, 1, 2]),), {}, ([1, 2], [1, 0, 1])),
    "unique_values": ((np.array([2, 1]),), {}, [1, 2]),
    "repeat": ((X[0],), {"repeats": 2}, [3, 3, 1, 1, 2, 2]),
    "tile": ((X[0],), {"reps": 2}, [3, 1, 2, 3, 1, 2]),
    "roll": ((X[0],), {"shift": 1}, [2, 3, 1]),
    "pad": ((X[0],), {"pad_width": 1}, [0, 3, 1, 2, 0]),
    "tril": ((X,), {"k": 0}, [[3, 0, 0], [9, 7, 0]]),
    "triu": ((X,), {"k": 0}, [[3, 1, 2], [0, 7, 8]]),
    "diff": ((X,), {"axis": 0}, [[6, 6, 6]]),
    "concatenate": ((X, X), {"axis": 1}, [[3, 1, 2, 3, 1, 2], [9, 7, 8, 9, 7, 8]]),
    "stack": ((X[0], X[1]), {"axis": 1}, [[3, 9], [1, 7], [2, 8]]),
    "matmul": ((X, X.T), {}, [[14, 50], [50, 194]]),
    "matvec": ((X, X[0]), {}, [14, 50]),
    "vecmat": ((X[:, 0], X), {}, [90, 66, 78]),
    "vecdot": ((X, X), {}, [14, 194]),
    "dot": ((X[0], X[1]), {}, 50),
    "vdot": ((X, X), {}, 208),
    "inner": ((X, X[0]), {}, [14, 50]),
    "outer": ((X[0], X[0]), {}, [[9, 3, 6], [3, 1, 2], [6, 2, 4]]),
    "kron": ((X[0], np.array([1, 0])), {}, [3, 0, 1, 0, 2, 0]),
    "tensordot": ((X, X), {"axes": 2}, 208),
    "einsum": ((X, X), {"subscripts": "ij,ij->i"}, [14, 194]),
    "cross": ((X[0], X[1]), {}, [-6, -6, 12]),
    "linalg.multi_dot": ((X, X.T, X), {}, (X @ X.T @ X).tolist()),
    "union1d": ((X[0], np.array([1, 9])), {}, [1, 2, 3, 9]),
    "intersect1d": ((X[0], np.array([1, 9])), {}, [1]),
    "setdiff1d": ((X[0], np.array([1, 9])), {}, [2, 3]),
    "setxor1d": ((X[0], np.array([1, 9])), {}, [2, 3, 9]),
    "convolve": ((X[0], np.array([1, 1])), {}, [3, 4, 3, 2]),
    "correlate": ((X[0], np.array([1, 1])), {}, [4, 3]),
}

ROWS = [*indexing.TABLE.values(), *contraction.TABLE.values()]


@pytest.mark.parametrize("op", ROWS, ids=lambda op: op.name)
def test_call(op: Op) -> None:
    operands, options, want = CALLS[op.name]
    before = [operand.copy() for operand in operands]
    got = op.numpy(*operands, **options)
    assert not op.inputs or op.inputs == len(operands)
    assert op.outputs == (
        len(want) if op.name.startswith("unique_") and isinstance(want, tuple) else 1
    )
    if isinstance(want, tuple):
        assert [part.tolist() for part in got] == list(want)
    else:
        assert np.asarray(got).tolist() == want
    for operand, old in zip(operands, before):
        np.testing.assert_array_equal(operand, old)


@pytest.mark.parametrize("module", [indexing, contraction, reduction])
def test_rows_have_constants(module: Any) -> None:
    for name, op in module.TABLE.items():
        constant = name.rpartition(".")[2].upper()
        assert getattr(module, constant) is op
        assert constant in module.__all__
    kinds = {op.kind for op in module.TABLE.values()}
    assert kinds <= {Kind.INDEXING, Kind.CONTRACTION, Kind.REDUCTION, Kind.SCAN}


def test_get_and_put_copy() -> None:
    for key in ([0, 1], X > 2, (slice(None), np.array([0, 2]))):
        taken = GET.numpy(X, key=key)
        assert not np.shares_memory(taken, X)
        back = PUT.numpy(np.zeros_like(X), taken, key=key)
        np.testing.assert_array_equal(GET.numpy(back, key=key), taken)
    assert PUT_ALONG_AXIS.numpy(X, X.argmin(1)[:, None], np.array(0), axis=1).min() == 0


@pytest.mark.parametrize("axis", [None, 0, -1])
@pytest.mark.parametrize("code", ["?", "i4", "u1", "f8", "c16"])
def test_descending_order_is_stable(code: str, axis: int | None) -> None:
    rng = np.random.default_rng(0)
    x = rng.integers(0, 4, (6, 7)).astype(code)
    order = ARGSORT.numpy(x, descending=True, axis=axis)
    flat = x.reshape(-1) if axis is None else x
    want = np.argsort(
        -flat.real.astype(int), axis=axis or 0 if axis != -1 else -1, kind="stable"
    )
    np.testing.assert_array_equal(order, want)
    ordered = SORT.numpy(x, descending=True, axis=axis)
    steps = np.diff(ordered.real.astype(int), axis=0 if axis is None else axis)
    assert (steps <= 0).all()


def test_older_numpy_has_no_matvec() -> None:
    rng = np.random.default_rng(0)
    a = rng.standard_normal((2, 3, 4)) + 1j
    v = rng.standard_normal((2, 4)) + 2j
    w = rng.standard_normal((2, 3)) + 3j
    np.testing.assert_allclose(_matvec(a, v), MATVEC.numpy(a, v))
    np.testing.assert_allclose(_vecmat(w, a), VECMAT.numpy(w, a))
    assert EINSUM.numpy(a, subscripts="ijk->i").shape == (2,)
