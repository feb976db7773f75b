"""Elements of a device's memory that the host looks at.

A small array that is read element by element is brought once, and read on the host
until it is written.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..backends.buffer import Buffer
from ..backends.registry import backend_for
from ..layout import view_host
from ..ops.elementwise import CAST
from .graph import Read, State, Value, View
from .noting import refuse

__all__ = ["element", "extent"]

HostArray = np.ndarray[Any, Any]

SMALL, LARGE = 1 << 14, 1 << 23
"""Bytes of an array that is brought for one element, and of one that never is."""

PART = 1 << 16
"""Bytes that are brought in the time of an element."""


class Seen:
    """What the host knows of a buffer's elements since they were written last.  Who
    writes there puts it aside.

    Attributes
    ----------
    looks : int
        How often they were asked for.
    view : View or None
        How those lie of which these are the least and the greatest:
    low, high : int
    """

    __slots__ = ("high", "looks", "low", "view")

    def __init__(self) -> None:
        self.looks = self.low = self.high = 0
        self.view: View | None = None


def element(value: Value) -> HostArray | None:
    """A pending element of memory that is near, on the host; None for all else."""
    expr = value.expr
    if expr is None or value.layout.shape or value.state != _PENDING:
        return None
    form = expr.form
    if form.op is not CAST or form.shape:
        return None
    source, seen = expr.sources[0], form.inputs[0]
    if seen is None or seen[1] is not value.dtype or source.state != _STORED:
        return None
    buffer = source.buffer
    if buffer is None or not _comes_near(buffer, _seen(buffer)):
        return None
    refuse()
    found = view_host(buffer.read_on(backend_for("cpu")), *seen).copy()
    # Who writes there has what reads it run before.
    return found if value.state == _PENDING else None


def extent(read: Read) -> tuple[int, int] | None:
    """Bounds of the integers of an array, which is stored; None where the host would
    have to wait for them time and again."""
    value = read.value
    buffer = value.buffer
    if buffer is None or not value.layout.size or not _are_some_of(read):
        return None
    seen = _seen(buffer)
    if seen.view is not value.view:
        if not seen.looks and not buffer.is_valid_on("cpu"):
            seen.looks = 1  # most index arrays are used once
            return None
        if not _comes_near(buffer, seen):
            return None
        refuse()
        root = buffer.read_on(backend_for("cpu"))
        whole = view_host(root, value.layout, value.dtype)
        seen.low, seen.high = int(whole.min()), int(whole.max())
        seen.view = value.view
    return seen.low, seen.high


def _are_some_of(read: Read) -> bool:
    """Whether what is read are elements of the value, and not other bytes of them."""
    value, layout, size = read.value, read.layout, read.dtype.itemsize
    return (
        value.layout.plain
        and value.dtype == read.dtype
        and not layout.offset % size
        and not any([step % size for step in layout.strides])
    )


def _seen(buffer: Buffer) -> Seen:
    seen: Seen | None = buffer.seen
    if seen is None:
        seen = buffer.seen = Seen()
    return seen


def _comes_near(buffer: Buffer, seen: Seen) -> bool:
    """Whether the host has the bytes, or they are few, or were asked for often."""
    if buffer._sharer is not None:
        return False
    if buffer.is_valid_on("cpu") or buffer.nbytes <= SMALL:
        return True
    if buffer.nbytes > LARGE:
        return False
    seen.looks += 1
    return seen.looks * PART > buffer.nbytes


_PENDING, _STORED = State.PENDING, State.STORED
