"""Where the results of a group go, if not into memory of their own."""

from __future__ import annotations

from ..backends.base import Backend, Memory
from ..backends.buffer import Buffer
from ..dtypes import DType
from ..layout import Layout
from .graph import Read

__all__ = ["Accumulator", "Into"]


class Into:
    """Memory that exists, for the first output of a group."""

    __slots__ = ("read", "whole")

    def __init__(self, read: Read, whole: bool) -> None:
        self.read = read
        self.whole = whole

    @property
    def buffer(self) -> Buffer:
        """The memory."""
        buffer = self.read.value.buffer
        assert buffer is not None
        return buffer

    def prepare(self, backend: Backend) -> Memory:
        """The memory on a device."""
        return self.buffer.prepare_on(backend, self.whole)

    def wrote(self, backend: Backend, memory: Memory) -> None:
        """It has been written there."""
        self.buffer.wrote_on(backend, memory)
        if backend.device != "cpu":
            binding = self.read.value.binding
            bound = None if binding is None else binding()
            if bound is not None:
                bound.forget_hosts()


class Accumulator:
    """Where a reduction goes, and the strides that NumPy's temporary would have."""

    __slots__ = ("buffer", "dtype", "layout", "order")

    def __init__(self, layout: Layout, dtype: DType, order: tuple[int, ...]) -> None:
        self.layout = layout
        self.dtype = dtype
        self.order = order
        self.buffer: Buffer | None = None
