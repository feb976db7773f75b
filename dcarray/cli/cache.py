"""``dcarray cache``: the compiled kernels on disk."""

from __future__ import annotations

from collections.abc import Sequence

from rich.markup import escape
from rich.table import Table

from ..backends.cache import object_cache
from .tables import in_bytes, pairs

LONGEST_TABLE = 40

__all__ = ["cache_table", "clear", "kernels_table"]


def cache_table() -> Table:
    """Folder, size and limit."""
    cache = object_cache()
    statistics = cache.statistics()
    table = pairs("Compiled kernels on disk")
    table.add_row("folder", statistics.folder if cache.usable else "not used")
    size = f"{in_bytes(statistics.nbytes)} of at most {in_bytes(cache.limit)}"
    table.add_row("kernels", f"{statistics.files:,}, {size}")
    if cache.shared is not None:
        table.add_row("also read", str(cache.shared))
    return table


def kernels_table() -> Table:
    """Kernels by name, those with most objects first."""
    table = pairs("Kernels by name")
    names = object_cache().names()
    for name, number in names.most_common(LONGEST_TABLE):
        table.add_row(escape(name) or "(unnamed)", str(number))
    if len(names) > LONGEST_TABLE:
        table.add_row(f"... and {len(names) - LONGEST_TABLE} others", "")
    return table


def clear(names: Sequence[str]) -> int:
    """Forget the kernels of these names, or all of them if there are none."""
    cache = object_cache()
    removed = cache.clear(names or None)
    print(f"removed {removed} compiled kernels from {cache.folder}")
    return 0
