"""What would run, where, and why, without running it."""

from __future__ import annotations

from dataclasses import dataclass

from . import route
from .fuse import Group, Target, fuse
from .graph import Read, State, Value, lock
from .running import work_of

__all__ = ["Plan", "PlannedGroup", "plan_for"]


@dataclass(frozen=True, slots=True)
class PlannedGroup:
    """One fused group of a plan.

    Attributes
    ----------
    operations : str
        Names of the operations, in order.
    shape : tuple of int
    reads : int
        Number of arrays that are read from memory.
    writes : int
        Number of arrays that are stored.
    predictions : tuple of Prediction
        Seconds for each device that could run it, the chosen one first.
    """

    operations: str
    shape: tuple[int, ...]
    reads: int
    writes: int
    predictions: tuple[route.Prediction, ...]

    def __str__(self) -> str:
        first = self.predictions[0]
        others = ", ".join(
            f"{p.device} {p.seconds * 1e6:.0f} µs" for p in self.predictions[1:]
        )
        compared = f" (instead of {others})" if others else ""
        return (
            f"{self.operations}  over {self.shape}, reads {self.reads}, writes "
            f"{self.writes}, on {first.device}: {first.seconds * 1e6:.0f} µs{compared}"
        )


@dataclass(frozen=True, slots=True)
class Plan:
    """The groups that evaluating an array would run, in order; none if it is stored."""

    groups: tuple[PlannedGroup, ...]

    def __str__(self) -> str:
        if not self.groups:
            return "nothing to run: the value is stored"
        return "\n".join(
            f"{number}. {group}" for number, group in enumerate(self.groups, 1)
        )

    __repr__ = __str__


def plan_for(wanted: Value) -> Plan:
    """The plan of a pending value.

    Values that one group would store for another count as stored for it.
    """
    groups: list[PlannedGroup] = []
    planned: set[int] = set()

    with lock:
        stack = [wanted]
        while stack:
            value = stack[-1]
            if id(value) in planned or value.state != State.PENDING:
                stack.pop()
                continue
            group = fuse(Target(Read(value, value.layout, value.dtype)))
            waiting = [v for v in group.blockers if id(v) not in planned]
            waiting = [v for v in waiting if v.state == State.PENDING]
            if waiting:
                stack.extend(waiting)
                continue
            stack.pop()
            planned.update(id(v) for v, _ in group.outputs)
            groups.append(_planned(group, value))
    return Plan(tuple(groups))


def _planned(group: Group, value: Value) -> PlannedGroup:
    labels = route.candidates(value.device)
    work = work_of(group)
    ranked = route.choose(work, labels)
    return PlannedGroup(
        group.program.describe(),
        group.shape,
        len(group.leaves),
        len(group.outputs),
        tuple(ranked),
    )
