"""Groups that were met before but for where their arrays lie: on a named device, or
where the host is all there is.

A loop over the elements or the rows of an array meets another place at each step.  What
its group is made of was seen before: the program is the same, and where things lie is
handed to the launch.  Nothing is kept for a place, unless it comes again and again.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Any

from .. import native
from ..backends.registry import backend_for
from ..config import Settings, current
from ..layout import Layout, Shape, Strides, broadcast_strides
from .again import NODES, OTHERS, Pattern
from .compiled import executable_for
from .found import Found, found_of
from .fuse import fastest
from .graph import Form, State, Value, View
from .host_anywhere import HostAnywhere
from .places import Ending, reduced_of
from .plans import Plan, Template, placed, sole
from .ready import Anywhere

__all__ = ["keep", "reduction_of", "related"]

MOST = 4
"""Groups that end in operations of one kin."""

OFTEN = 8
"""Times that operations come in the same places before these are worth remembering."""

MOST_KINS = 4096

_PENDING = State.PENDING

_LEAF, _NUMBER = NODES, NODES + OTHERS
"""As the codes of a `Pattern` have them."""


class Kin:
    """What operations have in common that differ in where their operands lie alone."""

    __slots__ = ("likenesses",)

    def __init__(self) -> None:
        self.likenesses: list[Likeness] = []


_kins: dict[tuple[Any, ...], Kin] = {}


def _kin_of(form: Form) -> Kin:
    kin: Kin | None = form.kin
    if kin is None and form.model is not None:
        kin = form.kin = _kin_of(form.model)
    if kin is None:
        key = (*form.kind, form.inner, form.inner_axis is None, form.fits)
        kin = _kins.get(key)
        if kin is None:
            if len(_kins) > MOST_KINS:
                _kins.clear()
            kin = _kins[key] = Kin()
        form.kin = kin
    return kin


class Likeness:
    """A group but for its operands and where they lie; see `Pattern`.

    Attributes
    ----------
    op : Op or None
        The reduction at its end.
    settings : Settings
        Those in force.
    template : Template
    kins : tuple of Kin
        Of its operations, the last one at the end.
    pattern : Pattern
        How they hang together.
    apart : tuple of bytes
        Which operations, and which numbers, must not be the same.
    """

    __slots__ = ("apart", "kins", "op", "pattern", "settings", "template")

    def __init__(
        self, op: Any, settings: Settings, template: Template, pattern: Pattern
    ) -> None:
        self.op = op
        self.settings = settings
        self.template = template
        self.pattern = pattern
        self.kins = tuple([_kin_of(form) for form in pattern.forms])
        kins = self.kins
        count = len(kins)
        pairs = [(i, j) for i in range(count) for j in range(i) if kins[i] is kins[j]]
        self.apart = (bytes([k for pair in pairs for k in pair]), pattern.apart[2])


def keep(op: Any, plan: Plan, values: Sequence[Value]) -> None:
    """Remember what a group is made of, wherever it lies.

    ``op`` is a reduction at its end.
    """
    pattern: Pattern | None = plan.pattern
    if pattern is None or plan.sources is None:
        return
    computed = {id(value): value for value in values}
    for value in values:
        expr = value.expr
        if expr is None:
            return
        form = expr.form
        if form.inner_axis is not None and form.inner_axis != plan.inner_axis:
            return
        for source, seen in zip(expr.sources, form.inputs, strict=True):
            within = computed.get(id(source))
            if within is not None and seen is not within.view:
                return
    made = Likeness(op, current(), plan.template, pattern)
    kin = made.kins[-1]
    others = [
        x for x in kin.likenesses if x.template is not made.template or x.op is not op
    ]
    kin.likenesses = [made, *others[: MOST - 1]]


def related(
    root: Value, form: Form, ending: Ending | None, into: View | None
) -> Found | None:
    """The group that a value ends, if one like it was met; ``form`` is that of its
    operation.  The caller holds the lock."""
    kin = _kin_of(form)
    settings = current()
    op = None if ending is None else ending[0]
    for likeness in kin.likenesses:
        if likeness.settings is settings and likeness.op is op:
            found = _compared(likeness, root, ending, into)
            if found is not None:
                return found
    return None


def _compared(
    likeness: Likeness, root: Value, ending: Ending | None, into: View | None
) -> Found | None:
    kins, pattern = likeness.kins, likeness.pattern
    codes, counts = pattern.codes, pattern.counts
    parents, places = pattern.parents, pattern.places
    view = root.view
    shown = view if into is None else into
    shape = native.item(view, 0).shape
    if 0 in shape:
        return None
    axis = fastest(shape, native.item(shown, 0).strides)
    count = len(kins)
    values: list[Any] = [None] * count
    value = root
    k = count - 1
    while True:
        expr = value.expr
        if expr is None or len(expr.results) != 1:
            return None
        form = expr.form
        kin = form.kin
        if kin is None:
            kin = _kin_of(form)
        if kin is not kins[k]:
            return None
        if form.inner_axis is not None and form.inner_axis != axis:
            return None
        if k < count - 1 or ending is not None:
            # What is still wanted when the group has run is stored, too.
            binding, readers = value.binding, value.readers
            if (
                value.state is not _PENDING
                or (binding is not None and native.referent(binding) is not None)
                or (readers is not None and len(readers) > counts[k])
            ):
                return None
        values[k] = value
        if k == 0:
            break
        k -= 1
        expr = _expr(values[parents[k]])
        value = expr.sources[places[k]]
    firsts = pattern.leaves
    leaves: list[Any] = []
    views: list[Any] = []
    for at in range(0, len(firsts), 2):
        expr = _expr(values[firsts[at]])
        place = firsts[at + 1]
        value = expr.sources[place]
        if value.expr is not None:
            return None
        leaves.append(value)
        views.append(expr.form.inputs[place])
    firsts = pattern.numbers
    scalars: list[Any] = []
    for at in range(0, len(firsts), 2):
        expr = _expr(values[firsts[at]])
        scalars.append(expr.sources[firsts[at + 1]])
    at = 0
    for value in values:
        expr = value.expr
        sources, seen = expr.sources, expr.form.inputs
        for place in range(len(sources)):
            code = codes[at]
            at += 1
            if code < _LEAF:
                value = values[code]
                if sources[place] is not value or seen[place] is not value.view:
                    return None
            elif code < _NUMBER:
                code -= _LEAF
                if sources[place] is not leaves[code] or seen[place] is not views[code]:
                    return None
            elif sources[place] is not scalars[code - _NUMBER]:
                return None
    if _meet(values, likeness.apart[0]) or _meet(scalars, likeness.apart[1]):
        return None
    for at in range(len(leaves)):
        for place in range(at):
            if leaves[at] is leaves[place] and views[at] is views[place]:
                return None
    last, middle = _expr(values[count - 1]), _expr(values[count // 2])
    if _is_frequent(last.form, _expr(values[0]).form, middle.form):
        return None
    template = likeness.template
    if not _is_ready(template, root):
        return None
    for at in range(len(views)):
        views[at] = _spread(views[at], shape)
    outputs = () if ending is not None else (shown,)
    reduced = None if ending is None else reduced_of(view, ending)
    plan = placed(template, shape, tuple(views), outputs, axis, reduced)
    stored = [root] if ending is None else []
    return found_of(plan, leaves, scalars, stored, values)


def _spread(view: View, shape: Shape) -> View:
    """See `plans.spread`; nobody asks for the same view again."""
    layout, dtype = view
    if layout.shape == shape:
        return view
    strides = _repeated(layout.shape, layout.strides, shape)
    return View((Layout(shape, strides, layout.offset), dtype))


@lru_cache(1 << 12)
def _repeated(own: Shape, strides: Strides, shape: Shape) -> Strides:
    return broadcast_strides(Layout(own, strides), shape)


def _expr(value: Value) -> Any:
    return value.expr


def _meet(things: list[Any], pairs: bytes) -> bool:
    for at in range(0, len(pairs), 2):
        if things[pairs[at]] is things[pairs[at + 1]]:
            return True
    return False


_often: list[Any] = [None] * 512
"""What came lately, and how often: at the place that the identities make."""


def _is_frequent(last: Any, first: Any, middle: Any) -> bool:
    """Whether what three objects stand for comes so often that it is to be
    remembered."""
    place = native.mixed(last, first, middle) & 511
    entry = _often[place]
    if (
        entry is None
        or entry[0] is not last
        or entry[1] is not first
        or entry[2] is not middle
    ):
        _often[place] = [last, first, middle, 1]
        return False
    entry[3] += 1
    return bool(entry[3] > OFTEN)


def _is_ready(template: Template, root: Value) -> bool:
    """Whether the device launches a program anywhere."""
    label = root.device.label if root.device.is_named else "cpu"
    if label in template.ready:
        return True
    try:
        backend: Any = backend_for(label)
        executable, _ = executable_for(backend, template.program)
    except Exception:
        return False  # the long way finds out what is wrong
    if label == "cpu":
        template.ready[label] = HostAnywhere(backend, executable)
        return True
    if not hasattr(backend, "prepare") or not hasattr(executable, "start"):
        return False
    template.ready[label] = Anywhere(backend, executable)
    return True


def reduction_of(root: Value, view: View, ending: Ending) -> Found | None:
    """A reduction of what is in memory, wherever it lies."""
    layout = native.item(view, 0)
    template = sole(ending[0], native.item(view, 1))
    if 0 in layout.shape or _is_frequent(view, ending[2], ending[0]):
        return None
    if not _is_ready(template, root):
        return None
    axis = fastest(layout.shape, layout.strides)
    reduced = reduced_of(view, ending)
    plan = placed(template, layout.shape, (view,), (), axis, reduced)
    return found_of(plan, [root], (), [], [])
