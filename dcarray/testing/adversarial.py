"""Numbers that operations get wrong: the ends of their ranges, poles, zeros, NaN."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from ..ops.spec import Op

__all__ = ["adversarial", "random", "special"]

HostArray = np.ndarray[Any, Any]
DType = np.dtype[Any]

LARGEST_MESH = 20_000
"""Of more combinations of special values, some are taken at random."""

PLAIN = (0.1, 0.25, 0.5, 0.75, 1.0, 1.5, 2.0, 2.5, 3.0, 3.5, 10.0, 100.7, 1e4, 1e5)
TURNS = (0.25, 0.5, 1.0, 1.5, 2.0, 50.0, 1e4, 1e6)
"""Multiples of pi: poles and zeros of the circular functions are next to them."""

_IN_PARTS = (0.0, 0.5, 1.0, 2.5, 100.7)
"""Of `PLAIN`, those that complex numbers are made of."""


def special(dtype: DType) -> HostArray:
    """Subnormal, huge and signed numbers, those next to poles, infinities and NaN."""
    if dtype.kind == "b":
        return np.array([False, True])
    if dtype.kind in "iu":
        return _integers(dtype)
    if dtype.kind == "c":
        part = _parts(dtype.type(0).real.dtype)
        found = np.empty((len(part), len(part)), dtype)
        found.real = part[:, np.newaxis]
        found.imag = part
        return found.ravel()
    return _floats(dtype)


def _integers(dtype: DType) -> HostArray:
    limits = np.iinfo(dtype)
    width = 8 * dtype.itemsize
    found = [0, 1, 2, 3, 5, 7, 10, width - 1, width, width + 1]
    found += [limits.max, limits.max - 1, limits.max // 2, limits.max // 2 + 1]
    if dtype.kind == "i":
        found += [-number for number in found[1:]] + [limits.min]
    return np.array(sorted(set(found)), dtype)


def _limits(dtype: DType) -> Any:
    if dtype.kind == "f":
        return np.finfo(dtype)
    import ml_dtypes

    find: Any = ml_dtypes.finfo
    return find(dtype)


def _signed(found: list[float], dtype: DType) -> HostArray:
    with np.errstate(all="ignore"):
        positive = np.array([*found, np.inf]).astype(dtype)
        return np.concatenate([positive, -positive, np.array([np.nan], dtype)])


def _floats(dtype: DType) -> HostArray:
    limits = _limits(dtype)
    top, tiny, eps = (float(x) for x in (limits.max, limits.tiny, limits.eps))
    least = float(limits.smallest_subnormal)
    found = [0.0, *PLAIN, least, 3 * least, tiny / 2, tiny - least, tiny, tiny + least]
    found += [top, top * (1 - eps), top / 2, top**0.5, top**0.25, tiny**0.5]
    found += [eps, eps / 2, eps**0.5, 1 + eps, 1 - eps / 2, 1 + eps**0.5]
    found += [0.5 + eps / 2, 0.5 - eps / 4, 1 / eps - 0.5, 1 / eps, 2 / eps + 2]
    # Where exponentials begin to overflow, and to vanish.
    ends = [np.log(top), np.log2(top), -np.log(tiny), -np.log(least), -np.log2(least)]
    for end in [*map(float, ends), *(turn * np.pi for turn in TURNS)]:
        with np.errstate(all="ignore"):
            near = np.array(end).astype(dtype)
            step = np.spacing(near)
        found += [float(near), float(near - step), float(near + step)]
    return _signed([number for number in found if np.isfinite(number)], dtype)


def _parts(dtype: DType) -> HostArray:
    limits = np.finfo(dtype)
    top, tiny, eps = (float(x) for x in (limits.max, limits.tiny, limits.eps))
    found = [*_IN_PARTS, tiny / 4, tiny, top, top**0.5, eps, 1 + eps]
    return _signed(found, dtype)


def random(dtype: DType, count: int, rng: np.random.Generator) -> HostArray:
    """Numbers of all sizes; most are of those that functions are used with."""
    if dtype.kind == "b":
        return rng.random(count) < 0.5
    if dtype.kind == "c":
        part = dtype.type(0).real.dtype
        found = np.empty(count, dtype)
        found.real = random(part, count, rng)
        found.imag = random(part, count, rng)
        return found
    kind = rng.integers(0, 4, count)
    anything = rng.integers(0, 256, (count, dtype.itemsize), np.uint8)
    found = anything.view(dtype).ravel()
    if dtype.kind in "iu":
        small = rng.integers(-100 if dtype.kind == "i" else 0, 100, count)
        return np.where(kind < 2, small.astype(dtype), found)
    ways: tuple[Callable[[], HostArray], ...] = (
        lambda: rng.uniform(-1, 1, count),
        lambda: 8 * rng.standard_normal(count),
        lambda: np.ldexp(rng.uniform(-2, 2, count), rng.integers(-20, 20, count)),
    )
    with np.errstate(over="ignore"):
        for place, way in enumerate(ways, 1):
            found = np.where(kind == place, way().astype(dtype), found)
    # One that signals is not a value: the C library treats it as an error.
    found[np.isnan(found)] = np.nan
    return found


def adversarial(
    op: Op, dtypes: tuple[DType, ...], count: int, seed: int = 0
) -> list[HostArray]:
    """Operands: combinations of special values, and then ``count`` random ones.

    An exponent of an integer is never negative: the operation refuses it.
    """
    rng = np.random.default_rng(seed)
    axes = [special(dtype) for dtype in dtypes]
    total = math.prod([len(axis) for axis in axes])
    if total > LARGEST_MESH:
        chosen = rng.integers(0, total, LARGEST_MESH)
    else:
        chosen = np.arange(total)
    places = np.unravel_index(chosen, [len(axis) for axis in axes])
    found = []
    for axis, place, dtype in zip(axes, places, dtypes, strict=True):
        found.append(np.concatenate([axis[place], random(dtype, count, rng)]))
    if op.name == "power" and dtypes[1].kind == "i":
        found[1] = found[1] & np.iinfo(dtypes[1]).max
    return found
