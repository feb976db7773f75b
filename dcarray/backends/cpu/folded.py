"""A program that ends in a reduction, over operands whose places in memory alone are to
come."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ... import native
from ...config import Settings, current
from ..base import Raised
from ..pool import Pool
from .engine import engine, flag_mask
from .execute import Executable
from .fold import Rows, fold_of
from .launch import Bound, scratch_memory
from .reductions import folds_inside, launch_reduction, stored_reduction
from .threads import available_threads

__all__ = ["Folded"]

HostArray = np.ndarray[Any, Any]
Shape = tuple[int, ...]


class Way:
    """The kernel, where one call of it in one thread is all; it never changes.

    Attributes
    ----------
    settings : Settings
        Those for which the rest holds.
    bound : Bound or None
        None where it takes more.
    identity
        What the result is before.
    is_silent : bool
        Whether no flag is looked for.
    entry, frame, place, stop
        See `native.drive`.
    scratch : int
        Bytes of scratch memory.
    """

    __slots__ = (
        "bound",
        "entry",
        "frame",
        "identity",
        "is_silent",
        "place",
        "scratch",
        "settings",
        "stop",
    )

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self.bound: Bound | None = None
        self.frame = b""
        self.entry = self.place = self.stop = self.scratch = 0
        self.identity: Any = None
        self.is_silent = False

    def take(self, bound: Bound, entry: int, stop: int, identity: Any) -> None:
        """Call a kernel for so many blocks."""
        self.frame, self.place = bound.blank()
        self.scratch = bound.built.scratch
        self.entry = entry
        self.stop = stop
        self.identity = identity
        self.bound = bound


class Folded:
    """What is left of a launch that comes again.

    Parameters
    ----------
    pool : Pool
    executable : Executable
    shape : tuple of int
    strides : tuple of tuple of int
        How inputs and outputs lie.
    reduced : numpy.ndarray
        A result.
    order : tuple of int
        The strides that NumPy's temporary would have.
    """

    __slots__ = (
        "executable",
        "inputs",
        "order",
        "pool",
        "shape",
        "strides",
        "way",
    )

    def __init__(
        self,
        pool: Pool,
        executable: Executable,
        shape: Shape,
        strides: tuple[Shape, ...],
        reduced: HostArray,
        order: Shape,
    ) -> None:
        self.pool = pool
        self.executable = executable
        self.shape = shape
        self.strides = strides
        self.order = order
        self.inputs = len(executable.program.leaves)
        self.way = self._way(reduced, current())

    def _way(self, reduced: HostArray, settings: Settings) -> Way:
        executable, machine = self.executable, engine()
        way = Way(settings)
        ufunc, way.is_silent = folds_inside(executable, self.shape, self.order)
        if ufunc is None or machine is None or settings.engine != "auto":
            return way
        fold = fold_of(
            executable,
            ufunc,
            self.shape,
            self.strides,
            reduced,
            self.order,
            available_threads(),
        )
        if isinstance(fold, Rows) and fold.dense and len(fold.pieces) == 1:
            (piece,) = fold.pieces
            if len(piece.slices) == 2:
                stop = piece.slices[1]
                way.take(piece.bound, machine.entry, stop, fold.identity)
        return way

    def start(
        self,
        addresses: list[int],
        arrays: Callable[[], tuple[Sequence[HostArray], Sequence[HostArray]]],
        scalars: Sequence[Any],
        reduced: HostArray,
        watch: int,
    ) -> Sequence[Raised]:
        """Run it, for inputs and outputs that begin there; ``arrays`` gives them as
        arrays.  The result is in new memory."""
        settings, way = current(), self.way
        if settings is not way.settings:
            way = self.way = self._way(reduced, settings)
        executable, bound = self.executable, way.bound
        if bound is not None and executable.aligned(addresses[: self.inputs]):
            reduced.fill(way.identity)
            numbers = b"" if not len(scalars) else bound.numbers(scalars)
            addresses.append(native.address(reduced))
            reached = native.drive(
                way.entry,
                way.frame,
                way.place,
                addresses,
                numbers,
                0 if way.is_silent or not watch else flag_mask(watch),
                way.stop,
                0 if not way.scratch else scratch_memory(way.scratch),
            )
            addresses.pop()
            if reached == way.stop:
                return ()
            if reached >= 0:  # a flag has to be named
                return stored_reduction(
                    executable,
                    self.pool,
                    self.shape,
                    arrays,
                    scalars,
                    reduced,
                    self.order,
                    watch,
                )
        return launch_reduction(
            executable,
            self.pool,
            self.shape,
            self.strides,
            addresses,
            arrays,
            scalars,
            reduced,
            self.order,
            watch,
        )
