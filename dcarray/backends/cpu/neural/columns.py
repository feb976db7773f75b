"""The windows of a tile as the columns of a matrix (im2col), in scratch memory.

Arrays are seen with the channels before the positions, however they lie.  With the
channels last in memory a matrix lies transposed, which BLAS takes as it is.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias, TypeVar

import numpy as np
from numpy.lib.stride_tricks import as_strided

from ....ops.neural.windows import at
from ..memory import host_pool, rent
from ..threads import run_slices
from .blas import one_blas_thread
from .framing import copy_framed

__all__ = [
    "HostArray",
    "Sizes",
    "Tile",
    "Window",
    "Workspace",
    "cut_tiles",
    "is_matrix",
    "run_tiles",
    "scratch",
]

HostArray: TypeAlias = np.ndarray[Any, Any]
Sizes: TypeAlias = tuple[int, ...]

Item = TypeVar("Item")

TILE_BYTES = 1 << 19
"""Bytes of a tile's columns: half of a usual second-level cache."""

FEWEST = 192
"""Columns below which a product of matrices loses its speed."""


SHARES = 32
"""Tiles into which larger work is cut at least.  The number does not depend on the
threads, and so the answer does not either."""


@dataclass(frozen=True, slots=True)
class Window:
    """How a kernel walks over an array; see `ops.neural`."""

    kernel: Sizes
    stride: Sizes
    low: Sizes
    dilation: Sizes

    @property
    def taps(self) -> int:
        return math.prod(self.kernel)


@dataclass(frozen=True, slots=True)
class Tile:
    """A part of the result: some images, some groups of channels, some positions."""

    images: range
    groups: range
    positions: tuple[range, ...]

    @property
    def count(self) -> int:
        """Columns that it takes for each group."""
        return len(self.images) * math.prod(map(len, self.positions))


def cut_tiles(
    batch: int,
    groups: int,
    size: Sizes,
    column: int,
    shares: int = SHARES,
    fewest: int | None = None,
    larger: int = 1,
) -> list[Tile]:
    """Cut a result of (batch, groups, \\*size) positions.

    Parameters
    ----------
    batch, groups : int
    size : tuple of int
    column : int
        Bytes of one column.
    shares : int
        Tiles that there are at least, if they are not too small.
    fewest : int, optional
        Columns of a tile that there are at least: without it, those of a product of
        matrices.
    larger : int
        How many times the usual bytes a tile may take.
    """
    fair = batch * groups * math.prod(size) // shares
    least = FEWEST if fewest is None else fewest
    wanted = max(least, min(larger * TILE_BYTES // column, fair))
    blocks = list(_blocks(size, wanted))
    most = wanted // max(1, math.prod(size))
    some_groups = max(1, min(groups, most))
    some_images = max(1, min(batch, most // groups)) if some_groups == groups else 1
    return [
        Tile(images, part, block)
        for images in _parts(batch, some_images)
        for part in _parts(groups, some_groups)
        for block in blocks
    ]


def _parts(count: int, most: int) -> list[range]:
    pieces = -(-count // most)
    edges = [count * k // pieces for k in range(pieces + 1)]
    return [range(a, b) for a, b in itertools.pairwise(edges)]


def _blocks(size: Sizes, wanted: int) -> Iterator[tuple[range, ...]]:
    """Blocks of about so many positions that lie next to each other."""
    if not size:
        yield ()
        return
    inside = math.prod(size[1:])
    if inside <= wanted:
        for part in _parts(size[0], max(1, wanted // max(1, inside))):
            yield (part, *[range(n) for n in size[1:]])
        return
    for k in range(size[0]):
        for block in _blocks(size[1:], wanted):
            yield (range(k, k + 1), *block)


def is_matrix(x: HostArray) -> bool:
    """Whether BLAS takes the last two axes as they lie in memory."""
    item = x.itemsize
    rows, columns = x.strides[-2:]
    height, width = x.shape[-2:]
    return (columns == item and rows % item == 0 and rows >= width * item) or (
        rows == item and columns % item == 0 and columns >= height * item
    )


_pool = host_pool()


def scratch(shape: Sizes, dtype: np.dtype[Any]) -> HostArray:
    """Memory from a pool, to which it goes back when it dies: the system takes its time
    to hand out pages."""
    count = math.prod(shape)
    block = rent(_pool, count * dtype.itemsize)
    return np.ndarray(shape, dtype, block)


class Workspace:
    """Scratch memory of one thread.

    Parameters
    ----------
    dtype : dtype
    channels_last : bool
        How matrices lie in it.
    """

    def __init__(self, dtype: np.dtype[Any], channels_last: bool) -> None:
        self.dtype = dtype
        self.channels_last = channels_last
        self._memory: dict[str, HostArray] = {}

    def array(self, name: str, shape: Sizes) -> HostArray:
        """Memory for one purpose; what was in it is lost."""
        count = math.prod(shape)
        flat = self._memory.get(name)
        if flat is None or flat.size < count:
            flat = self._memory[name] = scratch((count,), self.dtype)
        return flat[:count].reshape(shape)

    def matrices(self, name: str, count: int, height: int, width: int) -> HostArray:
        """Matrices of (height, width) numbers."""
        if self.channels_last:
            return self.array(name, (count, width, height)).swapaxes(1, 2)
        return self.array(name, (count, height, width))

    def columns(
        self, x: HostArray, tile: Tile, channels: range, window: Window
    ) -> HostArray:
        """What the windows of a tile see.

        Parameters
        ----------
        x : ndarray
            (batch, channels, \\*positions)
        tile : Tile
        channels : range
            Those of the tile's groups.
        window : Window

        Returns
        -------
        ndarray
            (groups, channels of a group × taps, columns); the taps come before the
            channels where these lie last.
        """
        seen = self._windows(x, tile, channels, window)
        groups = len(tile.groups)
        height = len(channels) // groups * window.taps
        if window.taps == 1:
            direct = _unfolded(seen, (groups, height, tile.count))
            if direct is not None and is_matrix(direct):
                return direct
        axes = len(window.kernel)
        if self.channels_last:
            order = (0, *range(2 + axes, 3 + 2 * axes), *range(2, 2 + axes), 1)
            seen = seen.transpose(order)
        packed = self.array("columns", seen.shape)
        np.copyto(packed, seen)
        if self.channels_last:
            return packed.reshape(groups, tile.count, height).swapaxes(1, 2)
        return packed.reshape(groups, height, tile.count)

    def block(
        self, x: HostArray, tile: Tile, channels: range, window: Window
    ) -> HostArray:
        """The part of ``x`` that the windows of a tile see, no copy but where a window
        reaches over the edge."""
        reach = [
            range(
                part.start * stride - low,
                (part.stop - 1) * stride + (taps - 1) * dilation + 1 - low,
            )
            for part, taps, stride, low, dilation in zip(
                tile.positions,
                window.kernel,
                window.stride,
                window.low,
                window.dilation,
            )
        ]
        inside = [
            range(max(0, r.start), min(n, r.stop)) for r, n in zip(reach, x.shape[2:])
        ]
        part = x[
            tile.images.start : tile.images.stop,
            channels.start : channels.stop,
            *[slice(r.start, max(r.start, r.stop)) for r in inside],
        ]
        if inside != reach:
            part = self._edged(part, reach, inside)
        return part

    def _windows(
        self, x: HostArray, tile: Tile, channels: range, window: Window
    ) -> HostArray:
        """(groups, channels of a group, \\*kernel, images, \\*positions), no copy but
        where a window reaches over the edge."""
        part = self.block(x, tile, channels, window)
        groups = len(tile.groups)
        per_group = len(channels) // groups
        images, channel, *steps = part.strides
        return as_strided(
            part,
            (
                *(groups, per_group, *window.kernel),
                *(len(tile.images), *map(len, tile.positions)),
            ),
            (
                *(channel * per_group, channel),
                *[step * d for step, d in zip(steps, window.dilation)],
                images,
                *[step * s for step, s in zip(steps, window.stride)],
            ),
        )

    def _edged(
        self, part: HostArray, reach: list[range], inside: list[range]
    ) -> HostArray:
        """The positions of ``reach``, 0 where there is nothing in ``part``."""
        shape = (*part.shape[:2], *map(len, reach))
        if self.channels_last:
            whole = self.array("edge", (shape[0], *shape[2:], shape[1]))
            whole = np.moveaxis(whole, -1, 1)
        else:
            whole = self.array("edge", shape)
        middle = [
            slice(i.start - r.start, max(i.start, i.stop) - r.start)
            for r, i in zip(reach, inside)
        ]
        order = (0, *range(2, part.ndim), 1) if self.channels_last else range(part.ndim)
        starts = (0, 0, *[s.start for s in middle])
        if copy_framed(
            part.transpose(order),
            whole.transpose(order),
            tuple([starts[axis] for axis in order]),
        ):
            return whole
        whole.fill(0)
        np.copyto(whole[at(middle)], part)
        return whole


def _unfolded(x: HostArray, shape: Sizes) -> HostArray | None:
    """``x`` reshaped, if that needs no copy."""
    try:
        return x.reshape(shape, copy=False)
    except ValueError:
        return None


def run_tiles(
    run: Callable[[Item, Workspace], None],
    tiles: Sequence[Item],
    threads: int,
    make: Callable[[], Workspace],
) -> None:
    """Run tiles on several threads, each with scratch memory of its own.

    A single tile is left to BLAS and its threads.
    """
    if len(tiles) == 1:
        run(tiles[0], make())
        return
    idle: list[Workspace] = []

    def task(number: int) -> None:
        workspace = idle.pop() if idle else make()
        run(tiles[number], workspace)
        idle.append(workspace)

    with one_blas_thread():
        run_slices(task, len(tiles), threads)
