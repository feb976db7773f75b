"""A CPU plan: what is computed on each block, step by step, and where it lies.

A plan is data.  `backends.cpu.plan` makes one from a program, `llvm` writes it down as
LLVM IR.  Values keep the slot numbers that they have in the program.
"""

from __future__ import annotations

import enum
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np

from ..kernel.nodes import Let

__all__ = [
    "Argument",
    "Fold",
    "PARTS",
    "Home",
    "LoopCall",
    "Place",
    "Plan",
    "Segment",
    "Start",
    "Step",
    "Stride",
    "part_dtype",
]

DType = np.dtype[Any]

PARTS = (".re", ".im")
"""What follows a complex number's name in those of its parts."""


def part_dtype(dtype: DType) -> DType:
    """The dtype of the parts of a complex number."""
    return np.dtype("f" if dtype.char == "F" else "d")


class Stride(enum.Enum):
    """How an operand steps along the inner axis.  Kernels are made for one class.

    ``PAIRS`` are every other element, as the real parts of complex numbers are.
    """

    CONTIGUOUS = "c"
    ZERO = "z"
    PAIRS = "p"
    GENERAL = "s"


class Home(enum.Enum):
    """What kind of memory a value lies in."""

    LEAF = "leaf"
    SCALAR = "scalar"
    OUTPUT = "output"
    BUFFER = "buffer"


@dataclass(frozen=True, slots=True)
class Place:
    """Where a value lies.

    ``number`` counts leaves, scalars or outputs; for a buffer it is its number in
    `Plan.buffers`.  ``spacing`` is the distance of neighbours in a buffer, in elements;
    0 means that the first element stands for all of them.
    """

    home: Home
    number: int
    spacing: int = 1


@dataclass(frozen=True, slots=True)
class Segment:
    """A straight line of scalar operations, one loop over the block.

    The body knows a complex number by its parts, see `PARTS`.

    ``loads`` binds names of the body to places, ``stores`` says where names go.
    A block for which one of ``doubts`` holds anywhere is reported like a flag, one for
    which one of ``watched`` does where flags are looked for.
    """

    loads: tuple[tuple[str, Place, DType], ...]
    body: tuple[Let, ...]
    stores: tuple[tuple[str, Place, DType], ...]
    watched: tuple[str, ...] = ()
    doubts: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Argument:
    """An operand of a loop call."""

    place: Place
    itemsize: int


@dataclass(frozen=True, slots=True)
class LoopCall:
    """A call of one of NumPy's inner loops; ``entry`` is its number in the table."""

    entry: int
    arguments: tuple[Argument, ...]


class Start(enum.Enum):
    """What a run begins with."""

    MINUS_ZERO = "minus zero"
    FIRST = "first element"
    PAIRWISE = "pairwise"
    """The sum is that of `llvm_pairwise`, not of a loop of NumPy's."""


@dataclass(frozen=True, slots=True)
class Fold:
    """A reduction of the block, by a loop of two operands.

    With a ``start`` all elements become one, stored where the last operand is.
    Without, the block is combined with as many elements there.
    """

    entry: int
    source: Place
    dtype: DType
    start: Start | None


Step: TypeAlias = Segment | LoopCall | Fold


@dataclass(frozen=True, slots=True)
class Plan:
    """The steps of a block.

    Attributes
    ----------
    leaves, outputs : tuple of (dtype, Stride)
    scalars : tuple of dtype
    buffers : tuple of int
        Bytes for each element of a block.
    steps : tuple of Step
    finish : tuple of Segment
        Stores that wait until the block is known to be good.
    block : int
        Elements of a block.
    rowwise : bool
        A block is some short rows.  The operands lie row by row, the buffers hold all
        rows in one piece, and loops are called on that.
    """

    leaves: tuple[tuple[DType, Stride], ...]
    outputs: tuple[tuple[DType, Stride], ...]
    scalars: tuple[DType, ...]
    buffers: tuple[int, ...]
    steps: tuple[Step, ...]
    finish: tuple[Segment, ...]
    block: int
    rowwise: bool = False

    def asked(self) -> list[str]:
        """Which of ``watched`` and ``doubts`` segments have."""
        segments = [step for step in self.steps if isinstance(step, Segment)]
        names = ("watched", "doubts")
        return [n for n in names if any(getattr(item, n) for item in segments)]

    def buffer_offsets(self) -> list[int]:
        """Where in a thread's scratch memory each buffer begins, in bytes."""
        offsets = []
        place = 0
        for size in self.buffers:
            offsets.append(place)
            place += -(-size * self.block // 64) * 64
        return [*offsets, place]
