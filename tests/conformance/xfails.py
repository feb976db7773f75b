"""The file that data-apis/array-api-tests takes as ``--xfails-file``.

``python -m tests.conformance.xfails > xfails.txt`` writes it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

__all__ = ["ids"]

CASES = Path(__file__).with_name("array_api_special_cases.txt")


def ids() -> Iterator[str]:
    """The suite's ids of the special cases, one for each spelling."""
    for line in CASES.read_text().splitlines():
        if not line or line.startswith("#"):
            continue
        braces = re.match(r"\{(.*?)\}", line)
        spellings = braces[1].split(",") if braces else [""]
        rest = line[braces.end() :] if braces else line
        for spelling in spellings:
            yield f"array_api_tests/test_special_cases.py::{spelling}{rest}"


if __name__ == "__main__":
    print("\n".join(ids()))
