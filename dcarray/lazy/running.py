"""Running a group: choose a device, find or build the kernel, bind pooled memory,
launch.

A group of a kind that ran before on a named device, or on the one that alone has what
it reads, is a `Found` with a launch that is ready; where that fails, or where anything
watches, the same group goes the long way.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Sequence
from typing import Any

from .. import native
from ..backends.base import Backend
from ..backends.buffer import device_buffer
from ..backends.registry import Device, backend_for
from ..config import Settings, current
from ..profile import Event, collectors, count, counters, emit, is_active
from . import errstate, recover, route
from .callers import line_of, name_line
from .compiled import executable_for
from .found import Found
from .fuse import Group
from .graph import Read, State, Value, lock
from .host_ready import host_ready, is_host_alone
from .places import Accumulator, Into
from .plans import Plan
from .ready import Ready
from .route import auto_devices

__all__ = ["begin", "run", "view_on", "wait_for", "work_of"]

_done = threading.Condition(lock)
_waiting = 0
"""Threads that wait for `_done`."""

_RUNNING, _STORED = State.RUNNING, State.STORED

_lock = lock

_known: tuple[Settings | None, bool] = (None, False)
"""Settings that were in force, and whether they validate; one object, for other threads
have others."""


def begin(values: Sequence[Value]) -> None:
    """Other threads wait for these values from now on.  The caller holds the lock."""
    for value in values:
        value.state = _RUNNING


def wait_for(value: Value) -> None:
    """Wait while another thread runs the value.  The caller holds the lock."""
    global _waiting
    while value.state == State.RUNNING:
        _waiting += 1
        try:
            _done.wait()
        finally:
            _waiting -= 1


def _end(
    values: Sequence[Value],
    state: str,
    error: BaseException | None = None,
    into: Into | None = None,
) -> None:
    with lock:
        for value in values:
            value.state = state
            if state == State.STORED:
                value.expr = None
            else:
                value.error = error
                value.buffer = None
        if into is not None and into.then is not None:
            into.then(values[0])
        if _waiting:
            _done.notify_all()


def run(
    group: Group | Found,
    device: Device,
    into: Into | None = None,
    accumulator: Accumulator | None = None,
) -> None:
    """Run a group; `begin` was called for what it stores.

    Raises
    ------
    DeviceError
        No device could do it, or falling back is not allowed.
    """
    global _known
    values = group.stored
    if type(group) is Group:
        _run(group, values, device, into, accumulator)
        return
    assert type(group) is Found
    found = group
    failure = None
    plan = found.plan
    if device.is_named:
        home = device.label
    else:
        home = "auto" if len(auto_devices) < 2 else route.home_of(found.leaves)
        if home == "auto" and plan.usual is not None:
            if into is None and plan.usual.holds():
                home = plan.usual.label
            else:
                plan.usual = None
        if home == "auto" and is_host_alone(device):
            home = "cpu"
    ready = plan.ready.get(home)
    if ready is None and plan.is_kept and device.is_named and not collectors:
        ready = _prepared(plan, home)
    settings, known = current(), _known
    if known[0] is not settings:
        known = _known = (settings, bool(settings.validate))
    if ready is not None and not collectors and not known[1]:
        found.accumulator = accumulator
        try:
            buffers = ready.run(found, into)
        except Exception as error:
            failure = recover.without_locals(error)
        except BaseException:  # Ctrl-C: the work can be done again
            _end(values, State.PENDING)
            raise
        else:
            if buffers is not None:
                if accumulator is not None:
                    accumulator.buffer = buffers.pop()
                place = 0
                _lock.acquire()
                try:
                    for value in values:
                        value.buffer = buffers[place]
                        value.state = _STORED
                        value.expr = None
                        place += 1
                    if into is not None and into.then is not None:
                        into.then(values[0])
                    if _waiting:
                        _done.notify_all()
                finally:
                    _lock.release()
                native.count(counters, "group")
                if found.raised is not None:
                    errstate.warn(*found.raised)
                return
    whole = found.group()
    ran_on = _run(whole, values, device, into, accumulator, failure, home)
    if not plan.is_kept:
        return
    if ran_on == "cpu":
        if home == "cpu" and home not in plan.ready:
            prepared = host_ready(backend_for("cpu"), plan)
            if prepared is not None:
                plan.ready[home] = prepared
        return
    if ran_on not in plan.ready:
        backend: Any = backend_for(ran_on)
        if hasattr(backend, "prepare"):  # asking `isinstance` takes longer
            plan.ready[ran_on] = Ready(backend, plan)
    elif home == "auto" and into is None:
        plan.usual = route.Usual.of(work_of(whole), ran_on)


def _prepared(plan: Plan, label: str) -> Ready | None:
    """A group that never ran, made ready; None where the long way is to find out what
    is wrong with it."""
    try:
        backend: Any = backend_for(label)
        ready = Ready(backend, plan) if hasattr(backend, "prepare") else None
    except Exception:
        return None
    if ready is not None:
        plan.ready[label] = ready
    return ready


def _run(
    group: Group,
    values: Sequence[Value],
    device: Device,
    into: Into | None,
    accumulator: Accumulator | None,
    failure: Exception | None = None,
    failed: str = "",
) -> str:
    """The long way; ``failure`` is how a first attempt on a device ended that
    ``failed``.  The device it ran on."""
    started = time.perf_counter()
    raised: Sequence[Any] = ()
    second = None

    def attempt(backend: Backend) -> None:
        nonlocal raised, failure
        if failure is not None and backend.device == failed:
            first, failure = failure, None
            raise first
        executable, is_new = executable_for(backend, group.program)
        inputs = [view_on(backend, read) for read in group.leaves]
        outputs = []
        written = None
        # No buffer shows new memory before the launch: nobody can spill it.
        made: list[tuple[Value | Accumulator, Any, int]] = []
        for index, (value, layout) in enumerate(group.outputs):
            if index == 0 and into is not None:
                written = into.prepare(backend)
                outputs.append(backend.view(written, into.read.layout, into.read.dtype))
                continue
            nbytes = value.layout.size * value.dtype.itemsize
            memory = backend.allocate(nbytes)
            made.append((value, memory, nbytes))
            outputs.append(backend.view(memory, layout, value.dtype))
        reduced, order = None, None
        if accumulator is not None:
            nbytes = accumulator.layout.size * accumulator.dtype.itemsize
            memory = backend.allocate(nbytes)
            made.append((accumulator, memory, nbytes))
            reduced = backend.view(memory, accumulator.layout, accumulator.dtype)
            order = accumulator.order
        watch = 0
        for expr in group.exprs:
            watch |= expr.errstate
        if accumulator is not None:
            watch |= accumulator.errstate
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
        for owner, memory, nbytes in made:
            owner.buffer = device_buffer(backend.device, memory, nbytes)
        if len(route.candidates(device)) > 1:
            route.measure(backend, work_of(group, into), launched, is_new)

    if accumulator is not None:
        group.place = accumulator.place
    try:
        if current().validate:
            from . import validate  # only who compares needs it

            second = validate.begin(group, into)
        ran_on = recover.run(attempt, lambda: work_of(group, into), device)
        if second is not None:
            second.compare(ran_on, accumulator)
    except Exception as error:
        name_line(error, group.last_frame)
        _end(values, State.FAILED, error)
        raise
    except BaseException:  # Ctrl-C: the work can be done again
        _end(values, State.PENDING)
        raise
    _end(values, State.STORED, into=into)
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
        if accumulator is not None:
            assert group.program.reduction is not None
            where.append(
                (
                    group.program.reduction.op,
                    accumulator.errstate,
                    line_of(accumulator.place),
                )
            )
        errstate.warn(raised, where)
    return ran_on


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
