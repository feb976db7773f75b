"""Bandwidth on a device with grids: ``python benchmarks/grid.py --device opencl:0``.

Every figure is a share of the bandwidth of a plain copy on the device, measured in the
same run: of calls in a row, what Python needs for each of them included, and by the
device's own clock.  Arrays have 10⁸ float32 by default.
"""

from __future__ import annotations

import argparse
import json
import statistics
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import dcarray as dc
from dcarray.backends.registry import backend_for

CALLS = 20
"""Calls that follow each other before the device is waited for."""


def median(call: Callable[[], object], wait: Callable[[], None], rounds: int) -> float:
    """Seconds of a call, in a row of calls."""
    call()
    call()
    wait()
    found = []
    for _ in range(rounds):
        begin = time.perf_counter()
        for _ in range(CALLS):
            call()
        wait()
        found.append((time.perf_counter() - begin) / CALLS)
    return statistics.median(found)


class Stopwatch:
    """Adds up the seconds that the device itself says kernels and copies took."""

    def __init__(self, backend: Any) -> None:
        import pyopencl as cl

        self._driver = cl
        self._events: list[Any] = []
        profiled = cl.command_queue_properties.PROFILING_ENABLE
        backend._queue = cl.CommandQueue(backend._context, properties=profiled)
        backend._cl = self

    def __getattr__(self, name: str) -> Any:
        return getattr(self._driver, name)

    def enqueue_nd_range_kernel(self, *arguments: Any, **options: Any) -> Any:
        event = self._driver.enqueue_nd_range_kernel(*arguments, **options)
        self._events.append(event)
        return event

    def enqueue_copy(self, *arguments: Any, **options: Any) -> Any:
        event = self._driver.enqueue_copy(*arguments, **options)
        self._events.append(event)
        return event

    def median(self, call: Callable[[], object], rounds: int) -> float:
        """Seconds of a call on the device."""
        found = []
        for _ in range(rounds):
            self._events.clear()
            call()
            for event in self._events:
                event.wait()
            spans = [event.profile.end - event.profile.start for event in self._events]
            found.append(1e-9 * sum(spans))
        return statistics.median(found)


def copier(backend: Any, nbytes: int) -> Callable[[], object]:
    """A copy of memory by the device's own driver."""
    source, target = backend.allocate(nbytes), backend.allocate(nbytes)
    return lambda: backend._cl.enqueue_copy(
        backend._queue, target.buffer, source.buffer, byte_count=nbytes
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--device", default="opencl:0")
    parser.add_argument("--size", type=int, default=10**8)
    parser.add_argument("--side", type=int, default=8192)
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--json", type=Path)
    given = parser.parse_args()
    backend: Any = backend_for(given.device)
    wait = backend.synchronize
    size, side = given.size, given.side
    rng = np.random.default_rng(7)
    a, b, c = (
        dc.asarray(rng.random(size, dtype=np.float32), device=given.device)
        for _ in range(3)
    )
    matrix = dc.asarray(rng.random((side, side), np.float32), device=given.device)
    copied = 2 * 4 * size
    copy = copier(backend, 4 * size)
    peak = copied / median(copy, wait, given.rounds)
    work: dict[str, tuple[int, Callable[[], object]]] = {
        "exp(a*b+c)*0.5-sqrt(a)": (
            4 * 4 * size,
            lambda: dc.evaluate(dc.exp(a * b + c) * 0.5 - dc.sqrt(a)),
        ),
        "a + b": (3 * 4 * size, lambda: dc.evaluate(a + b)),
        "sum, all axes": (4 * side * side, lambda: dc.sum(matrix)),
        "sum, axis 0": (4 * side * side, lambda: dc.sum(matrix, axis=0)),
        "sum, axis 1": (4 * side * side, lambda: dc.sum(matrix, axis=1)),
        "transpose, copied": (
            8 * side * side,
            lambda: dc.evaluate(dc.copy(matrix.T, order="C")),
        ),
    }
    seconds = {
        name: median(call, wait, given.rounds) for name, (_, call) in work.items()
    }
    watch = Stopwatch(backend)
    on_device = copied / watch.median(copy, given.rounds)
    print(f"{given.device}: a copy moves {peak / 1e9:.0f} GB/s")
    print(f"{'':26} {'in a row':>18} {'on the device':>18}")
    rows = {"copy": {"seconds": copied / peak, "share": 1.0, "device_share": 1.0}}
    for name, (nbytes, call) in work.items():
        inside = watch.median(call, given.rounds)
        share = nbytes / seconds[name] / peak
        device_share = nbytes / inside / on_device
        rows[name] = {
            "seconds": seconds[name],
            "share": share,
            "device_seconds": inside,
            "device_share": device_share,
        }
        print(
            f"{name:26} {1e3 * seconds[name]:8.3f} ms {100 * share:5.1f} %"
            f" {1e3 * inside:8.3f} ms {100 * device_share:5.1f} %"
        )
    if given.json:
        given.json.write_text(json.dumps(rows, indent=1))


if __name__ == "__main__":
    main()
