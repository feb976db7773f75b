"""Operands for the tests of a backend, and the distance between results."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from ..errors import DTypeError
from ..ops.indexing import Slot
from ..ops.spec import Op

__all__ = [
    "distance",
    "distances",
    "fits",
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
    elif op.composed:
        inputs = [code * op.inputs for code in NUMBERS if _takes(op, code)]
    else:
        inputs = list(NUMBERS)
    known = sorted({codes for codes in inputs if set(codes) <= set(NUMBERS)})
    return [tuple(np.dtype(code) for code in codes) for codes in known]


def _takes(op: Op, code: str) -> bool:
    """Whether a row computes in this dtype."""
    try:
        return op.resolve((np.dtype(code),) * op.inputs).inputs[0] == code
    except DTypeError:
        return False


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
    found = [np.abs(x) for x in given[: op.cancelling]]
    if op.composed and given[0].dtype.kind == "f":
        # A subnormal number in a formula has few digits, and may be multiplied.
        limits: Any = np.finfo(given[0].dtype)
        found.append(np.full(given[0].shape, limits.tiny))
        with np.errstate(over="ignore"):
            for x in given:
                found[-1] = found[-1] * np.fmax(1, np.abs(x))
    if found:
        size = np.fmax.reduce(found)
        return np.where(np.isfinite(size), size, 0)
    if given[0].dtype.kind == "c" and op.name in CANCELLING:
        with np.errstate(all="ignore"):
            want = op.numpy(*given)
            size = np.abs(want.astype(np.clongdouble))
            size = np.where(np.isinf(size), np.finfo(want.dtype).max, size)
            if "power" in op.name:
                # NumPy's is exp(y * log(x)), and a large product has lost digits.
                product = np.abs(given[1] * np.log(given[0]).astype(np.clongdouble))
                size *= np.where(np.isfinite(product), np.fmax(1, product), 1)
        return np.asarray(size)
    return None


def distance(got: HostArray, want: HostArray, scale: HostArray | None = None) -> float:
    """The largest of the `distances`; infinite, too, where dtype or shape differ."""
    if got.dtype != want.dtype or got.shape != want.shape:
        return np.inf
    return float(np.max(distances(got, want, scale), initial=0))


def distances(
    got: HostArray, want: HostArray, scale: HostArray | None = None
) -> HostArray:
    """How far elements are apart, in units in the last place of ``want``, or of
    ``scale`` where that is larger; 0 where nothing differs.

    An infinity is taken for the number that would follow the largest.  Infinite where
    only one of two is NaN, and where integers differ.
    """
    if want.dtype.kind == "c":
        return np.maximum(
            distances(got.real.copy(), want.real.copy(), scale),
            distances(got.imag.copy(), want.imag.copy(), scale),
        )
    found = np.zeros(want.shape)
    if want.dtype.kind in "biu":
        found[got != want] = np.inf
        return found
    with np.errstate(all="ignore"):
        where = (got != want) & ~(np.isnan(got) & np.isnan(want))
        got, want = got[where], want[where]
        size = np.abs(_extended(want))
        if scale is not None:
            size = np.fmax(size, scale[where])
        # Beside the largest number, `numpy.spacing` knows no other.
        limits: Any = np.finfo(want.dtype)
        inside = np.minimum(size, np.nextafter(limits.max, limits.tiny))
        step = np.spacing(inside.astype(want.dtype)).astype(np.longdouble)
        step *= np.fmax(1, size / limits.max)
        apart = np.abs(_extended(got) - _extended(want)) / step
        found[where] = np.where(np.isnan(apart), np.inf, apart)
    return found


def _extended(found: HostArray) -> HostArray:
    """Numbers of more range, in which infinities are numbers."""
    limits: Any = np.finfo(found.dtype)
    beyond = np.copysign(np.ldexp(np.longdouble(1), limits.maxexp), found)
    return np.where(np.isinf(found), beyond, found.astype(np.longdouble))


def fits(found: HostArray, dtype: DType) -> HostArray:
    """Which numbers a dtype can hold once they are rounded: C says nothing of a large
    one, an infinity or NaN as an integer."""
    if found.dtype.kind != "f" or dtype.kind not in "iu":
        return np.ones(found.shape, np.bool_)
    whole = np.trunc(found.astype(np.longdouble))
    limits = np.iinfo(dtype)
    return np.asarray((whole >= limits.min) & (whole <= limits.max))


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
    yield "get", (x, places), {"key": (Slot(0), slice(1, 4))}
    yield "put", (x, np.array(2, np.float32), x > 0.5), {"key": Slot(0)}
