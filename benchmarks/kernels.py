"""Kernels of the user on the CPU, beside Numba's parallel loops where it is installed.

``python benchmarks/kernels.py [--json FILE]`` runs the kernels of `examples/kernels.py`
at sizes that matter, checks that both give the same, and measures

- seconds of a launch, for each contender;
- microseconds of a warm launch over 16 elements, which is Python alone (bar: 30 µs).

Exit status 1 if the bar is missed, or if answers differ.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from timing import in_turn

import dcarray as dc

BAR = 30e-6
EXAMPLE = Path(__file__).parents[1] / "examples" / "kernels.py"
Call = Callable[[], Any]


def example() -> Any:
    spec = importlib.util.spec_from_file_location("example_kernels", EXAMPLE)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@dc.kernel
def saxpy(x, y, out, a):
    i = dc.kernel.global_id(0)
    out[i] = a * x[i] + y[i]


def peers() -> dict[str, Any]:
    """The same kernels as loops for Numba."""
    import numba
    from numba import prange

    parallel = numba.njit(parallel=True)

    @parallel
    def axpy(x, y, out, a):
        for i in prange(x.size):
            out[i] = a * x[i] + y[i]

    @parallel
    def attraction(position, mass, force, softening):
        for i in prange(len(mass)):
            x = y = z = np.float32(0)
            for j in range(len(mass)):
                dx = position[j, 0] - position[i, 0]
                dy = position[j, 1] - position[i, 1]
                dz = position[j, 2] - position[i, 2]
                square = dx * dx + dy * dy + dz * dz + softening
                pull = mass[j] / (square * np.sqrt(square))
                x += pull * dx
                y += pull * dy
                z += pull * dz
            force[i, 0] = x
            force[i, 1] = y
            force[i, 2] = z

    @parallel
    def product(a, b, c):
        for i in prange(a.shape[0]):
            c[i] = 0
            for k in range(a.shape[1]):
                for j in range(b.shape[1]):
                    c[i, j] += a[i, k] * b[k, j]

    @parallel
    def heat(old, new, rate):
        rows, columns = old.shape
        for i in prange(rows):
            for j in range(columns):
                if i == 0 or j == 0 or i == rows - 1 or j == columns - 1:
                    new[i, j] = old[i, j]
                else:
                    around = old[i - 1, j] + old[i + 1, j]
                    around += old[i, j - 1] + old[i, j + 1]
                    new[i, j] = old[i, j] + rate * (around - 4 * old[i, j])

    return {
        "saxpy": axpy,
        "attraction": attraction,
        "product": product,
        "heat": heat,
    }


def cases() -> dict[str, tuple[Call, Callable[[Any], Call], Any, Any]]:
    """By name: our launch, how to call a peer, and where the two leave their answer."""
    own = example()
    random = np.random.default_rng(1)

    def floats(*shape: int) -> Any:
        return random.random(shape, np.float32)

    def empty(*shape: int) -> tuple[Any, Any]:
        return dc.zeros(shape, dtype=np.float32), np.zeros(shape, np.float32)

    found: dict[str, Any] = {}
    x, y = floats(10_000_000), floats(10_000_000)
    out, out_peer = empty(10_000_000)
    given = dc.asarray(x), dc.asarray(y)
    two, soft, rate = np.float32(2), np.float32(1e-3), np.float32(0.2)
    found["saxpy"] = (
        lambda: saxpy(*given, out, two),
        lambda peer: lambda: peer(x, y, out_peer, two),
        out,
        out_peer,
    )
    bodies, mass = floats(4096, 3), floats(4096)
    force, force_peer = empty(4096, 3)
    system = dc.asarray(bodies), dc.asarray(mass)
    found["attraction"] = (
        lambda: own.attraction(*system, force, soft, size=4096),
        lambda peer: lambda: peer(bodies, mass, force_peer, soft),
        force,
        force_peer,
    )
    a, b = floats(512, 512), floats(512, 512)
    c, c_peer = empty(512, 512)
    sides = dc.asarray(a), dc.asarray(b)
    found["product"] = (
        lambda: own.product[(512, 512), (16, 16)](*sides, c),
        lambda peer: lambda: peer(a, b, c_peer),
        c,
        c_peer,
    )
    plate = floats(2048, 2048)
    warmer, warmer_peer = empty(2048, 2048)
    cold = dc.asarray(plate)
    found["heat"] = (
        lambda: own.heat(cold, warmer, rate),
        lambda peer: lambda: peer(plate, warmer_peer, rate),
        warmer,
        warmer_peer,
    )
    return found


def warm() -> float:
    """Seconds of a launch that has next to nothing to do."""
    x, y, out = (dc.ones(16, dtype=np.float32) for _ in range(3))
    return in_turn({"launch": lambda: saxpy(x, y, out, 2.0)}, seconds=1.0)["launch"]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    try:
        others = peers()
    except ImportError:
        others = {}
    results: dict[str, dict[str, float]] = {}
    same = True
    print(f"{'kernel':12} {'dcarray':>12} {'Numba':>12}   dcarray / Numba")
    for name, (call, calling, out, out_peer) in cases().items():
        contenders = {"dcarray": call}
        if name in others:
            contenders["numba"] = calling(others[name])
        found = results[name] = in_turn(contenders, rounds=7, seconds=2.0)
        line = f"{name:12} {1e3 * found['dcarray']:9.2f} ms"
        if "numba" in found:
            ratio = found["dcarray"] / found["numba"]
            line += f" {1e3 * found['numba']:9.2f} ms   {ratio:.2f}"
            alike = np.allclose(out, out_peer, rtol=1e-4, atol=1e-4)
            line += "" if alike else "   DIFFERENT"
            same = same and alike
        print(line)
    launch = warm()
    results["launch"] = {"dcarray": launch}
    print(f"{'launch':12} {1e6 * launch:9.1f} µs   bar {1e6 * BAR:.0f} µs")
    if options.json:
        options.json.write_text(json.dumps(results, indent=1) + "\n")
    return int(launch > BAR or not same)


if __name__ == "__main__":
    sys.exit(main())
