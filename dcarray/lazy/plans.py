"""What groups of one kind have in common, worked out by `fuse` once.

Groups whose arrays all are contiguous alike have a program that does not depend on
their shape, and on a named device parts of arrays have one that does not depend on
where they lie: for another shape or place nothing is fused again.
"""

from __future__ import annotations

import weakref
from collections.abc import Sequence
from functools import lru_cache
from typing import Any

from ..backends.registry import when_removed
from ..dtypes import DType
from ..layout import Layout, Shape, broadcast_strides
from ..ops.program import Program, Reduction
from ..ops.spec import Op
from .fuse import Target, fastest, fuse
from .graph import Form, Read, Value, View
from .places import Ending, Reduced
from .ready import Ready
from .route import Usual

__all__ = ["MOST", "Plan", "Template", "placed", "planned", "sole", "spread"]

MOST = 1 << 16
"""Kinds that are remembered."""


class Plan:
    """What all groups of one kind have in common.

    Attributes
    ----------
    program : Program
    shape : tuple of int
        The iteration space.
    leaves : tuple of View
        How the arrays that are read lie, each seen with ``shape``.
    outputs : tuple of View
        The same for the values that are stored.
    sources : tuple of int
        For each node of the program the place of its expression.
    inner_axis : int or None
        The axis along which the loop runs.
    reduced : Reduced or None
        Where a reduction at the end goes.
    ready : dict of str to Ready
        The launches that are prepared, by device.
    usual : Usual or None
        Where ``auto`` runs it.
    pattern : Pattern or None
        By which it is known again, see `again`.
    template : Template
    is_kept : bool
        False for a plan of one run, whose launches suit all plans of its template.
    """

    __slots__ = (
        "__weakref__",
        "inner_axis",
        "is_kept",
        "leaves",
        "outputs",
        "pattern",
        "program",
        "ready",
        "reduced",
        "shape",
        "sources",
        "template",
        "usual",
    )

    def __init__(
        self,
        template: Template,
        shape: Shape,
        leaves: Sequence[View],
        outputs: Sequence[View],
        inner_axis: int | None,
        reduced: Reduced | None,
    ) -> None:
        self.template = template
        self.program = template.program
        self.sources = template.sources
        self.shape = shape
        self.leaves = tuple(leaves)
        self.outputs = tuple(outputs)
        self.inner_axis = inner_axis
        self.reduced = reduced
        self.ready: dict[str, Ready] = {}
        self.usual: Usual | None = None
        self.pattern: Any = None
        self.is_kept = True
        _all.add(self)


class Template:
    """What plans have in common that differ in where things lie; see `Plan`.

    ``ready`` has what launches the program anywhere, by device.
    """

    __slots__ = ("__weakref__", "program", "ready", "sources")

    def __init__(self, program: Program, sources: tuple[int, ...]) -> None:
        self.program = program
        self.sources = sources
        self.ready: dict[str, Ready] = {}
        _all.add(self)


def placed(
    template: Template,
    shape: Shape,
    leaves: tuple[View, ...],
    outputs: tuple[View, ...],
    inner_axis: int | None,
    reduced: Reduced | None,
) -> Plan:
    """A plan for one run."""
    plan = Plan.__new__(Plan)
    plan.template = template
    plan.program = template.program
    plan.sources = template.sources
    plan.shape = shape
    plan.leaves = leaves
    plan.outputs = outputs
    plan.inner_axis = inner_axis
    plan.reduced = reduced
    plan.ready = template.ready
    plan.usual = None
    plan.pattern = None
    plan.is_kept = False
    return plan


@lru_cache(1024)
def sole(op: Op, dtype: DType) -> Template:
    """Of a reduction of what is in memory, and nothing else."""
    return Template(Program((dtype,), (), (), (), Reduction(op, 0, dtype)), ())


_all: weakref.WeakSet[Plan | Template] = weakref.WeakSet()

_templates: dict[tuple[Any, ...], Template] = {}


def planned(
    root: Value,
    view: View,
    ending: Ending | None,
    into: View | None,
    key: Sequence[Any],
    leaves: Sequence[Value],
    scalars: Sequence[Any],
    outputs: Sequence[Value],
    values: Sequence[Value],
) -> Plan | None:
    """The plan of a group of a new kind, if `fuse` numbers it as the key does.

    Parameters are those of `known.find`, and what it has numbered.
    """
    layout, dtype = view
    op = None if ending is None else ending[0]
    reduced = None if ending is None else Reduced(view, ending)
    shown = [value.view for value in outputs]
    strides = None
    if into is not None:
        shown[0] = into
        strides = into[0].strides
    forms = [value.expr.form for value in values if value.expr is not None]
    kind: tuple[Any, ...] | None = None
    if forms and all([form.plain for form in forms]):
        kind = (op, *[x.kind if type(x) is Form else x for x in key[1:]])
        template = _templates.get(kind)
        if template is not None:
            return Plan(
                template,
                layout.shape,
                _seen(values),
                shown,
                fastest(layout.shape, strides or layout.strides),
                reduced,
            )
    elif forms and root.device.is_named:
        # Devices have one loop for all strides.
        axis = fastest(layout.shape, strides or layout.strides)
        kind = (op, *[_lying(x, axis) if type(x) is Form else x for x in key[1:]])
        template = _templates.get(kind)
        if template is not None:
            seen = _seen(values)
            return Plan(template, layout.shape, seen, shown, axis, reduced)
    group = fuse(Target(Read(root, layout, dtype), op, strides))
    if (
        [id(read.value) for read in group.leaves] != [id(x) for x in leaves]
        or [id(scalar) for scalar in group.scalars] != [id(x) for x in scalars]
        or [id(value) for value, _ in group.outputs] != [id(x) for x in outputs]
        or [id(value) for value in group.values] != [id(x) for x in values]
        or group.blockers
    ):
        return None
    places = {id(value.expr): place for place, value in enumerate(values)}
    sources = tuple([places[id(expr)] for expr in group.exprs])
    template = Template(group.program, sources)
    if kind is not None:
        if len(_templates) > MOST:
            _templates.clear()
        _templates[kind] = template
    if into is None:
        shown = [View.of(at, value.dtype) for value, at in group.outputs]
    return Plan(
        template,
        group.shape,
        [View.of(read.layout, read.dtype) for read in group.leaves],
        shown,
        group.inner_axis,
        reduced,
    )


def _lying(form: Form, axis: int | None) -> tuple[Any, ...]:
    """What of an operation on parts of arrays a program depends on."""
    within = form.inner_axis is None or form.inner_axis == axis
    return (*form.kind, form.inner, within)


def _seen(values: Sequence[Value]) -> list[View]:
    """How the arrays are seen that values are made of, in the order of `known.find`."""
    found: dict[Any, View] = {}
    computed = {id(value) for value in values}
    for value in values:
        expr = value.expr
        assert expr is not None
        for source, view in zip(expr.sources, expr.form.inputs, strict=True):
            if view is not None and id(source) not in computed:
                found.setdefault((id(source), view), spread(view, expr.form.shape))
    return list(found.values())


def spread(view: View, shape: Shape) -> View:
    """What is seen of an array, repeated so that it has a shape."""
    layout, dtype = view
    if layout.shape == shape:
        return view
    strides = broadcast_strides(layout, shape)
    return View.of(Layout(shape, strides, layout.offset), dtype)


def forget(device: str) -> None:
    """Forget what was prepared for a device."""
    for one in list(_all):
        one.ready.pop(device, None)


when_removed(forget)
