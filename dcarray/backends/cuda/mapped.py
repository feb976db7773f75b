"""Programs of the renderer within rows of our own, which keep their launches."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...ops.elementwise import CAST, MULTIPLY
from ...ops.program import Inner, Node, Program, Reduction
from ...ops.reduction import SUM
from ..grid.programs import GridExecutable
from ..grid.views import GridView
from .raw import Raw

__all__ = ["copied", "inner"]


def copied(raw: Raw, x: GridView) -> GridView:
    """A C-contiguous copy."""
    out = raw.new(x.shape, x.dtype)
    start = raw.kept(("copied", x.dtype), _copying).prepare(x.shape, [x, out], None)
    raw.did(start, x, out)
    start((x.memory, out.memory), ())
    return out


def inner(raw: Raw, x: GridView, y: GridView) -> GridView:
    """The sum of the products of two rows, with one element."""
    out = raw.new((1,), x.dtype)
    program = raw.kept(("inner", x.dtype), _summing)
    start = program.prepare(x.shape, [x, y, out], out)
    raw.did(start, x, y, out)
    start((x.memory, y.memory, out.memory), ())
    return out


def _copying(raw: Raw, key: tuple[str, np.dtype[Any]]) -> GridExecutable:
    dtype = key[1]
    node = Node(CAST, (0,), (dtype,), (Inner.CONTIGUOUS,))
    return raw.backend.compile(Program((dtype,), (), (node,), (1,)))


def _summing(raw: Raw, key: tuple[str, np.dtype[Any]]) -> GridExecutable:
    dtype = key[1]
    node = Node(MULTIPLY, (0, 1), (dtype,), (Inner.CONTIGUOUS, Inner.CONTIGUOUS))
    end = Reduction(SUM, 2, dtype)
    return raw.backend.compile(Program((dtype, dtype), (), (node,), (), end))
