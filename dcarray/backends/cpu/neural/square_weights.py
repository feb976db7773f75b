"""Weights' gradients of 3×3 kernels by the squares of `squares`: what squares of the
operand and of the gradient give is multiplied and summed over all of them, 16 products
where there would be 36, and only then turned into weights (Winograd's F(3×3, 2×2)).

The 16 products are matrices of channels, shared out among the threads.  Where something
is not finite, `direct` has to do it all.
"""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass

import numpy as np

from ..threads import available_threads, run_slices
from .columns import HostArray, Sizes, Tile, Window, Workspace, scratch
from .direct import multiply
from .direct_weights import CHAIN
from .micro import Micro, micro
from .sides import Side, move, offsets
from .squares import combine, of_squares

__all__ = ["square_weights", "square_weights_suit"]

CHANNELS = 128
"""Channels, of the operand and of the gradient, from which it pays."""

FEWEST = 192
"""Squares of all images from which it does."""

PIECE = 200
"""Squares that are transformed at once, about."""

TOGETHER = 1024
"""Squares that are multiplied at once, about."""

CHAINED = CHAIN // 4
"""Squares that are summed in the operand's dtype."""

PART = 32
"""Channels of the operand whose weights are made at once."""


def square_weights_suit(
    x: HostArray, gradient: HostArray, window: Window, groups: int
) -> bool:
    """Whether `square_weights` is the way."""
    plain = window.stride == window.dilation == (1, 1) and window.kernel == (3, 3)
    if not plain or groups != 1 or min(x.shape[1], gradient.shape[1]) < CHANNELS:
        return False
    size: Sizes = gradient.shape[2:]
    squares = len(x) * math.prod([-(-n // 2) for n in size])
    return squares >= FEWEST and min(size) > 4


def square_weights(
    code: Micro, x: HostArray, gradient: HostArray, window: Window, w: HostArray
) -> bool:
    """Store the weights' gradient in ``w``; whether all of it is finite.

    Parameters
    ----------
    code : Micro
        That of the gradient's channels.
    x, gradient : ndarray
        With the channels before the positions; of one dtype.
    window : Window
    w : ndarray
        (channels of the gradient, channels of x, 3, 3)
    """
    work = _Work(code, x, gradient, window.low)
    for pieces in work.chunks():
        work.add(pieces)
    return work.store(w)


@dataclass(frozen=True, slots=True)
class _Piece:
    """Squares that lie together: images, rows of squares, and squares of each row; and
    how many there are before them in a chunk."""

    images: range
    rows: range
    across: int
    begin: int

    @property
    def size(self) -> Sizes:
        return (len(self.images), len(self.rows), self.across)

    @property
    def end(self) -> int:
        return self.begin + math.prod(self.size)


class _Work:
    """Sums of products: (4 × 4, panels, channels of the operand, lanes)."""

    def __init__(
        self, code: Micro, x: HostArray, gradient: HostArray, low: Sizes
    ) -> None:
        other = micro(x.dtype, x.shape[1])
        assert other is not None
        # An operand, its machine code, its transformation, and what that sees.
        self.sides = (
            (x, other, other.operand, Window((4, 4), (2, 2), low, (1, 1))),
            (gradient, code, code.gradient, Window((2, 2), (2, 2), (0, 0), (1, 1))),
        )
        self.code, self.channels = code, x.shape[1]
        panels = -(-gradient.shape[1] // code.lanes)
        places = -(-self.channels // code.places) * code.places
        self.sums = scratch((16, panels, places, code.lanes), x.dtype)
        self.totals: dict[int, HostArray] = {}
        self.begun = 0
        self.threads = available_threads()
        self.idle: list[Workspace] = []

    def workspace(self) -> Workspace:
        if self.idle:
            return self.idle.pop()
        return Workspace(self.sums.dtype, channels_last=False)

    def chunks(self) -> list[list[_Piece]]:
        """All squares, in pieces of which some are multiplied together."""
        batch, _, height, width = self.sides[1][0].shape
        down, across = -(-height // 2), -(-width // 2)
        some = max(1, min(batch, PIECE // (down * across)))
        count = min(down, -(-down * across // PIECE))
        edges = [down * k // count for k in range(count + 1)]
        found: list[list[_Piece]] = []
        begin = TOGETHER
        for image in range(0, batch, some):
            for top, bottom in itertools.pairwise(edges):
                if begin >= TOGETHER:
                    found.append([])
                    begin = 0
                images = range(image, min(batch, image + some))
                piece = _Piece(images, range(top, bottom), across, begin)
                found[-1].append(piece)
                begin = piece.end
        return found

    def add(self, pieces: list[_Piece]) -> None:
        """Add the products of some squares, or begin with them."""
        seen, slopes = self._transformed(pieces)
        panels, lanes, row = seen.shape[1], seen.shape[3], seen.strides[2]
        places = offsets((panels, lanes), (seen.strides[1], seen.itemsize))
        missing = self.sums.shape[2] - self.channels
        last = places[self.channels - 1]
        places = np.append(places[: self.channels], np.repeat(last, missing))
        terms = offsets((seen.shape[2],), (row,))
        shifts = np.zeros(slopes.shape[1], np.int64)
        full, begun = self.begun >= CHAINED, 0 < self.begun < CHAINED

        def multiplied(plane: int) -> None:
            sums = self.sums[plane]
            if full:
                with np.errstate(invalid="ignore"):
                    self.totals[plane] = sums + self.totals.get(plane, np.float64(0))
            multiply(
                self.code,
                seen[plane],
                slopes[plane],
                sums,
                places,
                terms,
                shifts,
                begun,
            )

        run_slices(multiplied, len(self.sums), self.threads)
        self.begun = len(terms) + (self.begun if begun else 0)

    def _transformed(self, pieces: list[_Piece]) -> list[HostArray]:
        """What squares of both sides give: (4 × 4, panels, squares, lanes)."""
        count = pieces[-1].end
        made = []
        for x, code, _, _ in self.sides:
            panels = -(-x.shape[1] // code.lanes)
            rows = panels * count
            # With a power of two between them, planes would share places of the cache.
            planes = scratch((16, rows | 1, code.lanes), x.dtype)[:, :rows]
            made.append(planes.reshape(16, panels, count, code.lanes, copy=False))

        def run(number: int) -> None:
            side, piece = number % 2, pieces[number // 2]
            x, code, function, window = self.sides[side]
            workspace = self.workspace()
            tile = Tile(piece.images, range(1), (piece.rows, range(piece.across)))
            block = workspace.block(x, tile, range(x.shape[1]), window)
            target = made[side][:, :, piece.begin : piece.end]
            of_squares(function, code, block, piece.size, target, workspace)
            self.idle.append(workspace)

        run_slices(run, 2 * len(pieces), self.threads)
        return made

    def store(self, w: HostArray) -> bool:
        """Turn the sums into weights; whether these are finite."""
        code = self.code
        panels, row = self.sums.shape[1], self.sums.strides[2]
        plane = self.sums.strides[0]
        finite: list[bool] = []

        def run(number: int) -> None:
            part = slice(number * PART, min(self.channels, (number + 1) * PART))
            count = part.stop - part.start
            own, workspace = self.sums[:, :, part], self.workspace()
            with np.errstate(invalid="ignore", over="ignore"):
                for k, total in self.totals.items():
                    own[k] += total[:, part]
            found = workspace.array("found", (panels, 9 * count, code.lanes))
            starts = offsets((panels, count), own.strides[1:3])
            ends = offsets((panels, count), (found.strides[0], 9 * row))
            source, target = (
                (own, starts, (4 * plane, plane)),
                (found, ends, (3 * row, row)),
            )
            finite.append(combine(code.sums, code, source, target))
            weights = w[:, part]
            far = Side(weights, w.strides[0], weights.shape[1:], w.strides[1:])
            move(code.scatter, code, far, found, len(w), code.lanes)
            self.idle.append(workspace)

        run_slices(run, -(-self.channels // PART), self.threads)
        return all(finite)
