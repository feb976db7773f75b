"""Functions of a CUDA module, and what they are called with."""

from __future__ import annotations

import ctypes
import struct
import threading
from collections.abc import Sequence
from functools import lru_cache, partial
from typing import TYPE_CHECKING, Any, TypeAlias

from ... import native
from ...kernel.nodes import Array, Kernel
from ..base import Start
from ..grid.groups import halved, is_free
from ..starting import Starter
from .memory import Block

if TYPE_CHECKING:
    from .backend import CudaBackend

__all__ = ["Function", "Launcher", "Sizes"]

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
    codes : bytes
        The letters of all arguments, as `struct` has them.
    """

    __slots__ = (
        "_kept",
        "_once",
        "codes",
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
        letters = "".join([_code(x) for x in kernel.parameters])
        self.codes = letters.encode()
        packed = struct.Struct("@" + letters)
        content = ctypes.create_string_buffer(max(packed.size, 1))
        size = ctypes.c_size_t(packed.size)
        extra = (ctypes.c_void_p * 5)(
            _BUFFER, ctypes.addressof(content), _SIZE, ctypes.addressof(size), _END
        )
        self._kept = (packed, content, size, extra)
        self.extra = ctypes.addressof(extra)
        self.pack = partial(packed.pack_into, memoryview(content), 0)
        self._once: Launcher | None = None

    def sizes(self, grid: Sequence[int], group: Sequence[int]) -> Sizes | None:
        """Blocks and their threads along three axes; None where groups do not fill the
        grid."""
        return _sizes(tuple(grid), tuple(group), self.most if self.is_free else 0)

    def launched(
        self, backend: CudaBackend, sizes: Sizes, stream: int, given: Sequence[Any]
    ) -> bool:
        """Start it with numbers; whether the driver took it."""
        try:
            backend._enter()
            with self.lock:
                self.pack(*given)
                backend._launch(self.handle, *sizes, 0, stream, 0, self.extra)
        except backend._failures:
            return False
        return True

    def again(
        self, backend: CudaBackend, sizes: Sizes, numbers: Sequence[Any], usual: Start
    ) -> Start:
        """What starts it time and again, and as ``usual`` where a stream has to wait
        for another one, and when that fails."""
        return Launcher(backend, usual, self, sizes, [x.item() for x in numbers])

    def once(
        self,
        backend: CudaBackend,
        grid: Sequence[int],
        group: Sequence[int],
        memories: list[Any],
        scalars: Sequence[Any],
        numbers: list[int],
    ) -> bool:
        """Start it with these numbers behind the program's; whether that was done."""
        sizes = self.sizes(grid, group)
        if sizes is None:
            return False
        launcher = self.launcher(backend, sizes)
        return launcher.begin(memories, [*scalars, *numbers], sizes)

    def launcher(self, backend: CudaBackend, sizes: Sizes) -> Launcher:
        """What starts it with other numbers each time, over any grid."""
        launcher = self._once
        if launcher is None:
            launcher = self._once = Launcher(backend, _never, self, sizes, [])
        return launcher


@lru_cache(1 << 10)
def _sizes(grid: tuple[int, ...], group: tuple[int, ...], most: int) -> Sizes | None:
    if most:
        group = halved(group, most)
    x, y, z = (*group, 1, 1)[:3]
    a, b, c = (*grid, 1, 1)[:3]
    if a % x or b % y or c % z or not a * b * c:
        return None
    return a // x, b // y, c // z, x, y, z


def _never(memories: Sequence[Any], scalars: Sequence[Any]) -> None:
    """`Launcher.begin` has no other way."""


class Launcher(Starter):
    """A function with its grid, and the numbers that come last.

    Parameters
    ----------
    backend : CudaBackend
    usual : callable
        What starts it, too, and can do more.
    function : Function
    sizes : tuple of int
        Blocks and their threads along three axes.
    last : list of int
        Python's numbers behind those of the program.
    """

    __slots__ = (
        "backend",
        "codes",
        "entry",
        "function",
        "handle",
        "is_only",
        "last",
        "sides",
        "sizes",
        "streams",
        "tail",
    )

    def __init__(
        self,
        backend: CudaBackend,
        usual: Start,
        function: Function,
        sizes: Sizes,
        last: list[Any],
    ) -> None:
        super().__init__(usual)
        self.backend = backend
        self.function = function
        self.handle = function.handle
        self.sizes = sizes
        self.sides = struct.pack("@6I", *sizes)
        self.last = last
        self.codes, self.tail = function.codes, b""
        self.entry = backend.entry
        if last and self.entry:
            self.codes, self.tail = _packed(function.codes, last)
        self.is_only = backend._is_only
        self.streams = backend.streams

    def start(self, memories: list[Any], scalars: Sequence[Any]) -> None:
        """See `Starter`."""
        if not self._began(memories, scalars, self.sizes, self.sides):
            self.usual(memories, scalars)

    def begin(self, memories: list[Any], numbers: list[Any], sizes: Sizes) -> bool:
        """Start it over a grid, with all of its numbers; whether that was done."""
        sides = _sides.get(sizes)
        if sides is None:
            if len(_sides) >= MOST_SIZES:
                _sides.clear()
            sides = _sides[sizes] = struct.pack("@6I", *sizes)
        return self._began(memories, numbers, sizes, sides)

    def _began(
        self, memories: list[Any], scalars: Sequence[Any], sizes: Sizes, sides: bytes
    ) -> bool:
        streams, function = self.streams, self.function
        stream = 0
        if streams.several:
            pointer = streams.in_order(memories, function.writes)
            if pointer is None:
                return False
            stream = pointer
        given: list[Any] = []
        for memory in memories:
            if type(memory) is Block:
                block = memory
                given.append(block.pointer)
            else:
                given.append(memory.pointer)
        if scalars:
            given.extend(scalars)
        found = -1
        if not self.is_only:
            self.backend._enter()
        if self.entry:
            codes, tail = self.codes, self.tail
            found = native.launch(
                self.entry, self.handle, sides, stream, codes, given, tail
            )
        # A thread without a device, an error, no way to call C: the long way knows.
        return not found or function.launched(
            self.backend, sizes, stream, [*given, *self.last]
        )


_sides: dict[Sizes, bytes] = {}
"""Grids as the driver takes them."""

MOST_SIZES = 1024


def _packed(codes: bytes, last: Sequence[Any]) -> tuple[bytes, bytes]:
    """The letters up to that of the first of the last numbers, and these numbers as
    they lie from its place on."""
    first = len(codes) - len(last)
    letters = codes.decode()
    begin = struct.calcsize(f"@{letters[:first]}0{letters[first]}")
    zeros = [0] * first
    return codes[: first + 1], struct.pack("@" + letters, *zeros, *last)[begin:]


def _code(parameter: Any) -> str:
    """How `struct` writes a parameter, as the lowered kernel has it."""
    if isinstance(parameter, Array):
        return "Q"
    dtype = parameter.dtype
    return _CODES.get(f"{dtype.kind}{dtype.itemsize}", "f")
