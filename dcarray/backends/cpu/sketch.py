"""A program's nodes in time: which LLVM computes, which NumPy's loops do, and when."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ...ops.program import Node, Program
from ...render.llvm_scalar import can_lower
from .engine import engine
from .loops import Loop, find_loop
from .parts import can_split
from .same_loops import can_inline

__all__ = [
    "MAX_SEGMENTS",
    "Sketch",
    "is_inlined_fast",
    "may_fail",
    "signals",
    "sketch_of",
]

DType = np.dtype[Any]

MAX_SEGMENTS = 6
"""With more stages than this the interpreter is as good."""


@dataclass(frozen=True, slots=True)
class Sketch:
    """A program whose nodes have their places in time, whatever the strides are.

    Attributes
    ----------
    stages : tuple of int
        For each node, the stage in which it is computed.  A stage is a segment and the
        loop calls after it.
    lowered : tuple of bool
        For each node whether LLVM computes it; NumPy's loop does otherwise.
    loops : tuple of Loop
        The table, in the order of the nodes that are not lowered.
    """

    program: Program
    stages: tuple[int, ...]
    lowered: tuple[bool, ...]
    loops: tuple[Loop, ...]


def sketch_of(program: Program, strict: bool = False) -> Sketch | None:
    """Place the nodes of a program in time; None if it cannot be compiled.

    Parameters
    ----------
    program : Program
    strict : bool
        Leave to NumPy's loops, which clear the flag, what raises "invalid" for a NaN
        on the processor and not in NumPy.
    """
    dtypes = program.slot_dtypes()
    if any(not _is_plain(dtype) for dtype in dtypes) or _is_cut(program, dtypes):
        return None
    lowered = []
    loops = []
    for node in program.nodes:
        inputs = tuple(dtypes[slot] for slot in node.inputs)
        if _is_lowered(node, inputs) and not (strict and signals(node, inputs)):
            lowered.append(True)
            continue
        if not isinstance(node.op.numpy, np.ufunc):
            return None
        loop = find_loop(node.op.numpy, inputs, node.dtypes)
        if loop is None or may_fail(node, inputs):
            return None
        lowered.append(False)
        loops.append(loop)
    stages = _stages(program, lowered)
    if max(stages, default=0) >= MAX_SEGMENTS:
        # What is inlined between loops begins a stage that its loop would not.
        return None if strict else sketch_of(program, strict=True)
    return Sketch(program, tuple(stages), tuple(lowered), tuple(loops))


def _is_plain(dtype: DType) -> bool:
    return dtype.isnative and dtype.char in "?bBhHiIlLqQefdFD"


_WHOLE = frozenset(
    "cast rint floor ceil trunc positive negative absolute fabs where".split()
)
"""What leaves whole numbers whole."""


def _is_cut(program: Program, dtypes: Sequence[DType]) -> bool:
    """Whether an integer becomes a float, and a shorter integer again.

    LLVM cuts its bits off instead: what does not fit has no meaning to it, and a
    meaning of its own on the processor.
    """
    origins: dict[int, set[DType]] = {}
    slot = len(program.leaves) + len(program.scalars)
    for node in program.nodes:
        wanted = node.dtypes[0]
        if node.op.name in _WHOLE:
            found: set[DType] = set()
            for used in node.inputs:
                found |= origins.get(used, set())
                if dtypes[used].kind in "iu" and wanted.kind == "f":
                    found.add(dtypes[used])
            if wanted.kind == "f":
                origins[slot] = found
            elif any(not np.can_cast(dtype, wanted) for dtype in found):
                return True
        slot += len(node.dtypes)
    return False


_FOLDED = frozenset(
    "subtract bitwise_xor logical_xor equal not_equal less less_equal greater "
    "greater_equal".split()
)


def _is_lowered(node: Node, inputs: tuple[DType, ...]) -> bool:
    """Whether LLVM computes a node.

    Of an integer and itself it would make a constant, and forget what raised flags on
    the way to it.
    """
    if len(node.dtypes) != 1:
        return False
    if is_inlined_fast(node, inputs):
        return True
    if can_inline(node.op.name, inputs) or can_split(node, inputs):
        return True
    if not can_lower(node.op.name, inputs, node.dtypes[0]):
        return False
    same = len(node.inputs) == 2 and node.inputs[0] == node.inputs[1]
    return not (same and inputs[0].kind in "biu" and node.op.name in _FOLDED)


def is_inlined_fast(node: Node, inputs: tuple[DType, ...]) -> bool:
    """Whether a node is computed by a body of `ops.fast`: of float32 or float64, where
    the processor has a fused multiply-add."""
    if node.op.fast is None or any(dtype.char not in "fd" for dtype in inputs):
        return False
    found = engine()
    return found is not None and found.has_fused


_ORDERED = frozenset(
    "less less_equal greater greater_equal maximum minimum fmax fmin sign".split()
)


def signals(node: Node, inputs: tuple[DType, ...]) -> bool:
    """Whether a node compares floats by their order, which a NaN does not like.

    What is inlined with NumPy's bits compares its operand with the ends of its range.
    """
    if is_inlined_fast(node, inputs):
        return False
    if can_inline(node.op.name, inputs):
        return True
    return node.op.name in _ORDERED and inputs[0].kind == "f"


def may_fail(node: Node, inputs: tuple[DType, ...]) -> bool:
    """Whether the loop can set a Python error, which a kernel would not notice."""
    return node.op.name == "power" and inputs[0].kind in "iu"


def _stages(program: Program, lowered: Sequence[bool]) -> list[int]:
    """As early as possible; then what LLVM computes as late as its readers allow."""
    first = len(program.leaves) + len(program.scalars)
    maker: dict[int, int] = {}
    slot = first
    for number, node in enumerate(program.nodes):
        for _ in node.dtypes:
            maker[slot] = number
            slot += 1
    stages: list[int] = []
    readers: list[list[int]] = [[] for _ in program.nodes]
    for number, node in enumerate(program.nodes):
        stage = 0
        for used in node.inputs:
            source = maker.get(used)
            if source is None:
                continue
            readers[source].append(number)
            wait = 1 if lowered[number] and not lowered[source] else 0
            stage = max(stage, stages[source] + wait)
        stages.append(stage)
    for number in reversed(range(len(program.nodes))):
        if lowered[number] and readers[number]:
            stages[number] = min(stages[reader] for reader in readers[number])
    return stages
