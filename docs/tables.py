"""Tables that are made from the code: settings, and native or fallback by function."""

from __future__ import annotations

import importlib
from collections import Counter
from pathlib import Path

from dcarray.api.coverage import FALLBACK, NATIVE, NOT_ON_GRIDS, Row, rows
from dcarray.config import describe

__all__ = ["write"]

MODULES = (
    "dcarray",
    "dcarray.linalg",
    "dcarray.fft",
    "dcarray.random",
    "dcarray.nn",
)

HOST = "NumPy, on the host"
WORDS = {NATIVE: "native", FALLBACK: HOST}


def write(folder: Path) -> None:
    """Write every table as Markdown."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "settings.md").write_text(settings(), encoding="utf-8")
    (folder / "coverage.md").write_text(coverage(), encoding="utf-8")


def settings() -> str:
    """Name, environment variable, default and meaning of every setting."""
    lines = ["| setting | environment | default | |", "| --- | --- | --- | --- |"]
    for name, variable, default, text in describe():
        meaning = text.replace("``", "`")
        lines.append(f"| `{name}` | `{variable}` | `{default}` | {meaning} |")
    return "\n".join(lines) + "\n"


def coverage() -> str:
    """A table for each module, after a line with the counts."""
    modules = {name: importlib.import_module(name) for name in MODULES}
    found = list(rows(modules))
    counts = Counter(row.kind for row in found)
    lines = [
        f"{len(found)} functions: {counts[NATIVE]} native, {counts[FALLBACK]} through "
        f"NumPy on the host, {len(found) - counts[NATIVE] - counts[FALLBACK]} that are "
        f"NumPy's own, handed on as they are. {len(NOT_ON_GRIDS)} of the native ones "
        "have no kernels for OpenCL and Metal yet.",
    ]
    for module in MODULES:
        lines += ["", f"## {module}", ""]
        lines += ["| function | computed by | on OpenCL and Metal |"]
        lines += ["| --- | --- | --- |"]
        lines += [
            f"| `{row.name}` | {WORDS.get(row.kind, row.kind)} | {_on_grids(row)} |"
            for row in found
            if row.module == module
        ]
    return "\n".join(lines) + "\n"


def _on_grids(row: Row) -> str:
    """What computes a function on OpenCL and Metal."""
    name = f"{row.module}.{row.name}".removeprefix("dcarray.")
    if row.kind == NATIVE and name in NOT_ON_GRIDS:
        return HOST
    return WORDS.get(row.kind, row.kind)
