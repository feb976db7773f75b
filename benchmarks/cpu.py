"""What the CPU engine must reach, measured: ``python benchmarks/cpu.py --json FILE``.

Every figure is a median; contenders run in turn, in the same process where that makes
sense.  Peers that are not installed are named in the table (``pip install '.[bench]'``
brings numba and numexpr; PyTorch and JAX are up to you).
"""

from __future__ import annotations

import os
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from peers import NAMES, adders, chains, installed
from report import Row, milliseconds, parser, report
from timing import in_child, in_turn

import dcarray as dc

MiB = 1 << 20

CHAIN = "exp(a*b+c)*0.5-sqrt(a)"


def inputs(size: int) -> tuple[np.ndarray[Any, Any], ...]:
    generator = np.random.default_rng(7)
    return tuple(generator.random(size, dtype=np.float32) for _ in range(3))


# ----------------------------------------------------------------------------- speed
ALONE = """
import numpy as np
import dcarray as dc
from timing import in_turn
rng = np.random.default_rng(7)
a, b, c = (rng.random({size}, dtype=np.float32) for _ in range(3))
x, y, z = map(dc.asarray, (a, b, c))
times = in_turn({{
    "dcarray": lambda: dc.evaluate({ours}),
    "numpy": lambda: {theirs},
}})
print(times["dcarray"], times["numpy"])
"""


CHAINS = (
    "dc.exp(x * y + z) * 0.5 - dc.sqrt(x)",
    "np.exp(a * b + c) * 0.5 - np.sqrt(a)",
)
SUMS = ("x + y", "a + b")


def alone_row(size: int, bar: float, texts: tuple[str, str]) -> Row:
    """NumPy and dcarray in a process of their own, as their users have them: what other
    libraries load and free changes whether NumPy's temporaries cost fresh pages."""
    folder = os.path.dirname(os.path.abspath(__file__))
    path = os.pathsep.join(filter(None, (folder, os.environ.get("PYTHONPATH"))))
    code = ALONE.format(size=size, ours=texts[0], theirs=texts[1])
    text = in_child(code, {"PYTHONPATH": path})
    mine, theirs = map(float, text.split())
    ratio = theirs / mine
    return Row(
        "  against NumPy, a process of their own",
        f"{milliseconds(mine)} : {milliseconds(theirs)} = {ratio:.2f} x",
        f">= {bar} x",
        ratio >= bar,
        {"size": size, "dcarray": mine, "numpy": theirs},
    )


def chain_rows(size: int, against_numpy: float, against_peers: bool) -> Iterator[Row]:
    a, b, c = inputs(size)
    x, y, z = dc.asarray(a), dc.asarray(b), dc.asarray(c)

    def ours() -> Any:
        result = dc.exp(x * y + z) * 0.5 - dc.sqrt(x)
        dc.evaluate(result)
        return result

    def theirs() -> Any:
        return np.exp(a * b + c) * 0.5 - np.sqrt(a)

    same = np.asarray(ours()).tobytes() == theirs().tobytes()
    label = f"{CHAIN}, float32, {size:.0e}".replace("e+0", "e")
    yield Row(label, "same bits" if same else "bits DIFFER", "same bits", same)
    times = in_turn({"dcarray": ours, "numpy": theirs, **chains(a, b, c)})
    mine = times["dcarray"]
    ratio = times["numpy"] / mine
    yield alone_row(size, against_numpy, CHAINS)
    yield Row(
        "  against NumPy, among the peers",
        f"{milliseconds(mine)} : {milliseconds(times['numpy'])} = {ratio:.2f} x",
        f">= {against_numpy} x",
        ratio >= against_numpy,
        {"size": size, **times},
    )
    for name, present in installed().items():
        if not present:
            yield Row(f"  against {NAMES[name]}", f"{name} is not installed")
            continue
        ratio = times[name] / mine
        counts = against_peers and name != "jax"
        yield Row(
            f"  against {NAMES[name]}",
            f"{milliseconds(mine)} : {milliseconds(times[name])} = {ratio:.2f} x",
            ">= 1.0 x" if counts else "reported",
            ratio >= 1.0 if counts else None,
            {"size": size, "seconds": times[name], "ratio": ratio},
        )


def add_rows(size: int, against_numpy: float) -> Iterator[Row]:
    a, b, _ = inputs(size)
    x, y = dc.asarray(a), dc.asarray(b)

    def ours() -> None:
        dc.evaluate(x + y)

    times = in_turn({"dcarray": ours, "numpy": lambda: a + b, **adders(a, b)})
    ratio = times["numpy"] / times["dcarray"]
    label = f"a + b, float32, {size:.0e}".replace("e+0", "e")
    yield Row(
        label,
        f"{milliseconds(times['dcarray'])} : {milliseconds(times['numpy'])} = "
        f"{ratio:.2f} x NumPy",
        f">= {against_numpy} x",
        ratio >= against_numpy,
        {"size": size, **times},
    )
    yield alone_row(size, against_numpy, SUMS)
    if "torch" in times:
        ratio = times["torch"] / times["dcarray"]
        yield Row("  against PyTorch eager", f"{ratio:.2f} x", "reported")


def small_rows() -> Iterator[Row]:
    a, b, _ = inputs(16)
    x, y = dc.asarray(a), dc.asarray(b)
    contenders: dict[str, Callable[[], object]] = {
        "dcarray": lambda: x + y,
        "numpy": lambda: a + b,
        **adders(a, b),
    }
    times = in_turn(contenders, rounds=51)
    ratio = times["dcarray"] / times["numpy"]
    yield Row(
        "a + b, float32, 16 elements",
        f"{milliseconds(times['dcarray'])} : {milliseconds(times['numpy'])}, "
        f"{ratio:.2f} x NumPy's time",
        "<= 3.5 x",
        ratio <= 3.5,
        dict(times),
    )
    if "torch" in times:
        yield Row(
            "  against PyTorch (CPU)",
            f"{milliseconds(times['dcarray'])} : {milliseconds(times['torch'])}",
            "<= PyTorch's",
            times["dcarray"] <= times["torch"],
        )
    else:
        yield Row("  against PyTorch (CPU)", "torch is not installed")


# ---------------------------------------------------------------- starting, compiling
IMPORT = (
    "import time; t = time.perf_counter(); import {}; print(time.perf_counter() - t)"
)


def import_row() -> Row:
    names = ("numpy", "dcarray")
    found: dict[str, list[float]] = {name: [] for name in names}
    for number in range(10):
        for name in names:
            taken = float(in_child(IMPORT.format(name)))
            if number:  # the first fills the system's file cache
                found[name].append(taken)
    theirs, ours = (statistics.median(found[name]) for name in names)
    return Row(
        "import dcarray",
        f"{milliseconds(ours)} : {milliseconds(theirs)}, "
        f"{milliseconds(ours - theirs)} more than numpy",
        "<= 40 ms more",
        ours - theirs <= 0.040,
        {"numpy": theirs, "dcarray": ours},
    )


FIRST_USE = """
import time
import numpy as np
import dcarray as dc
rng = np.random.default_rng(7)
a, b, c = (dc.asarray(rng.random(100_000, dtype=np.float32)) for _ in range(3))
{first}
with dc.profile() as p:
    t = time.perf_counter()
    dc.evaluate(dc.exp(a * b + c) * 0.5 - dc.sqrt(a))
    t = time.perf_counter() - t
print(t, len(p.of_kind("compile")))
"""
FRESH = FIRST_USE.format(first="")
STARTED = FIRST_USE.format(first="dc.evaluate(dc.exp(a + b) * c + 1)")
"""The same in a process whose engine, llvmlite included, has started already."""


def first_use_rows() -> Iterator[Row]:
    """Each sample is an expression that this process, or the cache, never saw."""
    x = dc.asarray(inputs(100_000)[0])
    with tempfile.TemporaryDirectory() as folder, dc.config(cache_dir=folder):
        loaded = [_novel(x, number) for number in range(12)][3:]
    taken = statistics.median(loaded)
    yield Row(
        "first use of a fused kernel, llvmlite loaded",
        milliseconds(taken),
        "<= 60 ms",
        taken <= 0.060,
        {"seconds": loaded},
    )
    fresh, cached, compiled = [], [], 0
    for _ in range(5):
        with tempfile.TemporaryDirectory() as folder:
            environment = {"DCARRAY_CACHE_DIR": folder}
            fresh.append(float(in_child(FRESH, environment).split()[0]))
            in_child(STARTED, environment)
            for _ in range(2):
                text, count = in_child(STARTED, environment).split()
                cached.append(float(text))
                compiled += int(count)
    taken = statistics.median(fresh)
    yield Row(
        "  fresh process",
        milliseconds(taken),
        "<= 150 ms",
        taken <= 0.150,
        {"seconds": fresh},
    )
    taken = statistics.median(cached)
    yield Row(
        "  from the disk cache, llvmlite loaded",
        f"{milliseconds(taken)}, {compiled} compiled",
        "<= 5 ms, 0 compiled",
        taken <= 0.005 and compiled == 0,
        {"seconds": cached, "compiled": compiled},
    )


def _novel(x: Any, number: int) -> float:
    """First evaluation of a chain of eight operations of its own, in seconds."""
    operations = (dc.add, dc.subtract, dc.multiply, dc.maximum)
    start = time.perf_counter()
    y = dc.sqrt(x)
    for _ in range(4):
        number, which = divmod(number, len(operations))
        y = operations[which](dc.exp(y * 0.5), x)
    dc.evaluate(y)
    return time.perf_counter() - start


# ---------------------------------------------------------------------------- memory
PEAK = """
import numpy as np
import dcarray as dc
from dcarray import config
def read(key):
    for line in open("/proc/self/status"):
        if line.startswith(key):
            return int(line.split()[1]) * 1024
def chain(a, b, c):
    y = dc.exp(a * b + c) * 0.5 - dc.sqrt(a)
    dc.evaluate(y)
    return y
rng = np.random.default_rng(7)
small = [dc.asarray(rng.random(200_000, dtype=np.float32)) for _ in range(3)]
chain(*small)
a, b, c = (dc.asarray(rng.random(10_000_000, dtype=np.float32)) for _ in range(3))
open("/proc/self/clear_refs", "w").write("5")
before = read("VmRSS")
y = chain(a, b, c)
print(read("VmHWM") - before - y.nbytes)
"""


def memory_row() -> Row:
    label = f"peak memory of {CHAIN} at 1e7"
    bar = "inputs + one output + 8 MiB"
    try:
        above = int(in_child(PEAK))
    except RuntimeError as error:
        return Row(label, f"not measured: {error}", bar)
    return Row(
        label,
        f"inputs + one output {above / MiB:+.1f} MiB",
        bar,
        above <= 8 * MiB,
        {"bytes_above": above},
    )


def pool_rows() -> Iterator[Row]:
    from dcarray.backends.registry import backend_for

    backend: Any = backend_for("cpu")

    def rent_and_return() -> None:
        backend.allocate(1 << 20)

    pool = backend.pool

    def bare() -> None:
        pool.give_back(*pool.rent(1 << 20))

    times = in_turn({"pool": bare, "memory": rent_and_return}, rounds=31)
    taken = times["pool"]
    yield Row(
        "pool: rent and return 1 MiB",
        milliseconds(taken),
        "<= 1 µs",
        taken <= 1e-6,
        {"seconds": taken},
    )
    yield Row(
        "  as an array's memory, made and dropped",
        milliseconds(times["memory"]),
        "reported",
    )
    for _ in range(1000):
        rent_and_return()
    before = _resident()
    for _ in range(1_000_000):
        rent_and_return()
    grown = _resident() - before
    yield Row(
        "  10^6 rents",
        f"{grown / MiB:+.2f} MiB",
        "flat (1 MiB)",
        grown <= MiB,
        {"bytes_grown": grown},
    )


def _resident() -> int:
    with open("/proc/self/statm", encoding="ascii") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")


# ------------------------------------------------------------------------------ table
def measure() -> Iterator[Row]:
    yield from small_rows()
    yield from chain_rows(100_000, 1.4, against_peers=False)
    yield from chain_rows(1_000_000, 4.0, against_peers=True)
    yield from chain_rows(10_000_000, 4.0, against_peers=True)
    yield memory_row()
    yield from add_rows(1_000_000, 1.0)
    yield from add_rows(10_000_000, 1.6)
    yield import_row()
    yield from first_use_rows()
    yield from pool_rows()


def main() -> int:
    options = parser(__doc__).parse_args()
    threads = len(os.sched_getaffinity(0))
    title = f"CPU, {threads} threads, NumPy {np.__version__}"
    return report(title, measure(), options, ("llvmlite", *NAMES))


if __name__ == "__main__":
    sys.exit(main())
