"""Products of matrices and vectors."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ....kernel.nodes import Kernel
from ....ops.elementwise import CONJUGATE, LOGICAL_AND, MULTIPLY
from ....ops.kernels.products import Blocking, product_kernel, sums_in
from ....ops.reduction import ANY, SUM
from ..geometry import collapsed, is_wide
from ..views import GridView
from .work import BOOL, DType, Work, in_dtype

__all__ = ["TABLE", "fitting", "product", "run_tiles"]

MATRICES = 1 << 15
"""Matrices of a launch."""

THIN = 8
"""Rows or columns of a result up to which each element is a sum of its own."""


# ---------------------------------------------------------------------------- products
def product(work: Work, x: GridView, y: GridView) -> GridView:
    """``x @ y`` of stacks of matrices, with any strides."""
    dtype = x.dtype if x.dtype == y.dtype else np.result_type(x.dtype, y.dtype)
    batch = x.shape[:-2]
    if batch != y.shape[:-2]:
        batch = np.broadcast_shapes(batch, y.shape[:-2])
    rows, length = x.shape[-2:]
    columns = y.shape[-1]
    shape = (*batch, rows, columns)
    if 0 not in shape and length:
        made = work.backend.product(x, y, dtype)
        if made is not None:
            return made
    if 0 in shape or not length or min(rows, columns) <= THIN:
        first = x.through(lambda a: a[..., :, :, None])
        second = y.through(lambda a: a[..., None, :, :])
        found = summed(work, first, second, (len(batch) + 1,), dtype)
        return found.through(lambda a: a.reshape(shape))
    out = work.new(shape, dtype)
    first = x.through(lambda a: np.broadcast_to(a, (*batch, rows, length)))
    second = y.through(lambda a: np.broadcast_to(a, (*batch, length, columns)))
    _tiled(work, first, second, out)
    return out


def summed(
    work: Work, x: GridView, y: GridView, axes: Sequence[int], dtype: DType
) -> GridView:
    """Products, broadcast and added up along axes, which stay with length 1."""
    if dtype == BOOL:
        return work.reduce(ANY, axes, x, y, before=LOGICAL_AND, dtype=dtype)
    within = np.dtype(np.float32) if dtype == np.float16 else dtype
    return work.reduce(
        SUM, axes, x, y, before=MULTIPLY, within=within, dtype=within, result=dtype
    )


def _tiled(work: Work, x: GridView, y: GridView, out: GridView) -> None:
    *batch, rows, columns = out.shape
    length = x.shape[-1]
    views = (x, y, out)
    offsets, strides = [], []
    for view in views:
        offset, steps = view.elements()
        offsets.append(offset)
        strides.append(steps)
    axes = collapsed(batch, [s[:-2] for s in strides], strides[2][:-2])
    matrices = [
        collapsed((n, m), [s[-2:]], (0, 0))
        for (n, m), s in zip(
            ((rows, length), (length, columns), (rows, columns)), strides, strict=True
        )
    ]
    reach = [
        abs(offset)
        + sum([(n - 1) * abs(step) for n, step in zip(view.shape, steps, strict=True)])
        for view, offset, steps in zip(views, offsets, strides, strict=True)
    ]
    wide = is_wide(reach, matrices)
    blocking = _blocking(work, strides, out.dtype)
    kernel = product_kernel(
        x.dtype, y.dtype, out.dtype, blocking, len(axes.lengths), wide
    )
    numbers = [rows, columns, length, *offsets]
    for steps in strides:
        numbers += steps[-2:]
    numbers += axes.lengths[1:]
    for row in axes.strides:
        numbers += row
    tiles = -(-rows // blocking.edge) * -(-columns // blocking.edge)
    run_tiles(work, kernel, blocking, (tiles, axes.size), views, numbers)


def run_tiles(
    work: Work,
    kernel: Kernel,
    blocking: Blocking,
    groups: tuple[int, int],
    arguments: Sequence[Any],
    numbers: Sequence[int],
) -> None:
    """Run a kernel of tiles: so many of them in each of so many matrices.

    ``arguments`` come before the number of the first matrix of a launch, ``numbers``
    after it.
    """
    tiles, count = groups
    for first in range(0, count, MATRICES):
        some = (tiles, min(MATRICES, count - first))
        items = blocking.side**2
        work.run_groups(kernel, some, *arguments, first, *numbers, items=items)


def _blocking(work: Work, strides: Sequence[Sequence[int]], dtype: DType) -> Blocking:
    x, y, _ = strides
    rows = (abs(x[-1]) <= abs(x[-2]), abs(y[-1]) <= abs(y[-2]))
    return fitting(work, dtype, *rows)


def fitting(work: Work, dtype: DType, *given: bool, table: int = 0) -> Blocking:
    """Tiles that fit into the shared memory of the device.

    Parameters
    ----------
    dtype : dtype
        Of the result.
    given : bool
        How the factors and the result lie: see `Blocking`.
    table : int
        Bytes of shared memory beside the tiles, for each work item along a side.
    """
    layout = work.backend.layouts["product"]
    side = 1 << (layout.items.bit_length() - 1) // 2
    each = layout.ahead if sums_in(dtype).itemsize <= 4 else -(-layout.ahead // 2)
    limits = work.backend.limits
    while True:
        found = Blocking(side, each, not limits.coalesces, *given)
        if found.shared(dtype) + table * side <= limits.shared // 2 or side == 1:
            return found
        side //= 2


# -------------------------------------------------------------------------------- rows
def _matmul(work: Work, x: Any, y: Any, **options: Any) -> GridView:
    """`numpy.matmul`."""
    x, y = in_dtype(work, x, y, **options)
    for place, operand in enumerate((x, y)):
        if not operand.ndim:
            raise ValueError(
                f"matmul: Input operand {place} does not have enough dimensions (has "
                "0, gufunc core with signature (n?,k),(k,m?)->(n?,m?) requires 1)"
            )
    inner = y.shape[0] if y.ndim == 1 else y.shape[-2]
    if x.shape[-1] != inner:
        raise ValueError(
            "matmul: Input operand 1 has a mismatch in its core dimension 0, with "
            f"gufunc signature (n?,k),(k,m?)->(n?,m?) (size {inner} is different from "
            f"{x.shape[-1]})"
        )
    first = x.through(lambda a: a[None, :]) if x.ndim == 1 else x
    second = y.through(lambda a: a[:, None]) if y.ndim == 1 else y
    found = product(work, first, second)
    if x.ndim > 1 and y.ndim > 1:
        return found
    shape = list(found.shape)
    if y.ndim == 1:
        del shape[-1]
    if x.ndim == 1:
        del shape[-2 if y.ndim > 1 else -1]
    return found.through(lambda a: a.reshape(shape))


def _matvec(work: Work, x: Any, y: Any, **options: Any) -> GridView:
    """`numpy.matvec`."""
    x, y = in_dtype(work, x, y, **options)
    _check_core("matvec", "(m,n),(n)->(m)", x.shape[-1], y.shape[-1])
    found = product(work, x, y.through(lambda a: a[..., None]))
    return found.through(lambda a: a[..., 0])


def _vecmat(work: Work, x: Any, y: Any, **options: Any) -> GridView:
    """`numpy.vecmat`."""
    x, y = in_dtype(work, x, y, **options)
    x = _conjugate(work, x)
    _check_core("vecmat", "(n),(n,m)->(m)", x.shape[-1], y.shape[-2])
    found = product(work, x.through(lambda a: a[..., None, :]), y)
    return found.through(lambda a: a[..., 0, :])


def _vecdot(work: Work, x: Any, y: Any, *, axis: int = -1, **options: Any) -> GridView:
    """`numpy.vecdot`."""
    x, y = in_dtype(work, x, y, **options)
    x = _conjugate(work, x)
    x = x.through(lambda a: np.moveaxis(a, axis, -1))
    y = y.through(lambda a: np.moveaxis(a, axis, -1))
    _check_core("vecdot", "(n),(n)->()", x.shape[-1], y.shape[-1])
    ndim = max(x.ndim, y.ndim)
    dtype = np.result_type(x.dtype, y.dtype)
    found = summed(work, x, y, (ndim - 1,), dtype)
    return found.through(lambda a: a[..., 0])


def _check_core(name: str, signature: str, first: int, second: int) -> None:
    if first != second:
        raise ValueError(
            f"{name}: Input operand 1 has a mismatch in its core dimension 0, with "
            f"gufunc signature {signature} (size {second} is different from {first})"
        )


def _conjugate(work: Work, x: GridView) -> GridView:
    return work.map(CONJUGATE, x) if x.dtype.kind == "c" else x


def _vdot(work: Work, x: Any, y: Any) -> GridView:
    """`numpy.vdot`."""
    x, y = work.put(x), work.put(y)
    return _vecdot(work, work.reshaped(x, (-1,)), work.reshaped(y, (-1,)))


def _dot(work: Work, x: Any, y: Any) -> GridView:
    """`numpy.dot`."""
    x, y = work.put(x), work.put(y)
    if not x.ndim or not y.ndim:
        return work.map(MULTIPLY, x, y)
    axis = 0 if y.ndim == 1 else y.ndim - 2
    if x.shape[-1] != y.shape[axis]:
        raise ValueError(
            f"shapes {x.shape} and {y.shape} not aligned: {x.shape[-1]} (dim "
            f"{x.ndim - 1}) != {y.shape[axis]} (dim {axis})"
        )
    return contracted(work, x, y, (x.ndim - 1,), (axis,))


def _inner(work: Work, x: Any, y: Any) -> GridView:
    """`numpy.inner`."""
    x, y = work.put(x), work.put(y)
    if not x.ndim or not y.ndim:
        return work.map(MULTIPLY, x, y)
    if x.shape[-1] != y.shape[-1]:
        raise ValueError(
            f"shapes {x.shape} and {y.shape} not aligned: {x.shape[-1]} (dim "
            f"{x.ndim - 1}) != {y.shape[-1]} (dim {y.ndim - 1})"
        )
    return contracted(work, x, y, (x.ndim - 1,), (y.ndim - 1,))


def _tensordot(work: Work, x: Any, y: Any, *, axes: Any = 2) -> GridView:
    """`numpy.tensordot`."""
    x, y = work.put(x), work.put(y)
    try:
        first, second = axes
        first = [first] if isinstance(first, (int, np.integer)) else list(first)
        second = [second] if isinstance(second, (int, np.integer)) else list(second)
    except TypeError:
        first, second = list(range(-axes, 0)), list(range(axes))
    if len(first) != len(second) or max(len(first), 0) > min(x.ndim, y.ndim):
        raise ValueError("shape-mismatch for sum")
    normal = np.lib.array_utils.normalize_axis_index
    first = [normal(axis, x.ndim) for axis in first]
    second = [normal(axis, y.ndim) for axis in second]
    if [x.shape[k] for k in first] != [y.shape[k] for k in second]:
        raise ValueError("shape-mismatch for sum")
    return contracted(work, x, y, first, second)


def contracted(
    work: Work,
    x: GridView,
    y: GridView,
    first: Sequence[int],
    second: Sequence[int],
) -> GridView:
    """Sums of products along some axes of each."""
    left = [axis for axis in range(x.ndim) if axis not in first]
    right = [axis for axis in range(y.ndim) if axis not in second]
    shape = (*[x.shape[k] for k in left], *[y.shape[k] for k in right])
    length = math.prod([x.shape[k] for k in first])
    rows = math.prod([x.shape[k] for k in left])
    columns = math.prod([y.shape[k] for k in right])
    one = x.through(lambda a: a.transpose((*left, *first)))
    other = y.through(lambda a: a.transpose((*second, *right)))
    one = work.reshaped(one, (rows, length)) if one.ndim != 2 else one
    other = work.reshaped(other, (length, columns)) if other.ndim != 2 else other
    if not left or not first:
        one = work.reshaped(one, (rows, length))
    if not right or not second:
        other = work.reshaped(other, (length, columns))
    return product(work, one, other).through(lambda a: a.reshape(shape))


def _kron(work: Work, x: Any, y: Any) -> GridView:
    """`numpy.kron`."""
    x, y = work.put(x), work.put(y)
    ndim = max(x.ndim, y.ndim)
    first = (1,) * (ndim - x.ndim) + x.shape
    second = (1,) * (ndim - y.ndim) + y.shape
    left = [n for length in first for n in (length, 1)]
    right = [n for length in second for n in (1, length)]
    found = work.map(MULTIPLY, work.reshaped(x, left), work.reshaped(y, right))
    shape = [n * m for n, m in zip(first, second, strict=True)]
    return found.through(lambda a: a.reshape(shape))


def _multi_dot(work: Work, *arrays: Any) -> GridView:
    """`numpy.linalg.multi_dot`, from left to right."""
    if len(arrays) < 2:
        raise ValueError("Expecting at least two arrays.")
    found = work.put(arrays[0])
    for x in arrays[1:]:
        found = _dot(work, found, x)
    return found


TABLE: dict[str, Callable[..., Any]] = {
    "matmul": _matmul,
    "matvec": _matvec,
    "vecmat": _vecmat,
    "vecdot": _vecdot,
    "dot": _dot,
    "vdot": _vdot,
    "inner": _inner,
    "kron": _kron,
    "tensordot": _tensordot,
    "linalg.multi_dot": _multi_dot,
}
"""Functions by the name of their rows."""
