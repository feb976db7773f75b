"""NPBench's programs on a GPU: ``python benchmarks/npbench_gpu.py --root CHECKOUT``.

Each NumPy program of NPBench runs unmodified with dcarray in NumPy's place, and is
compared with NPBench's own CuPy version of it: answers and times.  With ``--device
auto`` dcarray chooses the place of each piece of work, and both have the inputs on the
GPU when the clock starts.  On a machine or a device without CuPy NumPy takes its place.
Presets are tried in the order of ``--presets``; the first
that both can finish within ``--limit`` seconds a call counts.  Answers are the same
if they are within NPBench's tolerance, or as near to NumPy's as CuPy's are.
"""

from __future__ import annotations

import builtins
import contextlib
import importlib
import json
import math
import signal
import statistics
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from report import Row, milliseconds, parser, report

import dcarray as dc

TOLERANCE = 1e-5
"""NPBench's own: the norm of the difference, relative to the norm of the answer."""


class TooLongError(Exception):
    """A call went past its limit."""


@dataclass
class Program:
    """One of NPBench's, as its description says."""

    name: str
    folder: Path
    about: dict[str, Any]

    def source(self, kind: str) -> Path:
        """The file of a version; the NumPy version if there is none."""
        found = self.folder / f"{self.about['module_name']}_{kind}.py"
        return found if found.exists() else self.source("numpy")

    def inputs(self, preset: str, peer: Any) -> dict[str, Any]:
        """What NPBench's initialiser makes: by the peer, or on the host if that has not
        all of what it takes."""
        made = dict(self.about["parameters"][preset])
        first = self.about.get("init")
        if not first:
            return made
        path = self.folder / f"{self.about['module_name']}.py"
        for module in (peer, np):
            call = loaded(path, {"numpy": module})[first["func_name"]]
            try:
                found = call(*[made[name] for name in first["input_args"]])
                break
            except (AttributeError, TypeError, ValueError):
                if module is np:
                    raise
        names = first["output_args"]
        if len(names) == 1 and not isinstance(found, tuple):
            found = (found,)
        return {**made, **dict(zip(names, found, strict=True))}


@dataclass
class Side:
    """A module that runs programs, and what it is to wait for it."""

    name: str
    kind: str
    modules: dict[str, Any]
    array: Callable[[Any], Any]
    wait: Callable[[Sequence[Any]], None]
    function: Callable[..., Any] | None = None
    seconds: list[float] = field(default_factory=list)

    def prepare(self, program: Program) -> None:
        """Load its version of a program."""
        names = loaded(program.source(self.kind), self.modules)
        self.function = names[program.about["func_name"]]
        self.seconds = []

    def call(self, program: Program, made: dict[str, Any]) -> list[Any]:
        """Run it once on new arrays; what it returns, and what it has written."""
        names = program.about["input_args"]
        arrays = set(program.about["array_args"])
        given = [
            self.array(made[name]) if name in arrays else made[name] for name in names
        ]
        self.wait(given)
        begin = time.perf_counter()
        assert self.function is not None
        found = self.function(*given)
        several = list(found) if isinstance(found, (tuple, list)) else [found]
        self.wait([*several, *given])
        self.seconds.append(time.perf_counter() - begin)
        written = [
            given[names.index(name)]
            for name in program.about["output_args"]
            if name in names
        ]
        return ([] if found is None else several) + written


def loaded(path: Path, modules: dict[str, Any]) -> dict[str, Any]:
    """The names of a file, in which some modules are others."""
    real = builtins.__import__

    def chosen(name: str, *rest: Any) -> Any:
        first, _, inner = name.partition(".")
        if first not in modules:
            return real(name, *rest)
        module = modules[first]
        if not inner or not (len(rest) > 2 and rest[2]):
            return module
        return importlib.import_module(f"{module.__name__}.{inner}")

    names = {
        "__name__": f"npbench_{path.stem}",
        "__file__": str(path),
        "__builtins__": {**vars(builtins), "__import__": chosen},
    }
    exec(compile(path.read_text(), str(path), "exec"), names)
    return names


@contextlib.contextmanager
def limited(seconds: float) -> Iterator[None]:
    """Stop what takes longer, between two of its lines."""

    def stop(*_: Any) -> None:
        raise TooLongError

    before = signal.signal(signal.SIGALRM, stop)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


# ---------------------------------------------------------------------------- the sides
def sides(device: str) -> tuple[Side, Side]:
    """dcarray on a device, and CuPy, or NumPy if no CUDA device can be used."""
    on_gpu = device.startswith("cuda") or (
        device == "auto" and any(found.kind == "cuda" for found in dc.devices())
    )

    def wait(arrays: Sequence[Any]) -> None:
        dc.evaluate(*[x for x in arrays if isinstance(x, dc.DeviceArray)])
        dc.synchronize()

    def mine(x: Any) -> Any:
        if not hasattr(x, "dtype"):
            return x
        made = dc.asarray(x, device=device, copy=True)
        return made.prefetch("cuda:0") if on_gpu and device == "auto" else made

    own = Side("dcarray", "numpy", {"numpy": dc}, mine, wait)
    if not on_gpu:
        peer = Side("NumPy", "numpy", {"numpy": np}, np.array, lambda arrays: None)
        return own, peer
    cupy = importlib.import_module("cupy")

    def wait_for_cupy(arrays: Sequence[Any]) -> None:
        cupy.cuda.runtime.deviceSynchronize()

    modules = {"numpy": cupy, "cupy": cupy}
    return own, Side("CuPy", "cupy", modules, cupy.array, wait_for_cupy)


def on_host(x: Any) -> np.ndarray[Any, Any]:
    """An answer as NumPy's array."""
    return np.asarray(x.get() if hasattr(x, "get") else x)


def on_copied_host(x: Any) -> np.ndarray[Any, Any]:
    """The same, in memory of its own."""
    return on_host(x).copy()


def farthest(found: Sequence[Any], wanted: Sequence[Any]) -> float:
    """The largest distance of answers that both have."""
    return max([apart(x, y) for x, y in zip(found, wanted, strict=False)], default=0.0)


def apart(found: Any, wanted: Any) -> float:
    """The norm of the difference, relative to that of what is wanted."""
    found, wanted = on_host(found), on_host(wanted)
    if found.shape != wanted.shape:
        return math.inf
    if found.dtype.kind in "biu":
        found, wanted = found.astype(float), wanted.astype(float)
    with np.errstate(all="ignore"):
        equal = (found == wanted) | ((found != found) & (wanted != wanted))
        difference = np.where(equal, 0, found - wanted)
        scale = np.linalg.norm(np.where(np.isfinite(wanted), wanted, 0).ravel())
        return float(np.linalg.norm(difference.ravel()) / (scale or 1.0))


# ---------------------------------------------------------------------------- the table
def compared(
    program: Program, preset: str, pair: tuple[Side, Side], rounds: int, limit: float
) -> Row:
    """One line: answers, and the medians of both."""
    peer = pair[1]
    made = program.inputs(preset, peer.modules["numpy"])
    results = []
    for side in pair:
        side.prepare(program)
        try:
            with limited(limit):
                results.append([on_host(x) for x in side.call(program, made)])
        except TooLongError:
            raise TooLongError(f"{side.name}: {preset} above {limit:g} s") from None
    same_number = len(results[0]) >= len(results[1]) or not results[1]
    worst, tolerance = farthest(*results), TOLERANCE
    if same_number and worst > TOLERANCE:
        # None has the other's answer in a chaotic program: who is nearer to NumPy's?
        plain = {"numpy": np}
        host = Side("NumPy", "numpy", plain, on_copied_host, lambda arrays: None)
        host.prepare(program)
        with limited(10 * limit):
            wanted = [on_host(x) for x in host.call(program, made)]
        worst, theirs = (farthest(found, wanted) for found in results)
        tolerance = max(tolerance, theirs)
    for side in pair:
        with limited(10 * limit):
            side.seconds = []
            side.call(program, made)  # what comes again may be compiled once more
            once, side.seconds = side.seconds[0], []
            for _ in range(min(rounds, max(1, int(limit / max(once, 1e-6))))):
                side.call(program, made)
    mine, its = (statistics.median(side.seconds) for side in pair)
    right = same_number and worst <= tolerance
    return Row(
        program.name,
        f"{milliseconds(mine)}, {its / mine:.2f}x {peer.name} ({preset})"
        + ("" if right else f", OTHER ANSWERS: {worst:.2g}"),
        "same answers",
        right,
        {"dcarray": mine, peer.kind: its, "preset": preset, "apart": worst},
    )


def measured(
    programs: Sequence[Program],
    presets: Sequence[str],
    device: str,
    rounds: int,
    limit: float,
    budget: float,
) -> Iterator[Row]:
    """The lines of the table."""
    pair = sides(device)
    begin = time.perf_counter()
    speeds = []
    for program in programs:
        reasons = []
        for preset in presets:
            if time.perf_counter() - begin > budget:
                reasons.append("no time left")
                break
            try:
                with dc.config(device=device):
                    row = compared(program, preset, pair, rounds, limit)
            except TooLongError as error:
                reasons.append(str(error))
                continue
            except Exception as error:
                first = str(error).splitlines()[:1] or [""]
                reasons.append(f"{preset}: {type(error).__name__}: {first[0][:150]}")
                continue
            if reasons:
                row.measured += " after " + "; ".join(reasons)
            if row.met:
                speeds.append(row.figures[pair[1].kind] / row.figures["dcarray"])
            yield row
            break
        else:
            yield Row(program.name, "; ".join(reasons), "same answers", False)
            continue
        if reasons and reasons[-1] == "no time left":
            yield Row(program.name, "; ".join(reasons), "same answers", None)
    if speeds:
        mean = statistics.geometric_mean(speeds)
        what = f"geometric mean of {len(speeds)}"
        yield Row(what, f"{mean:.2f}x {pair[1].name}", "1.5x", mean >= 1.5)


def found(root: Path, only: Sequence[str]) -> list[Program]:
    """What a checkout has."""
    programs = []
    for path in sorted((root / "bench_info").glob("*.json")):
        about = json.loads(path.read_text())["benchmark"]
        folder = root / "npbench" / "benchmarks" / about["relative_path"]
        if not only or path.stem in only:
            programs.append(Program(path.stem, folder, about))
    return programs


def main() -> int:
    options = parser(__doc__)
    options.add_argument("--root", type=Path, required=True, help="NPBench's checkout")
    options.add_argument("--device", default="cuda:0")
    options.add_argument("--presets", nargs="+", default=["paper", "L", "M", "S"])
    options.add_argument("--only", nargs="+", default=(), help="names of programs")
    options.add_argument("--rounds", type=int, default=5)
    options.add_argument("--limit", type=float, default=10.0, help="seconds a call")
    options.add_argument("--budget", type=float, default=1800.0, help="seconds in all")
    given = options.parse_args()
    lines = measured(
        found(given.root, given.only),
        given.presets,
        given.device,
        given.rounds,
        given.limit,
        given.budget,
    )
    title = f"NPBench through dcarray on {given.device}"
    return report(title, lines, given)


if __name__ == "__main__":
    raise SystemExit(main())
