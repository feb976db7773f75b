"""Reductions inside the kernel: each block is reduced as soon as it is computed.

Along an inner reduced axis every block gives one partial result; blocks are branches of
NumPy's pairwise tree.  Along an outer one, rows are combined in order into the result.
"""

from __future__ import annotations

import math
from array import array
from collections.abc import Sequence
from typing import Any

import numpy as np

from ...render.plan import Start
from .engine import data_address
from .execute import Executable
from .geometry import Geometry, view_through
from .interpreter import Recorder, watching
from .launch import Bound
from .pairwise import branches, join_branches
from .rules import identity_of, is_any_order, is_doubtful, is_pairwise
from .team import drive_all
from .threads import available_threads, cut

__all__ = ["fold_inside"]

HostArray = np.ndarray[Any, Any]

NARROW = 512
"""Columns that are not worth being shared among threads."""


def fold_inside(
    executable: Executable,
    ufunc: np.ufunc,
    geometry: Geometry,
    inputs: Sequence[HostArray],
    scalars: Sequence[Any],
    target: HostArray,
    watch: int,
    recorder: Recorder,
) -> bool:
    """Reduce the slot of a program's reduction over the axes that the walk marks.

    ``target`` is the result as the walk sees it, with length 1 along reduced axes.
    Returns False if that is not possible, or if a flag has to be named.
    """
    marks = geometry.reduced
    addresses = []
    for leaf, source in zip(executable.program.leaves, inputs, strict=True):
        address = data_address(view_through(geometry, source))
        if address % leaf.alignment:
            return False
        addresses.append(address)
    fold = _Fold(executable, ufunc, geometry, addresses, scalars, watch)
    if marks[-1] and not any(marks[:-1]):
        return fold.runs(target, recorder)
    if len(marks) > 1 and marks[-2] and sum(marks) == 1:
        return fold.rows(target)
    return False


class _Fold:
    def __init__(
        self,
        executable: Executable,
        ufunc: np.ufunc,
        geometry: Geometry,
        addresses: list[int],
        scalars: Sequence[Any],
        watch: int,
    ) -> None:
        self.executable = executable
        self.ufunc = ufunc
        self.geometry = geometry
        self.addresses = addresses
        self.scalars = scalars
        self.watch = watch
        reduction = executable.program.reduction
        assert reduction is not None
        self.dtype = reduction.dtype
        self.size = self.dtype.itemsize

    def runs(self, target: HostArray, recorder: Recorder) -> bool:
        """The inner axis is reduced, and no other."""
        ufunc, dtype = self.ufunc, self.dtype
        pairwise = is_pairwise(ufunc, dtype)
        divisible = pairwise or is_any_order(ufunc, dtype)
        *outer, length = self.geometry.shape
        start = Start.MINUS_ZERO if pairwise else Start.FIRST
        if ufunc is np.add and dtype.kind == "f" and not pairwise:
            return False  # float16 begins with a zero in float32
        walk = self._walk(self.geometry.shape, (0,) * (len(outer) + 1))
        block = self.executable.fold_block(ufunc, walk, start)
        if block == 0 or (length > block and not divisible):
            return False
        if length > block:
            unit = 2 if dtype.kind == "c" else 1
            edges = array("q", branches(length, block, unit))
        else:
            edges = array("q", (0, length))
        bound = self.executable.bind_fold(ufunc, walk, start, edges, self.size)
        parts = np.empty((*outer, len(edges) - 1), dtype)
        if not self._drive(bound, self.addresses, data_address(parts), parts.size, 1):
            return False
        with watching(self.watch, recorder):
            if parts.shape[-1] > 1 and pairwise:
                parts = join_branches(parts)[..., np.newaxis]
            # NumPy, too, begins with the identity where there is one: 0 + -0 is 0.
            result = ufunc.reduce(parts, axis=-1)
        if len(edges) > 2 and is_doubtful(ufunc, result):
            return False
        np.copyto(target, result.reshape(target.shape))
        return True

    def rows(self, target: HostArray) -> bool:
        """The axis before the inner one is reduced, and no other."""
        identity = identity_of(self.ufunc, self.dtype)
        if identity is None:
            return False
        *outer, rows, length = self.geometry.shape
        result = np.full((*outer, length), identity, self.dtype)
        width = length
        threads = available_threads()
        if length > NARROW:
            width = max(NARROW // 2, -(-length // (4 * threads * 64)) * 64)
        walk = self._walk((*outer, 1, rows, length), (0,) * (len(outer) + 3))
        block = self.executable.fold_block(self.ufunc, walk, "rows")
        if block == 0:
            return False
        width = min(width, block, length)
        whole = length // width
        pieces = [(0, whole, width), (whole * width, 1, length - whole * width)]
        steps = result.strides
        for first, count, columns in pieces:
            if columns == 0:
                continue
            kept = (*steps[:-1], columns * self.size, 0, self.size)
            walk = self._walk((*outer, count, rows, columns), kept)
            edges = array("q", (0, columns))
            bound = self.executable.bind_fold(self.ufunc, walk, "rows", edges, 0)
            addresses = [
                address + first * row[-1]
                for address, row in zip(
                    self.addresses, self.geometry.strides, strict=True
                )
            ]
            place = data_address(result) + first * self.size
            groups = math.prod(outer) * count
            if not self._drive(bound, addresses, place, groups, rows):
                return False
        np.copyto(target, result.reshape(target.shape))
        return True

    def _walk(self, shape: tuple[int, ...], last: tuple[int, ...]) -> Geometry:
        """The walk with the result as its last operand; an inner axis that was cut
        becomes two, the blocks before the rows."""
        old = self.geometry.strides
        if len(shape) > len(self.geometry.shape):
            columns = shape[-1]
            old = tuple((*row[:-2], columns * row[-1], row[-2], row[-1]) for row in old)
        strides = (*old, last)
        return Geometry(
            shape, strides, (0,) * len(strides), (False,) * len(shape), (), ()
        )

    def _drive(
        self, bound: Bound, addresses: list[int], place: int, groups: int, each: int
    ) -> bool:
        """Run ``groups`` times ``each`` blocks; a group stays on one thread."""
        frame = bound.frame([*addresses, place], self.scalars, self.watch)
        threads = available_threads()
        operations = len(self.executable.program.nodes) + 1
        elements = math.prod(self.geometry.shape)
        slices = cut(groups, elements, operations, threads)
        edges = array("q", [0, *(piece.stop * each for piece in slices)])
        reached = drive_all(bound, frame, edges, threads)
        return all(
            place == stop for place, stop in zip(reached, edges[1:], strict=True)
        )
