"""A launch, prepared: all of it but the memory and the program's own numbers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ...kernel.nodes import Kernel
from ..base import Start

if TYPE_CHECKING:
    from .backend import GridBackend

__all__ = ["Launch", "is_passed", "lowered_number"]


class Launch:
    """A kernel, its grid, and the numbers that say where elements lie.

    Parameters
    ----------
    kernel : Kernel
    grid, group : tuple of int
        See `GridBackend.run`.
    numbers : list of int
        The kernel's last arguments, all of one integer dtype.
    at : int
        The place among them from which on they say where operands begin.
    units : tuple of int
        The elements in which each of these counts, if any counts in more than one.
    """

    __slots__ = ("at", "grid", "group", "kernel", "numbers", "units")

    def __init__(
        self,
        kernel: Kernel,
        grid: tuple[int, ...],
        group: tuple[int, ...],
        numbers: list[int],
        at: int,
        units: tuple[int, ...] = (),
    ) -> None:
        self.kernel = kernel
        self.grid = grid
        self.group = group
        self.numbers = numbers
        self.at = at
        self.units = units

    def on(self, backend: GridBackend) -> Start:
        """What runs it, with memories and with scalars that are lowered already; the
        kernel is built."""
        kind = self.kernel.parameters[-1].dtype.type
        function = backend.function(self.kernel)
        numbers = tuple([kind(number) for number in self.numbers])
        return backend.starter(function, self.kernel, self.grid, self.group, numbers)

    def once(
        self,
        backend: GridBackend,
        memories: list[Any],
        scalars: Sequence[Any],
        offsets: list[int] | None = None,
    ) -> None:
        """Run it; nothing is prepared.  The first operands begin at the ``offsets``, in
        elements, if these are given."""
        numbers = self.numbers
        if offsets is not None:
            numbers = numbers.copy()
            at, units = self.at, self.units
            for place in range(len(offsets)):
                offset = offsets[place]
                numbers[at + place] = offset // units[place] if units else offset
        kernel = self.kernel
        function = backend.function(kernel)
        backend.start_once(
            function, kernel, self.grid, self.group, memories, scalars, numbers
        )


def is_passed(dtype: np.dtype[Any]) -> bool:
    """Whether lowered kernels take numbers of a dtype as they are."""
    return dtype.kind in "iu" or (dtype.kind == "f" and dtype.itemsize >= 4)


def lowered_number(value: Any, dtype: np.dtype[Any]) -> tuple[np.generic, ...]:
    """A number as the lowered kernel takes it."""
    if type(value) is dtype.type:
        number = value
    else:
        with np.errstate(all="ignore"):
            number = dtype.type(value)
    if dtype.kind == "c":
        return (number.real, number.imag)
    if dtype.kind == "b":
        return (np.uint8(number),)
    if dtype.kind not in "iu" and dtype.itemsize < 4:
        return (np.float32(number),)
    return (number,)
