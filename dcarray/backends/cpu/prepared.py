"""A program over operands whose places in memory alone are to come."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ... import native
from ...config import current
from ...layout import Layout
from ..base import Raised
from .engine import engine, flag_mask
from .execute import Executable
from .interpreter import scalar_array
from .launch import Bound, scratch_memory
from .threads import SLICE, available_threads

__all__ = ["Prepared", "PreparedAlone", "prepared"]

HostArray = np.ndarray[Any, Any]

ALONE = 4
"""Times `Settings.thread_work`: as much work as one thread has done before others could
help, where nothing else is left to do for a launch."""


class Way:
    """A kernel for one way in which outputs share memory with inputs.

    Attributes
    ----------
    aliased : tuple of bool
        Of each output, whether it begins where an input does.
    bound : Bound or None
        None where no kernel can.
    entry, frame, place, stop
        See `native.drive`.
    scratch : int
        Bytes of scratch memory.
    work : int
        Elements times operations.
    scalars, numbers
        The numbers of the last launch, and how they lie.
    """

    __slots__ = (
        "aliased",
        "bound",
        "entry",
        "frame",
        "numbers",
        "place",
        "scalars",
        "scratch",
        "stop",
        "work",
    )

    def __init__(
        self, aliased: tuple[bool, ...], bound: Bound | None, operations: int
    ) -> None:
        self.aliased = aliased
        self.bound = bound
        self.frame = self.numbers = b""
        self.entry = self.place = self.stop = self.scratch = self.work = 0
        self.scalars: list[Any] = []
        machine = engine()
        if bound is not None and machine is not None:
            self.entry = machine.entry
            self.frame, self.place = bound.blank()
            self.stop = bound.tiles.count
            self.scratch = bound.built.scratch
            self.work = operations * math.prod(bound.geometry.shape)


class Prepared:
    """What is left of a launch that comes again.

    Parameters
    ----------
    executable : Executable
    shape : tuple of int
    leaves, outputs : sequence of (Layout, dtype)
        How operands lie.
    """

    __slots__ = ("_executable", "_inputs", "_masks", "_shape", "_strides", "_ways")

    def __init__(
        self,
        executable: Executable,
        shape: tuple[int, ...],
        leaves: Sequence[tuple[Layout, Any]],
        outputs: Sequence[tuple[Layout, Any]],
    ) -> None:
        self._executable = executable
        self._shape = shape
        self._inputs = len(leaves)
        self._masks = executable.alignments
        self._strides = tuple([layout.strides for layout, _ in (*leaves, *outputs)])
        self._ways: dict[Any, Way] = {}

    def start(
        self,
        addresses: list[int],
        scalars: Sequence[Any],
        watch: int,
        arrays: Callable[[], tuple[Sequence[HostArray], Sequence[HostArray]]],
    ) -> Sequence[Raised] | None:
        """Run it, for operands that begin there; ``arrays`` gives them as arrays.

        None, and nothing has happened, where no kernel can.
        """
        count = self._inputs
        masks = self._masks
        for place in range(count):
            address = addresses[place]
            if address & masks[place]:
                return None
        shared: Any = None
        for place in range(count, len(addresses)):
            address = addresses[place]
            for other in range(count):
                if address == addresses[other]:
                    shared = (shared, place)
                    break
        way = self._ways.get(shared)
        if way is None:
            way = self._ways[shared] = self._made(addresses)
        settings = current()
        if way.bound is None or settings.engine != "auto":
            return None
        executable = self._executable
        slots = executable.program.outputs
        work = way.work
        if work < ALONE * settings.thread_work or (
            work < SLICE and available_threads() == 1
        ):
            if len(scalars):
                _lay(way, scalars)
            scratch = 0 if not way.scratch else scratch_memory(way.scratch)
            mask = 0 if not watch else flag_mask(watch)
            reached = native.drive(
                way.entry,
                way.frame,
                way.place,
                addresses,
                way.numbers,
                mask,
                way.stop,
                scratch,
            )
            if reached == way.stop:
                return ()
            if reached >= 0:
                return executable.repaired(
                    [range(reached, way.stop)],
                    way.bound,
                    addresses,
                    scalars,
                    watch,
                    slots,
                    way.aliased,
                    arrays,
                )
        return executable.launch(
            way.bound, addresses, scalars, watch, slots, way.aliased, arrays
        )

    def _made(self, addresses: list[int]) -> Way:
        inputs = addresses[: self._inputs]
        aliased = tuple([x in inputs for x in addresses[self._inputs :]])
        executable = self._executable
        program = executable.program
        bound = executable.bound(
            self._shape, self._strides, self._inputs, aliased, program.outputs
        )
        return Way(aliased, bound, max(1, len(program.nodes)))


class PreparedAlone(Prepared):
    """The same for a program of one node, which NumPy's loop computes."""

    __slots__ = ("_alone", "_given", "_numbers", "_places", "_slots", "_way")

    def __init__(
        self,
        executable: Executable,
        shape: tuple[int, ...],
        leaves: Sequence[tuple[Layout, Any]],
        outputs: Sequence[tuple[Layout, Any]],
    ) -> None:
        super().__init__(executable, shape, leaves, outputs)
        alone = executable.alone
        assert alone is not None
        count = len(leaves)
        self._alone = alone
        self._slots = tuple(alone.node.inputs)
        self._places = tuple([count + place for place in alone.places])
        self._masks = alone.masks
        self._given: list[Any] = []
        self._numbers: list[HostArray] = []
        still = (0,) * len(shape)
        rows = [self._strides[k] if k < count else still for k in self._slots]
        rows.extend([self._strides[place] for place in self._places])
        self._way = Way((), alone.bound(shape, tuple(rows)), 1)

    def start(
        self,
        addresses: list[int],
        scalars: Sequence[Any],
        watch: int,
        arrays: Callable[[], tuple[Sequence[HostArray], Sequence[HostArray]]],
    ) -> Sequence[Raised]:
        """See `Prepared.start`."""
        way = self._way
        settings = current()
        work = way.work
        if (
            way.bound is not None
            and settings.engine == "auto"
            and (
                work < 2 * settings.thread_work
                or (work < SLICE and available_threads() == 1)
            )
        ):
            operands = self._operands(addresses, scalars, watch)
            if operands is not None:
                mask = 0 if not watch else flag_mask(watch)
                reached = native.drive(
                    way.entry, way.frame, way.place, operands, b"", mask, way.stop, 0
                )
                if reached == way.stop:
                    return ()
        inputs, outputs = arrays()
        return self._alone.run(inputs, scalars, outputs, watch)

    def _operands(
        self, addresses: list[int], scalars: Sequence[Any], watch: int
    ) -> list[int] | None:
        """Where operands and results are; None where NumPy has to do it."""
        count = self._inputs
        found: list[int] = []
        if len(scalars):
            self._keep(scalars)
        for slot in self._slots:
            if slot < count:
                found.append(addresses[slot])
            else:
                found.append(native.address(self._numbers[slot - count]))
        if watch:  # what raises a flag is run again
            for place in self._places:
                if addresses[place] in found:
                    return None
        for place in self._places:
            found.append(addresses[place])
        masks = self._masks
        for place in range(len(found)):
            address = found[place]
            if address & masks[place]:
                return None
        return found

    def _keep(self, scalars: Sequence[Any]) -> None:
        """Have numbers as arrays, unless they are the last ones."""
        if not _are_same(self._given, scalars):
            dtypes = self._executable.program.scalars
            self._numbers = list(map(scalar_array, scalars, dtypes))
            self._given = list(scalars)


def prepared(
    executable: Executable,
    shape: tuple[int, ...],
    leaves: Sequence[tuple[Layout, Any]],
    outputs: Sequence[tuple[Layout, Any]],
) -> Prepared | None:
    """A launch that will come again, for operands that lie so; None where nothing is to
    be launched."""
    if 0 in shape or not outputs:
        return None
    if executable.alone is not None:
        return PreparedAlone(executable, shape, leaves, outputs)
    return Prepared(executable, shape, leaves, outputs)


def _are_same(before: list[Any], now: Sequence[Any]) -> bool:
    same = len(before) == len(now)
    if same:
        for place, number in enumerate(now):
            if before[place] is not number:
                same = False
    return same


def _lay(way: Way, scalars: Sequence[Any]) -> None:
    """Lay numbers as the frame has them, unless they are the last ones."""
    if _are_same(way.scalars, scalars):
        return
    assert way.bound is not None
    way.numbers = way.bound.numbers(scalars)
    way.scalars = list(scalars)
