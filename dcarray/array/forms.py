"""What operations come to on operands that lie so, for the short ways to the graph.

It is found once, and known from then on.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from .. import native
from ..backends.registry import Device, when_removed
from ..dtypes import is_recordable
from ..lazy.graph import Form, State, Value, View
from ..lazy.models import lying, moved, views_of
from ..lazy.record import form_of
from ..ops.elementwise import CAST, POWER
from ..ops.spec import Op
from .choice import is_choosy

__all__ = [
    "element_of",
    "forget",
    "form_on_device",
    "on_devices",
    "on_hosts",
    "worked_out",
]

_STORED = State.STORED

on_hosts: dict[tuple[Any, ...], Form] = {}
on_devices: dict[tuple[Any, ...], Form] = {}
"""What is known, by operation and the views and types of the operands."""

_models: dict[tuple[Any, ...], Form] = {}
"""Of the host's, wherever the operands begin."""


def form_on_device(op: Op, first: Any, second: Any, device: Device) -> Form | None:
    """What is known of an operation; ``second`` is None where it has one operand."""
    place = native.mixed(op, first, second) & 511
    recent = _recent[place]
    if (
        recent is not None
        and recent[0] is op
        and recent[1] is first
        and recent[2] is second
    ):
        form = recent[3]
        if form.device is device:
            return form  # type: ignore[no-any-return]
    key: Any = (op, first) if second is None else (op, first, second)
    found = on_devices.get(key)
    if found is None or found.device is not device:
        return None
    _recent[place] = (op, first, second, found)
    return found


_recent: list[Any] = [None] * 512
"""Entries of `on_devices`, each at the place that its identities make."""


def element_of(value: Value, view: Any) -> tuple[Value, View] | None:
    """What a pending element is a copy of, and how that is seen: it can be read where
    it is, for who writes there has what reads it run before."""
    expr = value.expr
    if expr is None or view is not value.view:
        return None
    form = expr.form
    if form.op is not CAST or form.shape:
        return None
    source, seen = expr.sources[0], form.inputs[0]
    if seen is None or seen[1] is not view[1] or source.state != _STORED:
        return None
    return source, seen


def worked_out(
    op: Op, operands: Sequence[Any], key: Sequence[Any], named: bool
) -> Form | None:
    """What the operation comes to, if NumPy has one loop for operands that lie so."""
    views = key[1:]
    name: tuple[Any, ...] = ()
    if not named:
        name = (op, *lying(views))
        model = _models.get(name)
        if model is not None:
            # What was found holds wherever elements begin, if they are aligned.
            for x, view in zip(operands, views, strict=True):
                if type(view) is View and not _is_aligned(x, view):
                    return None
            return moved(model, views_of(views))
    for x, view in zip(operands, views, strict=True):
        if type(view) is not View:
            continue
        layout, dtype = view
        if not is_recordable(dtype):
            return None
        if named:  # such a device has one loop for all
            continue
        if not layout.shape or op is POWER:
            return None
        if layout.plain and dtype.kind != "c":  # contiguous: the one loop that is meant
            continue
        if not _is_aligned(x, view):
            return None
        if is_choosy(op, dtype, layout.shape, layout.strides):
            return None
    kinds = [x if type(x) is View else _kind(x) for x in views]
    form = form_of(op, kinds)
    if op is POWER and form.signature.inputs[1].kind == "i":
        return None  # the loop may raise: an exponent below zero
    if not named:
        if len(_models) > 1 << 14:
            _models.clear()
        _models[name] = form
    return form


def _is_aligned(x: Any, view: View) -> bool:
    """Whether an array of the host begins where its dtype asks for."""
    return view[0].plain or x._host is None or x._host.flags.aligned


def _kind(kind: Any) -> Any:
    """A number's type as the dtype rules take it."""
    return kind if kind in (int, float, complex) else np.dtype(kind)


def forget(label: str = "") -> None:
    """Look again which dtypes devices have: one may come back as another one."""
    for form in list(on_devices.values()):
        form.device = None


when_removed(forget)
