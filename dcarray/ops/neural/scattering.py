"""Numbers brought to the places that indices say: what is taken backwards."""

from __future__ import annotations

import math

import numpy as np

from ..spec import Kind, Op
from .windows import NDArray, Sizes, channels_first, restored

__all__ = ["EMBEDDING_GRADIENT", "PLACE_POSITIONS", "SCATTER_POSITIONS"]

TOGETHER = 8
"""Rows of an embedding's gradient that are added for all places at once."""


def _summed(values: NDArray, places: NDArray, count: int) -> NDArray:
    """Sums of the values at each of ``count`` places; floats are added in float64."""
    if values.dtype.kind == "f":
        return np.bincount(places, values, count).astype(values.dtype)
    total = np.zeros(count, values.dtype)
    np.add.at(total, places, values)
    return total


def _scatter_positions(
    values: NDArray, indices: NDArray, *, size: Sizes, channels_last: bool
) -> NDArray:
    """Planes of ``size`` positions, in which every value is added at its index."""
    planes = channels_first(values, channels_last)
    places = _places(channels_first(indices, channels_last), math.prod(size))
    count = math.prod((*planes.shape[:2], *size))
    total = _summed(planes.reshape(-1), places, count)
    return restored(total.reshape(*planes.shape[:2], *size), channels_last)


def _place_positions(
    values: NDArray, indices: NDArray, *, size: Sizes, channels_last: bool
) -> NDArray:
    """Planes of ``size`` positions, 0 but for the values at their indices; the last
    one counts."""
    planes = channels_first(values, channels_last)
    places = _places(channels_first(indices, channels_last), math.prod(size))
    placed = np.zeros(math.prod((*planes.shape[:2], *size)), values.dtype)
    placed[places] = planes.reshape(-1)
    return restored(placed.reshape(*planes.shape[:2], *size), channels_last)


def _places(indices: NDArray, size: int) -> NDArray:
    """Indices into planes as indices into all of them, one after the other.

    Raises
    ------
    IndexError
        One of them is outside of its plane.
    """
    count = math.prod(indices.shape[:2])
    flat = indices.reshape(count, -1) if count else indices.reshape(0, 1)
    if flat.size and not (flat.min() >= 0 and flat.max() < size):
        raise IndexError(
            f"indices: got {flat.min()} to {flat.max()}, a plane takes 0 to {size - 1}"
        )
    starts: NDArray = np.arange(count)[:, None] * size
    found: NDArray = flat + starts
    return found.reshape(-1)


def _embedding_gradient(gradient: NDArray, indices: NDArray, *, count: int) -> NDArray:
    """``count`` rows, in which every row of the gradient is added at its index."""
    width = gradient.shape[-1]
    flat = indices.reshape(-1)
    rows = gradient.reshape(flat.size, width)
    wide = np.float64 if gradient.dtype.kind == "f" else gradient.dtype
    total = np.zeros((count, width), wide)
    order = np.argsort(flat, kind="stable")
    places, starts, counts = np.unique(
        flat[order], return_index=True, return_counts=True
    )
    # The first rows of all places together, the rest of each place by itself.
    for k in range(min(TOGETHER, counts.max(initial=0))):
        more = counts > k
        total[places[more]] += rows[order[starts[more] + k]]
    for k in np.flatnonzero(counts > TOGETHER).tolist():
        rest = order[starts[k] + TOGETHER : starts[k] + counts[k]]
        total[places[k]] += rows[rest].sum(0, wide)
    return total.astype(gradient.dtype, copy=False)


SCATTER_POSITIONS = Op("nn.scatter_positions", Kind.INDEXING, _scatter_positions, 2)
PLACE_POSITIONS = Op("nn.place_positions", Kind.INDEXING, _place_positions, 2)
EMBEDDING_GRADIENT = Op("nn.embedding_gradient", Kind.INDEXING, _embedding_gradient, 2)
