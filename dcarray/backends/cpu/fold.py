"""Reductions inside the kernel: each block is reduced as soon as it is computed.

Along an inner reduced axis every block gives partial results; blocks are branches of
NumPy's pairwise tree, or some short runs.  Along an outer one, rows are combined in
order into the result, along several such axes where they follow each other.
"""

from __future__ import annotations

import math
from array import array
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np

from ...config import current
from ...render.plan import Start
from .engine import data_address
from .execute import Executable, is_narrow
from .geometry import Geometry, view_through
from .interpreter import Recorder, watching
from .launch import Bound, block_edges
from .pairwise import branches, join_branches
from .rules import has_minus_zero, identity_of, is_any_order, is_doubtful, is_pairwise
from .same_loops import sums_agree
from .team import drive_all
from .threads import available_threads
from .walks import (
    all_done,
    as_walked,
    extended,
    has_long_body,
    is_dense,
    last_joined,
    slices_of,
    walk_of,
)

__all__ = ["Rows", "Runs", "fold_inside", "fold_of"]

HostArray = np.ndarray[Any, Any]
Shape = tuple[int, ...]

NARROW = 512
"""Columns that are not worth being shared among threads."""

FEW = 64
"""Blocks that are looked at one by one for the signs of their zeros."""

SEVERAL = 64
"""Columns that are enough for a thread, and for a long body."""

WIDEST = 4096
"""Columns whose results stay in the cache."""


def fold_inside(
    executable: Executable,
    ufunc: np.ufunc,
    shape: Shape,
    strides: tuple[Shape, ...],
    addresses: Sequence[int],
    arrays: Callable[[], tuple[Sequence[HostArray], Sequence[HostArray]]],
    scalars: Sequence[Any],
    reduced: HostArray,
    order: Shape,
    watch: int,
    recorder: Recorder,
) -> bool:
    """Reduce the slot of a program's reduction, and store its outputs on the way; see
    `launch_reduction`.

    Returns False if that is not possible, or if a flag has to be named.
    """
    if current().engine != "auto":
        return False
    threads = available_threads()
    fold = fold_of(executable, ufunc, shape, strides, reduced, order, threads)
    count = len(executable.program.leaves)
    if fold is None or not executable.aligned(addresses[:count]):
        return False
    if len(addresses) > count and not set(addresses[count:]).isdisjoint(
        addresses[:count]
    ):
        return False  # what is stored cannot be computed again
    return bool(fold.launch([*addresses], scalars, reduced, watch, recorder, arrays))


def fold_of(
    executable: Executable,
    ufunc: np.ufunc,
    shape: Shape,
    strides: tuple[Shape, ...],
    reduced: HostArray,
    order: Shape,
    threads: int,
) -> Runs | Rows | None:
    """How operands that lie so are reduced into a result that lies as one does; None if
    that is not possible."""
    key = (shape, strides, reduced.shape, reduced.strides, order, threads)
    fold: Runs | Rows | None
    try:
        fold = executable.folds[key]
    except KeyError:
        walk = walk_of(shape, strides, reduced.shape, reduced.strides, order)
        fold = None if walk is None else _prepare(executable, ufunc, walk, threads)
        if isinstance(fold, Rows) and is_dense(fold.walk, reduced):
            fold = replace(fold, dense=True)
        if len(executable.folds) > 1024:
            executable.folds.clear()
        executable.folds[key] = fold
    return fold


def _prepare(
    executable: Executable, ufunc: np.ufunc, walk: Geometry, threads: int
) -> Runs | Rows | None:
    marks = walk.reduced
    if marks[-1] and not any(marks[:-1]):
        return _runs(executable, ufunc, walk, threads)
    if True in marks and not marks[-1] and all(marks[marks.index(True) : -1]):
        return _rows(executable, ufunc, walk, threads)
    return None


# ------------------------------------------------------------- inner axis reduced
@dataclass(frozen=True, slots=True)
class Runs:
    """Partial results of each run, and how they are joined."""

    walk: Geometry
    ufunc: np.ufunc
    bound: Bound
    slices: array[int]
    dtype: np.dtype[Any]
    slot: int
    parts: Shape
    used: int
    pairwise: bool
    threads: int

    def launch(
        self,
        addresses: list[int],
        scalars: Sequence[Any],
        reduced: HostArray,
        watch: int,
        recorder: Recorder,
        arrays: Callable[[], tuple[Sequence[HostArray], Sequence[HostArray]]],
    ) -> bool:
        parts = np.empty(self.parts, self.dtype)
        addresses.append(data_address(parts))
        frame = self.bound.frame(addresses, scalars, watch)
        reached = drive_all(self.bound, frame, self.slices, self.threads)
        if not all_done(reached, self.slices):
            return False
        if self.used:  # short runs: the last block may have been shorter
            parts = parts[..., : self.used, np.newaxis]
        divided = parts.shape[-1] > 1
        with watching(watch, recorder):
            if divided and self.pairwise:
                parts = join_branches(parts)[..., np.newaxis]
            # NumPy, too, begins with the identity where there is one: 0 + -0 is 0.
            result = self.ufunc.reduce(parts, axis=-1, dtype=self.dtype)
        doubtful = divided and is_doubtful(self.ufunc, result)
        if doubtful:
            inputs, _ = arrays()
            # What is computed on the way is not there to be looked at.
            if self.slot >= len(inputs) or self._has_minus_zero(
                inputs[self.slot], parts
            ):
                return False
        target = as_walked(self.walk, reduced)
        np.copyto(target, result.reshape(target.shape))
        return True

    def _has_minus_zero(self, source: HostArray, parts: HostArray) -> bool:
        """Whether some of the zeros that are the result are negative."""
        if parts.ndim > 1 or len(self.walk.shape) > 1:
            return has_minus_zero(source)
        zeros = np.flatnonzero(parts == 0)
        if len(zeros) > FEW:
            return has_minus_zero(source)
        run, edges = view_through(self.walk, source), self.bound.blocks
        return any([has_minus_zero(run[edges[k] : edges[k + 1]]) for k in zeros])


def _runs(
    executable: Executable, ufunc: np.ufunc, walk: Geometry, threads: int
) -> Runs | None:
    reduction = executable.program.reduction
    assert reduction is not None
    dtype = reduction.dtype
    pairwise = is_pairwise(ufunc, dtype)
    if ufunc is np.add and dtype.kind == "f" and not pairwise:
        return None  # float16 begins with a zero in float32
    if ufunc is np.multiply and dtype.kind == "c":
        return None  # 1 * x first: with an infinite part that is not x * 1
    start = Start.MINUS_ZERO if pairwise else Start.FIRST
    if pairwise and sums_agree(dtype):
        start = Start.PAIRWISE
    *outer, length = walk.shape
    size = dtype.itemsize
    zeros = (0,) * len(walk.shape)
    whole = extended(walk, walk.shape, list(walk.strides), zeros)
    block = executable.fold_block(ufunc, whole, start)
    if block == 0:
        return None
    joined = last_joined(walk)
    if joined is not None and length <= block // 2:
        shape, rows = joined
        per = block // length
        edges = array("q", [*range(0, shape[-1], per * length), shape[-1]])
        along = len(edges) - 1
        merged = extended(walk, shape, rows, zeros[1:])
        bound = executable.bind_fold(
            ufunc, merged, start, edges, per * size, length, size
        )
        parts: Shape = (*shape[:-1], along * per)
        used = outer[-1]
        groups = math.prod(shape[:-1]) * along
    elif is_narrow(walk) and executable.fold_block(ufunc, whole, start, True):
        per = max(1, executable.fold_block(ufunc, whole, start, True) // length)
        edges = block_edges(outer[-1], per)
        along = len(edges) - 1
        bound = executable.bind_fold(
            ufunc, whole, start, edges, per * size, length, size, True
        )
        parts = (*outer[:-1], along * per)
        used = outer[-1]
        groups = math.prod(outer[:-1]) * along
    else:
        if length <= block:
            edges = array("q", (0, length))
        elif pairwise or is_any_order(ufunc, dtype):
            unit = 2 if dtype.kind == "c" else 1
            edges = array("q", branches(length, block, unit))
        else:
            return None
        bound = executable.bind_fold(ufunc, whole, start, edges, size)
        parts = (*outer, len(edges) - 1)
        used = 0
        groups = math.prod(parts)
    if bound is None:
        return None
    slices = slices_of(executable, walk, groups, 1, threads)
    return Runs(
        walk,
        ufunc,
        bound,
        slices,
        dtype,
        reduction.slot,
        parts,
        used,
        pairwise,
        threads,
    )


# ------------------------------------------------------------- outer axis reduced
@dataclass(frozen=True, slots=True)
class _Columns:
    """Some columns of the result."""

    bound: Bound
    slices: array[int]
    skips: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Rows:
    """The result itself is what rows are combined into; ``dense`` says that it lies as
    they come."""

    walk: Geometry
    pieces: tuple[_Columns, ...]
    identity: Any
    dtype: np.dtype[Any]
    threads: int
    dense: bool = False

    @property
    def kept(self) -> Shape:
        """Lengths of the axes that are not reduced."""
        pairs = zip(self.walk.shape, self.walk.reduced, strict=True)
        return tuple([length for length, reduced in pairs if not reduced])

    def launch(
        self,
        addresses: list[int],
        scalars: Sequence[Any],
        reduced: HostArray,
        watch: int,
        recorder: Recorder,
        arrays: Callable[[], tuple[Sequence[HostArray], Sequence[HostArray]]],
    ) -> bool:
        result = reduced if self.dense else np.empty(self.kept, self.dtype)
        result.fill(self.identity)
        addresses.append(data_address(result))
        for piece in self.pieces:
            moved = [a + skip for a, skip in zip(addresses, piece.skips, strict=True)]
            frame = piece.bound.frame(moved, scalars, watch)
            reached = drive_all(piece.bound, frame, piece.slices, self.threads)
            if not all_done(reached, piece.slices):
                return False
        if not self.dense:
            target = as_walked(self.walk, reduced)
            np.copyto(target, result.reshape(target.shape))
        return True


def _rows(
    executable: Executable, ufunc: np.ufunc, walk: Geometry, threads: int
) -> Rows | None:
    reduction = executable.program.reduction
    assert reduction is not None
    dtype = reduction.dtype
    identity = identity_of(ufunc, dtype)
    if identity is None:
        return None
    *above, rows, length = walk.shape
    outer = above[: walk.reduced.index(True)]
    groups, times = math.prod(outer), math.prod(above[len(outer) :])
    size = dtype.itemsize
    steps = [size]
    for number in [length, *reversed(outer[1:])][: len(outer)]:
        steps.append(steps[-1] * number)
    kept = (*reversed(steps[1:]), *(0,) * (len(above) - len(outer)))
    whole = extended(walk, walk.shape, list(walk.strides), (*kept, 0, size))
    # Few columns leave no room for vectors, without which a long body is slow.
    several = length >= SEVERAL or not has_long_body(executable)
    if several and executable.fold_block(ufunc, whole, "columns"):
        width = max(SEVERAL, -(-length // (threads * 16)) * 16)
        width = min(WIDEST, length, width)
        return _pieces(executable, ufunc, walk, kept, width, "columns", threads)
    block = executable.fold_block(ufunc, whole, "rows")
    if block == 0:
        return None
    joined = last_joined(walk)
    if joined is not None and length <= block // 2:
        shape, leaves = joined
        per = block // length
        edges = array("q", [*range(0, shape[-1], per * length), shape[-1]])
        merged = extended(walk, shape, leaves, (*kept, 0))
        bound = executable.bind_fold(ufunc, merged, "rows", edges, 0, length, 0)
        if bound is None:
            return None
        each = (len(edges) - 1) * times
        slices = slices_of(executable, walk, groups, each, threads)
        only = _Columns(bound, slices, (0,) * (len(leaves) + 1))
        return Rows(walk, (only,), identity, dtype, threads)
    if is_narrow(walk) and executable.fold_block(ufunc, whole, "rows", True):
        per = max(1, executable.fold_block(ufunc, whole, "rows", True) // length)
        edges = block_edges(rows, per)
        bound = executable.bind_fold(ufunc, whole, "rows", edges, 0, length, 0, True)
        if bound is None:
            return None
        each = (len(edges) - 1) * times
        slices = slices_of(executable, walk, groups, each, threads)
        only = _Columns(bound, slices, (0,) * (len(walk.strides) + 1))
        return Rows(walk, (only,), identity, dtype, threads)
    width = min(block, length)
    if length > NARROW:
        width = min(width, max(NARROW // 2, -(-length // (4 * threads * 64)) * 64))
    return _pieces(executable, ufunc, walk, kept, width, "rows", threads)


def _pieces(
    executable: Executable,
    ufunc: np.ufunc,
    walk: Geometry,
    kept: Shape,
    width: int,
    kind: Literal["rows", "columns"],
    threads: int,
) -> Rows | None:
    """Columns of the result in pieces that threads share.

    ``kept`` are the strides of the result along the axes before the last two.
    """
    reduction = executable.program.reduction
    assert reduction is not None
    dtype = reduction.dtype
    *above, rows, length = walk.shape
    place = walk.reduced.index(True)
    times = math.prod(above[place:])
    size = dtype.itemsize
    pieces = []
    for first, columns in ((0, width), (length // width * width, length % width)):
        if columns == 0:
            continue
        count = length // width if first == 0 else 1
        shape = (*above[:place], count, *above[place:], rows, columns)
        leaves = [
            (*row[:place], columns * row[-1], *row[place:]) for row in walk.strides
        ]
        last = (*kept[:place], columns * size, *kept[place:], 0, size)
        part = extended(walk, shape, leaves, last)
        each, edges = times * rows, array("q", (0, columns))
        if kind == "columns":
            each, edges = times, array("q", (0, rows))
        bound = executable.bind_fold(ufunc, part, kind, edges)
        if bound is None:
            return None
        groups = math.prod(above[:place]) * count
        slices = slices_of(executable, walk, groups, each, threads)
        skips = (*(first * row[-1] for row in walk.strides), first * size)
        pieces.append(_Columns(bound, slices, skips))
    return Rows(walk, tuple(pieces), identity_of(ufunc, dtype), dtype, threads)
