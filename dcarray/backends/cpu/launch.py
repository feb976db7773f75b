"""A kernel bound to shapes and strides: what is left to do for each launch."""

from __future__ import annotations

import math
import struct
import threading
from array import array
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np

from ...render.llvm_driver import Frame
from ...render.plan import Plan
from .engine import Call, Kernel, data_address, flag_mask
from .geometry import Geometry
from .interpreter import Tiles
from .loops import Loop
from .threads import cut

__all__ = ["Bound", "Built", "Repair", "block_edges", "scratch_memory"]

HostArray = np.ndarray[Any, Any]

Repair = Callable[[range], dict[int, int]]
"""Computes some blocks with the interpreter, which names the nodes that raise flags."""

PATIENCE = 4
"""Blocks of one slice that may raise flags before the interpreter takes the rest."""


@dataclass(frozen=True, slots=True)
class Built:
    """A plan, its machine code and its table of loops; whether it may ask for blocks
    to be computed again where no flags are looked for."""

    plan: Plan
    kernel: Kernel
    drive: Call
    table: array[int]
    scratch: int
    doubts: bool

    @classmethod
    def of(
        cls,
        plan: Plan,
        kernel: Kernel,
        drive: Call,
        loops: Sequence[Loop],
        flags: tuple[int, int],
    ) -> Built:
        words = [*flags]
        for loop in loops:
            words.extend((loop.function, loop.data))
        scratch, doubts = plan.buffer_offsets()[-1], "doubts" in plan.asked()
        # Addresses above 2**63 do not occur in user space.
        return cls(plan, kernel, drive, array("q", words), scratch, doubts)


@lru_cache(64)
def block_edges(length: int, block: int) -> array[int]:
    """Where the blocks of a row of this length begin, and the last one ends."""
    return array("q", [*range(0, length, block), length])


class Bound:
    """A built plan and one geometry.

    Parameters
    ----------
    built : Built
    geometry : Geometry
    edges : array of words, optional
        Where the blocks of a row begin, and the last one ends.
    spread, run, advance : int
        See `Frame`.
    """

    def __init__(
        self,
        built: Built,
        geometry: Geometry,
        edges: array[int] | None = None,
        spread: int = 0,
        run: int = 0,
        advance: int = 0,
    ) -> None:
        plan = built.plan
        self.built = built
        self.geometry = geometry
        block = plan.block
        self.tiles = Tiles.of(geometry, block, joined=plan.rowwise)
        count = len(geometry.strides)
        frame = Frame(count, len(plan.scalars))
        outer: Sequence[int] = geometry.shape[:-1]
        length = geometry.inner
        inner = [row[-1] for row in geometry.strides]
        columns = inner
        if plan.rowwise:  # the rows are what the driver takes for the inner axis
            run, block = length, self.tiles.runs
            *outer, length = outer
            inner = [row[-2] for row in geometry.strides]
        if edges is None:
            edges = block_edges(length, block)
        self.blocks = edges
        self._lengths = array("q", tuple(outer) or (1,))
        self._steps = array(
            "q",
            [row[axis] for axis in range(len(outer)) for row in geometry.strides]
            or [0],
        )
        words = [0] * frame.size
        words[Frame.TABLE] = built.table.buffer_info()[0]
        words[Frame.KERNEL] = built.kernel.address
        words[Frame.OPERANDS] = count
        words[Frame.NDIM] = len(outer)
        words[Frame.LENGTHS] = self._lengths.buffer_info()[0]
        words[Frame.STEPS] = self._steps.buffer_info()[0]
        words[Frame.ALONG] = len(edges) - 1
        words[Frame.EDGES] = edges.buffer_info()[0]
        words[Frame.SPREAD] = spread
        words[Frame.RUN] = run
        words[Frame.ADVANCE] = advance
        words[Frame.STRIDES : frame.pointers] = inner
        words[frame.columns :] = columns
        self._template = array("q", words)
        self._offsets = geometry.offsets if any(geometry.offsets) else None
        pattern = "=" + "q" * count + "".join(map(_pattern, plan.scalars))
        self._pack = struct.Struct(pattern).pack_into
        self._start = frame.pointers * 8
        self._edges: dict[int, array[int]] = {}
        self._complex = any(dtype.kind == "c" for dtype in plan.scalars)

    def frame(
        self, addresses: Sequence[int], scalars: Sequence[Any], watch: int
    ) -> array[int]:
        """The frame of a launch."""
        if self._offsets is not None:
            addresses = [a + o for a, o in zip(addresses, self._offsets, strict=True)]
        if self._complex:
            scalars = [
                part
                for value in scalars
                for part in (
                    (value.real, value.imag) if value.dtype.kind == "c" else (value,)
                )
            ]
        frame = self._template[:]
        self._pack(frame, self._start, *addresses, *scalars)
        if watch:
            frame[Frame.WATCH] = flag_mask(watch)
        return frame

    def numbers(self, scalars: Sequence[Any]) -> bytes:
        """Numbers as they lie in a frame, behind the addresses."""
        places = self.geometry.offsets
        frame = self.frame((0,) * len(places), scalars, 0)
        first = self._start // 8 + len(places)
        return frame[first : len(frame) - len(places)].tobytes()

    def blank(self) -> tuple[bytes, int]:
        """The frame before a launch, with offsets for addresses, and the word where
        these begin."""
        frame, first = self._template[:], self._start // 8
        places = self.geometry.offsets
        frame[first : first + len(places)] = array("q", places)
        return frame.tobytes(), first

    def edges(self, operations: int, threads: int) -> array[int]:
        """Where the slices of a launch begin and end, in blocks."""
        found = self._edges.get(threads)
        if found is None:
            elements = math.prod(self.geometry.shape)
            slices = cut(self.tiles.count, elements, operations, threads)
            found = array("q", [0, *(piece.stop for piece in slices)])
            self._edges[threads] = found
        return found

    def run(
        self, frame: array[int], blocks: range, repair: Repair | None
    ) -> dict[int, int]:
        """Compute some blocks; those that raise watched flags go to ``repair``."""
        drive = self.built.drive
        scratch = scratch_memory(self.built.scratch)
        address = frame.buffer_info()[0]
        start, stop = blocks.start, blocks.stop
        found: dict[int, int] = {}
        patience = PATIENCE
        while True:
            reached = drive(address, start, stop, scratch)
            if reached == stop:
                return found
            assert repair is not None
            patience -= 1
            start = reached + 1 if patience else stop
            for node, flags in repair(range(reached, start)).items():
                found[node] = found.get(node, 0) | flags
            if start == stop:
                return found


_WORDS = {
    "?": "?15x",
    "b": "b15x",
    "B": "B15x",
    "h": "h14x",
    "H": "H14x",
    "i": "i12x",
    "I": "I12x",
    "l": "q8x",
    "L": "Q8x",
    "q": "q8x",
    "Q": "Q8x",
    "e": "e14x",
    "f": "f12x",
    "d": "d8x",
    "F": "ff8x",
    "D": "dd",
}
"""How `struct` writes a scalar into its two words."""


def _pattern(dtype: np.dtype[Any]) -> str:
    if dtype.char in "lL" and dtype.itemsize == 4:
        return _WORDS["i" if dtype.char == "l" else "I"]
    return _WORDS[dtype.char]


class _Memory(threading.local):
    """The block buffers of one thread."""

    def __init__(self) -> None:
        self.size = 0
        self.address = 0
        self.holder: HostArray = np.empty(0, np.uint8)


_memory = _Memory()


def scratch_memory(size: int) -> int:
    """Address of at least ``size`` bytes that belong to the calling thread."""
    if size > _memory.size:
        _memory.holder = np.empty(size + 64, np.uint8)
        _memory.size = size
        start = data_address(_memory.holder)
        _memory.address = start + -start % 64
    return _memory.address
