"""Operands for functions of ``config(math="fast")``, and what they should give."""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np

__all__ = ["BINARY", "exact", "operands"]

HostArray = np.ndarray[Any, Any]

BINARY = ("arctan2", "hypot", "power")

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


NEAR_PI = (45.553093477052, 14461176.67027838, 252.89820861816406, 52516.43359375)
"""The doubles below 2**40, and the floats below 2**16, that are nearest to multiples of
pi / 2: from continued fractions of pi / 2**k."""


def special(dtype: Any) -> HostArray:
    info = np.finfo(dtype)
    least = info.smallest_subnormal
    found = [0.0, 1.0, 0.5, 2.0, 3.0, np.inf, np.nan, info.max, info.tiny, info.eps]
    found += [least, 2 * least, 5 * least, info.tiny / 3]
    found += [1 + info.eps, 1 - info.eps / 2]
    one = np.array(found, dtype)
    return np.concatenate([one, -one])


def one_side(name: str, dtype: Any, seed: int, n: int) -> HostArray:
    rng = np.random.default_rng(seed)
    size = np.dtype(dtype).itemsize
    near = np.array(EDGES.get(name, (0.70710678, 1.41421356)))[:, np.newaxis]
    parts = [
        np.array(NEAR_PI),
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


def pairs(name: str, dtype: Any, seed: int, n: int) -> list[HostArray]:
    edges = [*itertools.product(special(dtype), repeat=2)]
    x, y = (np.array(side, dtype) for side in zip(*edges, strict=True))
    a, b = one_side(name, dtype, seed, n), one_side(name, dtype, seed + 1, n)
    rng = np.random.default_rng(seed + 2)
    rng.shuffle(b)
    # Of alike size, and powers that are numbers.
    positive = np.exp(rng.uniform(-80, 80, 2 * n)).astype(dtype)
    scale = np.log2(np.finfo(dtype).max) / np.log2(positive.astype(np.float64))
    with np.errstate(all="ignore"):
        alike = (a * rng.uniform(0.2, 5, a.size)).astype(dtype)
        exponent = (rng.uniform(-1, 1, 2 * n) * scale).astype(dtype)
    return [
        np.concatenate([x, a, a, positive]),
        np.concatenate([y, b, alike, exponent]),
    ]


def operands(name: str, dtype: Any, seed: int, n: int) -> list[HostArray]:
    """For each operand of a function an array: special values, those near which a body
    takes another way, and some ten times ``n`` at random."""
    if name in BINARY:
        return pairs(name, dtype, seed, n)
    return [one_side(name, dtype, seed, n)]


def exact(name: str, given: list[HostArray], wider: Any) -> HostArray:
    """The function in a wider format; erf in that of Python."""
    with np.errstate(all="ignore"):
        if name == "erf":
            return np.array([math.erf(x) for x in given[0]], wider)
        found: HostArray = getattr(np, name)(*[x.astype(wider) for x in given])
        return found
