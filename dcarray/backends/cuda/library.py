"""What a CUDA device computes by the vendor's libraries, through CuPy.

A row here stands before the library kernel of the same name.  CuPy's functions see our
memory without a copy, and what they allocate comes from our pool.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import cache, partial
from typing import TYPE_CHECKING, Any

import numpy as np

from ...errors import UnsupportedError
from ...layout import Layout
from ..grid.library import GridLibrary
from ..grid.views import GridView
from .driver import failure, failures
from .memory import Block, Borrowed

if TYPE_CHECKING:
    from .backend import CudaBackend
    from .streams import Stream

__all__ = ["CudaLibrary", "as_cupy", "borrowed", "from_cupy", "inside", "product"]

TRANSFORMS = (
    *("fft", "ifft", "rfft", "irfft", "hfft", "ihfft"),
    *("fftn", "ifftn", "rfftn", "irfftn", "fft2", "ifft2", "rfft2", "irfft2"),
)
SOLVERS = (
    *("cholesky", "det", "eigh", "eigvalsh", "inv", "pinv"),
    *("qr", "slogdet", "solve", "svd"),
)

ALIGNED = 256
"""Addresses that CUDA gives are multiples of it."""

Row = Callable[..., Any]


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


class CudaLibrary(Mapping[str, Callable[..., Any]]):
    """The rows of CuPy's libraries, then those of `GridLibrary`.

    Each function takes `GridView`s and other operands, and the row's options, and
    returns a tuple of ``(memory, layout, dtype)``.
    """

    def __init__(self, backend: CudaBackend) -> None:
        self._backend = backend
        self._grid = GridLibrary(backend)

    def __getitem__(self, name: str) -> Row:
        row = _table().get(name)
        if row is None:
            return self._grid[name]
        return partial(_call, self._backend, row)

    def __iter__(self) -> Iterator[str]:
        yield from dict.fromkeys([*_table(), *self._grid])

    def __len__(self) -> int:
        return len(set(_table()) | set(self._grid))


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


def _call(backend: CudaBackend, row: Row, *operands: Any, **options: Any) -> Any:
    def given(x: Any) -> Any:
        return as_cupy(backend, x) if isinstance(x, GridView) else x

    with inside(backend):
        try:
            found = row(
                *[given(x) for x in operands],
                **{name: given(x) for name, x in options.items()},
            )
        except failures() as error:
            raise failure(error, backend.device) from None
        except (RuntimeError, TypeError) as error:  # what CuPy does not have
            raise UnsupportedError(f"{backend.device}: {error}") from None
    results = found if isinstance(found, tuple) else (found,)
    views = [from_cupy(x) for x in results]
    return tuple([(x.memory, x.layout, x.dtype) for x in views])


def product(backend: CudaBackend, x: GridView, y: GridView) -> GridView:
    """``x @ y`` by cuBLAS."""
    import cupy

    with inside(backend):
        return from_cupy(cupy.matmul(as_cupy(backend, x), as_cupy(backend, y)))


@cache
def _table() -> Mapping[str, Row]:
    import cupy

    found: dict[str, Row] = {
        f"fft.{name}": getattr(cupy.fft, name) for name in TRANSFORMS
    }
    return found | {f"linalg.{name}": getattr(cupy.linalg, name) for name in SOLVERS}
