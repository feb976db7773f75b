"""Functions of ``config(math="fast")`` keep their bound: at random, at special values,
and where a body takes another way."""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np
import pytest

from dcarray.ops.elementwise import TABLE
from dcarray.ops.fast import FUNCTIONS, ULP
from dcarray.ops.fast.table import BODIES
from tests.stress.fast import Fast, units

HostArray = np.ndarray[Any, Any]

WIDER = {np.float32: np.float64, np.float64: np.longdouble}
COUNT = 1500

EDGES = {
    # Where a body takes another way: limits of the reduced range, of what is small,
    # and of what overflows.
    **dict.fromkeys(("exp", "expm1", "sinh", "cosh", "tanh"), (88.7, 103.9, 709.7)),
    **dict.fromkeys(("sin", "cos", "tan"), (2.0**16, 2.0**40, 1e22)),
    "exp2": (126.0, 149.0, 1022.0, 1074.0),
    "expm1": (17.3, 37.4, 88.7, 709.7),
    "tanh": (9.0, 19.0),
    "arcsinh": (2.0**13, 2.0**28),
    "arccosh": (2.0**13, 2.0**28),
    "arctan": (0.41421356237, 2.41421356237),
    "arctanh": (0.17, 0.33, 0.999),
    "log1p": (0.41421356237, 0.29289321881),
}

needs_long = pytest.mark.skipif(
    np.finfo(np.longdouble).nmant < 60, reason="no wider format than float64"
)


def special(dtype: Any) -> HostArray:
    info = np.finfo(dtype)
    found = [0.0, 1.0, 0.5, 2.0, 3.0, np.inf, np.nan, info.max, info.tiny, info.eps]
    found += [info.smallest_subnormal, info.tiny / 3, 1 + info.eps, 1 - info.eps / 2]
    one = np.array(found, dtype)
    return np.concatenate([one, -one])


def operands(name: str, dtype: Any, seed: int) -> HostArray:
    rng = np.random.default_rng(seed)
    size = np.dtype(dtype).itemsize
    n = COUNT
    near = np.array(EDGES.get(name, (0.70710678, 1.41421356)))[:, np.newaxis]
    parts = [
        rng.integers(0, 2 ** (8 * size) - 1, n, f"u{size}").view(dtype),
        rng.uniform(-1, 1, n),
        rng.uniform(-30, 30, n),
        rng.normal(size=n) * 10.0 ** rng.uniform(-12, 5, n),
        1 + rng.normal(size=n) * 10.0 ** rng.uniform(-12, -1, n),
        rng.uniform(0.3, 3, n),
        np.arange(1, n + 1) * (math.pi / 4),
        np.arange(-n // 2, n - n // 2) * (math.log(2) / 2),
        (near * (1 + rng.uniform(-1e-3, 1e-3, (1, 200)))).ravel(),
        -(near * (1 + rng.uniform(-1e-3, 1e-3, (1, 200)))).ravel(),
    ]
    with np.errstate(all="ignore"):
        return np.concatenate([special(dtype), *[x.astype(dtype) for x in parts]])


def pairs(name: str, dtype: Any) -> list[HostArray]:
    edges = [*itertools.product(special(dtype), repeat=2)]
    x, y = (np.array(side, dtype) for side in zip(*edges, strict=True))
    a, b = operands(name, dtype, 1), operands(name, dtype, 2)
    rng = np.random.default_rng(3)
    rng.shuffle(b)
    # Of alike size, and powers that are numbers.
    positive = np.exp(rng.uniform(-80, 80, 4000)).astype(dtype)
    scale = np.log2(np.finfo(dtype).max) / np.log2(positive.astype(np.float64))
    with np.errstate(all="ignore"):
        alike = (a * rng.uniform(0.2, 5, a.size)).astype(dtype)
        exponent = (rng.uniform(-1, 1, 4000) * scale).astype(dtype)
    return [
        np.concatenate([x, a, a, positive]),
        np.concatenate([y, b, alike, exponent]),
    ]


def exact(name: str, given: list[HostArray], wider: Any) -> HostArray:
    """The function in a wider format."""
    with np.errstate(all="ignore"):
        if name == "erf":
            return np.array([math.erf(x) for x in given[0]], wider)
        found: HostArray = getattr(np, name)(*[x.astype(wider) for x in given])
        return found


def check(name: str, dtype: Any) -> None:
    inputs = 2 if name in ("power", "arctan2", "hypot") else 1
    given = pairs(name, dtype) if inputs == 2 else [operands(name, dtype, 1)]
    got = Fast(name, dtype)(*given)
    error = units(got, exact(name, given, WIDER[dtype]))
    bound = ULP + (dtype is np.float64 and name == "erf")  # math.erf is no wider
    worst = int(error.argmax())
    assert error[worst] <= bound, (name, [x[worst] for x in given], got[worst])


@pytest.mark.parametrize("name", sorted(FUNCTIONS))
def test_float32(name: str) -> None:
    check(name, np.float32)


@needs_long
@pytest.mark.parametrize("name", sorted(FUNCTIONS))
def test_float64(name: str) -> None:
    check(name, np.float64)


def test_every_function_has_a_body() -> None:
    assert set(BODIES) == FUNCTIONS
    assert set(TABLE) | {"erf"} >= FUNCTIONS
