"""Functions that stand for primitives give what the primitives give."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from dcarray.kernel import infer, nodes
from dcarray.kernel.interpret import interpret
from dcarray.kernel.language import PRIMITIVES, Scalar, exp, expm1
from dcarray.kernel.missing import REPLACEMENTS, replace
from dcarray.kernel.parse import parse
from dcarray.ops.elementwise import TABLE

from . import op_values

WITHIN = {
    "expm1": 2,
    "log1p": 2,
    "cbrt": 3,
    "sinh": 3,
    "cosh": 3,
    "tanh": 4,
    "arcsinh": 3,
    "arccosh": 3,
    "arctanh": 3,
}
"""In units in the last place; what is not named here is exact."""

CODES = {"popcount": "bBhHiIlL", "round_to_half": "f"}


def dtypes_of(name: str, code: str) -> tuple[np.dtype[Any], ...]:
    dtype = np.dtype(code)
    if name == "ldexp":
        return dtype, np.dtype(np.int32)
    return (dtype,) * PRIMITIVES[name].arity


def many(dtype: np.dtype[Any], seed: int) -> Any:
    rng = np.random.default_rng(seed)
    if dtype.kind != "f":
        return rng.integers(-300, 300, 6000).astype(dtype)
    wide = rng.standard_normal(2000) * np.exp(rng.uniform(-30, 30, 2000))
    near = rng.uniform(-3, 3, 2000)
    return np.concatenate([near, wide, rng.uniform(-90, 90, 2000)]).astype(dtype)


@pytest.mark.parametrize(
    ("name", "code"),
    [(name, code) for name in REPLACEMENTS for code in CODES.get(name, "fd")],
)
def test_replacement(name: str, code: str) -> None:
    dtypes = dtypes_of(name, code)
    x = [nodes.Name(f"x{place}", dtype) for place, dtype in enumerate(dtypes)]
    parameters = tuple(nodes.Value(item.name, item.dtype) for item in x)
    kernel = nodes.Kernel(name, parameters, (), (infer.apply(name, *x),))
    given = op_values.grid(dtypes)
    given = [
        np.concatenate([values, many(dtype, place)])
        for place, (values, dtype) in enumerate(zip(given, dtypes))
    ]
    without = replace(kernel, [name])
    assert f"primitive='{name}'" not in repr(without)
    (want,) = interpret(kernel, given)
    (got,) = interpret(without, given)
    assert got.dtype == want.dtype
    apart = op_values.units(got, want)
    worst = int(np.argmax(apart))
    at = [operand[worst] for operand in given]
    assert apart[worst] <= WITHIN.get(name, 0), f"{at}: {got[worst]}, {want[worst]}"


@pytest.mark.parametrize("name", sorted(WITHIN))
def test_replacements_keep_the_bounds_of_rows(name: str) -> None:
    assert WITHIN[name] <= TABLE[name].ulp


def both(x: Scalar) -> Scalar:
    return expm1(x) * expm1(-x) + exp(x)


def test_only_what_is_named_is_replaced() -> None:
    kernel = parse(both, [np.dtype(np.float32)])
    assert replace(kernel, ["log1p"]) is kernel
    found = repr(replace(kernel, ["log1p", "expm1"]))
    assert "primitive='expm1'" not in found
    assert "primitive='exp'" in found
