"""The coefficients of `dcarray.ops.fast`: ``python -m tests.stress.fast_coefficients``.

Each polynomial has the least error that its degree allows, measured against the
function that it is a part of (E. Y. Remez, 1934).  Computed with mpmath at 60 digits,
then rounded to the dtype.  The script writes ``dcarray/ops/fast/coefficients.py``.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import mpmath as mp
import numpy as np

mp.mp.dps = 60

TARGET = Path(__file__).parents[2] / "dcarray" / "ops" / "fast" / "coefficients.py"

Function = Callable[[Any], Any]


@dataclass(frozen=True)
class Polynomial:
    """A row: ``part`` of a function on an interval, and its weight in the result.

    ``degrees`` are those for float32 and float64.
    """

    name: str
    part: Function
    weight: Function
    low: Any
    high: Any
    degrees: tuple[int, int]
    doc: str


def series(function: Function, terms: Function, limit: Any) -> Function:
    """``function``, or the sum of the first ``terms`` where it loses digits."""
    return lambda x: terms(x) if abs(x) < limit else function(x)


def tail(first: int, step: int, count: int = 12) -> Function:
    """exp, sinh or cosh without their first terms, over the power that is left."""
    return lambda x: mp.fsum(
        x**k / mp.factorial(first + step * k) for k in range(count)
    )


def odd_tail(sign: int) -> Function:
    """(atanh(s)/s - 1)/z for ``sign`` 1, (atan(s)/s - 1)/z for -1, where z = s * s."""
    return lambda z: mp.fsum(
        mp.mpf(sign) ** (k + 1) * z**k / (2 * k + 3) for k in range(12)
    )


def arcsine_tail(z: Any) -> Any:
    """(asin(s)/s - 1)/z, where z = s * s."""
    return mp.fsum(
        mp.binomial(2 * k, k) / (mp.mpf(4) ** k * (2 * k + 1)) * z ** (k - 1)
        for k in range(1, 13)
    )


SMALL = mp.mpf("1e-4")
HALF_LN2 = mp.log(2) / 2 * (1 + mp.mpf("1e-3"))
QUARTER_PI = mp.pi / 4 * (1 + mp.mpf("1e-2"))
ROOT = (mp.sqrt(2) - 1) / (mp.sqrt(2) + 1) * (1 + mp.mpf("1e-3"))
EIGHTH = mp.tan(mp.pi / 8) * (1 + mp.mpf("1e-3"))


def _root(z: Any) -> Any:
    return mp.sqrt(z)


ROWS = [
    Polynomial(
        "EXP",
        series(lambda r: (mp.exp(r) - 1 - r) / r**2, tail(2, 1), SMALL),
        lambda r: r**2 / mp.exp(r),
        -HALF_LN2,
        HALF_LN2,
        (4, 9),
        "(exp(r) - 1 - r) / r**2 on abs(r) <= log(2) / 2",
    ),
]


def remez(row: Polynomial, degree: int) -> tuple[list[Any], Any]:
    """Coefficients, those of the highest powers first, and the largest error."""
    count = degree + 2
    middle, half = (row.low + row.high) / 2, (row.high - row.low) / 2
    points = [
        # Not quite Chebyshev's, so that none is where the weight is 0.
        middle - half * mp.cos(mp.pi * (2 * k + mp.mpf("1.03")) / (2 * count))
        for k in range(count)
    ]
    grid = [
        middle - half * mp.cos(mp.pi * k / (16 * count)) for k in range(16 * count + 1)
    ]
    values = [(x, row.part(x), row.weight(x)) for x in grid]
    coefficients: list[Any] = []
    for _ in range(12):
        system = mp.matrix(count, count)
        right = mp.matrix(count, 1)
        for line, x in enumerate(points):
            for power in range(degree + 1):
                system[line, power] = row.weight(x) * x**power
            system[line, degree + 1] = (-1) ** line
            right[line] = row.weight(x) * row.part(x)
        solved = mp.lu_solve(system, right)
        level = abs(solved[degree + 1])
        coefficients = [solved[k] for k in range(degree, -1, -1)]
        errors = [(x, w * (mp.polyval(coefficients, x) - f)) for x, f, w in values]
        # The largest error of each run of one sign.
        runs: list[tuple[Any, Any]] = []
        for x, error in errors:
            if runs and (error > 0) == (runs[-1][1] > 0):
                if abs(error) > abs(runs[-1][1]):
                    runs[-1] = (x, error)
            else:
                runs.append((x, error))
        while len(runs) > count:
            runs.pop(0 if abs(runs[0][1]) < abs(runs[-1][1]) else -1)
        worst = max(abs(error) for _, error in errors)
        if len(runs) < count or worst < level * mp.mpf("1.001"):
            break
        points = [x for x, _ in runs]
    return coefficients, worst


def rounded(coefficients: list[Any], dtype: type[np.floating]) -> list[str]:
    # Through the nearest double: to float32 that is near enough.
    return [repr(float(dtype(float(value)))) for value in coefficients]


def main() -> int:
    """Write the file."""
    lines = [
        '"""Coefficients of polynomials, those of the highest powers first.',
        "",
        "Made by ``tests/stress/fast_coefficients.py``, which says how; for each",
        "polynomial the largest relative error of the result that is due to it, before",
        'the coefficients were rounded."""',
        "",
        "from __future__ import annotations",
        "",
    ]
    names = []
    for row in ROWS:
        for dtype, suffix, degree in (
            (np.float32, "SINGLE", row.degrees[0]),
            (np.float64, "DOUBLE", row.degrees[1]),
        ):
            found, worst = remez(row, degree)
            name = f"{row.name}_{suffix}"
            names.append(name)
            print(f"{name}: degree {degree}, 2**{float(mp.log(worst, 2)):.1f}")
            lines += ["", f"# {row.doc}: 2**{float(mp.log(worst, 2)):.1f}"]
            lines += [f"{name} = ("]
            lines += [f"    {value}," for value in rounded(found, dtype)]
            lines += [")"]
    listed = ", ".join(f'"{name}"' for name in sorted(names))
    lines.insert(8, f"__all__ = [{listed},]\n")
    TARGET.write_text("\n".join(lines) + "\n", encoding="utf-8")
    subprocess.run([sys.executable, "-m", "ruff", "format", "-q", TARGET], check=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
