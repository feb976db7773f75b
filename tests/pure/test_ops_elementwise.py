"""Every elementwise row: its body gives what NumPy gives, dtype by dtype."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from dcarray.errors import DTypeError
from dcarray.kernel.interpret import interpret
from dcarray.kernel.language import PRIMITIVES
from dcarray.ops import elementwise
from dcarray.ops.bodies import body_kernel
from dcarray.ops.elementwise import BY_UFUNC, CAST, CLIP, LDEXP, REAL, TABLE, WHERE
from dcarray.ops.spec import Op

from . import op_values

WITHIN: dict[str, float] = {
    "hypot": 1,
    "absolute": 2,  # of complex numbers
    "sign": 2,  # of complex numbers
    "logaddexp": 4,
    "logaddexp2": 4,
    "float_power": 4,  # with AVX-512 NumPy has another loop for power than for it
}
"""Rows whose body is not NumPy to the bit, in units in the last place."""

EITHER_ZERO = {"fmax", "fmin"}
"""Rows in which NumPy takes the first or second of 0.0 and -0.0 by position."""

# Casts have a test of their own, and only dates are "not a time".
CASES = [
    pytest.param(op, dtypes, id=f"{op.name}-{''.join(d.char for d in dtypes)}")
    for op in TABLE.values()
    if op.name not in ("cast", "isnat")
    for dtypes in op_values.signatures(op)
]


@pytest.mark.parametrize(("op", "dtypes"), CASES)
def test_body_is_numpy(op: Op, dtypes: tuple[np.dtype[Any], ...]) -> None:
    operands = op_values.grid(dtypes)
    if op.name == "power" and dtypes[1].kind == "i":
        # An exponent below 0 is refused by the operation itself.
        chosen = operands[1] >= 0
        operands = [operand[chosen] for operand in operands]
    with np.errstate(all="ignore"):
        expected = op.numpy(*operands)
    expected = expected if isinstance(expected, tuple) else (expected,)
    results = interpret(body_kernel(op, dtypes), operands)
    assert len(results) == len(expected) == op.outputs
    scale = None
    if op.cancelling:
        scale = np.fmax(np.abs(operands[0]), np.abs(operands[1]))
    for got, want in zip(results, expected):
        assert got.dtype == want.dtype
        apart = op_values.units(got, want, scale)
        if op.name in EITHER_ZERO:
            apart[(got == 0) & (want == 0)] = 0
        worst = int(np.argmax(apart))
        at = [operand[worst] for operand in operands]
        bound = WITHIN.get(op.name, 0)
        assert apart[worst] <= bound, f"{at}: got {got[worst]}, NumPy {want[worst]}"


@pytest.mark.parametrize("name", sorted(WITHIN))
def test_bounds_of_bodies_are_documented(name: str) -> None:
    assert TABLE[name].ulp >= WITHIN[name]


def test_every_ufunc_has_a_row() -> None:
    found = [getattr(np, name) for name in dir(np)]
    ufuncs = {item for item in found if isinstance(item, np.ufunc)}
    elementwise_ones = {item for item in ufuncs if item.signature is None}
    assert len(elementwise_ones) >= 80
    assert elementwise_ones <= set(BY_UFUNC)


@pytest.mark.parametrize("op", list(TABLE.values()), ids=lambda op: op.name)
def test_row_is_complete(op: Op) -> None:
    constant = getattr(elementwise, op.name.upper())
    assert constant is op
    assert op.name.upper() in elementwise.__all__
    if isinstance(op.numpy, np.ufunc):
        assert (op.inputs, op.outputs) == (op.numpy.nin, op.numpy.nout)
        assert BY_UFUNC[op.numpy] is op
    primitive = op.name in PRIMITIVES or op.name in ("cast", "isnat")
    assert op.body is not None or primitive


@pytest.mark.parametrize("source", op_values.NUMERIC)
@pytest.mark.parametrize("target", op_values.NUMERIC)
def test_cast(source: str, target: str) -> None:
    x = op_values.values(np.dtype(source))
    dtype = np.dtype(target)
    if x.dtype.kind in "fc" and dtype.kind in "iu":
        # Out of range the result depends on the processor.
        inside = np.isfinite(x) & (np.abs(x.real) < 100) & (x.real >= 0)
        x = x[inside]
    kernel = body_kernel(CAST, (x.dtype,), (dtype,))
    (got,) = interpret(kernel, [x])
    with np.errstate(all="ignore"), pytest.warns() if _lossy(x, dtype) else _quiet():
        want = x.astype(dtype)
    assert got.dtype == want.dtype
    assert not op_values.units(got, want).any()


def _lossy(x: np.ndarray[Any, Any], dtype: np.dtype[Any]) -> bool:
    """Whether NumPy warns that an imaginary part is lost."""
    return x.dtype.kind == "c" and dtype.kind not in "cb"


def _quiet() -> Any:
    return np.errstate()


FLOAT32 = np.dtype(np.float32)
BOOL = np.dtype(np.bool_)


@pytest.mark.parametrize(
    ("op", "operands", "inputs"),
    [
        (CLIP, (FLOAT32, int, float), (FLOAT32,) * 3),
        (WHERE, (BOOL, FLOAT32, int), (BOOL, FLOAT32, FLOAT32)),
        (WHERE, (FLOAT32, int, float), (BOOL,) + (np.dtype(float),) * 2),
        (WHERE, (BOOL, np.dtype("i4"), FLOAT32), (BOOL,) + (np.dtype(float),) * 2),
        (LDEXP, (FLOAT32, int), (FLOAT32, np.dtype(np.intc))),
        (REAL, (np.dtype("F"),), (np.dtype("F"),)),
        (TABLE["add"], (np.dtype("u1"), int), (np.dtype("u1"),) * 2),
    ],
)
def test_resolution(op: Op, operands: Any, inputs: Any) -> None:
    signature = op.resolve(operands)
    assert signature.inputs == inputs
    assert op.resolve(operands) is signature


def test_refused_dtypes() -> None:
    with pytest.raises(DTypeError, match="bitwise_and"):
        TABLE["bitwise_and"].resolve((FLOAT32, FLOAT32))
    with pytest.raises(DTypeError, match="where"):
        WHERE.resolve((BOOL, np.dtype("M8[s]"), FLOAT32))
    for name in ("add", "hypot"):
        with pytest.raises(DTypeError, match=f"{name}: takes 2 arguments, got 1"):
            TABLE[name].resolve((FLOAT32,))


def test_clip_resolves_without_its_ufunc() -> None:
    from dcarray.ops.elementwise.comparison import _clip_signature

    for codes in ("fff", "bBf", "ddF", "ilq"):
        operands = tuple(np.dtype(code) for code in codes)
        assert _clip_signature(operands) == CLIP.resolve(operands)
    assert _clip_signature((FLOAT32, int, float)) == CLIP.resolve((FLOAT32, int, float))
