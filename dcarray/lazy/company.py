"""What is part of a group that is found again: see `fuse`, which decides the same where
a group is put together for the first time."""

from __future__ import annotations

from typing import Any

from .. import native
from .fuse import fastest
from .graph import State, Value, pending_readers

__all__ = ["is_part", "next_along"]


def next_along(
    root: Value,
    place: int,
    values: list[Value],
    counts: list[int],
    most: int,
    room: int,
    stack: list[Value],
) -> int:
    """Put the next reader of what a group computes on the ``stack``, if it is to be
    computed as well.

    Parameters
    ----------
    root : Value
        What was asked for.  It bears the mark of all that is in the group.
    place : int
        The value in whose readers to begin.
    values : list of Value
    counts : list of int
        How often each of them is read in the group.
    most : int
        Operations that a group may have.
    room : int
        Arrays that it may read yet.
    stack : list of Value

    Returns
    -------
    int
        The value that the reader was found at; -1 if there is none.
    """
    while place < len(values):
        value = values[place]
        if (
            value is not root
            and value.readers is not None
            and len(value.readers) > counts[place]
        ):
            for reference in value.readers:
                reader = native.referent(reference)
                if (
                    reader is not None
                    and reader.mark != root.mark
                    and _goes_along(reader, root, len(values) < most, room)
                ):
                    stack.append(reader)
                    return place
        place += 1
    return -1


def _goes_along(value: Value, root: Value, may_grow: bool, room: int) -> bool:
    expr = value.expr
    if (
        not may_grow
        or expr is None
        or value.state is not _PENDING
        or len(expr.results) > 1
        or len(expr.sources) > room
        or value.layout.shape != root.layout.shape
    ):
        return False
    form = expr.form
    for place in form.arrays:
        source = expr.sources[place]
        if source.state is not _STORED:
            seen = form.inputs[place]
            if source.mark != root.mark or not (
                seen is source.view or is_part(seen, source.view)
            ):
                return False
    axis: Any = form.inner_axis
    if axis is not None and axis != fastest(root.layout.shape, root.layout.strides):
        return False
    return value.is_bound() or bool(pending_readers(value))


def is_part(seen: Any, view: Any) -> bool:
    """Whether a view shows the real or the imaginary parts of all that the other one
    shows."""
    part, both = seen[1], view[1]
    if both.kind != "c" or part.kind != "f" or 2 * part.itemsize != both.itemsize:
        return False
    layout, whole = seen[0], view[0]
    return bool(
        layout.shape == whole.shape
        and layout.strides == whole.strides
        and layout.offset - layout.offset % both.itemsize == whole.offset
    )


_PENDING, _STORED = State.PENDING, State.STORED
