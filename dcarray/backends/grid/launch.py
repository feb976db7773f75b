"""A launch, prepared: all of it but the memory and the program's own numbers."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from ...kernel.nodes import Kernel
from ..base import Start

if TYPE_CHECKING:
    from .backend import GridBackend

__all__ = ["Launch", "is_passed", "lowered_number"]


@dataclass(frozen=True, slots=True)
class Launch:
    """A kernel, its grid, and the numbers that say where elements lie."""

    kernel: Kernel
    grid: tuple[int, ...]
    group: tuple[int, ...]
    numbers: tuple[np.generic, ...]

    @classmethod
    def of(
        cls,
        kernel: Kernel,
        grid: tuple[int, ...],
        group: tuple[int, ...],
        numbers: Iterable[int],
    ) -> Launch:
        """``numbers`` are the kernel's last parameters, all of one integer dtype."""
        kind = kernel.parameters[-1].dtype.type
        return cls(kernel, grid, group, tuple([kind(number) for number in numbers]))

    def on(self, backend: GridBackend) -> Start:
        """What runs it, with memories and with scalars that are lowered already; the
        kernel is built."""
        function = backend.function(self.kernel)
        return backend.starter(
            function, self.kernel, self.grid, self.group, self.numbers
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
