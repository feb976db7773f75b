"""One long run in order: parts that NumPy sorts on several threads, and merges of them.

NumPy's sort of numbers of 4 and 8 bytes is vector code on most processors, and faster
than any other on one thread, unless few digits differ.
"""

from __future__ import annotations

import functools
from typing import Any

import numpy as np

from ....ops.kernels.merging import CHAINS, merge_kernel
from ..kernels import compiled, run_pieces
from ..threads import available_threads, run_slices
from .radix import rented

__all__ = ["merged_run", "sorts_by_vectors"]

HostArray = np.ndarray[Any, Any]

MOST = 8
"""Parts; more of them would go through memory too often."""

SHARES = 4
"""Work items for each thread: who has a core for itself takes more of them."""


FEW = {4: 3, 8: 4}
"""Digits of numbers of so many bytes for which `radix` is faster."""

SOME = 1 << 10
"""Elements that are looked at before."""


@functools.cache
def sorts_by_vectors() -> bool:
    """Whether NumPy's sort is vector code on this processor."""
    core: Any = np._core._multiarray_umath  # type: ignore[attr-defined]
    features = core.__cpu_features__
    return any(features.get(name) for name in ("AVX512_SKX", "AVX2", "ASIMD"))


def merged_run(x: HostArray) -> HostArray | None:
    """A sorted copy of a run of numbers of 4 or 8 bytes, NaN last; None if that does
    not pay, or there is no machine code to merge with."""
    threads = available_threads()
    few = FEW.get(x.dtype.itemsize)
    if threads < 2 or few is None or not sorts_by_vectors() or _digits(x) <= few:
        return None
    kernel = merge_kernel(x.dtype)
    if compiled(kernel, (1, 1, 1)) is None:
        return None
    count = 2
    while count < min(threads, MOST):
        count *= 2
    edges = [x.size * k // count for k in range(count + 1)]
    run, spare = rented(x.size, x.dtype), rented(x.size, x.dtype)

    def task(number: int) -> None:
        part = run[edges[number] : edges[number + 1]]
        part[...] = x[edges[number] : edges[number + 1]]
        part.sort()

    run_slices(task, count, threads)
    while len(edges) > 2:
        share = CHAINS * max(1, SHARES * threads * 2 // (len(edges) - 1))
        pairs = zip(edges[:-2:2], edges[1:-1:2], edges[2::2], strict=True)
        found = np.concatenate([_stretches(run, *pair, share) for pair in pairs])
        run_pieces(kernel, len(found) // CHAINS, (run, found, spare))
        if x.dtype.kind == "f":
            _fill(spare, found, edges[2::2], share)
        edges = edges[::2]
        run, spare = spare, run
    return run


def _digits(x: HostArray) -> int:
    """About how many digits differ, going by some of the elements."""
    some = x[:: max(1, x.size // SOME)].copy()
    size: int = x.dtype.itemsize
    if x.dtype.kind == "f":
        below = np.signbit(some)
        if below.any() and not below.all():
            return size
        bits = some.view(f"u{size}")
        differing = int(np.bitwise_or.reduce(bits ^ bits[0]))
        return sum([byte > 0 for byte in differing.to_bytes(size)])
    return -(-(int(some.max()) - int(some.min())).bit_length() // 8)


def _stretches(
    x: HostArray, begin: int, middle: int, end: int, count: int
) -> HostArray:
    """Where stretches of two merged runs begin and end, see `merge_kernel`; NaN is left
    out."""
    first, second = _numbers(x[begin:middle]), _numbers(x[middle:end])
    total = len(first) + len(second)
    ends = np.arange(count + 1) * total // count
    low, high = np.maximum(ends - len(second), 0), np.minimum(ends, len(first))
    while (low < high).any():
        half = (low + high) // 2
        open_ = low < high
        one = first.take(half, mode="clip")
        other = second.take(ends - 1 - half, mode="clip")
        more = open_ & (one <= other)
        low = np.where(more, half + 1, low)
        high = np.where(open_ & ~more, half, high)
    steps = (low + begin, ends - low + middle, ends + begin)
    columns = [part for step in steps for part in (step[:-1], step[1:])]
    return np.ascontiguousarray(np.stack(columns, 1), np.int64)


def _numbers(part: HostArray) -> HostArray:
    """The elements before the first NaN."""
    if part.dtype.kind != "f":
        return part
    return part[: part.searchsorted(part.dtype.type(np.nan))]


def _fill(run: HostArray, places: HostArray, edges: list[int], count: int) -> None:
    """Put NaN behind the numbers of merged runs."""
    for last, edge in zip(places[count - 1 :: count, 5], edges, strict=True):
        run[last:edge] = np.nan
