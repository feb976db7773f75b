"""Products of a vector with a matrix or another vector, by texts of our own."""

from __future__ import annotations

import numpy as np

from ..grid.views import GridView
from .kernels import vectors
from .mapped import copied, inner
from .raw import Raw, signature
from .rows import parts_of

__all__ = ["DOT", "MOST_OF_ONE", "dot", "product"]

LEAST = 1 << 14
"""Elements of a matrix from which on the text is worth it."""

GROUPS = 5
"""Groups of ``down`` that a unit of the device has room for."""

MOST = 32 * 8
"""Reads of a row up to which a few threads share it: some eight for each."""

MOST_OF_ONE = 1 << 13
"""Elements of two vectors up to which one group multiplies them."""

_ALONG = signature("along", "rrwqqqqqq")
_SHORT = signature("short_rows", "rrwqqqqqqq")
_DOWN = signature("down", "rrwwwqqqqqq")
DOT = signature("dot", "rrwqqqqq")


def product(raw: Raw, x: GridView, y: GridView) -> GridView | None:
    """``x @ y`` where one of them is a vector, and the other one a vector or a matrix;
    None where neither its rows nor its columns lie in one piece."""
    if x.ndim != 2 or y.ndim != 2 or x.dtype.char not in "efd":
        return None
    if x.shape[0] == y.shape[1] == 1 and x.dtype.char in "fd":
        size = x.dtype.itemsize
        for view in (x, y):
            if any([n % size for n in (view.layout.offset, *view.layout.strides)]):
                return None
        found = inner(raw, x.through(lambda a: a[0]), y.through(lambda a: a[:, 0]))
        return found.through(lambda a: a[None, :])
    if y.shape[1] == 1:
        matrix, vector = x, y.through(lambda a: a[:, 0])
    elif x.shape[0] == 1:
        matrix, vector = y.through(lambda a: a.T), x.through(lambda a: a[0])
    else:
        return None
    size = x.dtype.itemsize
    lies = [n for z in (matrix, vector) for n in (z.layout.offset, *z.layout.strides)]
    if matrix.size < LEAST or any([n % size for n in lies]):
        return None
    _, (step,) = vector.elements()
    _, (down, across) = matrix.elements()
    if min(matrix.shape) < 2 or 1 not in (down, across):
        return None
    if step != 1:
        vector = copied(raw, vector)
    out = raw.new((x.shape[0], y.shape[1]), x.dtype)
    if across == 1:
        _along(raw, matrix, vector, out)
    else:
        _down(raw, matrix, vector, out)
    return out


def dot(raw: Raw, x: GridView, y: GridView) -> GridView | None:
    """The sum of the products of two vectors of one dtype, without axes; None where
    they are long, or elements lie between multiples of their size."""
    if x.dtype.char not in "efd" or x.size > MOST_OF_ONE:
        return None
    size = x.dtype.itemsize
    if any([n % size for z in (x, y) for n in (z.layout.offset, *z.layout.strides)]):
        return None
    out = raw.new((), x.dtype)
    numbers = [x.size]
    for view in (x, y):
        begin, (step,) = view.elements()
        numbers += [begin, step]
    text = vectors.vector_text(x.dtype)
    raw.run(text, DOT, (1,), vectors.THREADS, x, y, out, *numbers)
    return out


def _along(raw: Raw, matrix: GridView, vector: GridView, out: GridView) -> None:
    count, length = matrix.shape
    offset, (step, _) = matrix.elements()
    begin, _ = vector.elements()
    fours = not any([n % 4 for n in (offset, begin, step, length)])
    text = vectors.vector_text(out.dtype)
    operands = (matrix, vector, out)
    numbers = (count, length, step, offset, begin, int(fours))
    reads = length // 4 if fours else length
    if reads <= MOST:
        team = min(32, 1 << (reads - 1).bit_length())
        groups = (-(-count * team // (vectors.THREADS * vectors.TEAM_ROWS)),)
        raw.run(text, _SHORT, groups, vectors.THREADS, *operands, *numbers, team)
        return
    groups = (-(-count // vectors.AT_ONCE),)
    raw.run(text, _ALONG, groups, vectors.THREADS, *operands, *numbers)


def _down(raw: Raw, matrix: GridView, vector: GridView, out: GridView) -> None:
    count, length = matrix.shape
    offset, (_, step) = matrix.elements()
    begin, _ = vector.elements()
    side, turns = -(-count // vectors.ABREAST), -(-length // vectors.TURN)
    parts = parts_of(side, raw.backend.limits.units * GROUPS, turns)
    part = -(-turns // parts) * vectors.TURN
    parts = -(-length // part)
    text = vectors.vector_text(out.dtype)
    sums = counts = out
    if parts > 1:
        wide = np.dtype(np.float64 if out.dtype.itemsize == 8 else np.float32)
        sums, counts = raw.new((parts, count), wide), raw.counts()
    given = (matrix, vector, out, sums, counts)
    numbers = (length, count, step, offset, begin, part)
    raw.run(text, _DOWN, (side * parts,), vectors.THREADS, *given, *numbers)
