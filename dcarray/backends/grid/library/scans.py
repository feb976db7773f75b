"""Running sums and their kin."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from ....ops.kernels.reducing import accumulator
from ....ops.kernels.scanning import scan_by_group, scan_by_item, scan_carried
from ....ops.reduction import TABLE as REDUCTIONS
from ....ops.spec import Kind, Op
from ..views import GridView
from .work import WAVES, DType, Rows, Work, normalized_axis, rows_of

__all__ = ["TABLE", "scan"]

SHORT = 32
"""Elements up to which a work item goes along a row alone."""


def _scan(
    op: Op, work: Work, x: Any, *, axis: Any = 0, dtype: Any = None, out: None = None
) -> GridView:
    """`numpy.ufunc.accumulate`."""
    x = work.put(x)
    if not x.shape:
        raise TypeError("cannot accumulate on a scalar")
    if isinstance(axis, tuple) and len(axis) == 1:
        (axis,) = axis
    if axis is None and x.ndim == 1:
        axis = 0
    axis = normalized_axis(axis, x.ndim)
    given = x.dtype if dtype is None else np.dtype(dtype)
    (wanted,) = op.resolve((given,)).outputs
    return scan(work, op, x, axis, wanted if dtype is None else given)


def scan(work: Work, op: Op, x: GridView, axis: int, dtype: DType) -> GridView:
    """Elements combined up to each one, along an axis; a C-contiguous array."""
    rows = rows_of(work, x, axis)
    out = work.new(x.shape, dtype)
    if x.size:
        _along(work, op, rows, out)
    return out


def _along(work: Work, op: Op, rows: Rows, out: GridView) -> None:
    limits = work.backend.limits
    source, dtype = rows.view.dtype, out.dtype
    sizes = (rows.count, rows.length, rows.inner, *rows.numbers())
    many = limits.units * work.items
    if rows.length <= SHORT or (rows.inner > 1 and rows.count >= many):
        kernel = scan_by_item(op, source, dtype)
        work.run(kernel, rows.count, rows.view, out, *sizes)
        return
    parts = max(1, limits.units * WAVES // rows.count)
    part = max(-(-rows.length // (parts * work.items)), 4) * work.items
    parts = -(-rows.length // part)
    totals = work.new((rows.count, parts), accumulator(dtype))
    kernel = scan_by_group(op, source, dtype, work.items)
    groups = (parts, rows.count)
    work.run_groups(kernel, groups, rows.view, out, totals, *sizes, part)
    if parts > 1:
        before = scan(work, op, totals, 1, totals.dtype)
        kernel = scan_carried(op, dtype)
        numbers = (rows.count, rows.length, rows.inner, part, parts)
        work.run(kernel, out.size, before, out, *numbers)


TABLE: dict[str, Callable[..., Any]] = {
    name: partial(_scan, op) for name, op in REDUCTIONS.items() if op.kind is Kind.SCAN
}
"""Functions by the name of their rows."""
