"""Functions of a Metal library, and how they are launched."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ...kernel.nodes import Array, Kernel
from ..grid.groups import halved

__all__ = ["Function", "Numbers", "groups_of"]

Size = tuple[int, int, int]


@dataclass(frozen=True, slots=True)
class Function:
    """A kernel, ready to run.

    Attributes
    ----------
    kernel : Kernel
    state : MTLComputePipelineState
    most : int
        Threads of a threadgroup that this kernel leaves room for.
    is_free : bool
        Whether it is the same for threadgroups of any size.
    """

    kernel: Kernel
    state: Any
    most: int
    is_free: bool

    def writes(self) -> list[bool]:
        """For each array, whether the kernel writes to it."""
        return [x.writable for x in self.kernel.parameters if isinstance(x, Array)]


def groups_of(
    function: Function, grid: Sequence[int], group: Sequence[int]
) -> tuple[Size, Size]:
    """Threadgroups, and threads of one of them, along three axes.

    A threadgroup that is too large for the kernel is halved where that changes nothing.
    """
    threads = (*group, 1, 1)[:3]
    whole = (*grid, 1, 1)[:3]
    if function.is_free:
        threads = halved(threads, function.most)
    groups = [total // size for total, size in zip(whole, threads, strict=True)]
    return (groups[0], groups[1], groups[2]), (threads[0], threads[1], threads[2])


class Numbers:
    """Packs scalars as a C struct that has them in this order."""

    def __init__(self) -> None:
        self._layouts: dict[tuple[np.dtype[Any], ...], np.dtype[Any]] = {}

    def packed(self, numbers: Sequence[np.generic]) -> bytes:
        """The bytes of the struct; none without numbers."""
        if not numbers:
            return b""
        dtypes = tuple([number.dtype for number in numbers])
        layout = self._layouts.get(dtypes)
        if layout is None:
            fields = [(f"f{place}", dtype) for place, dtype in enumerate(dtypes)]
            layout = self._layouts[dtypes] = np.dtype(fields, align=True)
        return np.array(tuple(numbers), layout).tobytes()
