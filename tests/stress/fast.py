"""Functions of ``config(math="fast")`` for every float32 there is.

``python -m tests.stress.fast [--step N] [NAME ...]`` compares with NumPy in double
precision; a function takes minutes.  With a step, only every N-th number is tried.
``--sample N`` compares functions of float64, and those of two operands, at random.
``--json docs/accuracy_fast.json`` keeps what was found, and
``python -m tests.stress.fast_table`` writes the table of ``docs/accuracy_fast.md``.
"""

from __future__ import annotations

import argparse
import json
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from dcarray.backends.cpu import CpuBackend
from dcarray.ops import composed, elementwise
from dcarray.ops.fast import FUNCTIONS, ULP, fast_row
from dcarray.ops.program import Inner, Node, Program

from .fast_operands import exact, operands

HostArray = np.ndarray[Any, Any]

PIECE = 1 << 20

TABLE = {**composed.TABLE, **elementwise.TABLE}

UNARY = sorted(
    name for name in FUNCTIONS if TABLE[name].inputs == 1 and hasattr(np, name)
)
"""Those of one operand that NumPy has in double precision."""


@dataclass
class Worst:
    """The largest error, in units in the last place, and where it is."""

    units: float = 0.0
    at: tuple[Any, ...] = ()

    def add(self, units: HostArray, operands: list[HostArray]) -> None:
        """Look at some more results."""
        place = int(units.argmax())
        if units[place] > self.units:
            self.units = float(units[place])
            self.at = tuple([x[place] for x in operands])


class Fast:
    """A fast function, called on NumPy arrays whatever their size is."""

    def __init__(self, name: str, dtype: Any) -> None:
        row = fast_row(TABLE[name])
        self.dtype = np.dtype(dtype)
        given = (self.dtype,) * row.inputs
        places = tuple(range(row.inputs))
        node = Node(row, places, (self.dtype,), (Inner.CONTIGUOUS,) * row.inputs)
        self.backend = CpuBackend()
        self.executable = self.backend.compile(
            Program(given, (), (node,), (row.inputs,))
        )

    def __call__(self, *operands: HostArray) -> HostArray:
        found = np.empty(operands[0].shape, self.dtype)
        self.backend.launch(self.executable, found.shape, operands, [], [found])
        assert any(bound is not None for bound in self.executable._bound.values())
        return found


def units(got: HostArray, wanted: HostArray) -> HostArray:
    """Errors in units in the last place of the results; infinite where one is NaN, or
    infinite, or has another sign of zero, and the other is or has not.

    ``wanted`` is in a wider format.
    """
    with np.errstate(all="ignore"):
        nearest = wanted.astype(got.dtype)
        finite = np.isfinite(got) & np.isfinite(nearest)
        space = np.spacing(np.abs(nearest)).astype(wanted.dtype)
        error = np.abs(got.astype(wanted.dtype) - wanted) / space
        # The largest number instead of infinity is wrong by a rounding alone.
        edge = np.finfo(got.dtype).max
        ends = np.isinf(got) != np.isinf(nearest)
        ends &= ~((np.abs(nearest) == edge) | (np.abs(got) == edge))
        wrong = (np.isnan(got) != np.isnan(nearest)) | ends
        wrong |= (got == 0) & (nearest == 0) & (np.signbit(got) != np.signbit(nearest))
    return np.where(wrong, np.inf, np.where(finite, error, 0.0))


def largest_error(name: str, step: int = 1) -> Worst:
    """Over all float32, or every ``step``-th."""
    function, worst = Fast(name, np.float32), Worst()
    ufunc: Any = getattr(np, name)
    for start in range(0, 1 << 32, PIECE * step):
        stop = min(start + PIECE * step, 1 << 32)
        x = np.arange(start, stop, step, dtype=np.uint32).view(np.float32)
        with np.errstate(all="ignore"):
            wanted = ufunc(x.astype(np.float64))
        worst.add(units(function(x), wanted), [x])
    return worst


def sampled_error(name: str, dtype: Any, count: int) -> tuple[Worst, int]:
    """Over some ``count`` operands at random, and how many they were."""
    function, worst, tried = Fast(name, dtype), Worst(), 0
    wider: Any = np.float64 if dtype is np.float32 else np.longdouble
    while tried < count:
        given = operands(name, dtype, 5 + tried, 10000)
        worst.add(units(function(*given), exact(name, given, wider)), given)
        tried += given[0].size
    return worst, tried


def keep(path: Path, name: str, dtype: str, worst: Worst, tried: int) -> None:
    """Note what was found in a file that `fast_table` reads."""
    known = json.loads(path.read_text()) if path.exists() else {}
    known.setdefault(name, {})[dtype] = [round(worst.units, 3), tried]
    path.write_text(json.dumps(known, indent=1, sort_keys=True) + "\n")


def main() -> int:
    """Print the largest errors; 1 if one is too large."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("names", nargs="*", default=sorted(FUNCTIONS), metavar="NAME")
    options.add_argument("--step", type=int, default=1)
    options.add_argument("--sample", type=int, help="operands at random, both dtypes")
    options.add_argument("--json", type=Path, help="keep what was found")
    given = options.parse_args()
    bad = 0
    for name in given.names:
        found = []
        if given.sample:
            for dtype in (np.float32, np.float64):
                if dtype is np.float64 or name not in UNARY:
                    worst, tried = sampled_error(name, dtype, given.sample)
                    found.append((np.dtype(dtype).name, worst, tried))
        elif name in UNARY:
            worst = largest_error(name, given.step)
            found.append(("float32", worst, -(-(1 << 32) // given.step)))
        for kind, worst, tried in found:
            bad += worst.units > ULP
            listed = ", ".join(map(repr, worst.at))
            print(f"{name} {kind}: {worst.units:.3f} units at {listed}", flush=True)
            if given.json:
                keep(given.json, name, kind, worst, tried)
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
