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

    Attributes
    ----------
    settings : Settings or None
        Those for which the rest holds.
    bound : Bound or None
        The kernel, where one call of it in one thread is all.
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
        "executable",
        "frame",
        "identity",
        "inputs",
        "is_silent",
        "order",
        "place",
        "pool",
        "scratch",
        "settings",
        "shape",
        "stop",
        "strides",
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
        self._prepare(reduced, current())

    def _prepare(self, reduced: HostArray, settings: Settings) -> None:
        self.settings = settings
        self.bound: Bound | None = None
        self.frame = b""
        self.entry = self.place = self.stop = self.scratch = 0
        self.identity: Any = None
        self.is_silent = False
        machine = engine()
        ufunc, self.is_silent = folds_inside(self.executable, self.shape, self.order)
        if ufunc is None or machine is None or settings.engine != "auto":
            return
        fold = fold_of(
            self.executable,
            ufunc,
            self.shape,
            self.strides,
            reduced,
            self.order,
            available_threads(),
        )
        if not isinstance(fold, Rows) or not fold.dense or len(fold.pieces) > 1:
            return
        (piece,) = fold.pieces
        if len(piece.slices) > 2:
            return
        self.bound = bound = piece.bound
        self.identity = fold.identity
        self.entry = machine.entry
        self.frame, self.place = bound.blank()
        self.stop = piece.slices[1]
        self.scratch = bound.built.scratch

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
        settings = current()
        if settings is not self.settings:
            self._prepare(reduced, settings)
        executable = self.executable
        bound = self.bound
        if bound is not None and executable.aligned(addresses[: self.inputs]):
            reduced.fill(self.identity)
            numbers = b"" if not len(scalars) else bound.numbers(scalars)
            addresses.append(native.address(reduced))
            reached = native.drive(
                self.entry,
                self.frame,
                self.place,
                addresses,
                numbers,
                0 if self.is_silent or not watch else flag_mask(watch),
                self.stop,
                0 if not self.scratch else scratch_memory(self.scratch),
            )
            addresses.pop()
            if reached == self.stop:
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
