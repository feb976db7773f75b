"""Running what was recorded.

The life of a deferred expression is one function: see `_run`.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from ..backends.base import Backend
from ..backends.buffer import Buffer
from ..backends.registry import AUTO, Device, backend_for
from ..config import current
from ..layout import Layout, reduced_strides, view_host
from ..ops.elementwise import CAST
from ..ops.spec import Op, Signature
from ..profile import Event, count, emit, is_active
from . import errstate, recover, route
from .compiled import executable_for
from .fuse import Group, Target, fuse
from .graph import Read, State, Value, lock, name_line, pending_readers
from .places import Accumulator, Into
from .plain import fuse_plain
from .record import record

__all__ = [
    "evaluate",
    "flush_readers",
    "host_view",
    "reduce",
    "view_on",
    "write",
]

HostArray = np.ndarray[Any, Any]

_done = threading.Condition(lock)


# ------------------------------------------------------------------------- evaluation
def evaluate(values: Iterable[Value]) -> None:
    """Run pending values; stored ones cost nothing.

    Raises
    ------
    DeviceError
        The work failed on every device that could do it.
    """
    for value in values:
        if value.state != State.STORED:
            _evaluate(value)


def _evaluate(wanted: Value) -> None:
    stack = [wanted]
    while stack:
        value = stack[-1]
        with lock:
            if _is_settled(value):
                stack.pop()
                continue
            group = fuse_plain(value) or fuse(
                Target(Read(value, value.layout, value.dtype))
            )
            if group.blockers:
                stack.extend(group.blockers)
                continue
            _begin(group)
        _run(group, value.device)
        stack.pop()


def _is_settled(value: Value) -> bool:
    """Wait while another thread runs the value; whether nothing is left to do."""
    while value.state == State.RUNNING:
        _done.wait()
    if value.state == State.FAILED:
        assert value.error is not None
        raise value.error
    return value.state == State.STORED


def flush_readers(value: Value) -> None:
    """Run what still wants to read a value's memory, before somebody writes to it."""
    if value.readers is not None:
        evaluate(pending_readers(value))


def _begin(group: Group) -> None:
    for value, _ in group.outputs:
        value.state = State.RUNNING


def _end(group: Group, state: str, error: BaseException | None = None) -> None:
    with lock:
        for value, _ in group.outputs:
            value.state = state
            value.error = error
            if state == State.STORED:
                value.expr = None
            else:
                value.buffer = None
        _done.notify_all()


def _run(
    group: Group,
    device: Device,
    into: Into | None = None,
    accumulator: Accumulator | None = None,
) -> None:
    """Choose a device, find or build the kernel, bind pooled memory, launch."""
    started = time.perf_counter()
    raised: Sequence[Any] = ()
    second = None

    def attempt(backend: Backend) -> None:
        nonlocal raised
        executable, is_new = executable_for(backend, group.program)
        inputs = [view_on(backend, read) for read in group.leaves]
        outputs = []
        written = None
        for index, (value, layout) in enumerate(group.outputs):
            if index == 0 and into is not None:
                written = into.prepare(backend)
                outputs.append(backend.view(written, into.read.layout, into.read.dtype))
                continue
            nbytes = value.layout.size * value.dtype.itemsize
            value.buffer = Buffer.empty(backend, nbytes)
            outputs.append(
                backend.view(value.buffer.read_on(backend), layout, value.dtype)
            )
        reduced, order = None, None
        if accumulator is not None:
            nbytes = accumulator.layout.size * accumulator.dtype.itemsize
            accumulator.buffer = Buffer.empty(backend, nbytes)
            memory = accumulator.buffer.read_on(backend)
            reduced = backend.view(memory, accumulator.layout, accumulator.dtype)
            order = accumulator.order
        watch = 0
        for expr in group.exprs:
            watch |= expr.errstate
        if accumulator is not None:
            watch |= group.errstate
        launched = time.perf_counter()
        raised = backend.launch(
            executable,
            group.shape,
            inputs,
            group.scalars,
            outputs,
            reduced,
            order,
            watch,
        )
        if into is not None:
            into.wrote(backend, written)
        # The first run of a kernel may still compile it.
        if not is_new and len(route.candidates(device)) > 1:
            route.measure(backend, work_of(group, into), launched)

    try:
        if current().validate:
            from . import validate  # only who compares needs it

            second = validate.begin(group, into)
        ran_on = recover.run(attempt, lambda: work_of(group, into), device)
        if second is not None:
            second.compare(ran_on, accumulator)
    except Exception as error:
        name_line(error, group.last_frame)
        _end(group, State.FAILED, error)
        raise
    except BaseException:  # Ctrl-C: the work can be done again
        _end(group, State.PENDING)
        raise
    _end(group, State.STORED)
    if is_active():
        work = work_of(group, into)
        emit(
            Event(
                "group",
                work.name,
                ran_on,
                nodes=len(group.program.nodes) + (group.program.reduction is not None),
                elements=work.elements,
                nbytes=sum(buffer.nbytes for buffer in work.reads) + work.written,
                seconds=time.perf_counter() - started,
                start=started,
            )
        )
    else:
        count("group")
    if raised:
        where: list[Any] = [(e.named, e.errstate, e.frame) for e in group.exprs]
        if group.program.reduction is not None:
            where.append((group.program.reduction.op, group.errstate, group.frame))
        errstate.warn(raised, where)


def view_on(backend: Backend, read: Read) -> Any:
    """A stored value in the memory of a device."""
    buffer = read.value.buffer
    assert buffer is not None
    return backend.view(buffer.read_on(backend), read.layout, read.dtype)


def work_of(group: Group, into: Into | None = None) -> route.Work:
    """What the router needs to know of a group."""
    elements = 1
    for length in group.shape:
        elements *= length
    reads = [r.value.buffer for r in group.leaves if r.value.buffer is not None]
    if into is not None and not into.whole:
        reads.append(into.buffer)
    return route.Work(
        group.program.describe(),
        elements,
        len(group.program.nodes),
        tuple(dict.fromkeys(reads)),
        sum([elements * value.dtype.itemsize for value, _ in group.outputs]),
    )


# ----------------------------------------------------------------------------- writing
def write(target: Read, source: Read) -> None:
    """Store the elements of ``source`` in the memory that ``target`` shows.

    Both have the same shape and dtype.  A pending source that nobody else wants is
    computed straight into the memory.
    """
    evaluate((target.value,))
    # What outsiders can write on the host stays there.
    named = "cpu" not in route.candidates(target.value.device)
    while True:
        with lock:
            direct = (
                source.value.state == State.PENDING
                and source.layout == source.value.layout
                and source.dtype == source.value.dtype
                and not source.value.is_bound()
                and not (named and _is_shared_on_host(target))
            )
            if direct:
                group = fuse(Target(source, into=target.layout.strides))
                computed = {id(value) for value in group.values}
                waiting = [
                    reader
                    for reader in pending_readers(target.value)
                    if id(reader) not in computed
                ]
                waiting += group.blockers
                if not waiting:
                    if not _can_store(group, source, target):
                        direct = False
                    else:
                        _begin(group)
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
    _run(group, common(target.value.device, source.value.device), Into(target, whole))


def common(first: Device, second: Device) -> Device:
    """Either label, the named one if only one is named."""
    return second if first is AUTO or first == AUTO else first


def _can_store(group: Group, source: Read, target: Read) -> bool:
    expr = source.value.expr
    assert expr is not None
    # NumPy's inner loop would run along another axis than the target's memory does.
    if expr.inner_axis is not None and group.inner_axis != expr.inner_axis:
        return False
    # A pending value outside would be left without memory.
    if any(
        id(r) not in set(map(id, group.values)) for r in pending_readers(source.value)
    ):
        return False
    low, high = target.layout.span(target.dtype.itemsize)
    for leaf in group.leaves:
        if _same_memory(leaf, target):
            if leaf.layout.strides == target.layout.strides and (
                _start(leaf) == _start(target)
                and leaf.dtype.itemsize == target.dtype.itemsize
            ):
                continue  # each element is read before it is written
            first, last = leaf.layout.span(leaf.dtype.itemsize)
            shift = _start(leaf) - leaf.layout.offset
            shift -= _start(target) - target.layout.offset
            if first + shift < high and low < last + shift:
                return False
    return True


def _is_shared_on_host(read: Read) -> bool:
    return read.value.buffer is not None and read.value.buffer.is_shared_on("cpu")


def _same_memory(leaf: Read, target: Read) -> bool:
    ours, theirs = leaf.value.buffer, target.value.buffer
    assert ours is not None and theirs is not None
    # Memory of outsiders may overlap without being known as the same buffer.
    return ours is theirs or (ours.root is not None and theirs.root is not None)


def _start(read: Read) -> int:
    buffer = read.value.buffer
    assert buffer is not None
    return buffer.start + read.layout.offset


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
    buffer = read.value.buffer
    assert buffer is not None
    cpu = backend_for("cpu")
    root = buffer.write_on(cpu) if writing else buffer.read_on(cpu)
    return view_host(root, read.layout, read.dtype)


def reduce(
    op: Op,
    read: Read,
    axes: tuple[int, ...],
    seen: Layout,
    device: Device,
    mask: int,
    frame: Any,
) -> tuple[Buffer, Layout]:
    """Reduce over axes, fused with what makes the operand; runs now.

    ``seen`` is the operand's layout before a conversion: it orders the axes.

    Returns
    -------
    tuple of Buffer and Layout
        The result, with length 1 along the reduced axes.
    """
    shape = read.layout.shape
    kept = tuple([1 if axis in axes else n for axis, n in enumerate(shape)])
    strides = reduced_strides(seen, axes, read.dtype.itemsize)
    layout = Layout(kept, strides)
    accumulator = Accumulator(layout, read.dtype, read.layout.strides)
    while True:
        with lock:
            group = fuse(Target(read, op))
            if not group.blockers:
                group.errstate = mask
                group.frame = frame
                _begin(group)
                break
        evaluate(group.blockers)
    _run(group, device, accumulator=accumulator)
    assert accumulator.buffer is not None
    return accumulator.buffer, layout
