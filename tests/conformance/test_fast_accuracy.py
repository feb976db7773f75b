"""Functions of ``config(math="fast")`` keep their bound: at random, at special values,
and where a body takes another way."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from dcarray.ops.elementwise import TABLE
from dcarray.ops.fast import FUNCTIONS, ULP
from dcarray.ops.fast.table import BODIES
from tests.stress.fast import Fast, units
from tests.stress.fast_operands import exact, operands

WIDER = {np.float32: np.float64, np.float64: np.longdouble}

needs_long = pytest.mark.skipif(
    np.finfo(np.longdouble).nmant < 60, reason="no wider format than float64"
)


def check(name: str, dtype: Any) -> None:
    given = operands(name, dtype, 1, 1500)
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
