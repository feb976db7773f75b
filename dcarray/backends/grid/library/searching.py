"""Places of the largest and smallest elements."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from ....ops.kernels.reducing import accumulator
from ....ops.kernels.searching import place_by_group, place_by_item, place_of_parts
from ....ops.reduction import ARGMAX, ARGMIN
from ....ops.spec import Op
from ..views import GridView
from .work import INT64, INTP, WAVES, Rows, Work, normalized_axis, rows_of

__all__ = ["TABLE", "place_in_rows"]

SHORT = 32
"""Elements up to which a work item searches a row alone."""


def _place(
    op: Op,
    work: Work,
    x: Any,
    *,
    axis: Any = None,
    keepdims: Any = False,
) -> GridView:
    """`numpy.argmin` or `numpy.argmax`."""
    x = work.put(x)
    shape, ndim = x.shape, len(x.shape)
    if axis is None:
        x, axis = work.reshaped(x, (-1,)), 0
        kept: tuple[int, ...] = (1,) * len(shape) if keepdims else ()
    else:
        if not shape:
            x, shape = x.through(lambda a: a.reshape(1)), (1,)
        axis = normalized_axis(axis, len(shape))
        middle = (1,) if keepdims and ndim else ()
        kept = shape[:axis] + middle + shape[axis + 1 :]
    if not x.shape[axis]:
        raise ValueError(f"attempt to get {op.name} of an empty sequence")
    rows = rows_of(work, x, axis)
    places = place_in_rows(work, op, rows)
    return places.through(lambda a: a.reshape(kept))


def place_in_rows(work: Work, op: Op, rows: Rows) -> GridView:
    """The place in each row, as one axis."""
    out = work.new((rows.count,), INTP)
    if not rows.count:
        return out
    dtype = rows.view.dtype
    sizes = (rows.count, rows.length, rows.inner, *rows.numbers())
    many = work.backend.limits.units * work.items
    if rows.length <= SHORT or (rows.inner > 1 and rows.count >= many):
        kernel = place_by_item(op, dtype)
        work.run(kernel, rows.count, rows.view, out, *sizes)
        return out
    parts = max(1, work.backend.limits.units * WAVES // rows.count)
    part = max(-(-rows.length // parts), work.items * 4)
    parts = -(-rows.length // part)
    values = work.new((rows.count, parts), accumulator(dtype))
    places = out if parts == 1 else work.new((rows.count, parts), INT64)
    kernel = place_by_group(op, dtype, work.items)
    groups = (parts, rows.count)
    work.run_groups(kernel, groups, rows.view, values, places, *sizes, part)
    if parts > 1:
        kernel = place_of_parts(op, values.dtype)
        work.run(kernel, rows.count, values, places, out, rows.count, parts)
    return out


TABLE: dict[str, Callable[..., Any]] = {
    "argmin": partial(_place, ARGMIN),
    "argmax": partial(_place, ARGMAX),
}
"""Functions by the name of their rows."""
