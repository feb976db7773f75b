"""What the pools of all devices in use hold."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from .registry import opened

__all__ = ["memory_stats"]


def memory_stats() -> dict[str, dict[str, int]]:
    """Memory of every device in use, by its label.

    Returns
    -------
    dict
        For each device the bytes ``held``, of them ``in_use`` and ``idle``, the most
        that were held (``high_water``), and how often a block was there already
        (``hits``), had to be allocated (``misses``) or was given back to the system
        (``evictions``).  ``held`` is ``in_use + idle``.

    Examples
    --------
    >>> import dcarray as dc
    >>> stats = dc.memory_stats().get("cpu", {"held": 0, "in_use": 0, "idle": 0})
    >>> stats["held"] == stats["in_use"] + stats["idle"]
    True
    """
    found: dict[str, dict[str, int]] = {}
    for backend in opened():
        pool: Any = getattr(backend, "pool", None)
        if pool is not None:
            facts = asdict(pool.statistics())
            del facts["device"]
            found[backend.device] = facts
    return found
