"""The table that a benchmark prints: what was measured, and whether that will do.

``python benchmarks/report.py FILE.json ... --plot`` draws what runs have saved.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import sys
from collections.abc import Iterable
from dataclasses import asdict, dataclass, field
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from plots import draw

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
    found.add_argument(
        "--plot", metavar="FILE", type=Path, help="draw the figures, as .svg or .png"
    )
    return found


def report(
    title: str,
    rows: Iterable[Row],
    options: argparse.Namespace,
    packages: Iterable[str] = (),
) -> int:
    """Measure, print, save and draw; the exit status, 1 if a bar is missed.

    ``options`` are those of `parser`.
    """
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
            if not console.is_terminal:  # some take minutes, and may be ended
                print(f"{row.what}: {row.measured}", file=sys.stderr, flush=True)
            found.append(row)
            met = {True: "[green]yes[/]", False: "[red]NO[/]", None: ""}[row.met]
            table.add_row(*map(escape, (row.what, row.measured, row.bar)), met)
    shown = Console()
    if not shown.is_terminal:
        shown = Console(width=116)
    shown.print(table)
    saved = {"title": title, **environment(packages)}
    saved["rows"] = [asdict(row) for row in found]
    if options.json:
        Path(options.json).write_text(json.dumps(saved, indent=1) + "\n")
    if options.plot:
        draw(saved, options.plot)
    return 0 if all(row.met is not False for row in found) else 1


def main() -> None:
    """Draw saved figures."""
    options = argparse.ArgumentParser(description="Draw what benchmarks have saved.")
    options.add_argument("files", nargs="+", type=Path, metavar="FILE.json")
    options.add_argument(
        "--plot",
        nargs="?",
        type=Path,
        const=None,
        metavar="FOLDER|FILE",
        help="where to: beside each FILE.json if it is not given",
    )
    given = options.parse_args()
    for file in given.files:
        path = given.plot or file.with_suffix(".svg")
        if path.is_dir():
            path /= f"{file.stem}.svg"
        elif len(given.files) > 1 and given.plot:
            options.error(f"{path} is no folder, and there are several files")
        draw(json.loads(file.read_text()), path)
        print(path)


if __name__ == "__main__":
    main()
