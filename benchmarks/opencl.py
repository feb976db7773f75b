"""What OpenCL costs before a kernel runs: ``python benchmarks/opencl.py --json FILE``.

- *Dispatch*: an expression of 16 elements, evaluated through the public API and waited
  for, beside an empty kernel that is enqueued and waited for.  How long the wait takes
  depends on what else the machine does; so the time of the dispatching thread is told
  as well (bar: 50 µs more than for an empty kernel), and how much of it the backend and
  the driver take.
- *Cache*: the first use of an expression in a process without a cache, in one that
  finds its kernels on disk, and the next use.  A second process compiles nothing.

``--device`` names another device than ``opencl:0``.
"""

from __future__ import annotations

import os
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
from report import Row, milliseconds, parser, report
from timing import in_child, in_turn

import dcarray as dc
from dcarray.backends.registry import backend_for

BAR = 50e-6

EMPTY = "__kernel void nothing(__global float *x) {}"


# ---------------------------------------------------------------------------- dispatch
def empty_launch(backend: Any) -> Callable[[], None]:
    """A kernel that does nothing, enqueued by the driver alone."""
    cl, queue = backend._cl, backend._queue
    function = cl.Program(backend._context, EMPTY).build().nothing
    memory = cl.Buffer(backend._context, cl.mem_flags.READ_WRITE, 64)
    function.set_args(memory)

    def start(kept: object = memory) -> None:  # a function does not keep its arguments
        cl.enqueue_nd_range_kernel(queue, function, (64,), (64,))

    return start


def expressions(device: str) -> dict[str, Callable[[], object]]:
    """What is dispatched; a sum of many elements takes two launches."""
    a, b, c = (
        dc.asarray(np.full(16, 0.5, np.float32), device=device) for _ in range(3)
    )
    many = dc.ones((1 << 16,), dtype=dc.float32, device=device)
    dc.evaluate(many)
    return {
        "a + b": lambda: dc.evaluate(a + b),
        "exp(a*b+c)*0.5-sqrt(a)": lambda: dc.evaluate(
            dc.exp(a * b + c) * 0.5 - dc.sqrt(a)
        ),
        "sum(a)": lambda: dc.sum(a),
        "sum of 65536": lambda: dc.sum(many),
    }


def on_this_thread(call: Callable[[], object], wait: Callable[[], None]) -> float:
    """Seconds of this thread alone, whatever else runs: the least of many samples."""
    found = []
    for _ in range(40):
        start = time.thread_time()
        for _ in range(50):
            call()
        found.append((time.thread_time() - start) / 50)
        wait()
    return min(found)


def dispatch_rows(device: str) -> Iterator[Row]:
    """The time of a dispatch beyond that of an empty launch, and where it goes."""
    backend: Any = backend_for(device)
    wait = backend.synchronize
    empty, work = empty_launch(backend), expressions(device)

    def waited(call: Callable[[], object]) -> Callable[[], None]:
        def both() -> None:
            call()
            wait()

        return both

    contenders = {"empty": waited(empty), **{n: waited(f) for n, f in work.items()}}
    times = in_turn(contenders, rounds=31)
    base, least = times["empty"], on_this_thread(empty, wait)
    yield Row(
        "an empty kernel, enqueued and waited for",
        f"{milliseconds(base)}; {milliseconds(least)} of this thread without the wait",
    )
    for name, call in work.items():
        beyond = times[name] - base
        yield Row(
            name,
            f"{milliseconds(times[name])}, {milliseconds(beyond)} beyond",
            figures={"seconds": times[name], "beyond": beyond},
        )
        alone = on_this_thread(call, wait)
        launch, function = parts(backend, call)
        is_first = name == "a + b"
        yield Row(
            "  this thread without the wait",
            f"{milliseconds(alone)}; of these, backend {milliseconds(launch)}, "
            f"of these, driver {milliseconds(function)}",
            "<= 50 µs beyond an empty kernel" if is_first else "",
            alone - least <= BAR if is_first else None,
            {"host": alone, "backend": launch, "driver": function},
        )


def parts(backend: Any, call: Callable[[], object]) -> tuple[float, float]:
    """Seconds that a call spends in the backend's launch, and in starting functions."""
    launches: list[tuple[Any, ...]] = []
    enqueued: list[tuple[Any, ...]] = []
    backend.launch = lambda *given: launches.append(given) or ()
    try:
        with dc.profile():  # what is watched is launched anew
            call()
    finally:
        del backend.launch
    own, prepared = backend.enqueue, launches[-1][0]._prepared
    prepared.clear()
    backend.enqueue = lambda *given: enqueued.append(given)
    try:
        backend.launch(*launches[-1])
    finally:
        del backend.enqueue
        prepared.clear()

    def start() -> None:
        for given in enqueued:
            own(*given)

    launch = on_this_thread(lambda: backend.launch(*launches[-1]), backend.synchronize)
    return launch, on_this_thread(start, backend.synchronize)


# ------------------------------------------------------------------------------- cache
USE = """
import time
import numpy as np
import dcarray as dc
from dcarray.backends.registry import backend_for
backend = backend_for({device!r})
a, b, c = (dc.ones(100_000, dtype=dc.float32, device={device!r}) for _ in range(3))
dc.evaluate(a, b, c)
backend.synchronize()
def use():
    with dc.profile() as found:
        start = time.perf_counter()
        dc.evaluate(dc.exp(a * b + c) * 0.5 - dc.sqrt(a))
        x = dc.sum(a * b)
        backend.synchronize()
        taken = time.perf_counter() - start
    return taken, len(found.of_kind("compile"))
first, compiled = use()
again = min(use()[0] for _ in range(20))
print(first, compiled, again)
"""


def cache_rows(device: str) -> Iterator[Row]:
    """A chain and a sum, without a cache, with one, and again."""
    code = USE.format(device=device)
    without, kept, warm = [], [], []
    built = compiled = 0
    for _ in range(5):
        with tempfile.TemporaryDirectory() as folder:
            environment = {"DCARRAY_CACHE_DIR": folder}
            first, count, again = in_child(code, environment).split()
            without.append(float(first))
            warm.append(float(again))
            built += int(count)
            for _ in range(2):
                first, count, _ = in_child(code, environment).split()
                kept.append(float(first))
                compiled += int(count)
            modes = {oct(path.stat().st_mode & 0o777) for path in folders(folder)}
    yield Row(
        f"first use of a chain and a sum, {built // 5} kernels compiled",
        milliseconds(statistics.median(without)),
        figures={"seconds": without, "compiled": built},
    )
    yield Row(
        "  in a second process, from disk",
        f"{milliseconds(statistics.median(kept))}, {compiled} compiled",
        "0 compiled",
        compiled == 0,
        {"seconds": kept, "compiled": compiled},
    )
    yield Row(
        "  the next uses",
        milliseconds(statistics.median(warm)),
        figures={"seconds": warm},
    )
    yield Row("  the folder's mode", ", ".join(modes), "0700", modes == {"0o700"})


def folders(root: str) -> list[Path]:
    """Where compiled objects lie."""
    return list({path.parent for path in Path(root).rglob("*.object")})


def main() -> int:
    """Measure; the exit status."""
    options = parser(__doc__)
    options.add_argument("--device", default="opencl:0")
    given = options.parse_args()

    def rows() -> Iterator[Row]:
        yield from dispatch_rows(given.device)
        yield from cache_rows(given.device)

    name = backend_for(given.device).properties().name
    title = f"{given.device}: {name}, {os.cpu_count()} processors"
    return report(title, rows(), given, ("pyopencl", "pocl-binary-distribution"))


if __name__ == "__main__":
    sys.exit(main())
