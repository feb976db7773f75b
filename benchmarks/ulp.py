"""How far a device is from NumPy: ``python benchmarks/ulp.py --device opencl:0``.

Every elementwise operation runs on the device over adversarial operands and random
ones, for every dtype that it has.  ``--json`` keeps what was measured.  ``--doc
docs/accuracy.md`` writes the table of that page from all that was kept in
``docs/accuracy``; without ``--device`` nothing is measured.  The exit status is 1 if a
bound is exceeded or a row does not compile.
"""

from __future__ import annotations

import argparse
import json
import sys
import textwrap
import time
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from dcarray.backends.registry import backend_for
from dcarray.ops import composed, elementwise, gradients
from dcarray.ops.spec import Op
from dcarray.testing.accuracy import Measured, batches, measure
from dcarray.testing.adversarial import adversarial
from dcarray.testing.workbench import Workbench

TABLE: dict[str, Op] = {
    **elementwise.TABLE,
    **composed.TABLE,
    **gradients.TABLE,
}
"""Every elementwise row by name."""

COLUMNS = {
    "integers": "?bBhHiIlLqQ",
    "float16": "e",
    "float32": "f",
    "float64": "d",
    "complex64": "F",
    "complex128": "D",
}
"""Of the table, and the letters of the dtypes that each is about."""

BEGIN, END = "<!-- table: begin -->", "<!-- table: end -->"

Kept = dict[str, Any]
"""What is kept of one device: its properties, and distances by operation and dtypes."""


# ---------------------------------------------------------------------- measuring
class Bench(Workbench):
    """A device by its label."""

    def __init__(self, device: str) -> None:
        self.device = device

    @property
    def backend(self) -> Any:
        return backend_for(self.device)


def measured(bench: Workbench, count: int, only: Sequence[str] = ()) -> list[Measured]:
    """All rows, or those that are named; what is wrong is printed at once."""
    found: list[Measured] = []
    rows = [op for op in TABLE.values() if not only or op.name in only]
    for ops, dtypes in batches(bench.backend.supported, rows):
        for row in measure(bench, ops, dtypes, adversarial(ops[0], dtypes, count)):
            found.append(row)
            if not row.is_kept:
                print("beyond its bound:", row, flush=True)
    return found


def kept(bench: Workbench, rows: Iterable[Measured], count: int, column: str) -> Kept:
    """What a file holds."""
    facts: Any = bench.backend
    about = facts.properties() if hasattr(facts, "properties") else None
    distances: dict[str, dict[str, Any]] = {}
    for row in rows:
        at = distances.setdefault(row.op.name, {})
        at[row.signature] = None if row.failure else _short(row.apart)
    return {
        "column": column or (about.name if about else bench.backend.device),
        "device": about.name if about else bench.backend.device,
        "driver": about.driver if about else "",
        "numpy": np.__version__,
        "values": count,
        "ulp": distances,
        "beyond": [str(row) for row in rows if not row.is_kept],
    }


def _short(apart: float) -> int | float | str:
    """Three digits, as JSON has them."""
    if not np.isfinite(apart):
        return "inf"
    found = float(f"{apart:.3g}")
    return int(found) if found == int(found) else found


def write(path: Path, found: Kept) -> None:
    """One line for each operation."""
    lines = [
        f"    {json.dumps(name)}: {json.dumps(item)}"
        for name, item in found["ulp"].items()
    ]
    whole = json.dumps({**found, "ulp": {}}, indent=2, ensure_ascii=False)
    body = ",\n".join(lines)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(whole.replace('"ulp": {}', f'"ulp": {{\n{body}\n  }}') + "\n")


# ---------------------------------------------------------------------- the table
def table(devices: Sequence[Kept]) -> str:
    """Distances of all devices, in Markdown."""
    lines = []
    for found in devices:
        lines.append(
            f"- **{found['column']}**: {found['device']}, {found['driver']}; NumPy "
            f"{found['numpy']}, {found['values']:,} random operands"
        )
    equal = []
    head = ["operation", "bound", *COLUMNS]
    rows = ["| " + " | ".join(head) + " |", "| --- " * len(head) + "|"]
    for op in TABLE.values():
        cells = [cell(op, letters, devices) for letters in COLUMNS.values()]
        if not any(cells):
            continue
        if not op.ulp and all(set(item) <= set("0 /–") for item in cells):
            equal.append(f"`{op.name}`")
        else:
            rows.append("| " + " | ".join([f"`{op.name}`", bounds(op), *cells]) + " |")
    names = " / ".join([found["column"] for found in devices])
    lines += ["", f"Each cell: {names}.", "", *rows, ""]
    if equal:
        lines += ["Equal to NumPy in every dtype on all of them:", ""]
        lines += textwrap.wrap(", ".join(equal) + ".", 88)
    for found in devices:
        if found["beyond"]:
            lines += ["", f"Beyond their bound on {found['column']}:", ""]
            lines += [f"- {item}" for item in found["beyond"]]
    return "\n".join(lines)


def bounds(op: Op) -> str:
    """The bound of real results, and that of complex ones where there are any."""
    real, both = op.bound(np.dtype(float)), op.bound(np.dtype(complex))
    types = op.numpy.types if isinstance(op.numpy, np.ufunc) else []
    if real == both or not any([item[-1] in "FD" for item in types]):
        return f"{real:g}"
    return f"{real:g}, complex {both:g}"


def cell(op: Op, letters: str, devices: Sequence[Kept]) -> str:
    """The largest distance on each device; empty if none has the operation."""
    found = [largest(device["ulp"].get(op.name, {}), letters) for device in devices]
    if all(item is None for item in found):
        return ""
    return " / ".join(["–" if item is None else f"{item:g}" for item in found])


def largest(distances: dict[str, Any], letters: str) -> float | None:
    """Over the rows whose last operand that is no integer has one of these dtypes."""
    found = [
        float("inf" if apart is None else apart)
        for signature, apart in distances.items()
        if (signature.rstrip("?bBhHiIlLqQ") or signature)[-1] in letters
    ]
    return max(found, default=None)


def rewrite(page: Path, devices: Sequence[Kept]) -> None:
    """Put the table into a page."""
    before, _, rest = page.read_text().partition(BEGIN)
    after = rest.partition(END)[2]
    page.write_text(f"{before}{BEGIN}\n\n{table(devices)}\n\n{END}{after}")


def read(folder: Path) -> list[Kept]:
    """What was kept of all devices."""
    return [json.loads(path.read_text()) for path in sorted(folder.glob("*.json"))]


def main(arguments: Sequence[str] | None = None) -> int:
    """The command; its exit status."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--device", help="label of the device to measure")
    parser.add_argument("--values", type=int, default=1_000_000)
    parser.add_argument("--only", nargs="+", default=(), help="names of operations")
    parser.add_argument("--column", default="", help="what the table calls the device")
    parser.add_argument("--json", type=Path, help="where to keep what is measured")
    parser.add_argument("--doc", type=Path, help="the page to write the table into")
    given = parser.parse_args(arguments)
    status = 0
    if given.device:
        begin = time.perf_counter()
        bench = Bench(given.device)
        rows = measured(bench, given.values, given.only)
        found = kept(bench, rows, given.values, given.column)
        print(table([found]))
        print(f"{len(rows)} rows in {time.perf_counter() - begin:.0f} s")
        if given.json:
            write(given.json, found)
        status = int(bool(found["beyond"]))
    if given.doc:
        rewrite(given.doc, read(given.doc.with_suffix("")))
    return status


if __name__ == "__main__":
    sys.exit(main())
