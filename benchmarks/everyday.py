"""Everyday array code beside NumPy and Numba: ``python benchmarks/everyday.py``.

Reductions, normalising, windows, stencils and iterations, unchanged NumPy source.
Every figure is a median; contenders run in turn in the same process, results are
compared bit for bit.
"""

from __future__ import annotations

import os
import statistics
import sys
from collections.abc import Callable, Iterator
from typing import Any

import numpy
from peers import installed
from programs import black_scholes
from report import Row, milliseconds, parser, report
from timing import in_turn

import dcarray as dc

HostArray = numpy.ndarray[Any, Any]
Program = Callable[..., Any]

SIDE = 4096
RUN = 10_000_000


# ------------------------------------------------------------------------ the programs
def standardised(np: Any, a: Any) -> Any:
    return (a - a.mean(0)) / a.std(0)


def softmax(np: Any, a: Any) -> Any:
    powers = np.exp(a - a.max(axis=1, keepdims=True))
    return powers / powers.sum(axis=1, keepdims=True)


def distances(np: Any, a: Any, b: Any) -> Any:
    """Between all pairs of points."""
    return np.sqrt(((a[:, None, :] - b[None, :, :]) ** 2).sum(axis=-1))


def moving_average(np: Any, a: Any) -> Any:
    """Of 8 neighbours."""
    total = a[:-7].copy()
    for shift in range(1, 8):
        total += a[shift : a.shape[0] - 7 + shift]
    return total / 8


def masked_sum(np: Any, a: Any) -> Any:
    return a[a > 0.5].sum()


def jacobi(np: Any, field: Any, steps: int) -> Any:
    new = field.copy()
    for _ in range(steps):
        new[1:-1, 1:-1] = 0.25 * (
            field[2:, 1:-1] + field[:-2, 1:-1] + field[1:-1, 2:] + field[1:-1, :-2]
        )
        field, new = new, field
    return field


def heat(np: Any, u: Any, steps: int) -> Any:
    """In three dimensions."""
    inner = (slice(1, -1),) * 3
    new = u.copy()
    for _ in range(steps):
        new[inner] = u[inner] + 0.1 * (
            u[2:, 1:-1, 1:-1]
            + u[:-2, 1:-1, 1:-1]
            + u[1:-1, 2:, 1:-1]
            + u[1:-1, :-2, 1:-1]
            + u[1:-1, 1:-1, 2:]
            + u[1:-1, 1:-1, :-2]
            - 6.0 * u[inner]
        )
        u, new = new, u
    return u


def mandelbrot(np: Any, x: Any, y: Any, steps: int) -> Any:
    """How many steps each point of the plane stays near."""
    c = x[None, :] + 1j * y[:, None]
    z = np.zeros_like(c)
    counts = np.zeros(c.shape, np.int32)
    for _ in range(steps):
        near = z.real * z.real + z.imag * z.imag < 4.0
        counts += near
        z = np.where(near, z * z + c, z)
    return counts


# ------------------------------------------------------------------------------- Numba
def _compiled() -> dict[str, Program]:
    """The last four, as one writes them for Numba."""
    import math

    from numba import njit, prange

    @njit(parallel=True)
    def jacobi(field: Any, steps: Any) -> Any:
        new = field.copy()
        quarter = numpy.float32(0.25)
        for _ in range(steps):
            for i in prange(1, field.shape[0] - 1):
                for j in range(1, field.shape[1] - 1):
                    new[i, j] = quarter * (
                        field[i + 1, j]
                        + field[i - 1, j]
                        + field[i, j + 1]
                        + field[i, j - 1]
                    )
            field, new = new, field
        return field

    @njit(parallel=True)
    def heat(u: Any, steps: Any) -> Any:
        new = u.copy()
        tenth, six = numpy.float32(0.1), numpy.float32(6.0)
        for _ in range(steps):
            for i in prange(1, u.shape[0] - 1):
                for j in range(1, u.shape[1] - 1):
                    for k in range(1, u.shape[2] - 1):
                        new[i, j, k] = u[i, j, k] + tenth * (
                            u[i + 1, j, k]
                            + u[i - 1, j, k]
                            + u[i, j + 1, k]
                            + u[i, j - 1, k]
                            + u[i, j, k + 1]
                            + u[i, j, k - 1]
                            - six * u[i, j, k]
                        )
            u, new = new, u
        return u

    @njit(parallel=True)
    def mandelbrot(x: Any, y: Any, steps: Any) -> Any:
        # The same work: every point takes all the steps.
        counts = numpy.zeros((y.size, x.size), numpy.int32)
        for i in prange(y.size):
            for j in range(x.size):
                c = complex(x[j], y[i])
                z = 0j
                for _ in range(steps):
                    if z.real * z.real + z.imag * z.imag < 4.0:
                        counts[i, j] += 1
                        z = z * z + c
        return counts

    @njit
    def normal(x: Any) -> Any:
        k = 1.0 / (1.0 + 0.2316419 * abs(x))
        series = k * (
            0.319381530
            + k
            * (-0.356563782 + k * (1.781477937 + k * (-1.821255978 + k * 1.330274429)))
        )
        tail = math.exp(-0.5 * x * x) * 0.3989422804014327 * series
        return 1.0 - tail if x >= 0 else tail

    @njit(parallel=True)
    def options(price: Any, strike: Any, years: Any) -> Any:
        call, put = numpy.empty_like(price), numpy.empty_like(price)
        rate, volatility = 0.02, 0.3
        drift = rate + 0.5 * volatility * volatility
        for i in prange(price.size):
            root = volatility * math.sqrt(years[i])
            first = (math.log(price[i] / strike[i]) + drift * years[i]) / root
            discounted = strike[i] * math.exp(-rate * years[i])
            call[i] = price[i] * normal(first) - discounted * normal(first - root)
            put[i] = call[i] - price[i] + discounted
        return call, put

    return {
        "Jacobi 2048², 100 steps": jacobi,
        "heat 128³, 100 steps": heat,
        "Mandelbrot 1000², 50 steps": mandelbrot,
        "Black-Scholes 1e7": options,
    }


# --------------------------------------------------------------------------- the table
def _ratio(
    what: str, program: Program, arrays: list[HostArray], *rest: Any, peer: Any = None
) -> tuple[dict[str, float], bool]:
    """Seconds of dcarray, NumPy and perhaps Numba, and whether bits are the same."""
    mine = [dc.asarray(x) for x in arrays]

    def ours() -> Any:
        found = program(dc, *mine, *rest)
        dc.evaluate(*_many(found))
        return found

    def theirs() -> Any:
        return program(numpy, *arrays, *rest)

    same = _bytes(ours()) == _bytes(theirs())
    calls = {"dcarray": ours, "numpy": theirs}
    if peer is not None:
        calls["numba"] = lambda: peer(*arrays, *rest)
    return in_turn(calls, rounds=9), same


def _bytes(found: Any) -> list[bytes]:
    """Of all results; what NumPy shows of them is gone afterwards."""
    return [numpy.asarray(x).tobytes() for x in _many(found)]


def _many(found: Any) -> tuple[Any, ...]:
    return found if isinstance(found, tuple) else (found,)


def _line(
    what: str, times: dict[str, float], same: bool, least: float, numba: float = 0.0
) -> Row:
    ratio = times["numpy"] / times["dcarray"]
    listed = f"{milliseconds(times['dcarray'])}, {ratio:.2f} x NumPy"
    bar = f">= {least:g} x, same bits" if least else "same bits"
    met = same and ratio >= least
    if "numba" in times:
        beside = times["numba"] / times["dcarray"]
        listed += f", {beside:.2f} x Numba"
        bar += f", >= {numba:g} x Numba"
        met = met and beside >= numba
    return Row(what, listed + ("" if same else ", bits DIFFER"), bar, met, dict(times))


def reductions() -> Iterator[Row]:
    a = numpy.random.default_rng(7).standard_normal((SIDE, SIDE), numpy.float32)
    ratios = []
    for name in ("sum", "mean", "var", "max", "argmax"):
        for axis in (0, 1, None):

            def reduce(np: Any, a: Any, name: str = name, axis: Any = axis) -> Any:
                return getattr(np, name)(a, axis=axis)

            what = f"{name} of {SIDE}², axis {axis}"
            times, same = _ratio(what, reduce, [a])
            ratios.append(times["numpy"] / times["dcarray"])
            yield _line(what, times, same, 1.0)
    mean = statistics.geometric_mean(ratios)
    yield Row("  geometric mean", f"{mean:.2f} x", ">= 1.5 x", mean >= 1.5)


def pieces() -> Iterator[Row]:
    rng = numpy.random.default_rng(7)
    a = rng.random((SIDE, SIDE), numpy.float32)
    run = rng.random(RUN, numpy.float32)
    points = rng.random((2, 4000, 8), numpy.float32)
    for what, program, arrays in (
        ("(a - a.mean(0)) / a.std(0)", standardised, [a]),
        ("softmax of rows", softmax, [a]),
        ("distances, 4000 x 4000 x 8", distances, [points[0], points[1]]),
        ("moving average of 1e7", moving_average, [run]),
        ("a[a > 0.5].sum(), 1e7", masked_sum, [run]),
    ):
        yield _line(what, *_ratio(what, program, arrays), 2.0)


def iterations() -> Iterator[Row]:
    rng = numpy.random.default_rng(7)
    compiled = _compiled() if installed()["numba"] else {}
    x = numpy.linspace(-2.25, 0.75, 1000)
    y = numpy.linspace(-1.25, 1.25, 1000)
    options = [rng.uniform(*r, RUN) for r in ((50, 150), (50, 150), (0.1, 2))]
    plate = rng.random((2048, 2048), numpy.float32)
    block = rng.random((128, 128, 128), numpy.float32)
    for what, program, arrays, rest in (
        ("Jacobi 2048², 100 steps", jacobi, [plate], (100,)),
        ("heat 128³, 100 steps", heat, [block], (100,)),
        ("Mandelbrot 1000², 50 steps", mandelbrot, [x, y], (50,)),
        ("Black-Scholes 1e7", black_scholes, options, ()),
    ):
        peer = compiled.get(what)
        yield _line(what, *_ratio(what, program, arrays, *rest, peer=peer), 3.0, 0.9)


def main() -> int:
    options = parser(__doc__)
    options.add_argument("--only", choices=("reductions", "pieces", "iterations"))
    given = options.parse_args()
    threads = len(os.sched_getaffinity(0))
    os.environ.setdefault("NUMBA_NUM_THREADS", str(threads))
    parts = {"reductions": reductions, "pieces": pieces, "iterations": iterations}
    chosen = [parts[given.only]] if given.only else list(parts.values())
    rows = (row for part in chosen for row in part())
    title = f"Everyday array code, {threads} threads, NumPy {numpy.__version__}"
    return report(title, rows, given, ("llvmlite", "numba"))


if __name__ == "__main__":
    sys.exit(main())
