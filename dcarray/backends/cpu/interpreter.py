"""The block interpreter: any program, with NumPy calls on blocks that fit in the cache.

It defines what a program gives on the CPU.  The engine must agree with it bit by bit.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np

from ...ops.fast import FAR_OFF
from ...ops.program import Inner, Node, Program
from .geometry import Geometry

__all__ = [
    "BLOCK",
    "Interpreter",
    "Tiles",
    "Recorder",
    "evaluate",
    "scalar_array",
    "watching",
]

HostArray = np.ndarray[Any, Any]
DType = np.dtype[Any]

BLOCK = 8192
"""Elements of a block.  NumPy's overhead for a call is small beside it."""

FLAGS = {"divide by zero": 1, "overflow": 2, "underflow": 4, "invalid value": 8}
"""NumPy's words for the bits of `Raised.flags`."""


class Recorder:
    """Collects floating-point flags; NumPy calls it in place of warning."""

    __slots__ = ("found", "node")

    def __init__(self) -> None:
        self.node = 0
        self.found: dict[int, int] = {}

    def __call__(self, kind: str, status: int) -> None:
        self.add(FLAGS[kind])

    def add(self, flags: int) -> None:
        """Note flags of the node at work."""
        self.found[self.node] = self.found.get(self.node, 0) | flags


def watching(watch: int, recorder: Recorder) -> np.errstate:
    """An error state that reports the flags in ``watch`` to ``recorder``."""
    return np.errstate(
        call=recorder,
        divide="call" if watch & 1 else "ignore",
        over="call" if watch & 2 else "ignore",
        under="call" if watch & 4 else "ignore",
        invalid="call" if watch & 8 else "ignore",
    )


def scalar_array(value: Any, dtype: DType) -> HostArray:
    """A scalar as a 0-d array, which NumPy's loops see with stride 0."""
    found = np.empty((), dtype)
    found[()] = value
    return found


# ---------------------------------------------------------------------------- tiles
Index: TypeAlias = "tuple[int | slice, ...]"


@dataclass(frozen=True, slots=True)
class Tiles:
    """The blocks of a walk, numbered in order.

    A block is a piece of one inner run or, where the runs are short and ``joined``
    allows it, several whole runs.
    """

    shape: tuple[int, ...]
    runs: int
    length: int
    along: int
    across: int
    count: int

    @classmethod
    def of(cls, geometry: Geometry, block: int, joined: bool) -> Tiles:
        shape = geometry.shape if len(geometry.shape) > 1 else (1, *geometry.shape)
        length = min(block, shape[-1])
        runs = 1
        if joined and length < block:
            runs = min(max(1, block // max(1, length)), shape[-2])
        along = -(-shape[-1] // max(1, length))
        across = -(-shape[-2] // runs)
        count = math.prod(shape[:-2]) * along * across
        return cls(shape, runs, length, along, across, count)

    def pieces(self, numbers: range, most: int, joined: bool) -> Iterator[Index]:
        """What picks these blocks out of a view, neighbours taken together.

        Pieces have at most ``most`` elements, or are single blocks.  Rows are taken
        together only if ``joined`` allows it.
        """
        number = numbers.start
        while number < numbers.stop:
            if self.along > 1:  # along the row
                column = number % self.along
                count = max(1, most // self.length)
                count = min(count, self.along - column, numbers.stop - number)
                *outer, last = self.index(number)
                final = self.index(number + count - 1)[-1]
                assert isinstance(last, slice) and isinstance(final, slice)
                yield (*outer, slice(last.start, final.stop))
            else:  # rows above each other
                row = number % self.across
                count = max(1, most // (self.runs * self.length)) if joined else 1
                count = min(count, self.across - row, numbers.stop - number)
                *outer, first, columns = self.index(number)
                if count > 1 or self.runs > 1:
                    start = row * self.runs
                    stop = min(start + count * self.runs, self.shape[-2])
                    first = slice(start, stop)
                yield (*outer, first, columns)
            number += count

    def index(self, number: int) -> Index:
        """What picks a block out of a view that has this shape."""
        rest, column = divmod(number, self.along)
        rest, row = divmod(rest, self.across)
        outer: list[int | slice] = []
        for axis in range(len(self.shape) - 3, -1, -1):
            rest, place = divmod(rest, self.shape[axis])
            outer.append(place)
        outer.reverse()
        start = column * self.length
        stop = min(start + self.length, self.shape[-1])
        if self.runs == 1:
            return (*outer, row, slice(start, stop))
        first = row * self.runs
        last = min(first + self.runs, self.shape[-2])
        return (*outer, slice(first, last), slice(start, stop))


# ---------------------------------------------------------------------- single nodes
def _cast(inputs: Sequence[HostArray], outputs: Sequence[HostArray]) -> None:
    np.copyto(outputs[0], inputs[0], casting="unsafe")


def _where(inputs: Sequence[HostArray], outputs: Sequence[HostArray]) -> None:
    condition, when_true, when_false = inputs
    np.copyto(outputs[0], when_false)
    np.copyto(outputs[0], when_true, where=condition)


def _real(inputs: Sequence[HostArray], outputs: Sequence[HostArray]) -> None:
    np.copyto(outputs[0], inputs[0].real)


def _imag(inputs: Sequence[HostArray], outputs: Sequence[HostArray]) -> None:
    np.copyto(outputs[0], inputs[0].imag)


_BODIES: dict[str, Callable[[Sequence[HostArray], Sequence[HostArray]], None]] = {
    "cast": _cast,
    "where": _where,
    "real": _real,
    "imag": _imag,
}


def evaluate(
    node: Node, inputs: Sequence[HostArray], outputs: Sequence[HostArray]
) -> None:
    """One operation on one block."""
    function: Any = node.op.numpy
    if isinstance(function, np.ufunc):
        if node.op.fast is not None and node.op.name in FAR_OFF:
            found = function(*[x.astype(np.float64) for x in inputs])
            np.copyto(outputs[0], found, casting="unsafe")
        else:
            function(*inputs, out=tuple(outputs))
        return
    body = _BODIES.get(node.op.name)
    if body is not None:
        body(inputs, outputs)
        return
    results = function(*inputs)
    if len(outputs) == 1:
        results = (results,)
    for target, result in zip(outputs, results, strict=True):
        np.copyto(target, result, casting="unsafe")


def as_seen(operand: HostArray, inner: Inner, shape: tuple[int, ...]) -> HostArray:
    """``operand``, copied if need be so that a loop steps through it as NumPy's would.

    A scalar stays a 0-d array.  Where NumPy's loop would see one element again and
    again but the walk does not, the caller has to go element by element.
    """
    if inner is Inner.SCALAR:
        return operand
    if operand.ndim == 0:
        operand = np.broadcast_to(operand, shape)
    if inner is Inner.CONTIGUOUS:
        if operand.strides[-1] == operand.itemsize and (
            operand.ndim == 1 or abs(operand.strides[-2]) > operand.itemsize
        ):
            return operand
        return np.ascontiguousarray(operand)
    if operand.strides[-1] == operand.itemsize or operand.strides[-1] == 0:
        wide = np.empty((*shape[:-1], 2 * shape[-1]), operand.dtype)
        spaced = wide[..., ::2]
        spaced[...] = operand
        return spaced
    return operand


def _is_repeated(operand: HostArray) -> bool:
    return operand.ndim == 0 or operand.shape[-1] == 1 or operand.strides[-1] == 0


# ----------------------------------------------------------------------- the program
class Interpreter:
    """Runs a program block by block.

    Parameters
    ----------
    program : Program
        Its reduction, if it has one, is left to `reductions`.
    """

    def __init__(self, program: Program) -> None:
        self.program = program
        self.dtypes = program.slot_dtypes()
        self.first = len(program.leaves) + len(program.scalars)
        # With strided operands a block must be a piece of one run (see `Inner`).
        self.joined = all(
            inner is Inner.CONTIGUOUS
            or (inner is Inner.SCALAR and self._is_scalar(slot))
            for node in program.nodes
            for slot, inner in zip(node.inputs, node.inner, strict=True)
        )
        self._sources = self._find_sources()
        self._homes, self._sizes = self._assign_memory()

    def _is_scalar(self, slot: int) -> bool:
        return len(self.program.leaves) <= slot < self.first

    def _find_sources(self) -> list[frozenset[int]]:
        """For each slot the leaves that it depends on."""
        found = [frozenset((leaf,)) for leaf in range(len(self.program.leaves))]
        found.extend(frozenset() for _ in self.program.scalars)
        for node in self.program.nodes:
            union = frozenset().union(*(found[slot] for slot in node.inputs))
            found.extend(union for _ in node.dtypes)
        return found

    def _assign_memory(self) -> tuple[list[int], list[int]]:
        """A block buffer for every computed slot, reused once a slot is dead."""
        program = self.program
        kept = set(program.outputs)
        if program.reduction is not None:
            kept.add(program.reduction.slot)
        last: dict[int, int] = {}
        slot = self.first
        for number, node in enumerate(program.nodes):
            for result in range(slot, slot + len(node.dtypes)):
                last[result] = number
            slot += len(node.dtypes)
            for used in node.inputs:
                last[used] = number
        homes = [-1] * len(self.dtypes)
        sizes: list[int] = []
        free: list[int] = []
        slot = self.first
        for number, node in enumerate(program.nodes):
            for result in range(slot, slot + len(node.dtypes)):
                itemsize = self.dtypes[result].itemsize
                for home in free:
                    if sizes[home] == itemsize:
                        free.remove(home)
                        break
                else:
                    home = len(sizes)
                    sizes.append(itemsize)
                homes[result] = home
            slot += len(node.dtypes)
            for used in range(self.first, slot):
                if last[used] == number and used not in kept:
                    free.append(homes[used])
        return homes, sizes

    def run(
        self,
        pieces: Iterable[Index],
        size: int,
        views: Sequence[HostArray],
        scalars: Sequence[HostArray],
        targets: Sequence[HostArray],
        watch: int = 0,
        slots: Sequence[int] | None = None,
    ) -> dict[int, int]:
        """Compute some blocks.

        Parameters
        ----------
        pieces : iterable of Index
            What picks the blocks to compute out of a view.
        size : int
            The most elements that one of them has.
        views : sequence of ndarray
            The leaves, as the walk sees them.
        scalars : sequence of ndarray
            0-d arrays.
        targets : sequence of ndarray
            Where the outputs go, as the walk sees them.
        watch : int
            Floating-point flags to look for.
        slots : sequence of int, optional
            What goes into ``targets``; the program's outputs if left out.

        Returns
        -------
        dict
            For each node that raised watched flags, the flags.
        """
        slots = self.program.outputs if slots is None else slots
        memory = [np.empty(size * itemsize, np.uint8) for itemsize in self._sizes]
        whole = [
            memory[home][: size * dtype.itemsize].view(dtype) if home >= 0 else None
            for home, dtype in zip(self._homes, self.dtypes, strict=True)
        ]
        views = [v if v.ndim > 1 else v.reshape(1, -1) for v in views]
        targets = [t if t.ndim > 1 else t.reshape(1, -1) for t in targets]
        recorder = Recorder()
        with watching(watch, recorder):
            for index in pieces:
                values: list[Any] = [view[index] for view in views]
                values.extend(scalars)
                results = [target[index] for target in targets]
                self._block(values, whole, results, slots, recorder)
        return recorder.found

    def _block(
        self,
        values: list[Any],
        whole: Sequence[HostArray | None],
        results: Sequence[HostArray],
        slots: Sequence[int],
        recorder: Recorder,
    ) -> None:
        shape = results[0].shape
        size = math.prod(shape)
        leaves = values[: len(self.program.leaves)]
        slot = self.first
        for number, node in enumerate(self.program.nodes):
            outputs = []
            for _ in node.dtypes:
                buffer = whole[slot]
                assert buffer is not None
                outputs.append(buffer[:size].reshape(shape))
                slot += 1
            values.extend(outputs)
            recorder.node = number
            inputs = []
            alone = False
            for used, inner in zip(node.inputs, node.inner, strict=True):
                operand = values[used]
                if inner is Inner.SCALAR and not _is_repeated(operand):
                    if all(_is_repeated(leaves[k]) for k in self._sources[used]):
                        operand = np.broadcast_to(operand[..., :1], shape)
                    else:
                        alone = True
                inputs.append(as_seen(operand, inner, shape))
            if alone:
                _element_by_element(node, inputs, outputs)
            else:
                evaluate(node, inputs, outputs)
        if len(slots) > 1:  # storing one output may change a leaf that is another
            values[: len(leaves)] = [
                leaf.copy() if place in slots else leaf
                for place, leaf in enumerate(leaves)
            ]
        for target, used in zip(results, slots, strict=True):
            np.copyto(target, values[used])


def _element_by_element(
    node: Node, inputs: Sequence[HostArray], outputs: Sequence[HostArray]
) -> None:
    """For an operand that NumPy's loop sees as a scalar while the walk does not."""
    wide = [np.broadcast_to(operand, outputs[0].shape) for operand in inputs]
    for place in np.ndindex(outputs[0].shape):
        index = (*place[:-1], slice(place[-1], place[-1] + 1))
        evaluate(node, [w[index] for w in wide], [o[index] for o in outputs])
