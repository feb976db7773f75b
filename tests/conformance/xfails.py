"""The file that data-apis/array-api-tests takes as ``--xfails-file``.

``python -m tests.conformance.xfails > xfails.txt`` writes it, for a device without
float64 with ``--without-doubles``.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from pathlib import Path

__all__ = ["ids"]

CASES = Path(__file__).with_name("array_api_special_cases.txt")

ROUNDINGS = ("ceil", "floor", "round", "trunc")
"""Of these the suite draws any whole number up to the largest of the widest dtype, and
expects it back: float32 has few of them, and NumPy's own float32 fails just so.  Which
numbers are drawn is random, so these cases pass and fail by turns."""


def ids(doubles: bool = True) -> Iterator[str]:
    """The suite's ids of the special cases, one for each spelling."""
    if not doubles:
        for name in ROUNDINGS:
            case = f"test_unary[{name}(x_i.is_integer()) -> x_i]"
            yield f"array_api_tests/test_special_cases.py::{case}"
    for line in CASES.read_text().splitlines():
        if not line or line.startswith("#"):
            continue
        braces = re.match(r"\{(.*?)\}", line)
        spellings = braces[1].split(",") if braces else [""]
        rest = line[braces.end() :] if braces else line
        for spelling in spellings:
            yield f"array_api_tests/test_special_cases.py::{spelling}{rest}"


if __name__ == "__main__":
    print("\n".join(ids("--without-doubles" not in sys.argv[1:])))
