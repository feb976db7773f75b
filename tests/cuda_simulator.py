"""A CUDA runtime on memory of the host, though no GPU is at hand.

It stands for CuPy: memory, streams, events and graphs of launches.  Work is done when
it is launched, kernels by the interpreter, and what is captured when the graph is
launched.  `Runtime.log` tells what each stream was given.
"""

from __future__ import annotations

import ctypes
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any

import numpy as np

from dcarray.backends import registry
from dcarray.backends.cuda import backend as cuda_backend, blas, driver, vectors
from dcarray.backends.cuda.functions import Function
from dcarray.backends.cuda.kernels.choosing import WORDS
from dcarray.backends.cuda.kernels.selecting import COUNT_BITS
from dcarray.kernel.interpret import interpret
from dcarray.kernel.lower import lower
from dcarray.kernel.nodes import Array

__all__ = ["Runtime", "installed"]


class CUDARuntimeError(RuntimeError):
    """As CuPy raises it."""

    def __init__(self, status: int) -> None:
        super().__init__(f"error {status}")
        self.status = status


class Attributes:
    """What is known of an address."""

    def __init__(self, kind: int) -> None:
        self.type = kind


class Runtime:
    """The functions of ``cupy.cuda.runtime`` that the backend calls.

    Attributes
    ----------
    log : list of (str, int)
        What was called, and on which stream; the other functions are not told.
    limit : int
        Bytes of the device.
    events : int
        How many there are.
    """

    CUDARuntimeError = CUDARuntimeError
    memcpyHostToDevice, memcpyDeviceToHost, memcpyDeviceToDevice = 1, 2, 3
    memoryTypeHost = 1
    streamNonBlocking = 1
    eventDisableTiming = 2
    streamCaptureModeRelaxed = 2

    def __init__(self) -> None:
        self.log: list[tuple[str, int]] = []
        self.limit = 1 << 30
        self.events = 0
        self._blocks: dict[int, Any] = {}
        self._used = 0
        self._last = 100
        self._capturing: tuple[int, list[Callable[[], None]]] | None = None
        self.theirs = TheirPool(self)
        self.graphs: dict[int, list[Callable[[], None]]] = {}

    def _new(self, *_: Any) -> int:
        self._last += 16
        return self._last

    def _destroy(self, event: int) -> None:
        self.events -= 1

    def _event(self, *_: Any) -> int:
        self.events += 1
        return self._new()

    def _nothing(self, *_: Any) -> int:
        return 0

    streamCreateWithFlags = _new
    eventCreate = eventCreateWithFlags = _event
    eventDestroy = _destroy
    setDevice = eventQuery = eventSynchronize = streamQuery = _nothing

    def getDeviceCount(self) -> int:
        return 1

    def driverGetVersion(self) -> int:
        return 13000

    runtimeGetVersion = driverGetVersion

    def getDeviceProperties(self, index: int) -> dict[str, Any]:
        return {
            "major": 9,
            "minor": 0,
            "maxThreadsPerBlock": 64,
            "multiProcessorCount": 2,
            "sharedMemPerBlock": 49152,
            "warpSize": 32,
            "name": b"simulated",
            "totalGlobalMem": 1 << 30,
        }

    # ------------------------------------------------------------------------- memory
    def malloc(self, nbytes: int) -> int:
        if self._used + nbytes > self.limit:
            raise CUDARuntimeError(driver.OUT_OF_MEMORY)
        block = ctypes.create_string_buffer(nbytes + 512)
        pointer = -(-ctypes.addressof(block) // 512) * 512
        self._blocks[pointer] = (block, nbytes)
        self._used += nbytes
        return pointer

    def free(self, pointer: int) -> None:
        if pointer:
            self._used -= self._blocks.pop(pointer)[1]

    def memGetInfo(self) -> tuple[int, int]:
        return self.limit - self._used, self.limit

    def seen_from(self, address: int) -> np.ndarray[Any, Any]:
        """The bytes of a block from an address on."""
        for pointer, (_, nbytes) in list(self._blocks.items()):
            if pointer <= address < pointer + nbytes:
                size = pointer + nbytes - address
                return np.frombuffer((ctypes.c_char * size).from_address(address), "u1")
        raise CUDARuntimeError(700)

    def pointerGetAttributes(self, address: int) -> Attributes:
        return Attributes(0)

    # ------------------------------------------------------------------------ streams
    def _run(self, what: str, stream: int, call: Callable[[], Any]) -> None:
        self.log.append((what, stream))
        if self._capturing is not None and stream == self._capturing[0]:
            self._capturing[1].append(call)
        else:
            call()

    def _refuse(self, what: str, stream: int) -> None:
        self.log.append((what, stream))
        if self._capturing is not None and stream == self._capturing[0]:
            raise CUDARuntimeError(900)  # not while it is captured

    def memcpyAsync(
        self, target: int, source: int, nbytes: int, kind: int, stream: int
    ) -> None:
        self._run("copy", stream, lambda: ctypes.memmove(target, source, nbytes))

    def memsetAsync(self, pointer: int, value: int, nbytes: int, stream: int) -> None:
        self._run("set", stream, lambda: ctypes.memset(pointer, value, nbytes))

    def launch(self, function: Any, *rest: Any) -> None:
        """`cupy.cuda.driver.launchKernel`."""
        *sizes, _, stream, _, _ = rest
        kernel, arguments = function.kernel, function.given

        def call() -> None:
            if kernel.name == "select_true":
                return self._select(function.text, *arguments)
            given = []
            for parameter, argument in zip(kernel.parameters, arguments, strict=True):
                if isinstance(parameter, Array):
                    seen = self.seen_from(argument)
                    size = parameter.dtype.itemsize
                    given.append(seen[: seen.size // size * size].view(parameter.dtype))
                else:
                    given.append(np.asarray(argument).astype(parameter.dtype))
            groups, group = sizes[:3], sizes[3:]
            grid = [a * b for a, b in zip(groups, group, strict=True)]
            return interpret(kernel, given, tuple(grid), tuple(group))

        self._run("kernel", stream, call)

    def _select(self, text: str, *given: int) -> None:
        """As `kernels.selecting` has it; the only text that is known here."""
        mask, x, out, _, number, seen, size, offset = given
        nbytes = next((n for n, kind in WORDS.items() if f" {kind} element" in text), 0)
        found: Any = np.flatnonzero(self.seen_from(mask)[:size])
        if nbytes:
            elements = self.seen_from(x)[offset * nbytes :][: size * nbytes]
            found = elements.view(f"V{nbytes}")[found]
        ctypes.memmove(out, found.tobytes(), found.nbytes)
        word = number << COUNT_BITS | found.size
        ctypes.c_uint64.from_address(seen).value = word

    def eventRecord(self, event: int, stream: int) -> None:
        self._refuse("record", stream)

    def streamWaitEvent(self, stream: int, event: int) -> None:
        self._refuse("wait", stream)

    def streamSynchronize(self, stream: int) -> None:
        self._refuse("synchronize", stream)

    def deviceSynchronize(self) -> None:
        self.log.append(("synchronize", -1))

    def eventElapsedTime(self, first: int, second: int) -> float:
        return 1.0

    # ------------------------------------------------------------------------- graphs
    def streamBeginCapture(self, stream: int, mode: int) -> None:
        self._capturing = (stream, [])

    def streamEndCapture(self, stream: int) -> int:
        assert self._capturing is not None
        graph = self._new()
        self.graphs[graph] = self._capturing[1]
        self._capturing = None
        return graph

    def graphInstantiate(self, graph: int) -> int:
        handle = self._new()
        self.graphs[handle] = self.graphs[graph]
        return handle

    def graphDestroy(self, graph: int) -> None:
        del self.graphs[graph]

    graphExecDestroy = graphDestroy

    def graphLaunch(self, handle: int, stream: int) -> None:
        self.log.append(("graph", stream))
        for call in self.graphs[handle]:
            call()


class TheirPool:
    """The pool of CuPy's own."""

    def __init__(self, runtime: Runtime) -> None:
        self._runtime = runtime
        self.idle: list[int] = []

    def free_bytes(self) -> int:
        return len(self.idle)

    def free_all_blocks(self) -> None:
        while self.idle:
            self._runtime.free(self.idle.pop())


class _Libraries:
    """Modules of CuPy's whose functions nobody calls."""

    def __getattr__(self, name: str) -> Any:
        return None


class _Interpreted(Function):
    """A function whose kernel is interpreted."""

    __slots__ = ("given", "kernel", "text")

    def __init__(self, kernel: Any, text: str = "") -> None:
        self.kernel = lower(kernel)
        self.text = text
        self.handle: Any = self
        self.most = 64
        self.is_free = True
        self.lock = threading.Lock()
        self.codes = b"Q" * len(self.kernel.parameters)
        self.extra = 0
        self._once = None
        self.writes = tuple(
            [isinstance(x, Array) and x.writable for x in self.kernel.parameters]
        )

        def pack(*arguments: Any) -> None:
            self.given = arguments

        self.pack = pack


def _interpreted(_: Any, text: str, kernel: Any) -> Any:
    """`CudaBackend.build`."""
    return _Interpreted(kernel, text)


@contextmanager
def installed() -> Iterator[Runtime]:
    """``cuda:0`` is simulated as long as the block lasts."""
    made = Runtime()
    modules = {name: ModuleType(name) for name in ("cupy", "cupy.cuda")}
    modules["cupy"].__spec__ = ModuleSpec("cupy", None)
    told: Any = ModuleType("driver")
    told.launchKernel = made.launch
    told.CUDADriverError = CUDARuntimeError
    cuda: Any = modules["cupy.cuda"]
    cuda.runtime, cuda.driver = made, told
    cuda.alloc_pinned_memory = bytearray
    cupy: Any = modules["cupy"]
    cupy.cuda, cupy.fft, cupy.linalg = cuda, _Libraries(), _Libraries()
    cupy.get_default_memory_pool = lambda: made.theirs
    kept = {name: sys.modules.get(name) for name in modules}
    build, product = cuda_backend.CudaBackend.build, blas.Blas.product
    caches = (driver.runtime, driver.failures, driver.count, blas._library)
    sys.modules.update(modules)
    for cache in caches:
        cache.cache_clear()
    entry = cuda_backend.launch_entry
    cuda_backend.launch_entry = lambda: 0  # a driver that is here knows none of this
    cuda_backend.CudaBackend.build = lambda self, text, kernel: _Interpreted(
        kernel, text
    )  # type: ignore[method-assign]
    # No cuBLAS, and no texts of CUDA's own: the grid's kernels multiply.
    blas.Blas.product = lambda *_: None  # type: ignore[method-assign]
    dot, vectors.dot = vectors.dot, lambda *_: None
    try:
        yield made
    finally:
        cuda_backend.launch_entry = entry
        cuda_backend.CudaBackend.build = build  # type: ignore[method-assign]
        blas.Blas.product = product  # type: ignore[method-assign]
        vectors.dot = dot
        registry.remove("cuda:0")
        for name, module in kept.items():
            if module is None:
                del sys.modules[name]
            else:
                sys.modules[name] = module
        for cache in caches:
            cache.cache_clear()
