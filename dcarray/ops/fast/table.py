"""Bodies by the name of the operation."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .exponential import exp

__all__ = ["BODIES"]

BODIES: dict[str, Callable[..., Any]] = {"exp": exp}
