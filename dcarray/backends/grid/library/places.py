"""Reading and writing at places that an array holds, and how places are found."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ....errors import UnsupportedError
from ....ops.kernels.choosing import EACH, choose_kernel, count_kernel, offsets_kernel
from ....ops.kernels.gathering import (
    carrier,
    claim_kernel,
    gather_kernel,
    places_kernel,
    scatter_kernel,
    turns_kernel,
)
from ..geometry import Axes, collapsed, elements, is_wide
from ..views import GridView
from .work import BOOL, INT32, INT64, Work

__all__ = ["chosen", "gather", "positions", "resolved", "scatter", "turns"]


def _axes(views: Sequence[GridView]) -> tuple[list[int], Axes, bool]:
    """Offsets of operands, their axes, and whether indices need 64 bits."""
    offsets, rows = elements(views)
    axes = collapsed(views[0].shape, rows, rows[-1])
    return offsets, axes, is_wide(offsets, (axes,))


def _numbers(offsets: Sequence[int], axes: Axes) -> list[int]:
    numbers = [axes.size, *offsets, *axes.lengths[1:]]
    for row in axes.strides:
        numbers += row
    return numbers


def gather(work: Work, x: GridView, places: GridView) -> GridView:
    """The elements that lie ``places`` behind those of ``x``, both of one shape."""
    out = work.new(x.shape, x.dtype)
    if out.size:
        offsets, axes, wide = _axes((x, places, out))
        kernel = gather_kernel(carrier(x.dtype), len(axes.lengths), wide)
        work.run(kernel, axes.size, x, places, out, *_numbers(offsets, axes))
    return out


def scatter(
    work: Work,
    x: GridView,
    places: GridView,
    target: GridView,
    reach: int,
    distinct: bool = False,
) -> None:
    """Store ``x`` at ``places`` behind the elements of ``target``, all among the first
    ``reach`` of its memory; where a place is given twice, the last one counts.

    ``distinct`` says that no place is given twice.
    """
    if not x.size:
        return
    steps = zip(x.shape, x.layout.strides, strict=True)
    claimed = not distinct and any(n > 1 and stride for n, stride in steps)
    # Steps count in the order of the shape, which the order of axes must not change.
    offsets, rows = elements((x, places, target))
    order = np.cumprod([1, *[max(n, 1) for n in x.shape[:0:-1]]])[::-1]
    axes = collapsed(x.shape, rows, [int(step) for step in order][: x.ndim])
    wide = is_wide(offsets, (axes,))
    ndim = len(axes.lengths)
    claims: list[GridView] = []
    if claimed:
        if max(x.size, reach) >= 1 << 31:
            raise UnsupportedError("too many elements to store at places given twice")
        claims = [work.full(reach, -1, INT32)]
        kept = Axes(axes.lengths, axes.strides[1:])
        numbers = _numbers(offsets[1:], kept)
        kernel = claim_kernel(ndim, wide)
        work.run(kernel, axes.size, places, claims[0], *numbers)
    kernel = scatter_kernel(carrier(x.dtype), ndim, wide, claimed)
    numbers = _numbers(offsets, axes)
    work.run(kernel, axes.size, x, places, target, *claims, *numbers)


def resolved(
    work: Work,
    indices: GridView,
    axis: int,
    length: int,
    step: int,
    mode: str = "raise",
) -> GridView:
    """Indices along an axis as places: ``step`` elements lie between neighbours.

    Raises
    ------
    IndexError
        One is out of bounds, and ``mode`` is "raise".
    TypeError
        They are no integers.
    """
    if indices.dtype.kind not in "biu":
        raise TypeError(
            f"Cannot cast array data from {indices.dtype!r} to dtype('int64') "
            "according to the rule 'safe'"
        )
    if mode not in ("raise", "wrap", "clip"):
        raise ValueError(f"mode must be 'raise', 'wrap' or 'clip', not {mode!r}")
    out = work.new(indices.shape, INT64)
    if not indices.size:
        return out
    if not length:
        raise IndexError("cannot do a non-empty take from an empty axes.")
    wrong = work.full(2, 0, INT64)
    given = work.dense(indices)
    if given.layout.offset or given.dtype == BOOL:
        given = work.copy(work.cast(given, INT64))
    kernel = places_kernel(given.dtype, mode)
    work.run(kernel, out.size, given, out, wrong, out.size, length, step)
    if mode == "raise":
        is_wrong, index = work.read(wrong)
        if is_wrong:
            raise IndexError(
                f"index {index} is out of bounds for axis {axis} with size {length}"
            )
    return out


def positions(work: Work, mask: GridView) -> GridView:
    """Where bools are true, as positions in C order."""
    if not mask.size:
        return work.new((0,), INT64)
    flat, sums, count = _counted(work, mask)
    out = work.new((count,), INT64)
    if count:
        kernel = choose_kernel(None, work.items)
        work.run_groups(kernel, _tiles(work, flat), flat, sums, out, flat.size)
    return out


def chosen(work: Work, x: GridView, mask: GridView) -> GridView:
    """The elements of an array in C order where bools of its shape are true."""
    if not mask.size:
        return work.new((0,), x.dtype)
    flat, sums, count = _counted(work, mask)
    out = work.new((count,), x.dtype)
    if count:
        source = work.reshaped(x, (-1,))
        offset, (step,) = source.elements()
        kernel = choose_kernel(carrier(x.dtype), work.items)
        numbers = (flat.size, offset, step)
        work.run_groups(kernel, _tiles(work, flat), flat, sums, source, out, *numbers)
    return out


def _counted(work: Work, mask: GridView) -> tuple[GridView, GridView, int]:
    """Bools side by side, the sums of true ones before each tile, and their number."""
    flat = work.reshaped(mask, (-1,))
    if flat.layout.offset:
        flat = work.copy(flat)
    groups = _tiles(work, flat)
    counts = work.new(groups[:1], INT32)
    work.run_groups(count_kernel(work.items), groups, flat, counts, flat.size)
    sums = work.new((groups[0] + 1,), INT64)
    work.run_groups(offsets_kernel(work.items), (1, 1), counts, sums, groups[0])
    return flat, sums, int(work.read(sums.through(lambda a: a[-1:]))[0])


def _tiles(work: Work, flat: GridView) -> tuple[int, int]:
    return (-(-flat.size // (work.items * EACH)), 1)


def turns(
    work: Work, shape: Sequence[int], length: int, dtype: np.dtype[Any] = INT64
) -> GridView:
    """Numbers that count up from 0 in C order, and again after each ``length``."""
    out = work.new(shape, dtype)
    if out.size:
        work.run(turns_kernel(dtype), out.size, out, out.size, length)
    return out
