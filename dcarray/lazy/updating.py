"""The short way of `execute.write`, for memory that is in one place alone: what was
recorded is computed straight into a part of it, by a launch that is found again."""

from __future__ import annotations

import weakref
from collections.abc import Callable
from typing import Any

from ..ops.elementwise import CAST
from ..ops.spec import Signature
from .callers import user_place
from .execute import KEPT, evaluate
from .found import Found
from .graph import Expr, Form, Read, State, Value, View, lock
from .known import find
from .noting import refuse
from .obstacles import obstacles
from .places import Into
from .record import form_of, read_again, written_one
from .route import auto_devices, far_home
from .running import begin, run

__all__ = ["store", "store_copy", "touches"]

_lock = lock

FEW = 8
"""Operations that are done again rather than stored."""

_apart: dict[tuple[View, View], bool] = {}
"""Whether each element of one view is read before the other one's is written there."""


def store(
    target: Value, shown: View, source: Value, spare: Value | None = None
) -> bool:
    """Compute a pending value, and have it in memory that is there.

    Parameters
    ----------
    target : Value
        What shows the memory.
    shown : View
        How the part that is written lies in it.
    source : Value
        It has that shape and dtype.  An array may show it, but nobody reads it yet.
    spare : Value, optional
        What ``source`` reads, and nobody else probably will: if it is pending, it need
        not be stored.

    Returns
    -------
    bool
        False, and nothing has happened that anybody sees, where `execute.write` has to
        decide.
    """
    device = target.device
    if not device.is_named:
        home = far_home(target) if len(auto_devices) > 1 else None
        if home is not None:
            device = home
        elif target.buffer is None or target.buffer._valid is not None:
            return False
    refuse()
    _let_go()
    if target.expr is not None:
        evaluate((target,))
    while True:
        first: list[Value] = []
        through = False
        _lock.acquire()
        try:
            if not _can_go(target, source):
                return False
            found = _found(target, shown, source, spare)
            if found is None:
                first = obstacles(source)
                if not first:
                    return False
            elif _is_read_later(found, target, shown) or _is_dear(source):
                if not device.is_named:
                    return False  # NumPy copies what is on the host
                through = True
            else:
                first = _waiting_for(target, found.values)
                if not first:
                    then = None
                    if source.binding is not None and source.binding() is not None:
                        if not device.is_named and _keeps_much(source):
                            return False
                        then = _shown_later(target, shown, source)
                        if then is None:
                            return False
                    begin(found.stored)
                    break
        finally:
            _lock.release()
        evaluate(first)
        if through:
            if spare is not None and spare.expr is not None:
                evaluate((spare,))
                continue
            evaluate((source,))
            dtype = shown[1]
            form = form_of(CAST, [source.view], Signature((source.dtype,), (dtype,)))
            source = written_one(form, (source,), device, 0, user_place())
    layout, dtype = shown
    whole = shown is target.view
    if whole:
        buffer = target.buffer
        assert buffer is not None
        whole = layout.size * dtype.itemsize == buffer.nbytes
    run(found, device, Into(Read(target, layout, dtype), whole, then))
    return True


def store_copy(target: Value, shown: View, source: Value, form: Form) -> bool:
    """The same for a copy of a value, as ``form`` makes it."""
    if source.expr is not None and form.inputs[0] is not source.view:
        evaluate((source,))
    value = written_one(form, (source,), target.device, 0, user_place())
    return store(target, shown, value, source)


def _can_go(target: Value, source: Value) -> bool:
    """Whether the short way is there.  The caller holds the lock."""
    buffer, expr = target.buffer, source.expr
    return (
        target.state == _STORED
        and buffer is not None
        and buffer._sharer is None
        and source.state == _PENDING
        and expr is not None
        and len(expr.results) == 1
        and (source.readers is None or _only(source, source))
    )


def _found(
    target: Value, shown: View, source: Value, spare: Value | None
) -> Found | None:
    """The group, if it is known."""
    expr = source.expr
    assert expr is not None
    binding = None
    if spare is not None and spare.expr is not None:
        readers = spare.readers
        # What was read before may be so again: better to have it than to compute it
        # each time.  What reads the target would find other elements later.
        if readers is not None and len(readers) == 1 and _only(target, source):
            binding = spare.binding
            spare.binding = None
    try:
        found = find(source, source.view, None, None if source.view is shown else shown)
    finally:
        if binding is not None and spare is not None:
            spare.binding = binding
    if found is None:
        return None
    axis = expr.form.inner_axis
    return None if axis is not None and found.inner_axis != axis else found


def _is_read_later(found: Found, target: Value, shown: View) -> bool:
    """Whether elements of the target are read after others were written."""
    buffer = target.buffer
    assert buffer is not None
    views = found.plan.leaves
    for place, leaf in enumerate(found.leaves):
        read = leaf.buffer
        if read is buffer:
            if views[place] is not shown and not _lies_apart(views[place], shown):
                return True
        # Memory of outsiders may overlap without being known as the same buffer.
        elif read is None or (
            read.root is not None
            and buffer.root is not None
            and touches(read.start, read.nbytes, buffer.start, buffer.nbytes)
        ):
            return True
    return False


def _is_dear(source: Value) -> bool:
    """Whether an array shows a value that was computed before for other memory, and
    would take longer again than a copy."""
    expr = source.expr
    assert expr is not None
    return source.readers is not None and expr.nodes > FEW and source.is_bound()


def _keeps_much(source: Value) -> bool:
    """Whether a value that stays pending would keep much more memory than its own."""
    expr = source.expr
    assert expr is not None
    return expr.widest > KEPT * source.layout.size * source.dtype.itemsize


def _only(target: Value, source: Value) -> bool:
    """Whether nobody reads a value but this one."""
    readers = target.readers
    if readers is not None:
        for reference in readers:
            reader = reference()
            if reader is not None and reader is not source and _is_wanted(reader):
                return False
    return True


def _is_wanted(reader: Value) -> bool:
    state = reader.state
    return state in (_PENDING, _RUNNING)


def _waiting_for(target: Value, computed: Any) -> list[Value]:
    """Who reads a value, and has not run yet, beside what is computed now."""
    readers = target.readers
    waiting: list[Value] = []
    if readers is None:
        return waiting
    kept: list[Any] = []
    for reference in readers:
        reader = reference()
        if reader is None or not _is_wanted(reader):
            continue
        kept.append(reference)
        for value in computed:
            if value is reader:
                break
        else:
            waiting.append(reader)
    target.readers = kept or None
    return waiting


def _lies_apart(leaf: View, target: View) -> bool:
    """Whether what is read of the same memory is not written before."""
    known = _apart.get((leaf, target))
    if known is None:
        ours, theirs = leaf[0], target[0]
        if ours.strides == theirs.strides and ours.offset == theirs.offset:
            known = leaf[1].itemsize == target[1].itemsize
        else:
            first, last = ours.span(leaf[1].itemsize)
            low, high = theirs.span(target[1].itemsize)
            known = not touches(first, last - first, low, high - low)
            known = known or _in_other_columns(leaf, target)
        if len(_apart) > 1 << 16:
            _apart.clear()
        _apart[leaf, target] = known
    return known


def _in_other_columns(leaf: View, target: View) -> bool:
    """Whether both are parts of a matrix that have no column in common."""
    pairs = [
        [(abs(step), length) for step, length in rows if length > 1]
        for rows in [
            list(zip(layout.strides, layout.shape, strict=True))
            for layout, _ in (leaf, target)
        ]
    ]
    pitch = max([step for steps in pairs for step, _ in steps], default=0)
    if not pitch:
        return False
    columns = []
    for (layout, dtype), steps in zip((leaf, target), pairs, strict=True):
        width = dtype.itemsize
        for step, length in steps:
            if step != pitch:
                width += step * (length - 1)
        low = layout.span(dtype.itemsize)[0] % pitch
        if low + width > pitch:
            return False
        columns.append((low, width))
    (first, size), (other, length) = columns
    return not touches(first, size, other, length)


def touches(first: int, size: int, other: int, length: int) -> bool:
    """Whether so many bytes from one address on overlap those from another one on."""
    return first < other + length and other < first + size


# ------------------------------------------------------------- arrays that live on
def _shown_later(
    target: Value, shown: View, source: Value
) -> Callable[[Value], None] | None:
    """How an array goes on showing a value that is in other memory only.  Most such
    arrays are the right side of an assignment, and gone after it.

    The value stays what was recorded, and is computed again for who wants it; or, if
    the memory was read for it, it becomes a copy of that.  The caller holds the lock.
    """
    expr = source.expr
    assert expr is not None
    if _only(target, target):
        return _Pending(expr).again
    form = form_of(CAST, [shown], Signature((shown[1],), (shown[1],)))
    if form.outputs[0] is not source.view:
        return None
    _last.append(weakref.ref(source))
    return lambda value: read_again(value, form, target, expr.place)


class _Pending:
    """A value that was computed, and has no memory of its own."""

    __slots__ = ("expr",)

    def __init__(self, expr: Expr) -> None:
        self.expr = expr

    def again(self, value: Value) -> None:
        """It waits for its next reader."""
        value.expr = self.expr
        value.state = _PENDING
        value.readers = [_gone]  # it was read


_last: list[weakref.ref[Value]] = []
"""What became a copy of memory that may be much larger: not for long."""


def _let_go() -> None:
    """Compute what keeps memory of others alive."""
    while _last:
        try:
            value = _last.pop()()
        except IndexError:  # another thread was faster
            return
        if value is not None and value.expr is not None and value.is_bound():
            evaluate((value,))


class _Thing:
    __slots__ = ("__weakref__",)


_gone: Any = weakref.ref(_Thing())
_PENDING, _RUNNING, _STORED = State.PENDING, State.RUNNING, State.STORED
