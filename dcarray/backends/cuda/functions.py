"""Functions of a CUDA module, and what they are called with."""

from __future__ import annotations

import ctypes
import struct
import threading
from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, TypeAlias

from ...kernel.nodes import Array, Kernel
from ..base import Start
from ..grid.groups import halved, is_free

if TYPE_CHECKING:
    from .backend import CudaBackend

__all__ = ["Function"]

Sizes: TypeAlias = tuple[int, int, int, int, int, int]

_BUFFER, _SIZE, _END = 1, 2, 0
"""CU_LAUNCH_PARAM_BUFFER_POINTER, CU_LAUNCH_PARAM_BUFFER_SIZE, CU_LAUNCH_PARAM_END."""

_MOST_THREADS = 0
"""CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK."""

_CODES = {
    "b1": "B",
    "i1": "b",
    "u1": "B",
    "i2": "h",
    "u2": "H",
    "i4": "i",
    "u4": "I",
    "i8": "q",
    "u8": "Q",
    "f4": "f",
    "f8": "d",
    "c8": "ff",
    "c16": "dd",
}
"""How `struct` writes numbers; narrower floats are passed as float32."""


class Function:
    """A kernel, ready to run.

    Its arguments lie in one piece of the host's memory, as a C struct would have them,
    and the driver copies that piece at the launch.

    Attributes
    ----------
    handle : int
        The driver's function.
    most : int
        Threads of a block that this kernel leaves room for.
    is_free : bool
        Whether it is the same for blocks of any size.
    pack : callable
        Writes all arguments, in order.
    extra : int
        What the driver is given instead of a list of arguments.
    lock : Lock
        Held from `pack` until the driver has its copy.
    writes : tuple of bool
        Which of its arguments it may write.
    """

    __slots__ = (
        "_kept",
        "extra",
        "handle",
        "is_free",
        "lock",
        "module",
        "most",
        "pack",
        "writes",
    )

    def __init__(self, module: Any, kernel: Kernel) -> None:
        from cupy.cuda import driver

        self.module = module
        self.handle = int(module.get_function(kernel.name).ptr)
        self.most = int(driver.funcGetAttribute(_MOST_THREADS, self.handle))
        self.is_free = is_free(kernel)
        self.writes = tuple(
            [isinstance(x, Array) and x.writable for x in kernel.parameters]
        )
        self.lock = threading.Lock()
        packed = struct.Struct("@" + "".join([_code(x) for x in kernel.parameters]))
        content = ctypes.create_string_buffer(max(packed.size, 1))
        size = ctypes.c_size_t(packed.size)
        extra = (ctypes.c_void_p * 5)(
            _BUFFER, ctypes.addressof(content), _SIZE, ctypes.addressof(size), _END
        )
        self._kept = (packed, content, size, extra)
        self.extra = ctypes.addressof(extra)
        self.pack = partial(packed.pack_into, memoryview(content), 0)

    def sizes(self, grid: Sequence[int], group: Sequence[int]) -> Sizes | None:
        """Blocks and their threads along three axes; None where groups do not fill the
        grid."""
        if self.is_free:
            group = halved(group, self.most)
        x, y, z = (*group, 1, 1)[:3]
        a, b, c = (*grid, 1, 1)[:3]
        if a % x or b % y or c % z or not a * b * c:
            return None
        return a // x, b // y, c // z, x, y, z

    def again(
        self, backend: CudaBackend, sizes: Sizes, numbers: Sequence[Any], usual: Start
    ) -> Start:
        """What starts it time and again, and as ``usual`` where a stream has to wait
        for another one, and when that fails."""
        pack, lock, handle, extra = self.pack, self.lock, self.handle, self.extra
        streams, launch, failed = backend.streams, backend._launch, backend._failures
        enter, writes = backend._enter, self.writes
        threads, is_only = backend._threads, backend._is_only
        last = [number.item() for number in numbers]
        a, b, c, x, y, z = sizes

        def start(memories: Sequence[Any], scalars: Sequence[Any]) -> None:
            stream = streams.in_order(memories, writes) if streams.several else 0
            if stream is None:
                return usual(memories, scalars)
            pointers = [memory.pointer for memory in memories]
            try:
                if not is_only or not getattr(threads, "entered", False):
                    enter()
                with lock:
                    pack(*pointers, *scalars, *last)
                    launch(handle, a, b, c, x, y, z, 0, stream, 0, extra)
            except failed:
                usual(memories, scalars)

        return start


def _code(parameter: Any) -> str:
    """How `struct` writes a parameter, as the lowered kernel has it."""
    if isinstance(parameter, Array):
        return "Q"
    dtype = parameter.dtype
    return _CODES.get(f"{dtype.kind}{dtype.itemsize}", "f")
