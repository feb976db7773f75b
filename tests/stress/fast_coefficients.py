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

    ``degrees`` are those for float32 and float64, 0 where there is no need for one.
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


def powers(first: int, step: int = 1, sign: int = 1) -> Function:
    """The sum of ``sign**k x**k / (first + step * k)!``."""
    return lambda x: mp.fsum(
        mp.mpf(sign) ** k * x**k / mp.factorial(first + step * k) for k in range(12)
    )


def odd_powers(first: int, sign: int = 1) -> Function:
    """The sum of ``sign**k z**k / (first + 2 * k)``."""
    return lambda z: mp.fsum(
        mp.mpf(sign) ** k * z**k / (first + 2 * k) for k in range(12)
    )


def arcsine_powers(z: Any) -> Any:
    """(asin(s)/s - 1)/z, where z = s * s."""
    return mp.fsum(
        mp.binomial(2 * k, k) / (mp.mpf(4) ** k * (2 * k + 1)) * z ** (k - 1)
        for k in range(1, 13)
    )


def of_square(function: Function, inner: Function = mp.sqrt) -> Function:
    """(f(s)/s - 1)/z as a function of z = s * s."""
    return lambda z: (function(inner(z)) / inner(z) - 1) / z


SMALL = mp.mpf("1e-5")
HALF_LN2 = mp.log(2) / 2 * (1 + mp.mpf("1e-3"))
QUARTER_PI = mp.pi / 4 * (1 + mp.mpf("4e-3"))
ROOT = (mp.sqrt(2) - 1) / (mp.sqrt(2) + 1) * (1 + mp.mpf("1e-6"))
WIDER = mp.mpf("0.2006")
EIGHTH = mp.tan(mp.pi / 8) * (1 + mp.mpf("1e-3"))

ROWS = [
    Polynomial(
        "EXP",
        series(lambda r: (mp.exp(r) - 1 - r) / r**2, powers(2), SMALL),
        lambda r: r**2 / mp.exp(r),
        -HALF_LN2,
        HALF_LN2,
        (4, 9),
        "(exp(r) - 1 - r) / r**2, abs(r) <= log(2) / 2",
    ),
    Polynomial(
        "EXP2",
        series(
            lambda r: (mp.mpf(2) ** r - 1) / r,
            lambda r: mp.log(2) * powers(1)(r * mp.log(2)),
            SMALL,
        ),
        lambda r: r / mp.mpf(2) ** r,
        mp.mpf("-0.5001"),
        mp.mpf("0.5001"),
        (5, 10),
        "(2**r - 1) / r, abs(r) <= 0.5",
    ),
    Polynomial(
        "SINH",
        series(of_square(mp.sinh), powers(3, 2), SMALL),
        lambda z: z,
        mp.mpf(0),
        HALF_LN2**2,
        (2, 4),
        "(sinh(r) / r - 1) / z, where z = r * r, abs(r) <= log(2) / 2",
    ),
    Polynomial(
        "COSH",
        series(lambda z: (mp.cosh(mp.sqrt(z)) - 1) / z, powers(2, 2), SMALL),
        lambda z: z,
        mp.mpf(0),
        HALF_LN2**2,
        (2, 4),
        "(cosh(r) - 1) / z, the same",
    ),
    Polynomial(
        "LOG",
        series(of_square(mp.atanh), odd_powers(3), SMALL),
        lambda z: z,
        mp.mpf(0),
        ROOT**2,
        (2, 6),
        "(atanh(s) / s - 1) / z, where z = s * s, abs(s) <= 0.1716",
    ),
    Polynomial(
        "ATANH",
        series(of_square(mp.atanh), odd_powers(3), SMALL),
        lambda z: z,
        mp.mpf(0),
        WIDER**2,
        (2, 6),
        "the same, abs(s) <= 0.2006",
    ),
    Polynomial(
        "POWER",
        series(
            lambda z: (mp.atanh(mp.sqrt(z)) / mp.sqrt(z) - 1 - z / 3) / z**2,
            odd_powers(5),
            SMALL,
        ),
        lambda z: z**2,
        mp.mpf(0),
        ROOT**2,
        (0, 6),
        "(atanh(s) / s - 1 - z / 3) / z**2, abs(s) <= 0.1716",
    ),
    Polynomial(
        "SIN",
        series(
            of_square(mp.sin),
            lambda z: -powers(3, 2, -1)(z),
            SMALL,
        ),
        lambda z: z * mp.sqrt(z) / mp.sin(mp.sqrt(z)) if z else z,
        mp.mpf(0),
        QUARTER_PI**2,
        (2, 5),
        "(sin(r) / r - 1) / z, where z = r * r, abs(r) <= pi / 4",
    ),
    Polynomial(
        "COS",
        series(
            lambda z: (mp.cos(mp.sqrt(z)) - 1) / z,
            lambda z: -powers(2, 2, -1)(z),
            SMALL,
        ),
        lambda z: z / mp.cos(mp.sqrt(z)),
        mp.mpf(0),
        QUARTER_PI**2,
        (3, 6),
        "(cos(r) - 1) / z, the same",
    ),
    Polynomial(
        "ASIN",
        series(of_square(mp.asin), arcsine_powers, SMALL),
        lambda z: z * mp.sqrt(z) / mp.asin(mp.sqrt(z)) if z else z,
        mp.mpf(0),
        mp.mpf("0.25"),
        (4, 12),
        "(asin(s) / s - 1) / z, where z = s * s, abs(s) <= 0.5",
    ),
    Polynomial(
        "ATAN",
        series(of_square(mp.atan), lambda z: -odd_powers(3, -1)(z), SMALL),
        lambda z: z * mp.sqrt(z) / mp.atan(mp.sqrt(z)) if z else z,
        mp.mpf(0),
        EIGHTH**2,
        (4, 10),
        "(atan(s) / s - 1) / z, where z = s * s, abs(s) <= tan(pi / 8)",
    ),
    Polynomial(
        "CBRT",
        lambda b: b ** (mp.mpf(1) / 3),
        lambda b: b ** (-mp.mpf(1) / 3),
        mp.mpf("0.5"),
        mp.mpf(4),
        (5, 5),
        "the cube root of b, 0.5 <= b <= 4",
    ),
]


CONSTANTS = [
    # Name, value, bits of all parts but the last (0: as many as there are) and their
    # number, for float32 and float64.
    ("LN2", mp.log(2), 2, (16, 32)),
    ("LOG10_2", mp.log(2, 10), 2, (14, 32)),
    ("LOG2E", 1 / mp.log(2), 2, (0, 0)),
    ("LOG10E", 1 / mp.log(10), 2, (0, 0)),
    ("HALF_PI", mp.pi / 2, 3, (0, 0)),
    ("PI", mp.pi, 2, (0, 0)),
    ("QUARTER_PI", mp.pi / 4, 2, (0, 0)),
    ("THREE_QUARTERS_PI", 3 * mp.pi / 4, 2, (0, 0)),
    ("THIRD", mp.mpf(1) / 3, 2, (None, 0)),
    ("TWO_LOG2E", 2 / mp.log(2), 2, (None, 0)),
]


def divided(value: Any, count: int, bits: int, dtype: type[np.floating]) -> list[str]:
    """A constant as a sum of numbers."""
    found = []
    for _ in range(count):
        part = float(dtype(float(value)))
        if bits and len(found) < count - 1:
            unit = mp.mpf(2) ** (mp.floor(mp.log(value, 2)) + 1 - bits)
            part = float(mp.floor(value / unit) * unit)
        found.append(repr(part))
        value -= mp.mpf(part)
    return found


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
            if not degree:
                continue
            found, worst = remez(row, degree)
            name = f"{row.name}_{suffix}"
            names.append(name)
            print(f"{name}: degree {degree}, 2**{float(mp.log(worst, 2)):.1f}")
            lines += ["", f"# {row.doc}: 2**{float(mp.log(worst, 2)):.1f}"]
            lines += [f"{name} = ("]
            lines += [f"    {value}," for value in rounded(found, dtype)]
            lines += [")"]
    for name, value, count, bits in CONSTANTS:
        for dtype, suffix, short in (
            (np.float32, "SINGLE", bits[0]),
            (np.float64, "DOUBLE", bits[1]),
        ):
            if short is None:
                continue
            names.append(f"{name}_{suffix}")
            parts = ", ".join(divided(value, count, short, dtype))
            lines.append(f"{name}_{suffix} = ({parts})")
    listed = ", ".join(f'"{name}"' for name in sorted(names))
    lines.insert(8, f"__all__ = [{listed},]\n")
    TARGET.write_text("\n".join(lines) + "\n", encoding="utf-8")
    subprocess.run([sys.executable, "-m", "ruff", "format", "-q", TARGET], check=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
