"""Elementary functions in LLVM IR that have the bits of a loop of NumPy's own.

NumPy computes some functions by vectors where the processor has a fused
multiply-add.  Spelled inside a segment they cost no call, no buffer, and about half the
time.  Every row was compared with NumPy's loop for all 2**32 inputs
(`tests/stress/elementary.py` does it again); whether NumPy runs that loop on the
processor at hand is for `backends/cpu/same_loops.py` to say.
"""

from __future__ import annotations

import struct
from typing import Any

import numpy as np

__all__ = ["ELEMENTARY"]


def _float(value: float) -> str:
    """A float32 as LLVM writes it."""
    return f"0x{struct.unpack('<Q', struct.pack('<d', np.float32(value)))[0]:016X}"


def _fused(name: str, a: str, b: str, c: str) -> str:
    """a*b + c, rounded once."""
    return f"{name} = call float @llvm.fma.f32(float {a}, float {b}, float {c})"


def _horner(name: str, x: str, coefficients: list[float]) -> tuple[list[str], str]:
    """A polynomial, highest power first: its lines, and the register of its value."""
    value = _float(coefficients[0])
    lines = []
    for k, coefficient in enumerate(coefficients[1:]):
        lines.append(_fused(f"{name}{k}", value, x, _float(coefficient)))
        value = f"{name}{k}"
    return lines, value


def _exp() -> str:
    """exp(x) = 2**k p(r) / q(r), r = x - k log 2 in two parts (Cody and Waite).

    The rational function is NumPy's.  2**k is multiplied in two steps, so that a
    subnormal result is rounded once, and one too large is an infinity with its flag.
    """
    magic = 1.5 * 2.0**23
    numerator, p = _horner(
        "{n}.p",
        "{n}.r",
        [
            5.082762527590693718096e-04,
            6.757896990527504603057e-03,
            5.114512081637298353406e-02,
            2.473615434895520810817e-01,
            7.257664613233124478488e-01,
            9.999999999980870924916e-01,
        ],
    )
    denominator, q = _horner(
        "{n}.q", "{n}.r", [2.159509375685829852307e-02, -2.742335390411667452936e-01, 1]
    )
    return "\n".join(
        [
            f"{{n}}.over = fcmp ogt float {{0}}, {_float(89.5)}",
            f"{{n}}.low = select i1 {{n}}.over, float {_float(89.5)}, float {{0}}",
            f"{{n}}.under = fcmp olt float {{n}}.low, {_float(-104.5)}",
            f"{{n}}.x = select i1 {{n}}.under, float {_float(-104.5)}, float {{n}}.low",
            # Rounded apart: NumPy does not fuse these two.
            f"{{n}}.scaled = fmul float {{n}}.x, {_float(1.442695040)}",
            f"{{n}}.shifted = fadd float {{n}}.scaled, {_float(magic)}",
            f"{{n}}.k = fsub float {{n}}.shifted, {_float(magic)}",
            _fused("{n}.high", "{n}.k", _float(-6.93145752e-1), "{n}.x"),
            _fused("{n}.r", "{n}.k", _float(-1.42860677e-6), "{n}.high"),
            *numerator,
            *denominator,
            f"{{n}}.ratio = fdiv float {p}, {q}",
            # The integer k stands in the last bits of the sum.
            "{n}.bits = bitcast float {n}.shifted to i32",
            f"{{n}}.whole = sub i32 {{n}}.bits, {np.float32(magic).view(np.int32)}",
            "{n}.half = ashr i32 {n}.whole, 1",
            "{n}.rest = sub i32 {n}.whole, {n}.half",
            "{n}.half.e = add i32 {n}.half, 127",
            "{n}.rest.e = add i32 {n}.rest, 127",
            "{n}.half.b = shl i32 {n}.half.e, 23",
            "{n}.rest.b = shl i32 {n}.rest.e, 23",
            "{n}.half.f = bitcast i32 {n}.half.b to float",
            "{n}.rest.f = bitcast i32 {n}.rest.b to float",
            "{n}.part = fmul float {n}.ratio, {n}.half.f",
            "{n} = fmul float {n}.part, {n}.rest.f",
        ]
    )


ELEMENTARY: dict[tuple[str, np.dtype[Any]], str] = {("exp", np.dtype("f")): _exp()}
"""Name of the operation and dtype of its operand and result: a template as in
`llvm_scalar.TEMPLATES`."""
