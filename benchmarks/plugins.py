"""How long plugins take: finding a hundred, and reloading one.

``python benchmarks/plugins.py`` writes a hundred packages to a temporary folder, each
with the example backend, and measures

- finding them all, which imports none (bar: 10 ms), beside the packages that are
  installed here anyway;
- reloading one, while an array on it and arrays elsewhere live (bar: 50 ms).

Exit status 1 if a bar is missed.
"""

from __future__ import annotations

import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import dcarray as dc
from dcarray.backends import plugins

EXAMPLE = Path(__file__).parents[1] / "examples" / "backend_plugin"
COUNT = 100
ROUNDS = 15


def write(folder: Path) -> None:
    """A hundred packages."""
    code = (EXAMPLE / "dcarray_example.py").read_text(encoding="utf-8")
    for number in range(COUNT):
        name = f"fake{number}"
        info = folder / f"{name}-1.0.dist-info"
        info.mkdir()
        (info / "METADATA").write_text(
            f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n"
        )
        (info / "entry_points.txt").write_text(
            f"[dcarray.backends]\n{name} = {name}_backend\n"
        )
        (folder / f"{name}_backend.py").write_text(code.replace("example:", f"{name}:"))


def milliseconds(call: Callable[[], object]) -> tuple[float, float]:
    """The first time, and the median of the later ones."""
    samples = []
    for _ in range(ROUNDS):
        start = time.perf_counter()
        call()
        samples.append(1e3 * (time.perf_counter() - start))
    return samples[0], statistics.median(samples[1:])


def find() -> None:
    """All plugins, as if for the first time."""
    plugins._known = None
    found = [name for name in plugins.discover() if name.startswith("fake")]
    assert len(found) == COUNT


def main() -> int:
    """Measure; the exit status."""
    from importlib.metadata import distributions

    installed = len(list(distributions()))
    with tempfile.TemporaryDirectory() as folder:
        write(Path(folder))
        sys.path.append(folder)
        first, found = milliseconds(find)
        print(f"{COUNT} plugins beside {installed} other packages")
        print(f"find          {found:6.2f} ms (the first time {first:.2f}), bar 10 ms")

        dc.devices()
        here = dc.ones(1_000_000, device="fake0:0")
        there = dc.ones(1_000_000, device="fake1:0")
        first, reloaded = milliseconds(lambda: dc.backends.reload("fake0"))
        assert float(here.sum().get()) == float(there.sum().get()) == 1_000_000
        print(
            f"reload        {reloaded:6.2f} ms (the first time {first:.2f}), bar 50 ms"
        )
    return int(found > 10 or reloaded > 50)


if __name__ == "__main__":
    sys.exit(main())
