"""Who notes what the function that this thread runs does, see `tape`.

It stands below everything that could do what a repetition would leave out: reading
elements on the host, and writing to memory.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .tape import Notes

__all__ = ["noted", "notes", "refuse"]


class _Local(threading.local):
    notes: Notes | None = None


_local = _Local()


def notes() -> Notes | None:
    """What is noted of the function that this thread runs."""
    return _local.notes


def refuse() -> None:
    """The function is not kept: what happens now depends on more than how arrays lie,
    or is not among the steps that are noted."""
    made = _local.notes
    if made is not None:
        made.is_known = False


@contextmanager
def noted(made: Notes) -> Iterator[None]:
    """Note what is done as long as the block lasts."""
    _local.notes = made
    try:
        yield
    finally:
        _local.notes = None
