"""``dcarray demo``: four NumPy programs, under NumPy and under dcarray.

Each program of `examples` is loaded twice from the same source.  Both copies run in
turn; the results are compared bit for bit, and times, fused groups and peak memory go
into a table.
"""

from __future__ import annotations

import gc
import os
import statistics
import tempfile
import time
import tracemalloc
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any

import numpy as np

from .api.runtime import evaluate
from .config import config
from .interop.script import Substitution
from .profile import profile

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

__all__ = ["Comparison", "compare", "examples_folder", "run_demo"]

PROGRAMS = ("option_pricing", "heat_equation", "kmeans", "image_filter")
REPEATS = 3


@dataclass(frozen=True, slots=True)
class Comparison:
    """One program, run under NumPy and under dcarray.

    Times are medians in seconds; ``first`` is dcarray's first run, in which the
    kernels are built or loaded.  Memory is the peak of a run, in bytes.
    """

    title: str
    same_bits: bool
    numpy_seconds: float
    dcarray_seconds: float
    first: float
    groups: int
    operations: int
    fallbacks: int
    numpy_bytes: int
    dcarray_bytes: int


def examples_folder() -> Path:
    """Where the example programs lie: in the package, or beside it in a checkout."""
    here = Path(__file__).parent
    inside = here / "examples"
    return inside if inside.is_dir() else here.parent / "examples"


def compare(
    name: str, root: ModuleType, repeats: int = REPEATS
) -> tuple[Comparison, ModuleType]:
    """Run one example both ways.

    Parameters
    ----------
    name : str
        Its file name without suffix.
    root : module
        The package dcarray, which takes NumPy's place.
    repeats : int
        How often each copy runs.

    Returns
    -------
    tuple of Comparison and module
        The second is the copy that dcarray runs.
    """
    folder = examples_folder()
    path = str(folder / f"{name}.py")
    theirs = Substitution(np, str(folder)).load(name, path)
    ours = Substitution(root, str(folder)).load(name, path)
    numpy_times, dcarray_times = [], []
    same = True
    with profile() as events:
        for repeat in range(repeats):
            seconds, wanted = _timed(theirs)
            numpy_times.append(seconds)
            seconds, found = _timed(ours)
            dcarray_times.append(seconds)
            if repeat == 0:
                same = all(map(_same_bits, wanted, found)) and len(wanted) == len(found)
            del wanted, found
    numpy_bytes = _peak(theirs)
    dcarray_bytes = _peak(ours)
    groups = events.groups
    comparison = Comparison(
        title=str(ours.__doc__).partition(":")[0],
        same_bits=same,
        numpy_seconds=statistics.median(numpy_times),
        dcarray_seconds=statistics.median(dcarray_times),
        first=dcarray_times[0],
        groups=len(groups) // repeats,
        operations=sum(group.nodes for group in groups) // repeats,
        fallbacks=len(events.fallbacks) // repeats,
        numpy_bytes=numpy_bytes,
        dcarray_bytes=dcarray_bytes,
    )
    return comparison, ours


def _timed(program: ModuleType) -> tuple[float, Sequence[Any]]:
    gc.collect()
    start = time.perf_counter()
    results = program.__dict__["run"]()
    evaluate(*results)
    return time.perf_counter() - start, results


def _same_bits(one: object, other: object) -> bool:
    a, b = np.asarray(one), np.asarray(other)
    return a.dtype == b.dtype and a.shape == b.shape and a.tobytes() == b.tobytes()


def _peak(program: ModuleType) -> int:
    """Most bytes that Python and the pool held during a run, over those before."""
    gc.collect()
    tracemalloc.start()
    try:
        before, _ = tracemalloc.get_traced_memory()
        _timed(program)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    return peak - before


def run_demo(root: ModuleType, output: str | None = None) -> int:
    """Run all examples and print what came out.

    Parameters
    ----------
    root : module
        The package dcarray.
    output : str, optional
        Where the picture goes; ``demo.png`` in the working directory by default.

    Returns
    -------
    int
        Exit status: 1 if any bits differ.
    """
    from rich.console import Console
    from rich.progress import BarColumn, Progress, SpinnerColumn, TimeElapsedColumn

    console = Console()
    console.print(
        f"Four plain NumPy programs of [bold]{examples_folder()}[/], each under NumPy "
        "and under dcarray.\n"
    )
    found: list[Comparison] = []
    picture = None
    columns = (
        SpinnerColumn(),
        "{task.description}",
        BarColumn(),
        TimeElapsedColumn(),
    )
    with (
        config(scalars="numpy"),
        Progress(*columns, console=console, transient=True) as progress,
    ):
        task = progress.add_task("", total=len(PROGRAMS))
        for name in PROGRAMS:
            progress.update(task, description=name.replace("_", " "))
            comparison, program = compare(name, root)
            found.append(comparison)
            progress.advance(task)
            _announce(console, comparison)
            if name == "image_filter":
                picture = _write_picture(program, output)
    console.print()
    console.print(_table(found))
    console.print(
        "first: dcarray's first run, in which kernels are built, or loaded from disk\n"
        "loops: fused loops of a run x operations in each, on average\n"
        "MiB:   peak memory under NumPy > under dcarray"
    )
    if picture is not None:
        console.print(f"\nThe picture, filtered by dcarray, is in [bold]{picture}[/].")
    return 0 if all(row.same_bits for row in found) else 1


def _write_picture(program: ModuleType, output: str | None) -> str:
    """The last example's image as a file; a temporary folder if need be."""
    (pixels,) = program.__dict__["run"]()
    target = output or "demo.png"
    if output is None and not os.access(os.curdir, os.W_OK):
        target = os.path.join(tempfile.mkdtemp(), target)
    program.__dict__["write_png"](target, pixels)
    return target


def _announce(console: Console, row: Comparison) -> None:
    console.print(
        f"  {row.title:15s} NumPy {row.numpy_seconds:6.3f} s, dcarray "
        f"{row.dcarray_seconds:6.3f} s, "
        + ("same bits" if row.same_bits else "[red]bits DIFFER[/]")
    )


def _table(rows: Sequence[Comparison]) -> Table:
    from rich.box import SIMPLE
    from rich.table import Table

    table = Table(
        title="Seconds (medians) and peak MiB",
        title_justify="left",
        box=SIMPLE,
        collapse_padding=True,
        pad_edge=False,
    )
    table.add_column("program", no_wrap=True)
    for heading in ("NumPy", "dcarray", "gain", "first", "bits", "loops", "MiB"):
        table.add_column(heading, justify="right", no_wrap=True)
    for row in rows:
        each = row.operations / row.groups if row.groups else 0.0
        table.add_row(
            row.title,
            f"{row.numpy_seconds:.3f}",
            f"{row.dcarray_seconds:.3f}",
            f"{row.numpy_seconds / row.dcarray_seconds:.2f} x",
            f"{row.first:.3f}",
            "[green]same[/]" if row.same_bits else "[red]DIFFER[/]",
            f"{row.groups} x {each:.0f}",
            f"{row.numpy_bytes / 2**20:.0f} > {row.dcarray_bytes / 2**20:.0f}",
        )
    return table
