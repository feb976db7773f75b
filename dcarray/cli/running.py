"""``dcarray run``: a NumPy program, and what it did."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from types import ModuleType

from ..config import set_process_default
from ..interop.script import run_script
from ..profile import profile

__all__ = ["run"]

LONGEST_TABLE = 40


def run(
    script: str,
    arguments: Sequence[str],
    root: ModuleType,
    with_profile: bool = False,
    record: str | None = None,
) -> int:
    """Run a script; its exit status.

    Parameters
    ----------
    script : str
    arguments : sequence of str
        For the script.
    root : module
        What it sees as numpy.
    with_profile : bool
        Whether to print what ran where.
    record : str, optional
        File to which every compiled kernel is added.
    """
    try:
        with open(script, "rb"):
            pass
    except OSError as error:
        print(
            f"dcarray run: can't open file {os.path.abspath(script)!r}: {error}",
            file=sys.stderr,
        )
        return 2
    if record is not None:
        path = os.path.abspath(record)  # the script may change the folder
        try:
            with open(path, "ab"):
                pass
        except OSError as error:
            print(f"dcarray run: can't write to {path!r}: {error}", file=sys.stderr)
            return 2
        set_process_default(record=path)
        os.environ["DCARRAY_RECORD"] = path  # for processes that it starts
    set_process_default(scalars="numpy")
    if not with_profile:
        run_script(script, arguments, root)
        return 0
    events = profile()
    try:
        with events:
            run_script(script, arguments, root)
    finally:
        sys.stdout.flush()
        _print_profile(events)
    return 0


def _print_profile(events: profile) -> None:
    from rich.console import Console
    from rich.table import Table

    from .tables import in_bytes

    console = Console(stderr=True)
    rows = events.table()
    table = Table(title="What ran", title_justify="left")
    table.add_column("kind")
    table.add_column("operations", overflow="fold", max_width=48)
    table.add_column("where")
    for heading in ("times", "elements", "memory traffic", "time"):
        table.add_column(heading, justify="right")
    for row in rows[:LONGEST_TABLE]:
        fallback = row["kind"] == "fallback"
        table.add_row(
            f"[yellow]{row['kind']}[/]" if fallback else str(row["kind"]),
            str(row["name"]),
            str(row["device"]),
            f"{row['count']:,}",
            f"{row['elements']:,}",
            in_bytes(int(str(row["nbytes"]))),
            f"{1e3 * float(str(row['seconds'])):.3f} ms",
        )
    if rows:
        console.print(table)
    if len(rows) > LONGEST_TABLE:
        console.print(f"... and {len(rows) - LONGEST_TABLE} rows that took less time")
    operations = sum(event.nodes for event in events.groups)
    console.print(
        f"{len(events.groups):,} fused groups of {operations:,} operations, "
        f"{len(events.fallbacks):,} fallbacks, {events.seconds:.3f} s in all"
    )
