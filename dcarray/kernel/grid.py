"""The words of kernels that run over a grid of work items.

Work items come in *groups*, of the same size each, and the groups fill a grid of up to
three axes.  The work items of a group share memory and can wait for each other.
"""

from __future__ import annotations

from contextvars import ContextVar
from typing import Any, Protocol

__all__ = [
    "Atomic",
    "Barrier",
    "Place",
    "SharedMemory",
    "WorkItem",
    "atomic_add",
    "atomic_and",
    "atomic_compare_exchange",
    "atomic_exchange",
    "atomic_max",
    "atomic_min",
    "atomic_or",
    "atomic_xor",
    "barrier",
    "global_id",
    "global_size",
    "group_count",
    "group_id",
    "local_id",
    "local_size",
    "running",
    "shared",
]


class WorkItem(Protocol):
    """What runs a kernel as plain Python, one of these for each work item."""

    def place(self, kind: str, axis: int) -> int:
        """One of `nodes.INDEX_KINDS` along an axis."""

    def shared(self, dtype: Any, size: int) -> Any:
        """The group's array."""

    def barrier(self) -> None:
        """Wait for the others of the group."""

    def atomic(self, operation: str, array: Any, index: Any, *values: Any) -> Any:
        """Change an element in one step; returns the old one."""


running: ContextVar[WorkItem] = ContextVar("running")
"""The work item that runs now."""


def _item(word: str) -> WorkItem:
    found = running.get(None)
    if found is None:
        raise RuntimeError(f"{word} has a meaning only inside of a kernel that runs")
    return found


class Place:
    """Where a work item is, or how large the grid is, along an axis."""

    __slots__ = ("kind",)

    def __init__(self, kind: str) -> None:
        self.kind = kind

    def __repr__(self) -> str:
        return f"<{self.kind}>"

    def __call__(self, axis: int = 0) -> Any:
        return _item(self.kind).place(self.kind, axis)


class SharedMemory:
    """``shared(dtype, size)``: an array that the work items of a group share."""

    __slots__ = ()

    def __repr__(self) -> str:
        return "shared"

    def __call__(self, dtype: Any, size: int) -> Any:
        return _item("shared").shared(dtype, size)


class Barrier:
    """``barrier()``: all work items of a group meet here."""

    __slots__ = ()

    def __repr__(self) -> str:
        return "barrier"

    def __call__(self) -> None:
        _item("barrier").barrier()


class Atomic:
    """``atomic(array, index, value)``: changes an element in one step, and gives the
    element that was there before.  To compare and exchange takes ``(array, index,
    expected, value)``."""

    __slots__ = ("name", "operation")

    def __init__(self, name: str, operation: str) -> None:
        self.name = name
        self.operation = operation

    def __repr__(self) -> str:
        return f"<{self.name}>"

    def __call__(self, array: Any, index: Any, *values: Any) -> Any:
        return _item(self.name).atomic(self.operation, array, index, *values)


global_id = Place("global_id")
local_id = Place("local_id")
group_id = Place("group_id")
global_size = Place("global_size")
local_size = Place("local_size")
group_count = Place("group_count")
shared = SharedMemory()
barrier = Barrier()
atomic_add = Atomic("atomic_add", "add")
atomic_min = Atomic("atomic_min", "minimum")
atomic_max = Atomic("atomic_max", "maximum")
atomic_and = Atomic("atomic_and", "bitwise_and")
atomic_or = Atomic("atomic_or", "bitwise_or")
atomic_xor = Atomic("atomic_xor", "bitwise_xor")
atomic_exchange = Atomic("atomic_exchange", "exchange")
atomic_compare_exchange = Atomic("atomic_compare_exchange", "compare_exchange")
