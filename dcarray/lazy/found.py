"""A group that was found: a plan, and what it is bound to."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from .fuse import Group
from .graph import Read, Value

if TYPE_CHECKING:
    from .plans import Plan

__all__ = ["Found", "found_of"]


class Found:
    """A plan, and the values that it is bound to.

    Attributes
    ----------
    plan : Plan
    leaves : sequence of Value
    scalars : sequence of NumPy scalars
    stored : sequence of Value
        The values that are stored.
    values : sequence of Value
        All that is computed, stored or not.
    raised : tuple or None
        What `errstate.warn` has to say of the run, on the host.
    accumulator : Accumulator or None
        Where the result of a reduction goes, while it runs.
    """

    __slots__ = (
        "accumulator",
        "leaves",
        "plan",
        "raised",
        "scalars",
        "stored",
        "values",
    )

    accumulator: Any
    plan: Plan
    raised: tuple[Any, Any] | None
    leaves: Sequence[Value]
    scalars: Sequence[Any]
    stored: Sequence[Value]
    values: Sequence[Value]

    @property
    def inner_axis(self) -> int | None:
        """The axis along which the loop runs."""
        return self.plan.inner_axis

    def reads(self) -> list[Read]:
        """Memory that is read."""
        pairs = zip(self.leaves, self.plan.leaves, strict=True)
        return [Read(value, *view) for value, view in pairs]

    def group(self) -> Group:
        """The same, as `fuse` would have given it."""
        plan, values = self.plan, self.values
        exprs: list[Any] = [values[place].expr for place in plan.sources]
        return Group(
            plan.program,
            plan.shape,
            self.reads(),
            list(self.scalars),
            [(x, at) for x, (at, _) in zip(self.stored, plan.outputs, strict=True)],
            exprs,
            list(values),
            [],
            plan.inner_axis,
        )


def found_of(
    plan: Plan,
    leaves: Sequence[Value],
    scalars: Sequence[Any],
    stored: Sequence[Value],
    values: Sequence[Value],
) -> Found:
    """A new `Found`."""
    found = Found.__new__(Found)
    found.plan = plan
    found.leaves = leaves
    found.scalars = scalars
    found.stored = stored
    found.values = values
    found.raised = found.accumulator = None
    return found
