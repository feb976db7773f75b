"""`numpy.einsum`: products of two operands at a time."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ....errors import UnsupportedError
from ....layout import iteration_order
from ....ops.reduction import ANY, SUM
from ..views import GridView
from .contraction import product
from .ellipses import without_ellipses, without_ones
from .work import BOOL, Work

__all__ = ["TABLE"]


def _einsum(
    work: Work, *operands: Any, subscripts: Any, optimize: Any = False, **options: Any
) -> GridView:
    """`numpy.einsum`, two operands at a time."""
    if not isinstance(subscripts, str) or options:
        raise UnsupportedError("einsum with lists of axes or options")
    arrays = [work.put(x) for x in operands]
    dtype = np.result_type(*[x.dtype for x in arrays])
    # Letters of one operand are summed before it meets the others.
    arrays = [x if x.dtype == dtype else work.cast(x, dtype) for x in arrays]
    subscripts = subscripts.replace(" ", "")
    if "..." in subscripts:
        arrays, subscripts = without_ellipses(arrays, subscripts)
    given, _, wanted = subscripts.partition("->")
    terms = given.split(",")
    if len(terms) != len(operands):
        raise ValueError("more operands provided to einstein sum function than terms")
    if "->" not in subscripts:
        every = given.replace(",", "")
        wanted = "".join([k for k in sorted(set(every)) if every.count(k) == 1])
    pairs = [_diagonal(x, term) for x, term in zip(arrays, terms, strict=True)]
    slowest_first = _memory_order(pairs, wanted)
    (found, term), *others = pairs
    while others:
        second, other = others.pop(0)
        rest = [term for _, term in others]
        needed = "".join([wanted, *rest])
        kept = "".join(dict.fromkeys([k for k in term + other if k in needed]))
        found, term = _pair(work, found, term, second, other, kept), kept
    gone = [place for place, letter in enumerate(term) if letter not in wanted]
    if gone:
        boolean = found.dtype == BOOL
        found = work.reduce(ANY if boolean else SUM, gone, found)
        left = [n for place, n in enumerate(found.shape) if place not in gone]
        found = found.through(lambda a: a.reshape(left))
        term = "".join([letter for letter in term if letter in wanted])
    order = [term.index(wanted[axis]) for axis in slowest_first]
    back = [slowest_first.index(axis) for axis in range(len(wanted))]
    found = work.copy(found.through(lambda a: a.transpose(order)))
    return found.through(lambda a: a.transpose(back))


def _memory_order(operands: Sequence[tuple[GridView, str]], wanted: str) -> list[int]:
    """The axes of the result from the slowest to the fastest in its memory, which
    NumPy makes as it steps through the operands."""
    letters = "".join(dict.fromkeys([*wanted, *[k for _, t in operands for k in t]]))
    lengths = dict.fromkeys(letters, 1)
    rows = []
    for x, term in operands:
        steps = dict.fromkeys(letters, 0)
        for letter, length, step in zip(term, x.shape, x.layout.strides, strict=True):
            if length != 1:
                lengths[letter], steps[letter] = length, step
        rows.append(tuple(steps.values()))
    order = iteration_order(tuple(lengths.values()), rows)
    return [axis for axis in order if axis < len(wanted)]


def _diagonal(x: GridView, term: str) -> tuple[GridView, str]:
    """A view in which each letter stands once."""
    if len(term) != x.ndim:
        raise ValueError(
            f"einstein sum subscripts string {term!r} does not fit an operand with "
            f"{x.ndim} dimensions"
        )
    letters = "".join(dict.fromkeys(term))
    if letters == term:
        return x, term
    return x.through(lambda a: np.einsum(f"{term}->{letters}", a)), letters


def _pair(
    work: Work, x: GridView, first: str, y: GridView, second: str, kept: str
) -> GridView:
    """The sums of products of two operands over all letters but those that are kept."""
    x, first = without_ones(x, first, dict(zip(second, y.shape, strict=True)))
    y, second = without_ones(y, second, dict(zip(first, x.shape, strict=True)))
    lengths = dict(zip(second, y.shape, strict=True))
    for letter, length in zip(first, x.shape, strict=True):
        wanted = lengths.setdefault(letter, length)
        if length != wanted:
            raise ValueError(
                "operands could not be broadcast together: "
                f"{letter} has lengths {length} and {wanted}"
            )
    batch = [k for k in kept if k in first and k in second]
    left = [k for k in kept if k not in second]
    right = [k for k in kept if k not in first]
    inner = [k for k in dict.fromkeys(first + second) if k not in kept]
    alone = [k for k in inner if k not in first or k not in second]

    def arranged(z: GridView, term: str, groups: Sequence[list[str]]) -> GridView:
        order = [term.index(letter) for group in groups for letter in group]
        seen = z.through(lambda a: a.transpose(order))
        sizes = [math.prod([lengths[k] for k in group]) for group in groups]
        return seen if list(seen.shape) == sizes else work.reshaped(seen, sizes)

    if alone:  # a letter of one operand, summed before it is multiplied
        for letter in alone:
            if letter in first:
                x, first = _summed_letter(work, x, first, letter)
            else:
                y, second = _summed_letter(work, y, second, letter)
        return _pair(work, x, first, y, second, kept)
    one = arranged(x, first, (batch, left, inner))
    other = arranged(y, second, (batch, inner, right))
    found = product(work, one, other)
    shape = [lengths[k] for k in (*batch, *left, *right)]
    found = found.through(lambda a: a.reshape(shape))
    order = [[*batch, *left, *right].index(k) for k in kept]
    return found.through(lambda a: a.transpose(order))


def _summed_letter(
    work: Work, x: GridView, term: str, letter: str
) -> tuple[GridView, str]:
    axis = term.index(letter)
    found = work.reduce(ANY if x.dtype == BOOL else SUM, (axis,), x)
    shape = found.shape[:axis] + found.shape[axis + 1 :]
    return found.through(lambda a: a.reshape(shape)), term.replace(letter, "")


TABLE: dict[str, Callable[..., Any]] = {"einsum": _einsum}
"""Functions by the name of their rows."""
