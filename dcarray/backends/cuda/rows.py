"""Rows of the library by our own texts in CUDA C++.

Each function takes a `Raw`, the operands and the options of its row, and returns None
for what its text does not cover: then the grid's kernels compute it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np

from ...ops.elementwise import DIVIDE, SQRT, SQUARE, SUBTRACT
from ...ops.reduction import SUM, TABLE as REDUCTIONS
from ..grid.library.work import INT64, DType, Work
from ..grid.views import GridView
from .kernels import folding, rows as normal, scanning
from .kernels.common import is_known
from .pooling import TABLE as POOLED
from .raw import Raw, signature

__all__ = ["TABLE", "parts_of"]

LONG = 2048
"""Elements of a row from which on a scan of ours is worth it."""

SHORT, FEW = 256, 16
"""Elements of a row, and of a column or columns side by side, below which most of a
group would have nothing to do."""

MOST_ROWS = 1 << 12
"""Shorter rows that are folded nevertheless: what else does it takes more launches."""

ROWS_AT_ONCE, COLUMNS_AT_ONCE = 6, 5
"""Groups that a unit of the device has room for."""

_SCAN = signature("scan", "rwwqqqqqq")
_ROWS = signature("rows", "rwwwqqqqqdq")
_COLUMNS = signature("columns", "rwwwqqqqqqqdq")
_ROW = signature("row", "rwrrqqqqd")


def _as_rows(x: GridView, axes: Sequence[int]) -> tuple[int, int, int] | None:
    """Lengths before, along and behind axes that are neighbours of a C-contiguous
    array; None for others."""
    size = x.dtype.itemsize
    wanted = size
    for length, stride in zip(x.shape[::-1], x.layout.strides[::-1], strict=True):
        if length != 1 and stride != wanted:
            return None
        wanted *= length
    if not axes or list(axes) != list(range(axes[0], axes[-1] + 1)):
        return None
    first, behind = axes[0], axes[-1] + 1
    return (
        math.prod(x.shape[:first]),
        math.prod(x.shape[first:behind]),
        math.prod(x.shape[behind:]),
    )


def _fours(offset: int, *steps: int) -> bool:
    """Whether four elements at once start where they may."""
    return not any(step % 4 for step in (offset, *steps))


# -------------------------------------------------------------------------------- scans
def _scan(
    name: str, raw: Raw, x: Any, *, axis: Any = 0, dtype: Any = None, out: None = None
) -> GridView | None:
    """`numpy.ufunc.accumulate` along the last axis."""
    if not isinstance(x, GridView) or not x.ndim or x.shape[-1] < LONG:
        return None
    if axis not in (-1, x.ndim - 1):
        return None
    given = x.dtype if dtype is None else np.dtype(dtype)
    (wanted,) = REDUCTIONS[name].resolve((given,)).outputs
    target = wanted if dtype is None else given
    narrows = x.dtype.kind == "f" and target.kind != "f"
    shape = _as_rows(x, (x.ndim - 1,))
    if shape is None or narrows or target.kind == "b" or not is_known(x.dtype, target):
        return None
    found = raw.new(x.shape, target)
    count, length, _ = shape
    tiles = -(-length // scanning.tile(target))
    windows = -(-tiles // scanning.WINDOW)
    if not count or count * tiles >= 1 << 31:
        return None
    words = scanning.words_of(target) * count * (tiles + windows)
    offset, _ = x.elements()
    numbers = (length, length, offset, tiles, windows)
    text = scanning.scan_text(name, x.dtype, target)
    state = raw.zeros(1 + words)
    vector = _fours(offset, *([length] if count > 1 else []))
    raw.run(
        text,
        _SCAN,
        (count * tiles,),
        scanning.THREADS,
        x,
        found,
        state,
        *numbers,
        vector,
    )
    return found


# ------------------------------------------------------------------------------- states
def parts_of(groups: int, at_once: int, most: int) -> int:
    """Into how many parts the work of each of some groups is cut: as many as run at
    once, or where the groups are too many for that, short ones for the end."""
    wanted = at_once // groups if groups <= at_once else -(-4 * at_once // groups)
    return max(1, min(wanted, most))


def _folded(
    raw: Raw,
    text: str,
    x: GridView,
    shape: tuple[int, int, int],
    target: DType,
    number: float = 1.0,
    root: bool = False,
) -> GridView | None:
    """A fold of `kernels.folding` along the middle one of three axes."""
    outer, length, inner = shape
    if not outer * inner:
        return None
    if inner == 1:
        is_long = length >= SHORT or (length > 1 and outer <= MOST_ROWS)
    else:
        is_long = length >= FEW and inner >= FEW
    if not is_long:
        return None
    units = raw.backend.limits.units
    out = raw.new((outer * inner,), target)
    offset, _ = x.elements()
    ends = (number, int(root))
    if inner == 1:
        batch = folding.THREADS * 16
        parts = parts_of(outer, units * ROWS_AT_ONCE, -(-length // batch))
        vector = _fours(offset, *([length] if outer > 1 else []))
        groups: tuple[int, ...] = (outer * parts,)
        kernel = _ROWS
        numbers: tuple[int, ...] = (length, length, offset, parts, int(vector))
    else:
        side = -(-inner // folding.across(x.dtype))
        batch = folding.THREADS // 32 * 16
        if outer >= 1 << 16:
            return None
        parts = parts_of(side * outer, units * COLUMNS_AT_ONCE, -(-length // batch))
        part = -(-length // (parts * batch)) * batch
        parts = -(-length // part)
        groups, kernel = (side * parts, outer), _COLUMNS
        numbers = (length, inner, offset, parts, part, inner, length * inner)
    if math.prod(groups) >= 1 << 31:
        return None
    states = counts = out
    if parts > 1:
        states = raw.new((out.size * parts * folding.STATE // 8,), INT64)
        counts = raw.counts()
    given = (x, out, states, counts, *numbers, *ends)
    raw.run(text, kernel, groups, folding.THREADS, *given)
    return out


def _place(
    largest: bool, raw: Raw, x: Any, *, axis: Any = None, keepdims: Any = False
) -> GridView | None:
    """`numpy.argmin` and `numpy.argmax`."""
    if not isinstance(x, GridView) or not x.size or not is_known(x.dtype):
        return None
    if axis is None:
        axes = tuple(range(x.ndim))
    elif isinstance(axis, int) and -x.ndim <= axis < x.ndim:
        axes = (axis % x.ndim,)
    else:
        return None
    shape = _as_rows(x, axes)
    if shape is None:
        return None
    text = folding.place_text(x.dtype, largest)
    found = _folded(raw, text, x, shape, np.dtype(np.intp))
    if found is None:
        return None
    return found.through(_kept(x, axes, keepdims))


def _kept(x: GridView, axes: Sequence[int], keepdims: bool) -> Callable[[Any], Any]:
    shape = [1 if k in axes else n for k, n in enumerate(x.shape)]
    if not keepdims:
        shape = [n for k, n in enumerate(x.shape) if k not in axes]
    return lambda a: a.reshape(shape)


def _mean(raw: Raw, x: Any, *, axes: Sequence[int], keepdims: bool) -> GridView:
    """Means along axes, of floating-point numbers."""
    x = x if isinstance(x, GridView) else raw.work.put(x)
    found = None
    shape = _as_rows(x, axes)
    count = math.prod([x.shape[axis] for axis in axes])
    if shape is not None and is_known(x.dtype):
        text = folding.mean_text(x.dtype, x.dtype)
        found = _folded(raw, text, x, shape, x.dtype, float(count))
    if found is None:
        total = _sum(raw.work, axes, x)
        found = raw.work.map(DIVIDE, total, total.dtype.type(count))
        found = raw.work.cast(found, x.dtype)
    return found.through(_kept(x, axes, keepdims))


def _sum(work: Work, axes: Sequence[int], x: GridView, **options: Any) -> GridView:
    wide = np.dtype(np.float32) if x.dtype.char == "e" else x.dtype
    return work.reduce(SUM, axes, work.cast(x, wide), **options)


def _variance(
    raw: Raw,
    x: Any,
    *,
    axes: Sequence[int],
    keepdims: bool,
    number: float,
    root: bool,
) -> GridView:
    """Sums of squared distances from the mean, divided by a number, along axes."""
    x = x if isinstance(x, GridView) else raw.work.put(x)
    found = None
    shape = _as_rows(x, axes)
    if shape is not None and is_known(x.dtype):
        text = folding.variance_text(x.dtype, x.dtype)
        found = _folded(raw, text, x, shape, x.dtype, number, root)
    if found is None:
        work = raw.work
        count = math.prod([x.shape[axis] for axis in axes])
        total = _sum(work, axes, x)
        middle = work.map(DIVIDE, total, total.dtype.type(count))
        apart = work.map(SUBTRACT, x, middle)
        found = _sum(work, axes, apart, before=SQUARE)
        found = work.map(DIVIDE, found, found.dtype.type(number))
        if root:
            found = work.map(SQRT, found)
        found = work.cast(found, x.dtype)
    return found.through(_kept(x, axes, keepdims))


# -------------------------------------------------------------------- rows in registers
def _row(
    name: str,
    raw: Raw,
    x: Any,
    weights: Any = None,
    bias: Any = None,
    *,
    epsilon: float = 0.0,
) -> GridView:
    """A function of each row along the last axis; see `kernels.rows`."""
    x = x if isinstance(x, GridView) else raw.work.put(x)
    if _as_rows(x, (x.ndim - 1,)) is None:
        x = raw.work.copy(x)
    extras = [x if y is None else _aligned(raw, y) for y in (weights, bias)]
    out = raw.new(x.shape, x.dtype)
    *outer, length = x.shape
    offset, _ = x.elements()
    vector = _fours(offset, length)
    threads, each = normal.layout_of(length)
    mask = (weights is not None) + 2 * (bias is not None)
    text = normal.row_text(name, x.dtype, threads, each, mask)
    numbers = (length, length, offset, int(vector), epsilon)
    raw.run(text, _ROW, (math.prod(outer),), threads, x, out, *extras, *numbers)
    return out


def _aligned(raw: Raw, x: Any) -> GridView:
    """An array that begins where its memory does."""
    if isinstance(x, GridView) and not x.layout.offset and _as_rows(x, (0,)):
        return x
    return raw.work.copy(raw.work.put(x))


TABLE: Mapping[str, Callable[..., GridView | None]] = {
    **{name: partial(_scan, name) for name in scanning.COMBINE},
    "argmin": partial(_place, False),
    "argmax": partial(_place, True),
    "mean": _mean,
    "variance": _variance,
    **{
        f"nn.{name}": partial(_row, name)
        for name in ("softmax", "log_softmax", "layer_norm", "rms_norm")
    },
    **POOLED,
}
"""Functions by the name of their rows."""
