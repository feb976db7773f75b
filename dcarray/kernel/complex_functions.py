"""Elementary functions of complex numbers, written over their parts."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

__all__ = ["FUNCTIONS"]

FUNCTIONS: dict[str, Callable[..., Any]] = {}
"""Functions by the name of the primitive whose complex meaning they have."""
