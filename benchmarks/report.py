"""The table that a benchmark prints: what was measured, and whether that will do."""

from __future__ import annotations

import argparse
import json
import os
import platform
from collections.abc import Iterable
from dataclasses import asdict, dataclass, field
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

__all__ = ["Row", "milliseconds", "parser", "report"]


@dataclass
class Row:
    """One line of the table.

    ``met`` is None for what is only reported, ``figures`` has the plain numbers.
    """

    what: str
    measured: str
    bar: str = ""
    met: bool | None = None
    figures: dict[str, Any] = field(default_factory=dict)


def milliseconds(seconds: float) -> str:
    """A time as text."""
    if seconds < 1e-4:
        return f"{1e6 * seconds:.3g} µs"
    if seconds >= 1:
        return f"{seconds:.3g} s"
    return f"{1e3 * seconds:.3g} ms"


def environment(packages: Iterable[str]) -> dict[str, Any]:
    """What the figures depend on."""
    versions = {}
    for name in ("dcarray", "numpy", *packages):
        try:
            versions[name] = version(name)
        except PackageNotFoundError:
            versions[name] = "not installed"
    return {
        "python": platform.python_version(),
        "machine": platform.machine(),
        "cores": os.cpu_count(),
        "threads": len(os.sched_getaffinity(0)),
        "packages": versions,
    }


def parser(about: str | None) -> argparse.ArgumentParser:
    """With the options that every benchmark has."""
    found = argparse.ArgumentParser(description=about)
    found.add_argument("--json", metavar="FILE", help="save the figures")
    return found


def report(
    title: str, rows: Iterable[Row], path: str | None, packages: Iterable[str] = ()
) -> int:
    """Measure, print and save; the exit status, 1 if a bar is missed."""
    from rich.console import Console
    from rich.markup import escape
    from rich.table import Table

    table = Table(title=title, title_justify="left")
    for heading in ("what", "measured", "bar", "met"):
        table.add_column(heading, overflow="fold")
    found = []
    console = Console(stderr=True)
    with console.status("measuring ...") as status:
        for row in rows:
            status.update(row.what.strip())
            found.append(row)
            met = {True: "[green]yes[/]", False: "[red]NO[/]", None: ""}[row.met]
            table.add_row(*map(escape, (row.what, row.measured, row.bar)), met)
    shown = Console()
    if not shown.is_terminal:
        shown = Console(width=116)
    shown.print(table)
    if path:
        saved = {**environment(packages), "rows": [asdict(row) for row in found]}
        Path(path).write_text(json.dumps(saved, indent=1))
    return 0 if all(row.met is not False for row in found) else 1
