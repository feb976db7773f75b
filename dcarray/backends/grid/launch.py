"""A launch, prepared: all of it but the memory and the program's own numbers."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from ...kernel.nodes import Kernel

if TYPE_CHECKING:
    from .backend import GridBackend

__all__ = ["Launch", "lowered_number"]


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

    def start(
        self,
        backend: GridBackend,
        memories: Sequence[Any],
        scalars: Sequence[np.generic],
    ) -> None:
        """Run it; ``scalars`` are lowered already."""
        function = backend.function(self.kernel)
        arguments = [*memories, *scalars, *self.numbers]
        backend.enqueue(function, self.kernel, self.grid, self.group, arguments)


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
