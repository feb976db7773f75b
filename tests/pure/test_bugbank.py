"""The given bank of public bug reports, where it lies beside the repository."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path
from typing import Any

import pytest

import dcarray as dc

FOLDER = Path(__file__).resolve().parents[3] / "shared" / "bugbank"


def cases() -> list[Any]:
    if not (FOLDER / "given.py").exists():
        return []
    sys.path.insert(0, str(FOLDER))
    try:
        return list(importlib.import_module("given").BANK.cases)
    finally:
        sys.path.remove(str(FOLDER))


CASES = cases()


@pytest.mark.skipif(not CASES, reason="the bank is not beside this checkout")
@pytest.mark.parametrize("lazy", ["auto", "always"])
@pytest.mark.parametrize("slug", [one.slug for one in CASES] or ["none"])
def test_given_case(slug: str, lazy: str) -> None:
    bank = importlib.import_module("given").BANK
    with dc.config(lazy=lazy):
        rows = bank.run(dc, slug)
    assert [row[0] for row in rows] == [slug]
    assert rows[0][1], bank.reasons[slug]
