"""Whole functions beside NumPy's: ``python benchmarks/whole.py --json FILE``.

Products of matrices, sorting, Fourier transforms, indices, running sums, quantiles,
reductions that leave NaN out, and counting.  Every figure is a median; dcarray and
NumPy run in turn in the same process.
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
SIDE = 4096


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


def indices() -> Iterator[Row]:
    """Elements read and written at many places."""
    rng = np.random.default_rng(7)
    places = rng.integers(0, RUN, RUN)
    for dtype in (np.float32, np.float64):
        name = np.dtype(dtype).name
        x = rng.random(RUN).astype(dtype)
        values = rng.random(RUN).astype(dtype)
        keys = {np: (places, values, x > 0.5, values[x > 0.5])}
        keys[dc] = tuple(map(dc.asarray, keys[np]))

        def take(n: Any, x: Any, keys: Any = keys) -> Any:
            return n.take(x, keys[n][0])

        def read(n: Any, x: Any, keys: Any = keys) -> Any:
            return x[keys[n][0]]

        def put(n: Any, x: Any, keys: Any = keys) -> Any:
            x[keys[n][0]] = keys[n][1]
            return x

        def fill(n: Any, x: Any, keys: Any = keys) -> Any:
            x[keys[n][0]] = 0.5
            return x

        def masked(n: Any, x: Any, keys: Any = keys) -> Any:
            x[keys[n][2]] = keys[n][3]
            return x

        def cleared(n: Any, x: Any, keys: Any = keys) -> Any:
            x[keys[n][2]] = 0.5
            return x

        yield row(f"take, 1e7 {name}", 1, x, take, equal, 9)
        yield row("  x[places]", 1, x, read, equal, 9)
        yield row("  x[places] = values", 1, x.copy(), put, equal, 9)
        yield row("  x[places] = 0.5", 1, x.copy(), fill, equal, 9)
        yield row("  x[mask] = values", 1, x.copy(), masked, equal, 9)
        yield row("  x[mask] = 0.5", 1, x.copy(), cleared, equal, 9)


def running() -> Iterator[Row]:
    """Running sums and products."""
    rng = np.random.default_rng(7)
    for dtype in (np.float32, np.float64, np.int64):
        x = (1 + 1e-9 * rng.standard_normal(RUN)).astype(dtype)
        name = np.dtype(dtype).name
        yield row(f"cumsum, 1e7 {name}", 1, x, lambda n, x: n.cumsum(x), equal, 15)
        yield row("  cumprod", 1, x, lambda n, x: n.cumprod(x), equal, 15)
    x = rng.random((SIDE, SIDE), np.float32)
    for axis in (0, 1):

        def along(n: Any, x: Any, axis: int = axis) -> Any:
            return n.cumsum(x, axis=axis)

        yield row(f"cumsum of {SIDE}², axis {axis}", 1, x, along, equal, 9)


def statistics() -> Iterator[Row]:
    """Quantiles, and reductions that leave NaN out."""
    rng = np.random.default_rng(7)
    for dtype in (np.float32, np.float64):
        x = rng.random(RUN).astype(dtype)
        name = np.dtype(dtype).name
        yield row(f"median, 1e7 {name}", 1, x, lambda n, x: n.median(x), equal, 7)
        yield row("  percentile 90", 1, x, lambda n, x: n.percentile(x, 90), equal, 7)

        def several(n: Any, x: Any) -> Any:
            return n.quantile(x, [0.05, 0.25, 0.75, 0.95])

        yield row("  four quantiles", 1, x, several, equal, 7)
        yield row("  nanmedian", 1, x, lambda n, x: n.nanmedian(x), equal, 5)
    x = rng.random((SIDE, SIDE), np.float32)
    x[rng.random(x.shape) < 0.01] = np.nan
    for name in ("nansum", "nanmean", "nanmax", "nanstd", "nanargmin"):
        for axis in (0, 1, None):

            def reduce(n: Any, x: Any, name: str = name, axis: Any = axis) -> Any:
                return getattr(n, name)(x, axis=axis)

            yield row(f"{name} of {SIDE}², axis {axis}", 1, x, reduce, equal, 7)


def counts() -> Iterator[Row]:
    """Norms, counting, searching, places."""
    rng = np.random.default_rng(7)
    x = rng.random(RUN)
    yield row("norm, 1e7 float64", 1, x, lambda n, x: n.linalg.norm(x), near, 15)
    edges = np.sort(rng.random(1000))
    bins = {np: edges, dc: dc.asarray(edges)}
    for what, function in (
        ("count_nonzero", lambda n, x: n.count_nonzero(x)),
        ("count_nonzero(x > 0.5)", lambda n, x: n.count_nonzero(x > 0.5)),
        ("histogram of 100 bins", lambda n, x: n.histogram(x, 100)[0]),
        ("histogram of 1000 edges", lambda n, x: n.histogram(x, bins[n])[0]),
        ("searchsorted in 1000", lambda n, x: n.searchsorted(bins[n], x)),
        ("digitize by 1000", lambda n, x: n.digitize(x, bins[n])),
    ):
        yield row(f"{what}, 1e7 float64", 1, x, function, equal, 7)
    x = rng.random((SIDE, SIDE), np.float32)
    for name in ("argmin", "count_nonzero", "linalg.norm"):
        for axis in (0, 1) if name == "linalg.norm" else (0, 1, None):

            def reduce(n: Any, x: Any, name: str = name, axis: Any = axis) -> Any:
                for part in name.split("."):
                    n = getattr(n, part)
                return n(x, axis=axis)

            yield row(f"{name} of {SIDE}², axis {axis}", 1, x, reduce, equal, 9)


SECTIONS = {
    part.__name__: part
    for part in (products, orders, transforms, indices, running, statistics, counts)
}


def main() -> int:
    options = parser(__doc__)
    options.add_argument("--only", nargs="+", choices=SECTIONS, default=list(SECTIONS))
    given = options.parse_args()
    threads = len(os.sched_getaffinity(0))
    title = f"Whole functions, {threads} threads, NumPy {np.__version__}"
    rows = (row for name in given.only for row in SECTIONS[name]())
    return report(title, rows, given, ("llvmlite", "scipy"))


if __name__ == "__main__":
    sys.exit(main())
