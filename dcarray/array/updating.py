"""Writing to arrays, as most programs do it: operators in place, and on named devices
values for parts that slices choose.

What such a write comes to is found once for operands that lie so.
"""

from __future__ import annotations

from typing import Any

from ..backends.registry import AUTO
from ..layout import Layout, broadcast_shapes, broadcast_strides
from ..lazy.graph import Form, Value, View
from ..lazy.record import form_of
from ..lazy.updating import store, store_copy
from ..ops.elementwise import CAST
from ..ops.spec import Signature
from .calls import write
from .forms import element_of
from .kept import number_for, part_of
from .state import ArrayState, known

__all__ = ["assigned", "update"]

_copies: dict[tuple[View, View], Form | None] = {}
"""How a value is copied to memory; None where `indexing` has to look."""


def update(x: ArrayState, value: Value, other: Any) -> None:
    """Have an array show what an operator in place recorded of it and ``other``."""
    target: Value | None
    if x._device.is_named:
        target = x._binding._value  # type: ignore[union-attr]
        goes = target is not None and (
            target.expr is None or x._view is not target.view
        )
    else:
        target = known(x)
        goes = x._view is not target.view  # all of an array waits, see `calls.write`
    if goes:
        assert target is not None
        spare = None
        if isinstance(other, ArrayState):
            operand = other
            bound = operand._binding
            spare = None if bound is None else bound._value
        view = x._view
        assert view is not None
        if store(target, view, value, spare):
            return
    write(x, value)


def assigned(x: ArrayState, key: Any, value: Any) -> bool:
    """``x[key] = value`` for Python's integers and slices; whether that was possible.

    Where it is not, nothing has happened: `indexing` finds another way, or what is
    wrong.
    """
    shown = part_of(x, key)
    binding = x._binding
    if binding is None:
        return False
    target = binding._value
    if target is None or (target.expr is not None and shown is target.view):
        return False
    if isinstance(value, ArrayState):
        host = value._host
        if host is not None and not host.ndim:
            value = host[()]
    if not isinstance(value, ArrayState):
        value = number_for(type(x), value, shown[1])
        if value is None:
            return False
    other = value
    if other._device is not x._device and (other._device is not AUTO or other.ndim):
        return False
    bound, view = other._binding, other._view
    if bound is None or view is None:
        return False
    source = bound._value
    if source is None:
        return False
    if bound is binding:
        if view is shown:
            return True  # as Python does after ``a[1:] += b``
        if view[0].shape == shown[0].shape and view[0].offset == shown[0].offset:
            return False  # it may be turned
    buffer = source.buffer
    if buffer is not None and buffer._sharer is not None:
        return False
    expr = source.expr
    if expr is not None and view is source.view:
        if view[0].shape == shown[0].shape and view[1] is shown[1]:
            return store(target, shown, source)
        element = element_of(source, view)
        if element is not None:
            source, view = element
    form = _copies.get((shown, view))
    if form is None:
        if (shown, view) in _copies:
            return False
        if len(_copies) > 1 << 16:
            _copies.clear()
        form = _copies[shown, view] = _copy(shown, view)
        if form is None:
            return False
    return store_copy(target, shown, source, form)


def _copy(shown: View, view: View) -> Form | None:
    """How what lies so is copied to memory that lies so."""
    (layout, dtype), (seen, kind) = shown, view
    shape = layout.shape
    if kind.kind == "c" and dtype.kind != "c":
        return None  # NumPy warns
    if seen.shape != shape:
        try:
            if broadcast_shapes((seen.shape, shape)) != shape:
                return None
        except ValueError:
            return None
        seen = Layout(shape, broadcast_strides(seen, shape), seen.offset)
        view = View.of(seen, kind)
    form = form_of(CAST, [view], Signature((kind,), (dtype,)))
    return form if form.outputs[0][0].shape == shape else None
