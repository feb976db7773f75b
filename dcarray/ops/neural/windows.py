"""Which positions of an array a tap of a window meets."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from typing import Any, TypeAlias

import numpy as np

__all__ = [
    "NDArray",
    "Sizes",
    "adaptive_edges",
    "at",
    "channels_first",
    "overlaps",
    "restored",
]

NDArray: TypeAlias = np.ndarray[Any, np.dtype[Any]]
Sizes: TypeAlias = tuple[int, ...]


def overlaps(
    source: Sizes,
    size: Sizes,
    kernel: Sizes,
    stride: Sizes,
    low: Sizes,
    dilation: Sizes,
) -> Iterator[tuple[Sizes, tuple[slice, ...], tuple[slice, ...]]]:
    """The taps of a window that meet anything, in order.

    Parameters
    ----------
    source, size : tuple of int
        Positions of the array and of the result.
    kernel, stride, low, dilation : tuple of int
        The window.

    Yields
    ------
    tap : tuple of int
        Its place in the window.
    outer : tuple of slice
        Windows of which this tap lies in the array.
    inner : tuple of slice
        The positions on which it lies, one for each of those windows.
    """
    per_axis = [
        [
            (tap, *found)
            for tap in range(kernel[axis])
            if (
                found := _overlap(
                    tap * dilation[axis] - low[axis],
                    stride[axis],
                    source[axis],
                    size[axis],
                )
            )
        ]
        for axis in range(len(kernel))
    ]
    for taps in itertools.product(*per_axis):
        yield (
            tuple([tap for tap, _, _ in taps]),
            tuple([outer for _, outer, _ in taps]),
            tuple([inner for _, _, inner in taps]),
        )


def _overlap(
    offset: int, stride: int, source: int, size: int
) -> tuple[slice, slice] | None:
    first = max(0, -(offset // stride))
    stop = min(size, (source - 1 - offset) // stride + 1)
    if stop <= first:
        return None
    start, last = first * stride + offset, (stop - 1) * stride + offset
    return slice(first, stop), slice(start, last + 1, stride)


def at(place: Sequence[int | slice | None]) -> Any:
    """An index of the last axes."""
    return (..., *place)


def adaptive_edges(source: int, size: int) -> list[tuple[int, int]]:
    """Start and end of ``size`` windows that cover ``source`` positions as evenly as
    whole numbers can; neighbours may share one."""
    return [(k * source // size, -((-(k + 1) * source) // size)) for k in range(size)]


def channels_first(x: NDArray, channels_last: bool) -> NDArray:
    """A view with the channels before the positions."""
    return np.moveaxis(x, -1, 1) if channels_last else x


def restored(x: NDArray, channels_last: bool) -> NDArray:
    """The opposite of `channels_first`, in the order of memory that it tells."""
    return np.ascontiguousarray(np.moveaxis(x, 1, -1)) if channels_last else x
