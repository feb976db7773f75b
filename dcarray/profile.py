"""What happened: counters, and events of the work that was done.

Any layer may emit.  Counters are always kept; events only while a profile is open.
"""

from __future__ import annotations

import threading
import time
from collections import defaultdict
from dataclasses import dataclass, field
from types import TracebackType

__all__ = ["Event", "collectors", "count", "counters", "emit", "is_active", "profile"]


@dataclass(frozen=True, slots=True)
class Event:
    """One piece of work.

    Attributes
    ----------
    kind : str
        ``"group"``, ``"library"``, ``"fallback"``, ``"compile"``, ``"transfer"``,
        ``"spill"``, ``"retry"`` or ``"validate"``.
    name : str
        The operations (``"multiply add exp"``), or what was moved.
    device : str
        Where it happened; for a transfer ``"cpu -> cuda:0"``.
    nodes : int
        Number of operations in a group.
    elements : int
        Number of elements of the group's shape.
    nbytes : int
        Bytes read and written, or moved.
    seconds : float
        How long the host was occupied.
    start : float
        `time.perf_counter` at its start.
    """

    kind: str
    name: str
    device: str = "cpu"
    nodes: int = 0
    elements: int = 0
    nbytes: int = 0
    seconds: float = 0.0
    start: float = field(default_factory=time.perf_counter)


counters: defaultdict[str, int] = defaultdict(int)
"""Totals since the process began, by event kind."""

collectors: list[profile] = []
"""The profiles that are open."""
_lock = threading.Lock()


def is_active() -> bool:
    """Whether somebody collects events."""
    return bool(collectors)


def count(kind: str, amount: int = 1) -> None:
    """Add to a total."""
    counters[kind] += amount


def emit(event: Event) -> None:
    """Count an event, and hand it to every open profile."""
    counters[event.kind] += 1
    for collector in collectors:
        collector.events.append(event)


class profile:
    """Collects events while open.

    Examples
    --------
    >>> import dcarray as dc
    >>> with dc.profile() as p:
    ...     y = (dc.ones(100_000) + 1).sum()
    >>> p.groups[0].name
    'add sum'
    """

    def __init__(self) -> None:
        self.events: list[Event] = []
        self.seconds = 0.0
        self._start = 0.0

    def __enter__(self) -> profile:
        self._start = time.perf_counter()
        with _lock:
            collectors.append(self)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        with _lock:
            collectors.remove(self)
        self.seconds += time.perf_counter() - self._start

    def of_kind(self, kind: str) -> list[Event]:
        """The events of one kind, in order."""
        return [event for event in self.events if event.kind == kind]

    @property
    def groups(self) -> list[Event]:
        """The fused groups that ran."""
        return self.of_kind("group")

    @property
    def fallbacks(self) -> list[Event]:
        """The calls that ran on the host because they are not native."""
        return self.of_kind("fallback")

    def table(self) -> list[dict[str, object]]:
        """One row for each kind, name and device, the slowest first.

        The keys are ``kind``, ``name``, ``device``, ``count``, ``elements``,
        ``nbytes`` and ``seconds``.
        """
        rows: dict[tuple[str, str, str], dict[str, object]] = {}
        sums: dict[tuple[str, str, str], list[float]] = {}
        for event in self.events:
            key = (event.kind, event.name, event.device)
            total = sums.setdefault(key, [0, 0, 0, 0.0])
            total[0] += 1
            total[1] += event.elements
            total[2] += event.nbytes
            total[3] += event.seconds
        for key, (number, elements, nbytes, seconds) in sums.items():
            rows[key] = {
                "kind": key[0],
                "name": key[1],
                "device": key[2],
                "count": int(number),
                "elements": int(elements),
                "nbytes": int(nbytes),
                "seconds": seconds,
            }
        return sorted(rows.values(), key=lambda row: -float(str(row["seconds"])))
