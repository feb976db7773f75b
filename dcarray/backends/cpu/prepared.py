"""A program over operands whose places in memory alone are to come."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ...config import current
from ...layout import Layout
from ..base import Raised
from .execute import Executable
from .launch import Bound

__all__ = ["Prepared"]

HostArray = np.ndarray[Any, Any]


class Prepared:
    """What is left of a launch that comes again.

    Parameters
    ----------
    executable : Executable
    shape : tuple of int
    leaves, outputs : sequence of (Layout, dtype)
        How operands lie.
    """

    __slots__ = ("_bounds", "_executable", "_inputs", "_shape", "_slots", "_strides")

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
        self._slots = executable.program.outputs
        self._strides = tuple([layout.strides for layout, _ in (*leaves, *outputs)])
        self._bounds: dict[tuple[bool, ...], Bound | None] = {}

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
        inputs = addresses[: self._inputs]
        aliased = tuple([x in inputs for x in addresses[self._inputs :]])
        executable = self._executable
        try:
            bound = self._bounds[aliased]
        except KeyError:
            bound = self._bounds[aliased] = executable.bound(
                self._shape, self._strides, self._inputs, aliased, self._slots
            )
        if (
            bound is None
            or current().engine != "auto"
            or not executable.aligned(inputs)
        ):
            return None
        return executable.launch(
            bound, addresses, scalars, watch, self._slots, aliased, arrays
        )
