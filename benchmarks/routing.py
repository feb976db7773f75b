"""Whether ``auto`` chooses well between the CPU and a GPU.

For operations, sizes and places of the data, three times are taken: on the CPU alone,
on the GPU alone, and as ``auto`` chooses; transfers are in them.  The table says how
often ``auto`` is within 10 % of the better one, and where it is worst.

    python benchmarks/routing.py --device cuda:0 --json routing.json
"""

from __future__ import annotations

import argparse
import json
import platform
import statistics
import time
from collections.abc import Callable
from typing import Any

import numpy as np

import dcarray as dc
from dcarray.lazy import route

SECONDS = 0.15
"""For each time, at least three calls of it."""


def chain(x: Any) -> Any:
    return dc.exp(x * x + x) * 0.5 - dc.sqrt(x)


OPERATIONS: dict[str, tuple[Callable[[Any], Any], int]] = {
    "a+b": (lambda x: x + x, 10**8),
    "chain": (chain, 10**8),
    "sum": (lambda x: x.sum(), 10**8),
    "sum of a chain": (lambda x: chain(x).sum(), 10**8),
    "mean axis 0": (lambda x: x.reshape(-1, 100).mean(axis=0), 10**8),
    "cumulative sum": (lambda x: dc.cumulative_sum(x), 10**8),
    "mask": (lambda x: x[x > 0.5], 10**8),
    "sort": (lambda x: dc.sort(x), 10**7),
    "matmul": (lambda x: square(x) @ square(x), 10**7),
}


def square(x: Any) -> Any:
    side = int(x.size**0.5)
    return x[: side * side].reshape(side, side)


def timed(
    prepare: Callable[[], Any], call: Callable[[Any], Any], labels: list[str]
) -> float:
    """The median of calls on fresh arrays, with the devices that ``auto`` has."""
    seconds = []
    began = time.perf_counter()
    while len(seconds) < 4 or time.perf_counter() - began < SECONDS:
        x = prepare()
        dc.synchronize()
        route.auto_devices[:] = labels
        start = time.perf_counter()
        y = call(x)
        dc.evaluate(y)
        dc.synchronize()
        seconds.append(time.perf_counter() - start)
        route.auto_devices[:] = ["cpu"]
        del x, y
        took = time.perf_counter() - began
        if len(seconds) == 25 or (len(seconds) > 2 and took > 4 * SECONDS):
            break
    return statistics.median(seconds[1:] or seconds)


def places(host: Any, device: str) -> dict[str, Callable[[], Any]]:
    """How fresh arrays on ``auto`` are made, by where their data is."""

    def on_device() -> Any:
        route.auto_devices[:] = [device]
        with dc.config(small_array=0, lazy="always"):
            x = dc.asarray(host) * 1
            dc.evaluate(x)
        return x

    return {"host": lambda: dc.asarray(host), "device": on_device}


def table(device: str) -> list[dict[str, Any]]:
    """All times, printed as they are taken."""
    rng = np.random.default_rng(0)
    rows = []
    for name, (function, largest) in OPERATIONS.items():
        size = 100
        while size <= largest:
            host = rng.random(size, dtype=np.float32)
            for place, prepare in places(host, device).items():
                cpu = timed(prepare, function, ["cpu"])
                gpu = timed(prepare, function, [device])
                auto = timed(prepare, function, ["cpu", device])
                regret = auto / min(cpu, gpu)
                figures = {"cpu": cpu, "device": gpu, "auto": auto, "regret": regret}
                rows.append(
                    {"operation": name, "size": size, "place": place, **figures}
                )
                print(
                    f"{name:16}{size:>10} {place:7}{cpu * 1e6:>11.1f}{gpu * 1e6:>11.1f}"
                    f"{auto * 1e6:>11.1f} µs{regret:>7.2f}",
                    flush=True,
                )
            size *= 10
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--device", default="cuda:0")
    parser.add_argument("--json")
    chosen = parser.parse_args()
    facts = dc.Device(chosen.device).properties()
    print(f"{facts.name}; {platform.processor() or platform.machine()}")
    head = ("operation", "size", "data", "CPU", chosen.device, "auto", "regret")
    print("{:16}{:>10} {:7}{:>11}{:>11}{:>11}{:>10}".format(*head))
    rows = table(chosen.device)
    near = sum([row["regret"] <= 1.1 for row in rows])
    # Below this, what the clock and the machine add is more than a choice can.
    long = [row for row in rows if row["auto"] > 1e-4]
    worst = max(rows, key=lambda row: row["regret"])
    print(f"within 10 % of the better one: {near} of {len(rows)}", end="; ")
    print(
        f"of those longer than 0.1 ms, {sum([r['regret'] <= 1.1 for r in long])} of "
        f"{len(long)}"
    )
    print(
        f"worst: {worst['operation']}, {worst['size']}, data on the {worst['place']}: "
        f"{worst['regret']:.2f} times as long"
    )
    if chosen.json:
        with open(chosen.json, "w", encoding="utf-8") as file:
            json.dump({"device": facts.name, "rows": rows}, file, indent=1)


if __name__ == "__main__":
    main()
