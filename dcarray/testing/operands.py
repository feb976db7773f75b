"""Operands for the tests of a backend, and the distance between results."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from ..ops.spec import Op

__all__ = [
    "distance",
    "has_small_second",
    "library_calls",
    "moderate",
    "scale",
    "signatures",
    "values",
]

HostArray = np.ndarray[Any, Any]
DType = np.dtype[Any]

NUMBERS = "?bBhHiIlLqQefdFD"
LENGTH = 1001
CANCELLING = ("multiply", "square", "power", "float_power", "expm1")
"""Rows over complex numbers of which a part may be small by cancellation alone: its
error is measured against the absolute value."""


def signatures(op: Op) -> list[tuple[DType, ...]]:
    """Dtypes of the operands of every loop over numbers of an elementwise row."""
    if op.name == "cast":
        return []
    if isinstance(op.numpy, np.ufunc):
        inputs = [signature.split("->")[0] for signature in op.numpy.types]
    elif op.name == "where":
        inputs = ["?" + code * 2 for code in NUMBERS]
    else:
        inputs = list(NUMBERS)
    known = sorted({codes for codes in inputs if set(codes) <= set(NUMBERS)})
    return [tuple(np.dtype(code) for code in codes) for codes in known]


def moderate(dtype: DType, length: int = LENGTH, seed: int = 0) -> HostArray:
    """Numbers of moderate size, the same each time."""
    rng = np.random.default_rng(seed)
    if dtype.kind == "b":
        return rng.random(length) < 0.5
    if dtype.kind == "u":
        return rng.integers(0, 12, length).astype(dtype)
    if dtype.kind == "i":
        return rng.integers(-12, 12, length).astype(dtype)
    found = rng.uniform(-2, 2, length)
    if dtype.kind == "c":
        return (found + 1j * rng.uniform(-2, 2, length)).astype(dtype)
    return found.astype(dtype)


def values(op: Op, dtypes: tuple[DType, ...]) -> list[HostArray]:
    """Operands that the row takes: no negative exponents of integers, and no shifts
    beyond the width."""
    found = [moderate(dtype, seed=place) for place, dtype in enumerate(dtypes)]
    if has_small_second(op, dtypes):
        found[1] = np.abs(found[1]) % 8
    return found


def has_small_second(op: Op, dtypes: tuple[DType, ...]) -> bool:
    """Whether the second operand is a shift, or an exponent of an integer."""
    return op.name in ("left_shift", "right_shift") or (
        op.name == "power" and dtypes[1].kind == "i"
    )


def scale(op: Op, given: list[HostArray]) -> HostArray | None:
    """For rows that lose digits where operands cancel, what their error is measured
    against."""
    if op.name in ("logaddexp", "logaddexp2"):
        return np.asarray(np.fmax(np.abs(given[0]), np.abs(given[1])))
    if given[0].dtype.kind == "c" and op.name in CANCELLING:
        with np.errstate(all="ignore"):
            return np.asarray(np.abs(op.numpy(*given)))
    return None


def distance(got: HostArray, want: HostArray, scale: HostArray | None = None) -> float:
    """The largest distance, in units in the last place of ``want``, or of ``scale``
    where that is larger; 0 where nothing differs.

    Infinite where dtype, shape or the places of NaN differ.
    """
    if got.dtype != want.dtype or got.shape != want.shape:
        return np.inf
    if want.dtype.kind == "c":
        return max(
            distance(got.real.copy(), want.real.copy(), scale),
            distance(got.imag.copy(), want.imag.copy(), scale),
        )
    if want.dtype.kind != "f":
        return 0.0 if np.array_equal(got, want) else np.inf
    if not np.array_equal(np.isnan(got), np.isnan(want)):
        return np.inf
    with np.errstate(all="ignore"):
        same = (got == want) | np.isnan(want)
        size = np.abs(want) if scale is None else np.fmax(np.abs(want), scale)
        step = np.spacing(size).astype(np.longdouble)
        apart = np.abs(got.astype(np.longdouble) - want.astype(np.longdouble)) / step
        worst = np.where(same, 0, np.where(np.isnan(apart), np.inf, apart))
    return float(np.max(worst, initial=0))


def library_calls() -> Iterator[tuple[str, tuple[HostArray, ...], dict[str, Any]]]:
    """Calls of operations that do not fuse: name, operands and options."""
    rng = np.random.default_rng(3)
    x = rng.random((6, 7), dtype=np.float32)
    y = rng.random((7, 5), dtype=np.float32)
    places = np.array([3, 0, 3])
    for axis in (0, 1):
        yield "sort", (x,), {"axis": axis}
        yield "argsort", (x,), {"axis": axis}
        yield "argmin", (x,), {"axis": axis}
        yield "argmax", (x,), {"axis": axis}
        yield "cumulative_sum", (x,), {"axis": axis}
        yield "cumulative_prod", (x,), {"axis": axis}
        yield "take", (x, places), {"axis": axis}
    yield "matmul", (x, y), {}
    yield "matmul", (x.T.copy(), x), {}
    yield "dot", (x, y), {}
    yield "nonzero", ((x > 0.5),), {}
    yield "searchsorted", (np.sort(x[0]), x[1]), {}
    yield "get", (x,), {"key": (places, slice(1, 4))}
    yield "put", (x, np.zeros((3, 3), np.float32)), {"key": (places, slice(1, 4))}
