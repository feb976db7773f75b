"""Forms of operations that differ in where their operands begin alone.

What an operation comes to depends on all of how its operands lie but that: it is worked
out for the first of them, the model, and the others are copies.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from .. import native
from .graph import Form, View

__all__ = ["lying", "moved", "views_of"]


def lying(kinds: Sequence[Any]) -> list[Any]:
    """All of how operands lie but where they begin; for numbers what is given."""
    found: list[Any] = []
    for x in kinds:
        if type(x) is View:
            layout, dtype = native.item(x, 0), native.item(x, 1)
            # C's integers of one size are equal as dtypes, and are not the same.
            found += (layout.shape, layout.strides, layout.plain, dtype, dtype.num)
        else:
            found.append(x)
    return found


def views_of(kinds: Sequence[Any]) -> tuple[View | None, ...]:
    """How each operand is seen; None for a number."""
    return tuple([x if type(x) is View else None for x in kinds])


def moved(model: Form, inputs: tuple[View | None, ...]) -> Form:
    """The form of the same operation on operands that lie alike but for where they
    begin."""
    form = Form.__new__(Form)
    form.op = model.op
    form.signature = model.signature
    form.shape = model.shape
    form.inputs = inputs
    form.arrays = model.arrays
    form.fits = model.fits
    form.inner = model.inner
    form.inner_axis = model.inner_axis
    form.outputs = model.outputs
    form.plain = model.plain
    form.device = None
    form.model = model
    form.plan = form.kin = form.patterns = form.number = None
    return form
