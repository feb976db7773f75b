"""Operands for tests over op × dtype, and comparison of results to the bit."""

from __future__ import annotations

from typing import Any

import numpy as np

from dcarray.ops.spec import Op

NUMERIC = "?bBhHiIlLqQefdFD"
"""Type codes of the dtypes that devices know."""


def values(dtype: np.dtype[Any], seed: int = 0) -> np.ndarray[Any, Any]:
    """Special values of a dtype, and some random ones."""
    rng = np.random.default_rng(seed)
    if dtype.kind == "b":
        return np.array([False, True])
    if dtype.kind in "iu":
        return integers(dtype, rng)
    if dtype.kind == "f":
        return floats(dtype, rng)
    part = floats(dtype.type(0).real.dtype, rng)
    chosen = part[[0, 1, 2, 3, 4, 12, 13, 15, 16, 17, 20, 22, 24, 30, 31, 38]]
    grid = np.empty((len(chosen), len(chosen)), dtype)
    grid.real = chosen[:, np.newaxis]
    grid.imag = chosen
    return grid.ravel()


def integers(dtype: np.dtype[Any], rng: np.random.Generator) -> np.ndarray[Any, Any]:
    limits = np.iinfo(dtype)
    width = 8 * dtype.itemsize
    special = [0, 1, 2, 3, 5, 7, width - 1, width, width + 1]
    special += [limits.max, limits.max - 1, limits.max // 2, limits.min, limits.min + 1]
    if dtype.kind == "i":
        special += [-1, -2, -3, -7]
    anything = rng.integers(limits.min, limits.max, 6, dtype, endpoint=True)
    small = rng.integers(0, 30, 4).astype(dtype)
    return np.concatenate([np.array(special, dtype), anything, small])


def floats(dtype: np.dtype[Any], rng: np.random.Generator) -> np.ndarray[Any, Any]:
    limits = np.finfo(dtype)
    special = [0.0, -0.0, 1.0, -1.0, 0.5, -0.5, 1.5, 2.5, -2.5, 2.0, -2.0, 3.0, -3.0]
    special += [10.0, -10.0, np.inf, -np.inf, np.nan, 100.7, -100.7]
    edges = [limits.max, -limits.max, limits.tiny, -limits.tiny]
    edges += [limits.smallest_subnormal, -limits.smallest_subnormal, limits.eps]
    edges += [1 + limits.eps, limits.tiny / 2, limits.max / 2]
    with np.errstate(all="ignore"):
        spread = np.ldexp(rng.standard_normal(8), rng.integers(-100, 100, 8))
        return np.concatenate(
            [
                np.array(special, dtype),
                np.array(edges, dtype),
                rng.standard_normal(8).astype(dtype),
                (100 * rng.standard_normal(6)).astype(dtype),
                spread.astype(dtype),
            ]
        )


def grid(dtypes: tuple[np.dtype[Any], ...], seed: int = 0) -> list[Any]:
    """Every combination of values, one contiguous array for each operand."""
    axes = [values(dtype, seed + place) for place, dtype in enumerate(dtypes)]
    if len(axes) == 2:
        axes = [axis[::2] if axis.dtype.kind == "c" else axis for axis in axes]
    if len(axes) == 3:
        axes = [axes[0][:36], axes[1][:36], axes[2][:24]]
    mesh = np.meshgrid(*axes, indexing="ij")
    return [np.ascontiguousarray(axis.ravel()) for axis in mesh]


def signatures(op: Op) -> list[tuple[np.dtype[Any], ...]]:
    """Dtypes of the operands of every loop over numbers of an elementwise row."""
    if isinstance(op.numpy, np.ufunc):
        inputs = [signature.split("->")[0] for signature in op.numpy.types]
    elif op.name == "where":
        inputs = ["?" + code * 2 for code in NUMERIC]
    else:
        inputs = list(NUMERIC)
    known = sorted({codes for codes in inputs if set(codes) <= set(NUMERIC)})
    return [tuple(np.dtype(code) for code in codes) for codes in known]


def units(got: Any, want: Any, scale: Any = None) -> np.ndarray[Any, Any]:
    """Distance in units in the last place of ``want``, or of ``scale`` where larger.

    0 means the same bits but for the sign and payload of NaN; infinity means results
    that cannot be compared, among them zeros of different signs.
    """
    if want.dtype.kind == "c":
        real = units(got.real.copy(), want.real.copy(), scale)
        return np.maximum(real, units(got.imag.copy(), want.imag.copy(), scale))
    if want.dtype.kind != "f":
        return np.where(got == want, 0.0, np.inf)
    with np.errstate(all="ignore"):
        same = (got == want) & (np.signbit(got) == np.signbit(want))
        same |= np.isnan(got) & np.isnan(want)
        size = np.abs(want)
        if scale is not None:
            size = np.fmax(size, np.where(np.isfinite(scale), scale, 0))
        step = np.spacing(size.astype(want.dtype)).astype(np.longdouble)
        apart = np.abs(got.astype(np.longdouble) - want.astype(np.longdouble)) / step
        zeros = (got == 0) & (want == 0)
    apart = np.where(np.isnan(apart) | zeros, np.inf, apart)
    return np.where(same, 0.0, apart).astype(np.float64)
