"""Whole functions beside NumPy's: ``python benchmarks/whole.py --json FILE``.

Products of matrices, sorting and Fourier transforms.  Every figure is a median; dcarray
and NumPy run in turn in the same process.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from report import Row, milliseconds, parser, report
from timing import in_turn

import dcarray as dc

Call = Callable[[Any, Any], Any]

RUN = 10_000_000


def row(what: str, bar: float, x: Any, function: Call, same: Any, rounds: int) -> Row:
    """One line: ``function(module, array)`` of both; ``same`` compares results."""
    a = dc.asarray(x)
    right = bool(same(np.asarray(function(dc, a)), np.asarray(function(np, x))))

    def ours() -> None:
        dc.evaluate(function(dc, a))

    times = in_turn({"dcarray": ours, "numpy": lambda: function(np, x)}, rounds)
    ratio = times["numpy"] / times["dcarray"]
    verdict = "" if right else ", the result DIFFERS"
    return Row(
        what,
        f"{milliseconds(times['dcarray'])} : {milliseconds(times['numpy'])} = "
        f"{ratio:.2f} x{verdict}",
        f">= {bar} x",
        right and ratio >= bar,
        dict(times),
    )


def near(found: Any, wanted: Any) -> bool:
    """Whether floats agree within the rounding of sums."""
    digits = np.finfo(found.dtype).precision
    error = 10.0 ** (2 - digits) * float(np.abs(wanted).max())
    return bool(np.allclose(found, wanted, 0, error))


def equal(found: Any, wanted: Any) -> bool:
    return bool(np.array_equal(found, wanted, equal_nan=found.dtype.kind == "f"))


def products() -> Iterator[Row]:
    rng = np.random.default_rng(7)

    def square(n: Any, x: Any) -> Any:
        return n.matmul(x, x)

    def transposed(n: Any, x: Any) -> Any:
        return n.matmul(x.T, x)

    numbers = rng.integers(-128, 128, (1024, 1024))
    yield row("int8 matmul 1024²", 10, numbers.astype(np.int8), square, equal, 3)
    whole = rng.integers(-(2**31), 2**31, (1024, 1024), np.int32)
    yield row("  int32, all bits", 1, whole, square, equal, 3)
    halves = rng.random((1024, 1024)).astype(np.float16)
    yield row("float16 matmul 1024²", 10, halves, square, near, 3)
    for dtype in (np.float32, np.float64):
        x = rng.random((2048, 2048)).astype(dtype)
        name = np.dtype(dtype).name
        yield row(f"{name} matmul 2048²", 0.97, x, square, equal, 15)
        yield row("  transposed", 0.97, x, transposed, equal, 15)


def orders() -> Iterator[Row]:
    rng = np.random.default_rng(7)
    for dtype in (np.float32, np.int64):
        x = (1e6 * rng.standard_normal(RUN)).astype(dtype)
        name = np.dtype(dtype).name
        yield row(f"sort, 1e7 {name}", 1.5, x, lambda n, x: n.sort(x), equal, 9)

        def in_order(found: Any, wanted: Any, x: Any = x) -> bool:
            """NumPy's order is not stable."""
            right = np.argsort(x, kind="stable")
            return equal(found, right) and equal(x[found], x[wanted])

        yield row("  argsort", 1.5, x, lambda n, x: n.argsort(x), in_order, 5)
        yield row("  unique", 1.5, x, lambda n, x: n.unique(x), equal, 3)


def transforms() -> Iterator[Row]:
    rng = np.random.default_rng(7)
    for dtype in (np.float32, np.float64, np.complex128):
        x = rng.standard_normal(1 << 20).astype(dtype)
        what = f"fft of 2^20, {np.dtype(dtype).name}"
        yield row(what, 1.3, x, lambda n, x: n.fft.fft(x), near, 15)
    for dtype in (np.float32, np.float64):
        x = rng.standard_normal((2048, 2048)).astype(dtype)
        what = f"rfft2 of 2048², {np.dtype(dtype).name}"
        yield row(what, 1.3, x, lambda n, x: n.fft.rfft2(x), near, 15)


def measure() -> Iterator[Row]:
    yield from products()
    yield from orders()
    yield from transforms()


def main() -> int:
    options = parser(__doc__).parse_args()
    threads = len(os.sched_getaffinity(0))
    title = f"Whole functions, {threads} threads, NumPy {np.__version__}"
    return report(title, measure(), options, ("llvmlite", "scipy"))


if __name__ == "__main__":
    sys.exit(main())
