"""Evaluating what was recorded, writing it to memory, and reducing it.

A group is found or fused here; `running` runs it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from .. import native
from ..backends.buffer import Buffer
from ..backends.registry import AUTO, Device, backend_for
from ..errors import DeviceError
from ..layout import view_host
from ..ops.elementwise import CAST
from ..ops.spec import Signature
from . import route
from .apart import set_apart
from .callers import Place
from .found import Found
from .fuse import Group, Target, fuse
from .graph import Binding, Read, State, Value, View, lock, pending_readers
from .known import find
from .noting import refuse
from .obstacles import obstacles
from .places import Accumulator, Ending, Into, Reduced
from .record import form_of, read_again, record
from .running import begin, run, wait_for

__all__ = [
    "evaluate",
    "flush_readers",
    "host_view",
    "reduce",
    "write",
]

HostArray = np.ndarray[Any, Any]

_PENDING, _STORED = State.PENDING, State.STORED

_lock = lock

KEPT = 4
"""How many times its own size an array may keep alive, to do without memory."""


# ------------------------------------------------------------------------- evaluation
def evaluate(values: Iterable[Value]) -> None:
    """Run pending values; stored ones cost nothing.

    Raises
    ------
    DeviceError
        The work failed on every device that could do it.
    """
    for value in values:
        if value.state is not _STORED:
            _evaluate(value)


def _evaluate(wanted: Value) -> None:
    first = _evaluated(wanted)
    if first is None:
        return
    stack = [wanted, *first]
    while stack:
        first = _evaluated(stack[-1])
        if first is None:
            stack.pop()
        else:
            stack.extend(first)


def _evaluated(value: Value) -> list[Value] | None:
    """Run a pending value; values that have to be run before, if there are some."""
    _lock.acquire()
    try:
        if value.state is not _PENDING and _is_settled(value):
            return None
        group: Group | Found | None = find(value, value.view)
        if group is None:
            first = obstacles(value)
            if first:
                return first
            group = fuse(Target(Read(value, value.layout, value.dtype)))
            if group.blockers:
                return group.blockers
        into = None
        shown = value.binding
        binding = None if shown is None else native.referent(shown)
        if binding is not None and binding.former is not None:
            into = _into_former(group, value, binding)
        begin(group.stored)
    finally:
        _lock.release()
    if into is None:
        run(group, value.device)
    else:
        _run_in_place(group, value, into)
    return None


def _into_former(group: Group | Found, value: Value, binding: Binding) -> Into | None:
    """The memory of an array that was operated on in place, for the value that it
    shows now, if nothing else wants what is there.  The caller holds the lock."""
    assert binding.former is not None
    old = binding.former()
    binding.former = None
    if old is None or old.view is not value.view or old.is_bound():
        return None
    buffer = old.buffer
    if old.state != _STORED or buffer is None or buffer.is_shared:
        return None
    target = Read(old, *old.view)
    readers = {id(reader) for reader in pending_readers(old)}
    if not readers <= {id(x) for x in group.values} or _disturbs(group, target):
        return None

    def then(value: Value) -> None:
        value.buffer = buffer

    return Into(target, True, then)


def _run_in_place(group: Group | Found, value: Value, into: Into) -> None:
    try:
        run(group, value.device, into)
    except BaseException:
        if value.state == _PENDING:  # it cannot be done again
            value.error = DeviceError("an operation in place was interrupted")
            value.state = State.FAILED
        raise


def _is_settled(value: Value) -> bool:
    """Wait while another thread runs the value; whether nothing is left to do."""
    if value.state == State.RUNNING:
        wait_for(value)
    if value.state == State.FAILED:
        assert value.error is not None
        raise value.error
    return value.state == State.STORED


def flush_readers(value: Value) -> None:
    """Run what still wants to read a value's memory, before somebody writes to it."""
    refuse()
    if value.readers is not None:
        evaluate(pending_readers(value))


# ----------------------------------------------------------------------------- writing
def write(target: Read, source: Read) -> None:
    """Store the elements of ``source`` in the memory that ``target`` shows.

    Both have the same shape and dtype.  A pending source is computed straight into the
    memory; an array that shows it goes on as a copy of that, see `_shown_there`.  One
    that other pending values read gets memory of its own first.
    """
    refuse()
    evaluate((target.value,))
    if target.value.readers is not None:
        set_apart(target, source.value)
    # What outsiders can write on the host stays there.
    named = "cpu" not in route.candidates(target.value.device)
    while True:
        then = None
        with lock:
            direct = (
                source.value.state == State.PENDING
                and source.layout == source.value.layout
                and source.dtype == source.value.dtype
                and not (named and _is_shared_on_host(target))
            )
            if direct and source.value.is_bound():
                then = _shown_there(target, source.value)
                direct = then is not None
            if direct:
                there = None
                if source.layout != target.layout:
                    there = View.of(target.layout, target.dtype)
                group = find(source.value, source.value.view, None, there) or fuse(
                    Target(source, into=target.layout.strides)
                )
                computed = {id(value) for value in group.values}
                waiting = [
                    reader
                    for reader in pending_readers(target.value)
                    if id(reader) not in computed
                ]
                if isinstance(group, Group):
                    waiting += group.blockers
                if not waiting:
                    if not _can_store(group, source, target):
                        direct = False
                    else:
                        begin(group.stored)
            else:
                waiting = pending_readers(target.value)
        if direct and not waiting:
            break
        evaluate(waiting)
        if not direct and not waiting:
            evaluate((source.value,))
            _copy(target, source)
            return
    assert target.value.buffer is not None
    nbytes = target.layout.size * target.dtype.itemsize
    whole = nbytes == target.value.buffer.nbytes
    place = Into(target, whole, then)
    run(group, common(target.value.device, source.value.device), place)


def _shown_there(target: Read, value: Value) -> Callable[[Value], None] | None:
    """How an array goes on showing a value that is written to other memory only: it is
    a copy of that memory, which is made before somebody writes there again, if the
    array still lives.  None where it had better have memory of its own."""
    buffer, expr = target.value.buffer, value.expr
    assert buffer is not None and expr is not None
    nbytes = value.layout.size * value.dtype.itemsize
    if buffer.is_shared or buffer.nbytes > KEPT * nbytes or len(expr.results) > 1:
        return None
    kinds = [View.of(target.layout, target.dtype)]
    form = form_of(CAST, kinds, Signature((value.dtype,), (value.dtype,)))
    if form.outputs[0] != value.view:
        return None
    place = expr.place
    return lambda value: read_again(value, form, target.value, place)


def common(first: Device, second: Device) -> Device:
    """Either label, the named one if only one is named."""
    return second if first is AUTO or first == AUTO else first


def _can_store(group: Group | Found, source: Read, target: Read) -> bool:
    expr = source.value.expr
    assert expr is not None
    # NumPy's inner loop would run along another axis than the target's memory does.
    if expr.form.inner_axis is not None and group.inner_axis != expr.form.inner_axis:
        return False
    # A pending value outside would be left without memory.
    readers = pending_readers(source.value)
    if readers and not {id(x) for x in readers} <= {id(x) for x in group.values}:
        return False
    return not _disturbs(group, target)


def _disturbs(group: Group | Found, target: Read) -> bool:
    """Whether writing to the target changes what is still to be read."""
    memory, layout = target.value.buffer, target.layout
    assert memory is not None
    low, high = layout.span(target.dtype.itemsize)
    low += memory.start
    high += memory.start
    for leaf in group.reads():
        buffer, seen = leaf.value.buffer, leaf.layout
        assert buffer is not None
        start = buffer.start
        if buffer is not memory and (
            # Memory of outsiders may overlap without being known as the same buffer.
            buffer.root is None
            or memory.root is None
            or start >= high
            or start + buffer.nbytes <= low
        ):
            continue
        if seen.strides == layout.strides and (
            start + seen.offset == memory.start + layout.offset
            and leaf.dtype.itemsize == target.dtype.itemsize
        ):
            continue  # each element is read before it is written
        first, last = seen.span(leaf.dtype.itemsize)
        if first + start < high and low < last + start:
            return True
    return False


def _is_shared_on_host(read: Read) -> bool:
    return read.value.buffer is not None and read.value.buffer.is_shared_on("cpu")


def _copy(target: Read, source: Read) -> None:
    """Copy between stored values, also overlapping ones."""
    device = common(target.value.device, source.value.device)
    if "cpu" in route.candidates(device) or _is_shared_on_host(target):
        np.copyto(host_view(target, writing=True), host_view(source))
        return
    signature = Signature((source.dtype,), (target.dtype,))
    (value,) = record(CAST, (source,), device, signature=signature)
    if source.value is target.value:
        evaluate((value,))  # a temporary
        (value,) = record(
            CAST, (Read(value, value.layout, value.dtype),), device, signature=signature
        )
    write(target, Read(value, value.layout, value.dtype))


# ---------------------------------------------------------------------- reading, calls
def host_view(read: Read, writing: bool = False) -> HostArray:
    """The elements of a stored value, as a NumPy array on its memory on the host."""
    refuse()
    buffer = read.value.buffer
    assert buffer is not None
    cpu = backend_for("cpu")
    root = buffer.write_on(cpu) if writing else buffer.read_on(cpu)
    return view_host(root, read.layout, read.dtype)


def reduce(
    value: Value, view: View, ending: Ending, device: Device, mask: int, place: Place
) -> tuple[Buffer, Reduced]:
    """Reduce a value over axes, fused with what makes it; runs now.

    Returns
    -------
    tuple of Buffer and Reduced
        Where the result is, and how it can be seen.
    """
    evaluate(obstacles(value))
    while True:
        with lock:
            found = None
            if value.state in (State.PENDING, State.STORED):
                found = find(value, view, ending)
            if found is not None:
                reduced = found.plan.reduced
                begin(found.stored)
                break
            group = fuse(Target(Read(value, *view), ending[0]))
            if not group.blockers:
                reduced = Reduced(view, ending)
                begin(group.stored)
                break
        evaluate(group.blockers)
    assert reduced is not None
    accumulator = Accumulator(reduced, mask, place)
    run(found or group, device, accumulator=accumulator)
    assert accumulator.buffer is not None
    return accumulator.buffer, reduced
