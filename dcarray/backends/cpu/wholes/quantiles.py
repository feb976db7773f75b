"""Medians and quantiles of a long run, on all cores.

NumPy partitions a copy of the run, on one core, and needs a few of its elements then.
Here the copy finds these elements itself: a sample says between which values each one
lies, threads count what is smaller and gather what lies between, and that is little.
What NumPy does with them stays NumPy's.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ..rules import has_minus_zero
from ..threads import available_threads, run_slices
from .radix import in_pieces, rented

__all__ = ["ends_of", "of_runs"]

HostArray = np.ndarray[Any, Any]

LEAST = 1 << 19
"""Elements from which this pays."""

SAMPLE = 1 << 16
AROUND = 1 << 10
"""Elements of the sample, and how far from its place in it an element may be: some four
times as far as nearly all are."""

BLOCK = 1 << 16
"""Elements that are compared at a time, in the cache."""

NAMES = ("q", "axis", "out", "overwrite_input", "method", "keepdims")


def of_runs(
    function: Callable[..., Any], shares: bool, otherwise: Callable[..., Any]
) -> Callable[..., Any]:
    """`numpy.median`, or a function that takes ``shares`` of the elements as well.

    ``otherwise`` is called for all that is no long run.
    """
    names = NAMES if shares else ("axis", "out", "overwrite_input", "keepdims")

    @functools.wraps(function)
    def call(a: Any, /, *rest: Any, **keywords: Any) -> Any:
        options = dict(zip(names, rest)) | keywords
        if not _is_long_run(a, options):
            return otherwise(a, *rest, **keywords)
        options |= {"axis": None, "overwrite_input": True}
        found = function(_copied(a.reshape(-1)), **options)
        return np.asarray(found)[()] if isinstance(found, _Run) else found

    return call


def _is_long_run(a: Any, options: dict[str, Any]) -> bool:
    axis = options.get("axis")
    return (
        type(a) is np.ndarray
        and a.size >= LEAST
        and a.dtype.char in "fdbBhHiIlLqQ"
        and a.dtype.isnative
        and a.flags.c_contiguous
        and a.flags.aligned
        and (axis is None or (a.ndim == 1 and type(axis) is int and axis in (0, -1)))
        and options.get("out") is None
        and options.get("weights") is None
        and options.get("keepdims") in (None, False, np._NoValue)
        and available_threads() > 1
    )


class _Run(np.ndarray[Any, Any]):
    """A run of elements that is partitioned by all threads.

    Afterwards the elements that were asked for are where they belong, as in NumPy; the
    others are where they were.
    """

    def partition(
        self, kth: Any, axis: Any = -1, kind: Any = "introselect", order: Any = None
    ) -> None:
        plain = self.view(np.ndarray)
        ranks = np.unique(np.asarray(kth) % max(1, self.size))
        found = None
        if self.ndim == 1 and self.flags.c_contiguous and self.size >= LEAST:
            found = _elements(plain, ranks.tolist())
        if found is None:
            plain.partition(kth, axis, kind, order)
        else:
            plain[ranks] = found


def _copied(x: HostArray) -> _Run:
    found = rented(x.size, x.dtype)
    pieces, each = in_pieces(x.size)

    def part(number: int) -> None:
        piece = slice(number * each, (number + 1) * each)
        found[piece] = x[piece]

    run_slices(part, pieces, available_threads())
    return found.view(_Run)


def _elements(x: HostArray, ranks: Sequence[int]) -> list[Any] | None:
    """The elements that have these places in the order; None if NumPy has to say:
    there is NaN, or a zero may have either sign, or the sample was a bad one."""
    low, high = ends_of(x)
    if high != high:
        return None
    known: dict[int, Any] = {0: low, x.size - 1: high}
    places = np.random.default_rng(0).integers(0, x.size, SAMPLE)
    sample = np.sort(x[places])
    groups: dict[tuple[int, int], list[int]] = {}
    for rank in ranks:
        if rank not in known:
            near = rank * SAMPLE // x.size
            # Neighbours lie in the same part.
            begin = (near - AROUND) // AROUND * AROUND
            groups.setdefault((begin, begin + 3 * AROUND), []).append(rank)
    bounds = [
        (
            sample[begin] if begin >= 0 else low,
            sample[end] if end < SAMPLE else high,
        )
        for begin, end in groups
    ]
    parts = _between(x, bounds)
    for wanted, (below, between) in zip(groups.values(), parts, strict=True):
        inside = [rank - below for rank in wanted]
        if inside[0] < 0 or inside[-1] >= between.size:
            return None
        between.partition(inside)
        known |= zip(wanted, between[inside], strict=True)
    found = [known[rank] for rank in ranks]
    if x.dtype.kind == "f" and 0 in found and has_minus_zero(x):
        return None
    return found


def ends_of(x: HostArray) -> tuple[Any, Any]:
    """The least and the largest element; both NaN if there is one."""
    pieces, each = in_pieces(x.size)
    ends = np.empty((2, pieces), x.dtype)

    def part(number: int) -> None:
        piece = x[number * each : (number + 1) * each]
        ends[:, number] = piece.min(), piece.max()

    run_slices(part, pieces, available_threads())
    return ends[0].min(), ends[1].max()


def _between(
    x: HostArray, bounds: Sequence[tuple[Any, Any]]
) -> list[tuple[int, HostArray]]:
    """For each two values, how many elements are less than the first, and those from
    there to the second."""
    pieces, each = in_pieces(x.size)
    counts = np.zeros((len(bounds), pieces), np.int64)
    parts: list[list[list[HostArray]]] = [[[] for _ in range(pieces)] for _ in bounds]

    def part(number: int) -> None:
        stop = min(x.size, (number + 1) * each)
        for start in range(number * each, stop, BLOCK):
            block = x[start : min(start + BLOCK, stop)]
            for group, (least, most) in enumerate(bounds):
                less = block < least
                counts[group, number] += np.count_nonzero(less)
                inside = block <= most
                inside ^= less
                parts[group][number].append(block[inside])

    run_slices(part, pieces, available_threads())
    return [
        (int(count.sum()), np.concatenate([block for some in found for block in some]))
        for count, found in zip(counts, parts, strict=True)
    ]
