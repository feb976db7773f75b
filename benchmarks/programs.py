"""Five NumPy programs, unchanged, through dcarray: ``python benchmarks/programs.py``.

On the CPU they are compared with NumPy, and with jax.jit where JAX is installed and the
program writes to no array; with ``--device cuda:0`` with CuPy.  Answers are compared,
too.  ``--npbench CHECKOUT`` runs the programs of NPBench (Ziogas et al. 2021) instead,
at the sizes of its paper.
"""

from __future__ import annotations

import importlib.util
import math
import statistics
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

import npbench_gpu
import numpy
from report import Row, milliseconds, parser, report

import dcarray as dc

Arrays = tuple[Any, ...]


# ------------------------------------------------------------------------ the programs
def black_scholes(np: Any, price: Any, strike: Any, years: Any) -> Any:
    """Call and put prices of options."""
    rate, volatility = 0.02, 0.3

    def normal(x: Any) -> Any:
        # Abramowitz and Stegun, formula 26.2.17.
        k = 1.0 / (1.0 + 0.2316419 * np.abs(x))
        series = k * (
            0.319381530
            + k
            * (-0.356563782 + k * (1.781477937 + k * (-1.821255978 + k * 1.330274429)))
        )
        tail = np.exp(-0.5 * x * x) * 0.3989422804014327 * series
        return np.where(x >= 0, 1.0 - tail, tail)

    root = volatility * np.sqrt(years)
    drift = rate + 0.5 * volatility * volatility
    first = (np.log(price / strike) + drift * years) / root
    second = first - root
    discounted = strike * np.exp(-rate * years)
    call = price * normal(first) - discounted * normal(second)
    return call, call - price + discounted


def k_means(np: Any, points: Any, centres: Any) -> Any:
    """Ten rounds of Lloyd's algorithm."""
    count = centres.shape[0]
    squares = (points * points).sum(axis=1, keepdims=True)
    for _ in range(10):
        distances = squares - 2.0 * (points @ centres.T) + (centres * centres).sum(1)
        nearest = distances.argmin(axis=1)
        chosen = nearest[:, None] == np.arange(count)
        weights = chosen.astype(points.dtype)
        centres = (weights.T @ points) / np.maximum(weights.sum(axis=0), 1.0)[:, None]
    return centres


def heat(np: Any, field: Any, steps: int) -> Any:
    """The heat equation in two dimensions."""
    new = field.copy()
    for _ in range(steps):
        new[1:-1, 1:-1] = field[1:-1, 1:-1] + 0.2 * (
            field[2:, 1:-1]
            + field[:-2, 1:-1]
            + field[1:-1, 2:]
            + field[1:-1, :-2]
            - 4.0 * field[1:-1, 1:-1]
        )
        field, new = new, field
    return field


def logistic_regression(np: Any, points: Any, labels: Any, steps: int) -> Any:
    """Gradient descent on the log loss."""
    weights = np.zeros(points.shape[1], dtype=points.dtype)
    for _ in range(steps):
        found = 1.0 / (1.0 + np.exp(-(points @ weights)))
        gradient = points.T @ (found - labels) / labels.shape[0]
        weights = weights - 0.5 * gradient
    return weights


def ray_marcher(np: Any, side: int) -> Any:
    """A sphere over a plane, by distance fields."""
    y, x = np.meshgrid(
        np.linspace(-1, 1, side, dtype=np.float32),
        np.linspace(-1, 1, side, dtype=np.float32),
        indexing="ij",
    )
    length = np.sqrt(x * x + y * y + 1.5 * 1.5)
    dx, dy, dz = x / length, y / length, 1.5 / length
    depth = np.zeros_like(x)
    for _ in range(48):
        px, py, pz = dx * depth, dy * depth, dz * depth - 3.0
        sphere = np.sqrt(px * px + py * py + pz * pz) - 1.0
        plane = py + 1.2
        depth = depth + np.minimum(sphere, plane)
        depth = np.minimum(depth, 20.0)
    px, py, pz = dx * depth, dy * depth, dz * depth - 3.0
    radius = np.maximum(np.sqrt(px * px + py * py + pz * pz), 1e-6)
    light = (0.5 * px + 0.7 * py - 0.5 * pz) / radius
    return np.where(depth < 19.9, np.maximum(light, 0.1), 0.0)


# ------------------------------------------------------------------------ their inputs
@dataclass(frozen=True)
class Case:
    """A program, and how to make its inputs from a generator and a scale."""

    name: str
    run: Callable[..., Any]
    arrays: Callable[[numpy.random.Generator, float], Arrays]
    rest: Callable[[float], Arrays] = lambda scale: ()
    rtol: float = 1e-5
    traced: bool = False
    """Whether JAX can trace it, and has something to compute from."""


def _options(rng: numpy.random.Generator, scale: float) -> Arrays:
    n = int(1e7 * scale)
    return (rng.uniform(50, 150, n), rng.uniform(50, 150, n), rng.uniform(0.1, 2, n))


def _clouds(rng: numpy.random.Generator, scale: float) -> Arrays:
    n = int(1e6 * scale)
    centres = rng.normal(0, 3, (16, 32))
    points = centres[rng.integers(0, 16, n)] + rng.normal(0, 1, (n, 32))
    return (points.astype(numpy.float32), points[:16].astype(numpy.float32))


def _plate(rng: numpy.random.Generator, scale: float) -> Arrays:
    side = int(4096 * math.sqrt(scale))
    return (rng.random((side, side), numpy.float32),)


def _labelled(rng: numpy.random.Generator, scale: float) -> Arrays:
    n = int(1e6 * scale)
    points = rng.normal(0, 1, (n, 64)).astype(numpy.float32)
    labels = points @ rng.normal(0, 1, 64).astype(numpy.float32) > 0
    return (points, labels.astype(numpy.float32))


CASES = (
    Case("Black-Scholes", black_scholes, _options, traced=True),
    Case("k-means", k_means, _clouds, rtol=1e-3, traced=True),
    Case("heat, 2-D", heat, _plate, lambda s: (max(10, int(500 * s)),), rtol=1e-4),
    Case(
        "logistic regression",
        logistic_regression,
        _labelled,
        lambda s: (max(10, int(100 * s)),),
        rtol=1e-3,
        traced=True,
    ),
    Case(
        "ray marcher",
        ray_marcher,
        lambda rng, scale: (),
        lambda s: (int(2048 * math.sqrt(s)),),
        rtol=1e-2,
    ),
)


# ---------------------------------------------------------------------------- the table
def _seconds(call: Callable[[], Any], finish: Callable[[Any], None]) -> float:
    begin = time.perf_counter()
    finish(call())
    return time.perf_counter() - begin


def measured(
    device: str, scale: float, rounds: int, least: float, mean: float
) -> Iterator[Row]:
    """The lines of the table."""
    cupy: Any = None
    if device.startswith("cuda"):
        import cupy
    peer: ModuleType | Any = cupy or numpy
    label = "CuPy" if cupy else "NumPy"

    def done(found: Any) -> None:
        results = found if isinstance(found, tuple) else (found,)
        dc.evaluate(*results)
        dc.synchronize()

    def peer_done(found: Any) -> None:
        if cupy:
            cupy.cuda.runtime.deviceSynchronize()

    speeds = []
    for case in CASES:
        host = case.arrays(numpy.random.default_rng(5), scale)
        rest = case.rest(scale)
        ours = [dc.asarray(x, device=device) for x in host]
        theirs = [peer.asarray(x) for x in host]

        def own(case: Case = case, ours: Any = ours, rest: Any = rest) -> Any:
            with dc.config(device=device):
                return case.run(dc, *[x + 0 for x in ours], *rest)

        def other(case: Case = case, theirs: Any = theirs, rest: Any = rest) -> Any:
            return case.run(peer, *[x + 0 for x in theirs], *rest)

        got, wanted = own(), other()
        done(got)
        same = all(
            numpy.allclose(_host(x), _host(y), rtol=case.rtol, atol=case.rtol)
            for x, y in zip(_many(got), _many(wanted), strict=True)
        )
        calls = {"dcarray": (own, done), label.lower(): (other, peer_done)}
        if case.traced and not cupy and importlib.util.find_spec("jax"):
            calls["jax"] = _traced(case, host, rest)
        samples: dict[str, list[float]] = {name: [] for name in calls}
        for _ in range(rounds):
            for name, (call, finish) in calls.items():
                samples[name].append(_seconds(call, finish))
        seconds = {name: statistics.median(found) for name, found in samples.items()}
        mine, its = seconds["dcarray"], seconds[label.lower()]
        speeds.append(its / mine)
        beside = f", {seconds['jax'] / mine:.2f}x jax.jit" if "jax" in seconds else ""
        yield Row(
            case.name,
            f"{milliseconds(mine)}, {its / mine:.2f}x {label}{beside}"
            + ("" if same else ", OTHER ANSWERS"),
            f"{least:g}x, same answers",
            same and its / mine >= least,
            seconds,
        )
    found_mean = statistics.geometric_mean(speeds)
    yield Row("geometric mean", f"{found_mean:.2f}x", f"{mean:g}x", found_mean >= mean)


def _traced(case: Case, host: Arrays, rest: Arrays) -> tuple[Any, Any]:
    """A call of JAX's, compiled, and how to wait for it."""
    import jax

    jax.config.update("jax_enable_x64", True)
    compiled = jax.jit(lambda *given: case.run(jax.numpy, *given, *rest))
    arrays = [jax.numpy.asarray(x) for x in host]
    jax.block_until_ready(compiled(*arrays))
    return lambda: compiled(*arrays), jax.block_until_ready


def _many(found: Any) -> Arrays:
    return found if isinstance(found, tuple) else (found,)


def _host(x: Any) -> Any:
    return x.get() if hasattr(x, "get") else x


def main() -> int:
    options = parser(__doc__)
    options.add_argument("--device", default="auto")
    options.add_argument("--scale", type=float, default=1.0, help="of the inputs")
    options.add_argument("--rounds", type=int, default=5)
    options.add_argument("--npbench", type=Path, metavar="CHECKOUT")
    options.add_argument("--only", nargs="+", default=(), help="programs of NPBench")
    given = options.parse_args()
    if given.npbench:
        programs = npbench_gpu.found(given.npbench, given.only)
        lines = npbench_gpu.measured(
            programs, ["paper"], given.device, given.rounds, limit=60.0, budget=1800.0
        )
        return report(
            f"NPBench, the paper's sizes, on {given.device}",
            lines,
            given,
            ("jax",),
        )
    is_gpu = given.device.startswith("cuda")
    least, mean = (1.0, 2.0) if is_gpu else (1.0, 1.6)
    lines = measured(given.device, given.scale, given.rounds, least, mean)
    return report(f"NumPy programs on {given.device}", lines, given, ("jax",))


if __name__ == "__main__":
    raise SystemExit(main())
