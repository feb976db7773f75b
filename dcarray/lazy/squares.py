"""``a[...] = a.T`` of squares: transposed where they lie, without a second array."""

from __future__ import annotations

import time
from typing import Any

from ..backends.base import Backend
from ..backends.registry import Device, backend_for
from ..errors import DeviceError
from ..layout import Layout, view_host
from ..profile import Event, emit
from . import recover, route
from .callers import name_line, user_frame
from .execute import evaluate, flush_readers
from .graph import Read
from .places import Into

__all__ = ["squares_of", "turn"]


def squares_of(target: Read, source: Read) -> Layout | None:
    """What a target shows as (squares, rows, columns), if the source shows the same
    memory with two axes of a length exchanged; None if it does not."""
    ours, theirs = target.layout, source.layout
    if (
        source.value is not target.value
        or target.dtype != source.dtype
        or ours.shape != theirs.shape
        or ours.offset != theirs.offset
        or 0 in ours.shape
    ):
        return None
    pairs = list(zip(ours.strides, theirs.strides, strict=True))
    differ = [axis for axis, (mine, other) in enumerate(pairs) if mine != other]
    if len(differ) != 2:
        return None
    first, second = differ
    if ours.shape[first] != ours.shape[second] or pairs[first] != pairs[second][::-1]:
        return None
    outer = [axis for axis in range(len(ours.shape)) if axis not in differ]
    side = ours.shape[first]
    try:
        found, _ = ours.apply(
            target.dtype,
            lambda a: a.transpose(*outer, *differ).reshape(-1, side, side, copy=False),
        )
    except ValueError:  # the squares do not follow each other at equal distances
        return None
    return found


def turn(target: Read, squares: Layout, device: Device) -> bool:
    """Transpose the squares of a stored value; whether the device has a kernel for it.

    Parameters
    ----------
    target : Read
    squares : Layout
        What it shows, as `squares_of` gives it.
    device : Device
        A named one.
    """
    if not hasattr(backend_for(str(device)), "turn_squares"):
        return False
    evaluate((target.value,))
    flush_readers(target.value)
    into = Into(target, False)
    started = time.perf_counter()

    def attempt(backend: Backend) -> None:
        memory = into.prepare(backend)
        turn_squares: Any = getattr(backend, "turn_squares", None)
        if turn_squares is None:
            host = view_host(memory, squares, target.dtype)
            host[...] = host.swapaxes(1, 2)  # NumPy sees that they overlap
        else:
            turn_squares(backend.view(memory, squares, target.dtype))
        into.wrote(backend, memory)

    size = squares.size
    nbytes = size * target.dtype.itemsize
    work = route.Work("turn_squares", size, 1, (into.buffer,), nbytes)
    try:
        ran_on = recover.run(attempt, lambda: work, device)
    except DeviceError as error:
        name_line(error, user_frame())
        raise
    seconds = time.perf_counter() - started
    event = Event("library", "turn_squares", ran_on, 1, size, 2 * nbytes, seconds)
    emit(event)
    return True
