"""Arrays of CuPy's and ours on the same memory."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import numpy as np

from ...layout import Layout
from ..grid.views import GridView
from .memory import Block, Borrowed

if TYPE_CHECKING:
    from .backend import CudaBackend
    from .streams import Stream

__all__ = ["as_cupy", "borrowed", "from_cupy", "inside"]

ALIGNED = 256
"""Addresses that CUDA gives are multiples of it."""


def as_cupy(backend: CudaBackend, x: GridView) -> Any:
    """CuPy's array on the same memory."""
    import cupy

    memory = x.memory
    streams = backend.streams
    if streams.several:
        streams.use(memory, False, streams.current)
    held = cupy.cuda.UnownedMemory(memory.pointer, memory.nbytes, memory, backend.index)
    pointer = cupy.cuda.MemoryPointer(held, x.layout.offset)
    return cupy.ndarray(x.shape, x.dtype, pointer, x.layout.strides)


def from_cupy(x: Any) -> GridView:
    """An array of CuPy's as a view of its memory: a block of ours, usually."""
    shape, strides = tuple(x.shape), tuple(x.strides)
    block = getattr(x.data.mem, "_owner", None)
    if isinstance(block, Block):
        start = int(x.data.ptr) - block.pointer
        return GridView(block, Layout(shape, strides, start), np.dtype(x.dtype))
    return _of_foreign(x, None)


def borrowed(backend: CudaBackend, capsule: Any) -> GridView:
    """Memory of somebody else in a capsule of DLPack's, ready on our current stream."""
    import cupy

    stream = backend.streams.current
    with cupy.cuda.Device(backend.index), stream.of_cupy:
        x = cupy.from_dlpack(capsule)
    return _of_foreign(x, stream)


def _of_foreign(x: Any, writer: Stream | None) -> GridView:
    shape, strides = tuple(x.shape), tuple(x.strides)
    first = int(x.data.ptr)
    low = 0
    if 0 not in shape:
        low = sum([min(0, (n - 1) * s) for n, s in zip(shape, strides, strict=True)])
    base = (first + low) // ALIGNED * ALIGNED  # kernels take blocks to begin like that
    layout = Layout(shape, strides, first - base)
    nbytes = max(1, layout.span(x.dtype.itemsize)[1])
    return GridView(Borrowed(base, nbytes, x, writer), layout, np.dtype(x.dtype))


@contextmanager
def inside(backend: CudaBackend) -> Iterator[None]:
    """CuPy works on our device and stream, and in our memory."""
    import cupy
    import cupyx

    def allocate(nbytes: int) -> Any:
        block = backend.allocate(max(nbytes, 1))
        held = cupy.cuda.UnownedMemory(
            block.pointer, block.nbytes, block, backend.index
        )
        return cupy.cuda.MemoryPointer(held, 0)

    with (
        cupy.cuda.Device(backend.index),
        backend.streams.current.of_cupy,
        cupy.cuda.using_allocator(allocate),
        cupyx.errstate(linalg="raise"),
    ):
        yield
