"""Chunks of the values that a reduction reads, computed while the cache has room."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from typing import Any

import numpy as np

from ...render.llvm_driver import Frame
from .engine import data_address
from .execute import Executable
from .geometry import Geometry, geometry_of, view_through
from .interpreter import BLOCK, Tiles, scalar_array
from .launch import Bound, block_edges, scratch_memory

__all__ = ["Filler", "chunk_memory"]

HostArray = np.ndarray[Any, Any]


class _Memory(threading.local):
    holder: HostArray = np.empty(0, np.uint8)


_memory = _Memory()


def chunk_memory(nbytes: int) -> HostArray:
    """Memory for one chunk; the calling thread's next call gives the same again."""
    if _memory.holder.nbytes < nbytes:
        _memory.holder = np.empty(nbytes, np.uint8)
    return _memory.holder


class Filler:
    """Computes pieces of one slot of a program.

    Pieces are boxes of the walk: a range of its first axis and, if it has more than
    one, a range of its last.

    Parameters
    ----------
    executable : Executable
    slot : int
    geometry : Geometry
        The walk over the leaves; its axes are ordered as NumPy would order them.
    inputs : sequence of ndarray
    scalars : sequence
    watch : int
    width : int
        Elements of the last axis in the widest piece.
    """

    def __init__(
        self,
        executable: Executable,
        slot: int,
        geometry: Geometry,
        inputs: Sequence[HostArray],
        scalars: Sequence[Any],
        watch: int,
        width: int,
    ) -> None:
        program = executable.program
        self.slot = slot
        self.dtype = program.slot_dtypes()[slot]
        self.geometry = geometry
        self.watch = watch
        self._interpreter = executable.interpreter
        self._views = [view_through(geometry, array) for array in inputs]
        self._arrays = list(map(scalar_array, scalars, program.scalars))
        self._scalars = scalars
        self.raised: list[dict[int, int]] = []
        # How the chunk lies in memory: C order, rows of the same width in every piece.
        box = (*geometry.shape[1:-1], width) if len(geometry.shape) > 1 else ()
        steps = [self.dtype.itemsize]
        for length in reversed(box):
            steps.append(steps[-1] * length)
        self.steps = tuple(reversed(steps))
        rows = (*geometry.strides, self.steps)
        self._bound: Bound | None = executable.bind_walk(geometry, rows, (slot,))
        self._bases = [data_address(view) for view in self._views]
        if any(
            base % dtype.alignment
            for base, dtype in zip(self._bases, program.leaves, strict=True)
        ):
            self._bound = None

    def chunk(self, memory: HostArray, shape: tuple[int, ...]) -> HostArray:
        """A piece of this shape in ``memory``."""
        return np.ndarray(shape, self.dtype, memory, 0, self.steps)

    def fill(
        self, memory: HostArray, first: range, last: range | None = None
    ) -> HostArray:
        """Compute a piece: a range of the first axis and one of the last."""
        shape = list(self.geometry.shape)
        shape[0] = len(first)
        if last is not None:
            shape[-1] = len(last)
        chunk = self.chunk(memory, tuple(shape))
        if self._bound is None or not self._run(self._bound, chunk, first, last):
            self._interpret(chunk, first, last)
        return chunk

    def _run(
        self, bound: Bound, chunk: HostArray, first: range, last: range | None
    ) -> bool:
        """Let the kernel do it; False if a watched flag came up."""
        shape = self.geometry.shape
        address = data_address(chunk)
        start = 0
        addresses = self._bases
        length = shape[-1] if last is None else len(last)
        if len(shape) == 1:
            length = len(first)
            skip = first.start
        else:
            skip = 0 if last is None else last.start
            address -= first.start * self.steps[0]
        if skip:
            addresses = [
                base + skip * row[-1]
                for base, row in zip(addresses, self.geometry.strides, strict=True)
            ]
        frame = bound.frame([*addresses, address], self._scalars, self.watch)
        edges = block_edges(length, bound.built.plan.block)
        along = len(edges) - 1
        frame[Frame.ALONG] = along
        frame[Frame.EDGES] = edges.buffer_info()[0]
        stop = along
        if len(shape) > 1:
            rows = along
            for axis in shape[1:-1]:
                rows *= axis
            start, stop = first.start * rows, first.stop * rows
        scratch = scratch_memory(bound.built.scratch)
        place = frame.buffer_info()[0]
        return bound.built.drive(place, start, stop, scratch) == stop

    def _interpret(self, chunk: HostArray, first: range, last: range | None) -> None:
        index: tuple[slice, ...] = (slice(first.start, first.stop),)
        if last is not None:
            middle = (slice(None),) * (chunk.ndim - 2)
            index = (*index, *middle, slice(last.start, last.stop))
        views = [view[index] for view in self._views]
        strides = tuple([array.strides for array in (*views, chunk)])
        walk = geometry_of(chunk.shape, strides, chunk.strides)
        tiles = Tiles.of(walk, BLOCK, self._interpreter.joined)
        flags = self._interpreter.run(
            tiles,
            range(tiles.count),
            [view_through(walk, view) for view in views],
            self._arrays,
            [view_through(walk, chunk)],
            self.watch,
            (self.slot,),
        )
        if flags:
            self.raised.append(flags)
