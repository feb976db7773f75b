"""Whole functions on small arrays beside NumPy: ``python benchmarks/small.py``.

Microseconds of a call, ours and NumPy's, for 16 and 200 elements and for 40 x 40.  The
difference is what dcarray costs.  Results are compared bit for bit.
"""

from __future__ import annotations

import argparse
import json
import statistics
import time
from collections.abc import Callable
from typing import Any

import numpy

import dcarray as dc

SIZES = {"16": (16,), "200": (200,), "40x40": (40, 40)}

CASES: dict[str, Callable[..., Any]] = {
    "dot(x, x)": lambda np, x, m: np.dot(x, x),
    "matmul(x, x)": lambda np, x, m: np.matmul(x, x),
    "x @ x": lambda np, x, m: x @ x,
    "vdot(x, x)": lambda np, x, m: np.vdot(x, x),
    "inner(x, x)": lambda np, x, m: np.inner(x, x),
    "outer(x, x)": lambda np, x, m: np.outer(x, x),
    "tensordot(x, x, 1)": lambda np, x, m: np.tensordot(x, x, 1),
    "einsum('...i,...i', x, x)": lambda np, x, m: np.einsum("...i,...i", x, x),
    "sum(x)": lambda np, x, m: np.sum(x),
    "sum(x, axis=0)": lambda np, x, m: np.sum(x, axis=0),
    "x.sum()": lambda np, x, m: x.sum(),
    "min(x)": lambda np, x, m: np.min(x),
    "max(x, axis=-1, keepdims=True)": lambda np, x, m: np.max(x, -1, keepdims=True),
    "x.max()": lambda np, x, m: x.max(),
    "mean(x)": lambda np, x, m: np.mean(x),
    "x.mean()": lambda np, x, m: x.mean(),
    "std(x)": lambda np, x, m: np.std(x),
    "prod(x)": lambda np, x, m: np.prod(x),
    "argmin(x)": lambda np, x, m: np.argmin(x),
    "argmax(x, axis=0)": lambda np, x, m: np.argmax(x, axis=0),
    "any(m)": lambda np, x, m: np.any(m),
    "all(m)": lambda np, x, m: np.all(m),
    "cumsum(x)": lambda np, x, m: np.cumsum(x),
    "diff(x)": lambda np, x, m: np.diff(x),
    "maximum(x, 0)": lambda np, x, m: np.maximum(x, 0),
    "where(m, x, 0)": lambda np, x, m: np.where(m, x, 0),
    "clip(x, -1, 1)": lambda np, x, m: np.clip(x, -1, 1),
    "zeros(40)": lambda np, x, m: np.zeros(40),
    "zeros(x.shape, x.dtype)": lambda np, x, m: np.zeros(x.shape, dtype=x.dtype),
    "empty(40)": lambda np, x, m: np.empty(40),
    "ones(40)": lambda np, x, m: np.ones(40),
    "full(40, 2.0)": lambda np, x, m: np.full(40, 2.0),
    "arange(40)": lambda np, x, m: np.arange(40),
    "linspace(0, 1, 40)": lambda np, x, m: np.linspace(0, 1, 40),
    "eye(8)": lambda np, x, m: np.eye(8),
    "zeros_like(x)": lambda np, x, m: np.zeros_like(x),
    "array([1.0, 2.0, 3.0])": lambda np, x, m: np.array([1.0, 2.0, 3.0]),
    "asarray(x)": lambda np, x, m: np.asarray(x),
    "copy(x)": lambda np, x, m: np.copy(x),
    "x.copy()": lambda np, x, m: x.copy(),
    "x.astype(float32)": lambda np, x, m: x.astype(np.float32),
    "flip(x)": lambda np, x, m: np.flip(x),
    "reshape(x, -1)": lambda np, x, m: np.reshape(x, -1),
    "x.reshape(-1, 4)": lambda np, x, m: x.reshape(-1, 4),
    "ravel(x)": lambda np, x, m: np.ravel(x),
    "transpose(x)": lambda np, x, m: np.transpose(x),
    "x.T": lambda np, x, m: x.T,
    "expand_dims(x, 0)": lambda np, x, m: np.expand_dims(x, 0),
    "concatenate((x, x))": lambda np, x, m: np.concatenate((x, x)),
    "stack((x, x))": lambda np, x, m: np.stack((x, x)),
    "hstack((x, x))": lambda np, x, m: np.hstack((x, x)),
    "tile(x, 2)": lambda np, x, m: np.tile(x, 2),
    "repeat(x, 2)": lambda np, x, m: np.repeat(x, 2),
    "roll(x, 1)": lambda np, x, m: np.roll(x, 1),
    "diag(x)": lambda np, x, m: np.diag(x),
    "triu(x)": lambda np, x, m: np.triu(x),
    "pad(x, 1)": lambda np, x, m: np.pad(x, 1),
    "linalg.norm(x)": lambda np, x, m: np.linalg.norm(x),
    "histogram(x, 8)": lambda np, x, m: np.histogram(x, 8),
    "nonzero(m)": lambda np, x, m: np.nonzero(m),
    "take(x, 3)": lambda np, x, m: np.take(x, 3),
    "sort(x)": lambda np, x, m: np.sort(x),
    "float64(x.sum())": lambda np, x, m: np.float64(x.sum()),
}


def microseconds(call: Callable[[], Any], rounds: int) -> float:
    """The median of several runs, of one call."""
    call()
    start = time.perf_counter()
    for _ in range(20):
        call()
    loops = max(20, int(1e-3 * 20 / (time.perf_counter() - start)))
    found = []
    for _ in range(rounds):
        start = time.perf_counter()
        for _ in range(loops):
            call()
        found.append((time.perf_counter() - start) / loops)
    return 1e6 * statistics.median(found)


def same(ours: Any, theirs: Any) -> bool:
    if isinstance(theirs, tuple):
        return all(same(x, y) for x, y in zip(ours, theirs, strict=True))
    found = numpy.asarray(ours)
    return (found.dtype, found.shape, found.tobytes()) == (
        theirs.dtype,
        theirs.shape,
        theirs.tobytes(),
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--size", choices=SIZES, action="append")
    parser.add_argument("--only", default="", help="cases whose text has this")
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--json", help="file for the figures")
    options = parser.parse_args()
    figures: dict[str, Any] = {}
    for size in options.size or SIZES:
        shape = SIZES[size]
        host = numpy.random.default_rng(1).normal(size=shape)
        mask = host > 0
        print(f"{size:32} {'dcarray us':>10} {'NumPy us':>10} {'more us':>9}")
        for name, case in CASES.items():
            if options.only not in name:
                continue
            x, m = dc.asarray(host), dc.asarray(mask)
            ours, theirs = case(dc, x, m), case(numpy, host, mask)
            assert "empty" in name or same(ours, theirs), name
            mine = microseconds(lambda: case(dc, x, m), options.rounds)  # noqa: B023
            other = microseconds(lambda: case(numpy, host, mask), options.rounds)  # noqa: B023
            print(f"{name:32} {mine:10.2f} {other:10.2f} {mine - other:9.2f}")
            figures[f"{name} of {size}"] = {"dcarray": mine, "numpy": other}
    if options.json:
        with open(options.json, "w") as file:
            json.dump(figures, file, indent=1)


if __name__ == "__main__":
    main()
