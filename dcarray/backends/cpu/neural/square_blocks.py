"""Squares of all images of a batch, cut into blocks for `squarewise`."""

from __future__ import annotations

import functools
import itertools
from dataclasses import dataclass

import numpy as np

from .columns import HostArray, Sizes

__all__ = ["Cut", "cut_squares"]


@dataclass(frozen=True, slots=True)
class Cut:
    """Where squares lie in blocks.

    Attributes
    ----------
    table : ndarray
        Of each piece of an image that belongs to one block: the image, its first square
        there and in the block, and squares.
    pieces : list of range
        Those of each block.
    rows : ndarray
        Of each row of results of a block: where it begins in the lines of the block and
        in a channel (bytes), and elements.
    parts : list of range
        Those of each block.
    """

    table: HostArray
    pieces: list[range]
    rows: HostArray
    parts: list[range]


@functools.lru_cache(64)
def cut_squares(
    batch: int, size: Sizes, steps: Sizes, item: int, blocks: Sizes, span: int
) -> Cut:
    """Cut a batch into blocks.

    Parameters
    ----------
    batch : int
    size : tuple of int
        Of the results of an image.
    steps : tuple of int
        Bytes between images and between rows of the results.
    item : int
        Bytes of a result.
    blocks : tuple of int
        The first square of each block, counted through all images.
    span : int
        Bytes between the line of first rows of squares and that of second ones.
    """
    height, width = size
    down, across = -(-height // 2), -(-width // 2)
    count = batch * down * across
    begin, place, each, pieces = _pieces(count, down * across, blocks)
    image, first = np.divmod(begin, down * across)
    table = np.stack([image, first, place, each])
    begin, place, each, parts = _pieces(count, across, blocks)
    row, column = np.divmod(begin, across)
    image, row = np.divmod(row, down)
    found = np.empty((3, len(begin), 2), np.int64)
    for parity in (0, 1):
        own = 2 * row + parity
        found[0, :, parity] = place * (2 * item) + parity * span
        found[1, :, parity] = image * steps[0] + own * steps[1] + column * (2 * item)
        found[2, :, parity] = np.minimum(2 * each, width - 2 * column) * (own < height)
    doubled = [range(2 * part.start, 2 * part.stop) for part in parts]
    return Cut(table, pieces, found.reshape(3, -1), doubled)


def _pieces(
    count: int, run: int, blocks: Sizes
) -> tuple[HostArray, HostArray, HostArray, list[range]]:
    """Pieces of runs of squares that belong to one block: the first square of each, its
    place in the block and how many they are; and the pieces of each block."""
    starts = np.array(blocks, np.int64)
    begin = np.union1d(np.arange(0, count, run), starts)
    edges = [*np.searchsorted(begin, starts).tolist(), len(begin)]
    place = begin - np.repeat(starts, np.diff(edges))
    each = np.diff(begin, append=count)
    return begin, place, each, [range(a, b) for a, b in itertools.pairwise(edges)]
