"""Every elementwise row, through arrays, on a device that NumPy cannot touch."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import dcarray as dc
from dcarray.array.calls import elementwise
from dcarray.ops import elementwise as ops
from dcarray.ops.spec import Op
from tests.pure import op_values

DEVICE = "test:0"

EITHER_ZERO = {"fmax", "fmin", "nextafter"}
"""Rows in which NumPy takes the first or second of 0.0 and -0.0 by position, or, for
float16, by its version."""

CASES = [
    pytest.param(op, dtypes, id=f"{op.name}-{''.join(d.char for d in dtypes)}")
    for op in ops.TABLE.values()
    if op.name not in ("cast", "isnat")
    for dtypes in op_values.signatures(op)
]


def on_device(x: Any) -> Any:
    return dc.DeviceArray._of_host(np.array(x)).to_device(DEVICE)


@pytest.mark.parametrize(("op", "dtypes"), CASES)
def test_row(op: Op, dtypes: tuple[np.dtype[Any], ...]) -> None:
    operands = op_values.grid(dtypes)
    if op.name == "power" and dtypes[1].kind == "i":
        chosen = operands[1] >= 0
        operands = [operand[chosen] for operand in operands]
    with np.errstate(all="ignore"):
        expected = op.numpy(*operands)
    expected = expected if isinstance(expected, tuple) else (expected,)
    with dc.config(fallback="error"):
        results = elementwise(dc.DeviceArray, op, [on_device(x) for x in operands])
        results = results if isinstance(results, tuple) else (results,)
        hosts = [result.get() for result in results]
    scale = None
    if op.cancelling:
        scale = np.fmax(np.abs(operands[0]), np.abs(operands[1]))
    for result, got, want in zip(results, hosts, expected, strict=True):
        assert result.device == DEVICE
        assert got.dtype == result.dtype == want.dtype
        assert result.shape == want.shape
        apart = op_values.units(got, want, scale)
        if op.name in EITHER_ZERO:
            apart[(got == 0) & (want == 0)] = 0
        assert apart.max() <= op.ulp
