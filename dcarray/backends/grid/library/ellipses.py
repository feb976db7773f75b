"""Ellipses in the subscripts of `numpy.einsum`, spelled out."""

from __future__ import annotations

import string
from collections.abc import Callable, Sequence
from typing import Any

from ..views import GridView

__all__ = ["without_ellipses", "without_ones"]


def without_ellipses(
    arrays: Sequence[GridView], subscripts: str
) -> tuple[list[GridView], str]:
    """Operands and subscripts in which letters stand for the axes that an ellipsis
    means; axes of length 1 that are broadcast are gone."""
    given, arrow, wanted = subscripts.partition("->")
    terms = given.split(",")
    if len(terms) != len(arrays):
        raise ValueError("more operands provided to einstein sum function than terms")
    spare = [letter for letter in string.ascii_letters if letter not in subscripts]
    counts = [
        max(x.ndim - len(term.replace("...", "")), 0) if "..." in term else 0
        for x, term in zip(arrays, terms, strict=True)
    ]
    most = max(counts)
    letters = "".join(spare[:most])
    lengths = dict.fromkeys(letters, 1)
    full = []
    for x, term, count in zip(arrays, terms, counts, strict=True):
        term = term.replace("...", letters[most - count :])
        full.append(term)
        for letter, length in zip(term, x.shape, strict=True):
            if lengths.get(letter) == 1:
                lengths[letter] = length
    seen, found = [], []
    for x, term in zip(arrays, full, strict=True):
        for letter in letters:
            place = term.find(letter)
            if place >= 0 and x.shape[place] == 1 != lengths[letter]:
                x = x.through(_first(place))
                term = term.replace(letter, "")
        seen.append(x)
        found.append(term)
    if arrow:
        if most and "..." not in wanted:
            raise ValueError(
                "output has more dimensions than subscripts given in einstein sum, but "
                "no '...' ellipsis provided to broadcast the extra dimensions."
            )
        wanted = wanted.replace("...", letters)
    else:
        once = {k for k in given if k.isalpha() and given.count(k) == 1}
        wanted = letters + "".join(sorted(once))
    return seen, ",".join(found) + "->" + wanted


def _first(axis: int) -> Callable[[Any], Any]:
    return lambda a: a[(slice(None),) * axis + (0, ...)]


def without_ones(x: GridView, term: str, others: Any) -> tuple[GridView, str]:
    """Without the axes of length 1 that are as long as another operand's."""
    ones = [k for k, n in enumerate(x.shape) if n == 1 != others.get(term[k], 1)]
    left = "".join([letter for k, letter in enumerate(term) if k not in ones])
    return x.through(lambda a: a.squeeze(tuple(ones))), left
