"""The short way through `fuse`: groups of a kind that was fused before.

Most groups of most programs are: what such a group comes to is found again by a key
that costs little more than the walk over its expressions.
"""

from __future__ import annotations

from typing import Any

from .. import native
from ..config import Settings, current
from .again import matched, remember
from .alike import keep, reduction_of, related
from .company import is_part, next_along
from .found import Found, found_of
from .fuse import outlives
from .graph import Form, State, Value, View
from .host_ready import is_host_alone
from .places import Ending
from .plans import MOST, Plan, planned

__all__ = ["find"]


_plans: dict[tuple[Any, ...], Plan | None] = {}
"""None where the long way numbers otherwise than the key does."""


def find(
    root: Value, view: View, ending: Ending | None = None, into: View | None = None
) -> Found | None:
    """The group that computes a value, or a reduction over it, if its kind is known.

    Parameters
    ----------
    root : Value
        It is pending, or (for a reduction) stored.
    view : View
        How it is seen.
    ending : tuple of (Op, axes, View), optional
        The reduction, and how its operand lay before a conversion.
    into : View, optional
        How the memory lies that the value goes into, if that is not memory of its own.

    Returns
    -------
    Found or None
        None where anything asks for the long way.
    """
    expr = root.expr
    alone = ending is None and into is None and expr is not None and expr.nodes == 1
    if alone and view is root.view:
        assert expr is not None
        found = _alone(root, expr.form, expr.sources)
        if found is not None:
            return found
    if expr is not None and view is root.view and expr.form.patterns is not None:
        found = matched(expr.form, root, ending or into, ending is None)
        if found is not None:
            return found
    anywhere = root.device.is_named or is_host_alone(root.device)
    if anywhere:
        if expr is None:
            if ending is not None and (ending, view, ()) not in _plans:
                found = reduction_of(root, view, ending)
                if found is not None:
                    return found
        elif view is root.view and into is not root.view:
            found = related(root, expr.form, ending, into)
            if found is not None:
                return found
    global _walks
    _walks += 1
    mark = _walks
    leaves: list[Value] = []
    scalars: list[Any] = []
    values: list[Value] = []
    counts: list[int] = []
    key: list[Any] = [ending or into]
    # Leaves are numbered downwards from -1, scalars and values upwards from 0; what
    # this walk has met bears its mark and its number.
    others: dict[Any, int] = {}
    stack: list[Value] = []
    if expr is None:
        key.append(view)
        leaves.append(root)
    elif view is root.view:
        stack.append(root)
    else:
        return None
    along, own = -1, 0
    if ending is None and into is None and expr is not None and not alone:
        along = 0
    while stack or along >= 0:
        if not stack:
            own = own or len(values)
            bounds = _bounds_now()
            room = bounds[2] - len(leaves)
            along = next_along(root, along, values, counts, 2 * bounds[1], room, stack)
            continue
        value = stack[-1]
        inner = value.expr
        if inner is None or len(inner.results) != 1:
            return None
        form = inner.form
        sources = inner.sources
        views = form.inputs
        if inner.nodes > 1:
            waits = False
            for place in form.arrays:
                read = sources[place]
                if read.expr is not None and read.mark != mark:
                    # Neither running elsewhere, nor seen through another view, nor
                    # repeated along an axis.
                    if (
                        read.state is not _PENDING
                        or not form.fits[place]
                        or not (
                            views[place] is read.view
                            or is_part(views[place], read.view)
                        )
                    ):
                        return None
                    stack.append(read)
                    waits = True
            if waits:
                continue
        stack.pop()
        if value.mark == mark:
            continue
        value.mark = mark
        value.slot = len(values)
        values.append(value)
        counts.append(0)
        key.append(form)
        for place in range(len(sources)):
            seen = views[place]
            if seen is None:
                number = sources[place]
                slot = 0
                for known in scalars:
                    if known is number:
                        break
                    slot += 1
                else:
                    scalars.append(number)
                key.append(slot)
                continue
            read = sources[place]
            if seen is read.view:
                if read.mark != mark:
                    leaves.append(read)
                    read.mark = mark
                    read.slot = -len(leaves)
                elif read.slot >= 0:
                    counts[read.slot] += 1
                key.append(read.slot)
            else:
                if read.expr is not None:
                    if read.mark != mark or not is_part(seen, read.view):
                        return None
                    counts[read.slot] += 1
                    key.append(read.slot)
                    key.append(seen)
                    continue
                name = (id(read), seen)
                slot = others.get(name, 0)
                if not slot:
                    leaves.append(read)
                    slot = others[name] = -len(leaves)
                key.append(slot)
    if len(values) > 1 or len(leaves) > 3:
        bounds = _bounds_now()
        if (own or len(values)) > bounds[1] + 1 or len(leaves) > bounds[2]:
            return None
    outputs = [root] if ending is None else []
    for slot in range(len(values)):
        value = values[slot]
        if value is root and ending is None:
            continue
        binding, readers = value.binding, value.readers
        if (binding is None or native.referent(binding) is None) and (
            readers is None or len(readers) <= counts[slot]
        ):
            continue
        if outlives(value, {id(v) for v in values}):
            outputs.append(value)
            key.append(slot)
    if expr is None:
        key.append(())  # as it is asked for above
    whole = tuple(key)
    plan = _plans.get(whole)
    if plan is None:
        if whole in _plans:
            return None
        plan = planned(root, view, ending, into, key, leaves, scalars, outputs, values)
        if len(_plans) > MOST:
            _plans.clear()
        _plans[whole] = plan
        if plan is None:
            return None
    if alone:
        assert expr is not None
        form = expr.form
        if len(expr.sources) < 3 and len(leaves) == len(form.arrays):
            form.plan = plan
    if expr is not None and len(outputs) == (ending is None):
        remember(ending or into, plan, leaves, scalars, values)
        if anywhere:
            keep(None if ending is None else ending[0], plan, values)
    return found_of(plan, leaves, scalars, outputs, values)


def _alone(root: Value, form: Form, sources: tuple[Any, ...]) -> Found | None:
    """What the walk in `find` comes to for one operation on different operands."""
    plan = form.plan
    if plan is None or (len(sources) == 2 and sources[0] is sources[1]):
        return None
    only = [root]
    if len(form.arrays) == len(sources):
        return found_of(plan, sources, (), only, only)
    (place,) = form.arrays
    return found_of(plan, (sources[place],), (sources[1 - place],), only, only)


def _bounds_now() -> tuple[Settings | None, int, int]:
    """How many operations a group may have, and how many arrays it may read."""
    global _bounds
    settings, bounds = current(), _bounds
    if bounds[0] is not settings:
        bounds = (settings, settings.max_group_nodes, settings.max_group_inputs)
        _bounds = bounds
    return bounds


_PENDING = State.PENDING
_walks = 0

_bounds: tuple[Settings | None, int, int] = (None, 0, 0)
"""Settings that were in force, and theirs; one object: other threads have others."""
