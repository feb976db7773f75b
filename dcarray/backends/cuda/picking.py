"""Elements by masks and by indices, by our own texts in CUDA C++."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from ...layout import Layout
from ...ops.indexing import filled
from ..grid.library.work import INT64, INTP
from ..grid.views import GridView
from .kernels import choosing
from .kernels.common import is_known
from .raw import Raw, signature
from .stacks import ALIGNED

__all__ = [
    "SIZES",
    "TABLE",
    "TAKE",
    "chosen",
    "counted",
    "is_choosable",
    "is_dense",
    "read",
]

SIZES = (1, 2, 4, 8, 16)
"""Bytes of elements that are copied in one piece."""

_COUNT = signature("count_tiles", "rwq")
_ADD = signature("add_counts", "wq")
_CHOOSE = signature("choose", "rrrwqq")
TAKE = signature("take", "rrwwqqqqqqq")
_SEARCH = signature("search", "rrwqqqq")


def is_dense(x: GridView) -> bool:
    """Whether the elements lie side by side in C order."""
    if x.layout.plain:
        return True
    wanted = Layout.dense(x.shape, x.dtype.itemsize).strides
    steps = zip(x.shape, x.layout.strides, wanted, strict=True)
    return all(n == 1 or one == other for n, one, other in steps)


def _is_mask(x: Any) -> bool:
    return (
        isinstance(x, GridView)
        and x.dtype.kind == "b"
        and x.size > 0
        and x.layout.offset == 0
        and not x.memory.pointer % ALIGNED
        and is_dense(x)
    )


def read(raw: Raw, memory: Any, count: int) -> list[int]:
    """The first words, on the host."""
    found = np.empty(count, np.int64)
    raw.backend.download(memory, found.view(np.uint8))
    return found.tolist()


# -------------------------------------------------------------------------------- masks
def chosen(raw: Raw, mask: GridView, x: GridView | None) -> GridView:
    """Elements of an array side by side where a mask of its shape is true, or their
    places."""
    size, dtype = (0, INT64) if x is None else (x.dtype.itemsize, x.dtype)
    offset = 0 if x is None else x.layout.offset // size
    source = mask.memory if x is None else x.memory
    selected = raw.backend.select(mask.memory, source, mask.size, size, offset)
    if selected is not None:
        memory, count = selected
        return GridView(memory, Layout.dense((count,), dtype.itemsize), dtype)
    sums, count, choose = counted(raw, mask, size, offset)
    out = raw.new((count,), dtype)
    if count:
        choose((mask.memory, sums, source, out.memory), ())
    return out


def counted(raw: Raw, mask: GridView, size: int, offset: int) -> tuple[Any, int, Any]:
    """The sums of bools that are true before each tile, how many there are, and what
    chooses among so many elements of so many bytes that begin somewhere."""
    steps = raw.kept(("chosen", mask.size, size, offset), _steps_of_choice)
    nbytes, count_tiles, add_counts, choose = steps
    sums = raw.backend.allocate(nbytes)
    count_tiles((mask.memory, sums), ())
    add_counts((sums,), ())
    (count,) = read(raw, sums, 1)
    return sums, count, choose


def _steps_of_choice(raw: Raw, of: tuple[str, int, int, int]) -> tuple[Any, ...]:
    """Bytes of what is counted, and the three launches of a choice among so many, of
    elements of so many bytes that begin somewhere."""
    _, count, size, offset = of
    text = choosing.mask_text(size)
    tiles, threads = -(-count // choosing.TILE), choosing.THREADS
    return (
        8 * (tiles + 1) + 4 * tiles,
        raw.start(text, _COUNT, (tiles,), threads, count),
        raw.start(text, _ADD, (1,), 1024, tiles),
        raw.start(text, _CHOOSE, (tiles,), threads, count, offset),
    )


def is_choosable(x: Any, mask: Any) -> bool:
    """Whether the texts can choose elements of an array by a mask."""
    return (
        _is_mask(mask)
        and isinstance(x, GridView)
        and x.dtype.itemsize in SIZES
        and x.layout.offset % x.dtype.itemsize == 0
        and is_dense(x)
    )


def _get(raw: Raw, x: Any, *arrays: Any, key: Any) -> GridView | None:
    """``x[key]`` where the key is one mask, or indices of the first axis."""
    if len(arrays) != 1 or not isinstance(x, GridView) or not x.ndim:
        return None
    found = filled(key, arrays)
    if type(found) is tuple:
        if len(found) != 1:
            return None
        (found,) = found
    if found is not arrays[0] or not isinstance(found, GridView):
        return None
    if found.dtype.kind == "b":
        if found.shape == x.shape and is_choosable(x, found):
            return chosen(raw, found, x)
        return None
    return _taken(raw, x, found, 0, "raise") if found.ndim else None


def _flatnonzero(raw: Raw, x: Any) -> GridView | None:
    """`numpy.flatnonzero`."""
    return chosen(raw, x, None) if _is_mask(x) else None


def _extract(raw: Raw, condition: Any, x: Any) -> GridView | None:
    """`numpy.extract`."""
    if not is_choosable(x, condition) or x.size != condition.size:
        return None
    return chosen(raw, condition, x)


def _compress(raw: Raw, condition: Any, x: Any, *, axis: Any = None) -> GridView | None:
    """`numpy.compress` along the only axis."""
    if not isinstance(x, GridView) or (axis is not None and x.ndim != 1):
        return None
    if axis not in (None, 0, -1) or getattr(condition, "ndim", 0) != 1:
        return None
    return _extract(raw, condition, x)


# ------------------------------------------------------------------------------ indices
def _taken(
    raw: Raw, x: GridView, indices: GridView, axis: int, mode: str
) -> GridView | None:
    """Elements by their indices along an axis of a C-contiguous array.

    Raises
    ------
    IndexError
        One is out of bounds, and ``mode`` is "raise".
    """
    size = x.dtype.itemsize
    code = f"{indices.dtype.kind}{indices.dtype.itemsize}"
    if code not in choosing.PLACES or mode not in ("raise", "wrap", "clip"):
        return None
    if not indices.size or not x.size or not is_dense(x) or not is_dense(indices):
        return None
    begin, rest = divmod(indices.layout.offset, indices.dtype.itemsize)
    if rest or x.layout.offset % size:
        return None
    outer, inner = math.prod(x.shape[:axis]), math.prod(x.shape[axis + 1 :])
    shape = (*x.shape[:axis], *indices.shape, *x.shape[axis + 1 :])
    length, offset = x.shape[axis], x.layout.offset // size
    unit = size
    for one in SIZES[::-1]:  # rows of neighbours go in larger pieces
        if one > size and not inner * size % one and not offset * size % one:
            inner, offset, unit = inner * size // one, offset * size // one, one
            break
    if unit not in SIZES:
        return None
    out = raw.new(shape, x.dtype)
    wrong = out
    if mode == "raise":
        raw.forget()  # it is read
        wrong = raw.zeros(2)
    text = choosing.take_text(unit, code, mode)
    count = outer * indices.size * inner
    groups = min(-(-count // 1024), 1 << 20)
    numbers = (indices.size, length, inner, length * inner, outer, offset, begin)
    raw.run(text, TAKE, (groups,), 256, x, indices, out, wrong, *numbers)
    if mode == "raise":
        is_wrong, index = read(raw, wrong.memory, 2)
        if is_wrong:
            raise IndexError(
                f"index {index} is out of bounds for axis {axis} with size {length}"
            )
    return out


def _take(
    raw: Raw, x: Any, indices: Any, *, axis: Any = None, mode: str = "raise"
) -> GridView | None:
    """`numpy.take`."""
    if not isinstance(x, GridView) or not isinstance(indices, GridView) or not x.ndim:
        return None
    if axis is None:
        if not is_dense(x):
            return None
        x, axis = x.through(lambda a: a.reshape(-1)), 0
    if not isinstance(axis, int) or not -x.ndim <= axis < x.ndim:
        return None
    return _taken(raw, x, indices, axis % x.ndim, mode)


def _searchsorted(
    raw: Raw, x: Any, v: Any, side: str = "left", sorter: Any = None
) -> GridView | None:
    """`numpy.searchsorted` of one dtype."""
    if not isinstance(x, GridView) or not isinstance(v, GridView) or sorter is not None:
        return None
    if side not in ("left", "right") or x.ndim != 1 or x.dtype != v.dtype:
        return None
    if not is_known(x.dtype) or not v.size or not is_dense(x) or not is_dense(v):
        return None
    size = x.dtype.itemsize
    if x.layout.offset % size or v.layout.offset % size:
        return None
    out = raw.new(v.shape, INTP)
    starts = (x.layout.offset // size, v.layout.offset // size)
    text = choosing.search_text(x.dtype, side == "right")
    groups = min(-(-v.size // 256), 1 << 20)
    raw.run(text, _SEARCH, (groups,), 256, x, v, out, x.size, v.size, *starts)
    return out


TABLE: Mapping[str, Callable[..., GridView | None]] = {
    "get": _get,
    "flatnonzero": _flatnonzero,
    "extract": _extract,
    "compress": _compress,
    "take": _take,
    "searchsorted": _searchsorted,
}
"""Functions by the name of their rows."""
