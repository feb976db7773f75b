"""Composed rows: against formulas in extended precision, and their two ways to run."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from dcarray.errors import DTypeError
from dcarray.kernel.interpret import interpret
from dcarray.ops import composed
from dcarray.ops.bodies import body_kernel
from dcarray.ops.composed import (
    ERF,
    ERFC,
    LEAKY_RELU,
    RELU,
    SIGMOID,
    SINC,
    TABLE,
    trace,
)
from dcarray.ops.elementwise import BY_UFUNC, CAST, WHERE
from dcarray.ops.spec import Op

from . import op_values

OPTIONS: dict[str, tuple[float, ...]] = {
    "leaky_relu": (0.125,),
    "elu": (1.5,),
    "celu": (1.5,),
    "hardtanh": (-1.0, 2.0),
    "hard_shrink": (0.5,),
    "soft_shrink": (0.5,),
}
FLOATS = ["e", "f", "d"]


def each(function: Callable[[float], float]) -> Callable[..., Any]:
    """A function of Python floats over an array."""
    return np.vectorize(function, otypes=[np.float64])


def logistic(x: Any) -> Any:
    return 1 / (1 + np.exp(-x))


def positive(x: Any) -> Any:
    return np.maximum(x, 0)


def exponential_unit(x: Any, alpha: Any) -> Any:
    return np.where(x > 0, x, alpha * np.expm1(np.minimum(x, 0)))


def scaled_unit(x: Any) -> Any:
    return 1.0507009873554805 * exponential_unit(x, 1.6732632423543772)


FORMULAS: dict[str, Callable[..., Any]] = {
    "erf": each(math.erf),
    "erfc": each(math.erfc),
    "sigmoid": logistic,
    "log_sigmoid": lambda x: -np.logaddexp(0, -x),
    "silu": lambda x: x * logistic(x),
    "mish": lambda x: x * np.tanh(np.logaddexp(0, x)),
    "gelu": lambda x: x / 2 * (1 + each(math.erf)(x * math.sqrt(0.5))),
    "gelu_tanh": lambda x: (
        x / 2 * (1 + np.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3)))
    ),
    "relu": positive,
    "relu6": lambda x: np.clip(x, 0, 6),
    "leaky_relu": lambda x, slope: np.where(x > 0, x, slope * x),
    "elu": exponential_unit,
    "celu": lambda x, alpha: np.where(
        x > 0, x, alpha * np.expm1(np.minimum(x, 0) / alpha)
    ),
    "selu": scaled_unit,
    "softplus": lambda x: np.logaddexp(0, x),
    "softsign": lambda x: x / (1 + abs(x)),
    "tanhshrink": lambda x: x - np.tanh(x),
    "hardtanh": np.clip,
    "hard_sigmoid": lambda x: np.clip(x + 3, 0, 6) / 6,
    "hard_swish": lambda x: x * np.clip(x + 3, 0, 6) / 6,
    "hard_shrink": lambda x, limit: np.where(abs(x) > limit, x, 0),
    "soft_shrink": lambda x, limit: np.sign(x) * positive(abs(x) - limit),
    "rsqrt": lambda x: 1 / np.sqrt(x),
    "sinc": np.sinc,
}

rows = pytest.mark.parametrize("op", list(TABLE.values()), ids=lambda op: op.name)
dtypes = pytest.mark.parametrize("code", FLOATS)


def operands(op: Op, code: str) -> np.ndarray[Any, Any]:
    x = np.concatenate([np.linspace(-9, 9, 145), np.linspace(-60, 60, 49)]).astype(code)
    return np.abs(x) + np.dtype(code).type(0.5) if op.name == "rsqrt" else x


@rows
@dtypes
def test_value(op: Op, code: str) -> None:
    x = operands(op, code)
    given = OPTIONS.get(op.name, ())
    got = op.numpy(x, *given)
    wide = x.astype(np.longdouble if op.name not in ("erf", "erfc", "gelu") else float)
    with np.errstate(all="ignore"):
        want = FORMULAS[op.name](wide, *given)
    assert got.dtype == code
    limits = np.finfo(code)
    # Where a formula cancels, its digits count against those of the operand.
    scale = abs(want) if op.name == "erfc" else np.maximum(abs(want), abs(wide) / 16)
    step = 16 * limits.eps * scale + 2 * limits.smallest_subnormal
    assert (abs(got - want) <= step).all(), x[np.argmax(abs(got - want) - step)]


@rows
@dtypes
def test_interpreted_body_is_the_traced_one(op: Op, code: str) -> None:
    x = op_values.values(np.dtype(code))
    given = [np.dtype(code).type(item) for item in OPTIONS.get(op.name, ())]
    with np.errstate(all="ignore"):
        want = op.numpy(x, *given)
    kernel = body_kernel(op, (np.dtype(code),) * op.inputs)
    (got,) = interpret(kernel, [x, *[np.asarray(item) for item in given]])
    assert got.dtype == want.dtype
    assert not op_values.units(got, want).any()


@rows
def test_nan_and_large_operands(op: Op) -> None:
    given = OPTIONS.get(op.name, ())
    x = np.array(
        [np.nan, 1e30, 200.0] + ([] if op.name == "rsqrt" else [-200.0, -1e30])
    )
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        got = op.numpy(x, *given)
        empty = op.numpy(x[:0], *given)
    assert np.isnan(got[0])
    assert not np.isnan(got[1:]).any()
    assert empty.shape == (0,)


@pytest.mark.parametrize(("op", "bound"), [(ERF, 2.0), (ERFC, 5.0)])
@pytest.mark.parametrize(("code", "top"), [("f", 11.0), ("d", 28.0)])
def test_error_functions_to_the_last_places(
    op: Op, bound: float, code: str, top: float
) -> None:
    rng = np.random.default_rng(7)
    ranges = [(-top, top), (-2.0, 2.0), (0.9 * top, top), (-1e-3, 1e-3)]
    x = np.concatenate([rng.uniform(*item, 4000) for item in ranges]).astype(code)
    function = math.erf if op is ERF else math.erfc
    want = each(function)(x.astype(float))
    got = op.numpy(x).astype(float)
    step = np.spacing(np.abs(want).astype(code)).astype(float)
    # What `math` itself may be wrong by counts only in double precision.
    assert (np.abs(got - want) / step).max() <= bound + (code == "d")


def test_special_values_of_error_functions() -> None:
    x = np.array([0.0, -0.0, np.inf, -np.inf, np.nan, 1e-310, 7.0, 30.0])
    want = [0.0, 0.0, 1.0, -1.0, np.nan, math.erf(1e-310), 1.0, 1.0]
    np.testing.assert_array_equal(ERF.numpy(x), want)
    assert np.signbit(ERF.numpy(x)).tolist()[:2] == [False, True]
    want = [1.0, 1.0, 0.0, 2.0, np.nan, 1.0, ERFC.numpy(x)[6], 0.0]
    np.testing.assert_array_equal(ERFC.numpy(x), want)


def test_sinc_is_numpys() -> None:
    for code in FLOATS:
        x = op_values.values(np.dtype(code))
        with np.errstate(all="ignore"):
            got = SINC.numpy(x)
            want = np.sinc(x)
        apart = op_values.units(got, want)
        if code == "e":
            # NumPy before 2.3 gives NaN where x is 0 or next to it.
            apart[np.isnan(want) & (got == 1)] = 0
        assert not apart.any()


def test_trace_records_rows_and_typed_constants() -> None:
    recorded: list[tuple[Op, tuple[Any, ...]]] = []

    def record(op: Op, *items: Any) -> str:
        recorded.append((op, items))
        return f"v{len(recorded)}"

    (result,) = trace(SIGMOID, record, ["x"], [np.dtype(np.float16)])
    assert result == f"v{len(recorded)}"
    names = [op.name for op, _ in recorded]
    assert names[0] == names[-1] == "cast"
    assert recorded[0] == (CAST, ("x", np.dtype(np.float32)))
    assert recorded[-1][1][1] == np.float16
    assert BY_UFUNC[np.exp] in [op for op, _ in recorded]
    assert WHERE in [op for op, _ in recorded]
    constants = [
        x for _, items in recorded for x in items if not isinstance(x, (str, np.dtype))
    ]
    assert constants
    assert all(type(item) is np.float32 for item in constants)


def test_dtypes() -> None:
    assert SIGMOID.numpy(np.arange(3)).dtype == np.float64
    assert SIGMOID.numpy(np.arange(3, dtype=np.int8)).dtype == np.float64
    assert SIGMOID.numpy(np.array([True])).dtype == np.float64
    assert RELU.numpy(np.arange(-2, 3, dtype=np.int8)).tolist() == [0, 0, 0, 1, 2]
    assert RELU.numpy(np.arange(-2, 3, dtype=np.int8)).dtype == np.int8
    assert LEAKY_RELU.numpy(np.ones(2, np.float32), 0.5).dtype == np.float32
    large = np.array([2**53 + 1, -1])
    assert RELU.numpy(large).tolist() == [2**53 + 1, 0]
    with pytest.raises(DTypeError, match="sigmoid: got complex64"):
        SIGMOID.numpy(np.ones(2, np.complex64))
    with pytest.raises(DTypeError, match="leaky_relu"):
        LEAKY_RELU.resolve((np.dtype("M8[s]"), float))


@rows
def test_row_is_complete(op: Op) -> None:
    assert op.composed
    assert getattr(composed, op.name.upper()) is op
    assert op.name.upper() in composed.__all__
    assert op.name in FORMULAS
