"""What the reports of the command line are drawn with."""

from __future__ import annotations

from rich.console import Console
from rich.table import Table

__all__ = ["in_bytes", "pairs", "show"]


def show(*tables: Table) -> int:
    """Print tables; the exit status."""
    console = Console()
    for table in tables:
        console.print(table)
    return 0


def pairs(title: str) -> Table:
    """A table of names and what they are."""
    table = Table(title=title, title_justify="left", show_header=False)
    table.add_column()
    table.add_column(overflow="fold")
    return table


def in_bytes(number: int) -> str:
    """A number of bytes, to be read."""
    size = float(number)
    for unit in ("B", "KiB", "MiB"):
        if size < 1024:
            return f"{size:.0f} {unit}" if unit == "B" else f"{size:.1f} {unit}"
        size /= 1024
    return f"{size:.1f} GiB"
