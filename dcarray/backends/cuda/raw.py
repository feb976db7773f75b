"""Texts of our own in CUDA C++, built and launched like those of the renderer."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ...kernel.nodes import Array, Barrier, Kernel, Value
from ..grid.library.work import INT64, Work
from ..grid.views import GridView
from .functions import Function

if TYPE_CHECKING:
    from .backend import CudaBackend

__all__ = ["Raw", "signature"]

FLOAT64 = np.dtype(np.float64)
_BYTE = np.dtype(np.uint8)


def signature(name: str, code: str) -> Kernel:
    """What a function of a text takes: ``r`` for an array that it reads, ``w`` for one
    that it writes, ``q`` for an integer, ``d`` for a float64."""
    parameters: list[Value | Array] = []
    for place, one in enumerate(code):
        label = f"p{place}"
        if one in "rw":
            parameters.append(Array(label, _BYTE, one == "w"))
        else:
            parameters.append(Value(label, INT64 if one == "q" else FLOAT64))
    return Kernel(name, tuple(parameters), (Barrier(),))


class Raw:
    """The functions of one device.

    Attributes
    ----------
    backend : CudaBackend
    work : Work
        Maps and reductions for what surrounds them.
    """

    def __init__(self, backend: CudaBackend) -> None:
        self.backend = backend
        self.work = Work(backend)
        self._functions: dict[tuple[str, Kernel], Function] = {}
        self._building = threading.Lock()

    def run(
        self,
        text: str,
        kernel: Kernel,
        groups: Sequence[int],
        threads: int,
        *arguments: Any,
    ) -> None:
        """Start a function of a text.

        Parameters
        ----------
        text : str
        kernel : Kernel
            Its `signature`.
        groups : sequence of int
            Along up to two axes.
        threads : int
            Of a group.
        arguments
            Views, which stand for their memory, other memory, and numbers.
        """
        function = self._functions.get((text, kernel))
        if function is None:
            with self._building:
                function = self.backend.build(text, kernel)
                self._functions[text, kernel] = function
        given = [x.memory if isinstance(x, GridView) else x for x in arguments]
        grid = (groups[0] * threads, *groups[1:])
        self.backend.enqueue(function, kernel, grid, (threads,), given)

    def zeros(self, words: int) -> GridView:
        """Words of 8 bytes that are 0."""
        return self.work.full(words, 0, INT64)
