"""The table of ``docs/accuracy_fast.md``, from what `fast` kept:
``python -m tests.stress.fast_table``."""

from __future__ import annotations

import json
import sys
from pathlib import Path

from dcarray.ops.fast import FUNCTIONS

__all__ = ["table", "with_table"]

DOCS = Path(__file__).parents[2] / "docs"
FOUND = DOCS / "accuracy_fast.json"
PAGE = DOCS / "accuracy_fast.md"

BEGIN, END = "<!-- table: begin -->", "<!-- table: end -->"

ALL = 1 << 32


def table() -> str:
    """A line for each function."""
    found = json.loads(FOUND.read_text(encoding="utf-8"))
    lines = ["| function | float32 | tried | float64 | tried |"]
    lines += ["| --- | --: | --- | --: | --- |"]
    for name in sorted(FUNCTIONS):
        cells = [f"`{name}`"]
        for dtype in ("float32", "float64"):
            units, tried = found[name][dtype]
            cells += [f"{units:.2f}", "all" if tried == ALL else f"{tried:.1e}"]
        lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines)


def with_table(page: str) -> str:
    """The page with the table as it is now."""
    before, rest = page.split(BEGIN)
    _, after = rest.split(END)
    return f"{before}{BEGIN}\n\n{table()}\n\n{END}{after}"


def main() -> int:
    """Write the page."""
    PAGE.write_text(with_table(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
