"""Reductions and scans: the body combines as NumPy's reduction does."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from dcarray.errors import DTypeError
from dcarray.kernel.interpret import interpret
from dcarray.ops.bodies import combine_kernel
from dcarray.ops.reduction import IDENTITIES, MAX, MIN, PROD, SUM, TABLE
from dcarray.ops.spec import Kind, Op

from . import op_values

PLAIN = [op for op in TABLE.values() if isinstance(op.numpy, np.ufunc)]
BY_INDEX = [op for op in TABLE.values() if op not in PLAIN]
CODES = [code for code in op_values.NUMERIC if code not in "qQ"]


@pytest.mark.parametrize("code", CODES)
@pytest.mark.parametrize("op", PLAIN, ids=lambda op: op.name)
def test_two_parts_combine_as_in_numpy(op: Op, code: str) -> None:
    (dtype,) = op.resolve((np.dtype(code),)).inputs
    kernel = combine_kernel(op, dtype)
    x, y = op_values.grid((dtype, dtype))
    (got,) = interpret(kernel, [x, y])
    with np.errstate(all="ignore"):
        assert isinstance(op.numpy, np.ufunc)
        want = op.numpy(x, y)
    assert got.dtype == want.dtype == op.resolve((np.dtype(code),)).outputs[0]
    assert not op_values.units(got, want).any()


@pytest.mark.parametrize("code", CODES)
@pytest.mark.parametrize("op", BY_INDEX, ids=lambda op: op.name)
def test_places_of_extremes(op: Op, code: str) -> None:
    """Fold short rows of special values in random order, two by two."""
    dtype = np.dtype(code)
    rng = np.random.default_rng(3)
    rows = rng.choice(op_values.values(dtype), (5, 400))
    kernel = combine_kernel(op, dtype)
    places = [np.full(400, place, np.intp) for place in range(5)]
    parts = list(zip(rows, places))
    while len(parts) > 1:
        first = parts.pop(int(rng.integers(len(parts))))
        second = parts.pop(int(rng.integers(len(parts))))
        value, place = interpret(kernel, [*first, *second])
        parts.append((value, place))
    assert parts[0][1].tolist() == op.numpy(rows, axis=0).tolist()


@pytest.mark.parametrize("code", CODES)
def test_result_dtypes_are_numpys(code: str) -> None:
    x = np.ones(3, code)
    for op, function in ((SUM, np.sum), (PROD, np.prod), (MIN, np.min), (MAX, np.max)):
        assert op.resolve((x.dtype,)).outputs == (function(x).dtype,)
    for op in TABLE.values():
        if op.kind is Kind.SCAN and isinstance(op.numpy, np.ufunc):
            want = op.numpy.accumulate(x.astype(op.resolve((x.dtype,)).inputs[0])).dtype
            assert op.resolve((x.dtype,)).outputs == (want,)


@pytest.mark.parametrize(("op", "identity"), IDENTITIES.items(), ids=str)
def test_identities(op: Op, identity: Any) -> None:
    assert isinstance(op.numpy, np.ufunc)
    assert op.numpy.identity == identity
    values = op_values.values(op.resolve((np.dtype(np.int64),)).inputs[0])
    (got,) = interpret(
        combine_kernel(op, values.dtype), [values, np.full_like(values, identity)]
    )
    assert got.tolist() == values.tolist()


def test_refused_dtypes() -> None:
    with pytest.raises(DTypeError, match="sum: got datetime64"):
        SUM.resolve((np.dtype("M8[s]"),))
