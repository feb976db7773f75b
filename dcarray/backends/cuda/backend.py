"""The backend of one CUDA device."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from ...errors import DeviceError, LaunchError, OutOfMemoryError
from ...kernel.nodes import Kernel
from ...layout import Layout
from ...render.cuda import CUDA
from ..base import DeviceProperties, Rates, Start
from ..grid import GridView
from ..recording import Entry
from ..registry import counted
from .blas import Blas
from .building import Builder
from .capture import Graph, captured
from .copying import CudaExecutable
from .driver import (
    OUT_OF_MEMORY,
    count,
    failure,
    failures,
    is_nvidia,
    launch_entry,
    limits_of,
    lost,
    properties,
    release_idle,
    runtime,
)
from .exchange import borrowed
from .functions import Function
from .graphs import Graphs, short
from .library import CudaLibrary, product
from .lines import lines_of
from .memory import Block, DeviceAllocator, DevicePool, block_of
from .placing import Placing
from .raw import Raw
from .selecting import Selector
from .streams import LEGACY, Stream, Streams, address_of
from .transfers import Transfers

__all__ = ["CudaBackend"]

HostArray = np.ndarray[Any, Any]

DTYPES = "?bBhHiIlLqQefdFD"
PRODUCTS = frozenset("efdFD")
PEER_ALREADY = 704
"""cudaErrorPeerAccessAlreadyEnabled."""

RANDOM = frozenset(("philox", "pcg", "draw_by_counter"))
"""Kernels whose numbers say how many were drawn before: each run gave the same."""

RATES = Rates(1e-5, 4e12, 3e13, 5e-5, 2e10)
"""Before anything is measured: launch, bandwidth, operations, transfers, as on a H200
with memory of the host that is not pinned."""


class CudaBackend(Placing):
    """One device of CUDA.

    Work goes to the current stream, see `streams`: by default the one that CuPy and
    PyTorch use by default, so that memory which passes between them is in order.

    Parameters
    ----------
    index : int
        Its number in CUDA's own order.

    Raises
    ------
    DeviceError
        Its driver makes no context.
    UnsupportedError
        Its compute capability is below 7.5.
    """

    dialect = CUDA
    dlpack_type = 2  # kDLCUDA
    direct_from = 1 << 20
    rates = RATES
    lanes = True
    executable = CudaExecutable

    def __init__(self, index: int = 0) -> None:
        from cupy.cuda import driver

        super().__init__()
        self.device = f"cuda:{index}"
        self.index = index
        self._runtime = runtime()
        self._launch = driver.launchKernel
        self.entry = launch_entry()
        self._failures = failures()
        self._threads = threading.local()
        self._is_only = count() == 1
        try:
            found = properties(index, self.device)
            self._enter()
        except self._failures as error:
            raise failure(error, self.device, DeviceError) from None
        self._facts = found
        import ml_dtypes  # takes 5 ms

        bfloat16: np.dtype[Any] = np.dtype(ml_dtypes.bfloat16)
        self.supported = frozenset([*map(np.dtype, DTYPES), bfloat16])
        self.limits = limits_of(found)
        self.streams = Streams(self.device, self._enter)
        self.pool = DevicePool(
            *(self.device, self._allocate, self._free, self._clear),
            keeps=int(found["totalGlobalMem"]) // 4,
        )
        self.allocator = DeviceAllocator(self)
        self._transfers = Transfers(self)
        self.raw = Raw(self)
        self.select = Selector(self.raw).select
        self.dot, self.pick = lines_of(self.raw)
        self._blas = Blas(self)
        self.graphs, self.short = Graphs(self), short()
        self._peers: dict[str, bool] = {}
        self._builder = Builder(self.device, (int(found["major"]), int(found["minor"])))
        self.native: Mapping[str, Callable[..., Any]] = CudaLibrary(self)

    def _enter(self) -> None:
        """Make this the device of the calling thread."""
        is_new = not getattr(self._threads, "entered", False)
        if is_new or not self._is_only:
            self._runtime.setDevice(self.index)
        if is_new:
            self._runtime.free(0)  # makes the context, if it is not there
            self._threads.entered = True

    def properties(self) -> DeviceProperties:
        """What the device is, and how much of its memory is free."""
        facts = self._facts
        self._enter()
        free, total = self._runtime.memGetInfo()
        version = self._runtime.driverGetVersion()
        return DeviceProperties(
            self.device,
            name=bytes(facts["name"]).decode(),
            vendor="NVIDIA",
            driver=(
                f"CUDA {version // 1000}.{version % 1000 // 10}, "
                f"compute capability {facts['major']}.{facts['minor']}"
            ),
            memory_total=int(total),
            memory_free=int(free),
            compute_units=self.limits.units,
            dtypes=self.supported,
            unified_memory=bool(facts.get("integrated", 0)),
            pools=(self.pool.statistics(),),
        )

    # ------------------------------------------------------------------------- memory
    def _allocate(self, nbytes: int) -> int:
        self._enter()
        try:
            return int(self._runtime.malloc(nbytes))
        except self._failures as error:
            code = getattr(error, "status", None)
            if code == OUT_OF_MEMORY:
                if release_idle():
                    return self._allocate(nbytes)
                free, total = self._runtime.memGetInfo()
                raise MemoryError(
                    f"{free} of the device's {total} bytes are free"
                ) from None
            raise failure(error, self.device, DeviceError) from None

    def _free(self, pointer: int) -> None:
        self.streams.passed.pop(pointer, None)
        try:
            self._enter()
            self._runtime.free(pointer)
        except self._failures as error:
            if not lost(getattr(error, "status", None)):
                raise failure(error, self.device, DeviceError) from None

    def _clear(self, pointer: int, nbytes: int) -> None:
        stream = self.streams.current
        self._enter()
        self.streams.settle(pointer, stream)
        self._runtime.memsetAsync(pointer, 0, nbytes, stream.pointer)

    def allocate(self, nbytes: int) -> Block:
        """A block of ``nbytes`` from the pool; it goes back when it dies.

        Kernels and copies of one stream run in the order of their launches, so a block
        that comes back may be used again there at once.
        """
        streams = self.streams
        if not streams.several:
            return block_of(self.pool, nbytes, streams.main)
        stream = streams.current
        shelf = self.pool.shelf_in(nbytes, stream.lane)
        block = block_of(self.pool, nbytes, stream, shelf)
        if streams.passed or (stream.pointer and not stream.lane):
            with streams.entered():
                streams.settle(block.pointer, stream)
                if not stream.lane:
                    streams.order(streams.main, stream)
        if stream.capture is not None:
            stream.capture.own[id(block)] = block
        return block

    def upload(self, source: HostArray, target: Any) -> None:
        """Copy bytes of the host.

        Raises
        ------
        CaptureError
            A function is being captured.
        """
        if not source.size:
            return
        stream = self.streams.current
        if stream.capture is not None:
            stream.capture.refuse(
                "brings data of the host to the device",
                "make the array before, or pass it to the function",
            )
        with self.streams.entered():
            self.streams.writing(target, stream)
            source = np.ascontiguousarray(source)
            self._transfers.upload(source, target.pointer, stream)

    def download(self, source: Any, target: HostArray) -> None:
        """Copy bytes to the host, once what makes them has ended.

        Raises
        ------
        CaptureError
            A function is being captured.
        """
        if not target.size:
            return
        stream = self.streams.current
        if stream.capture is not None:
            stream.capture.refuse_reading()
        received = target
        if not target.flags.c_contiguous:
            received = np.empty(target.shape, target.dtype)
        with self.streams.entered():
            self.streams.reading(source, stream)
            self._transfers.download(source.pointer, received, stream)
        if received is not target:
            target[...] = received

    def copy(self, source: Any, start: int, target: Block, nbytes: int) -> None:
        """Copy bytes of a block, from ``start`` on, to the beginning of another one."""
        streams = self.streams
        pointer = streams.in_order((source, target), (False, True))
        with streams.entered():
            if pointer is None:
                stream = streams.current
                streams.use(source, False, stream)
                streams.use(target, True, stream)
                pointer = stream.pointer
            self._runtime.memcpyAsync(
                *(target.pointer, source.pointer + start, nbytes),
                *(self._runtime.memcpyDeviceToDevice, pointer),
            )

    def receive(self, other: Any, source: Any, target: Block, nbytes: int) -> bool:
        """Copy bytes from another device without the host; whether that is possible."""
        if not isinstance(other, CudaBackend):
            return False
        here, there = self.streams.current, other.streams.current
        if here.capture is not None or there.capture is not None:
            return False
        with other.streams.entered():
            other.streams.reading(source, there)
        with self.streams.entered():
            self._reach(other)
            self.streams.writing(target, here)
            self.streams.order(there, here)
            self._runtime.memcpyPeerAsync(
                *(target.pointer, self.index, source.pointer, other.index),
                *(nbytes, here.pointer),
            )
        with other.streams.entered():
            other.streams.order(here, there)  # the block may be written after that
        return True

    def _reach(self, other: CudaBackend) -> None:
        """Let this device read the other one's memory itself, where it can."""
        if other.device in self._peers:
            return
        can = bool(self._runtime.deviceCanAccessPeer(self.index, other.index))
        if can:
            try:
                self._runtime.deviceEnablePeerAccess(other.index)
            except self._failures as error:
                if getattr(error, "status", None) != PEER_ALREADY:
                    raise
        self._peers[other.device] = can

    # ----------------------------------------------------------------------- exchange
    def hand_over(self, memory: Any, stream: int | None) -> None:
        """Somebody else is going to use a block; see `Exchanging`."""
        self.streams.hand_over(memory, stream)

    def takes_over(self) -> int:
        """The stream on which foreign memory has to be ready; see `Exchanging`."""
        return self.streams.current.pointer or LEGACY

    def taken(self, capsule: Any) -> tuple[Any, Layout, np.dtype[Any]]:
        """Foreign memory; see `Exchanging`."""
        with self.streams.entered():
            view = borrowed(self, capsule)
        return view.memory, view.layout, view.dtype

    def stream(self, foreign: Any = None) -> Stream:
        """A new stream, or somebody else's; see `Streaming`."""
        if foreign is None:
            return self.streams.new()
        return self.streams.of(address_of(foreign), foreign)

    @property
    def is_capturing(self) -> bool:
        """Whether what the caller launches is being captured."""
        return self.streams.current.capture is not None

    def captured(self, function: Callable[[], Any]) -> tuple[Any, Graph]:
        """A graph of what a function launches; see `Capturing`."""
        return captured(self, function)

    def dlpack_handle(self, memory: Any) -> int:
        """The address of a block."""
        return int(memory.pointer)

    def product(self, x: GridView, y: GridView, dtype: Any) -> GridView | None:
        """``x @ y`` by cuBLAS, which has floating-point numbers; see `GridBackend`."""
        if x.dtype != dtype or y.dtype != dtype:
            return None
        found = self._blas.product(x, y)
        if found is not None or dtype.char not in PRODUCTS:
            return found
        capture = self.streams.current.capture  # CuPy refuses to be captured
        return product(self, x, y) if capture is None else None

    # ------------------------------------------------------------------------ kernels
    def build(self, text: str, kernel: Kernel) -> Function:
        """The function of a text; see `GridBackend.build`."""
        self._enter()
        try:
            return self._builder.function(text, kernel)
        except self._failures as error:
            raise failure(error, self.device, kernel=kernel.name) from None

    def instead(self) -> list[str]:
        """Devices for what cannot be compiled because there is no compiler: the GPUs of
        this vendor as OpenCL has them."""
        if not self._builder.lacks_compiler:
            return []
        found = [f"opencl:{number}" for number in range(counted("opencl"))]
        return [label for label in found if is_nvidia(label)]

    def build_ahead(self, entry: Entry) -> None:
        """Put a kernel of a record on disk; see `Builder.build_ahead`."""
        self._builder.build_ahead(entry)

    def enqueue(
        self,
        function: Function,
        kernel: Kernel,
        grid: Sequence[int],
        group: Sequence[int],
        arguments: Sequence[Any],
    ) -> None:
        """Start a function; see `GridBackend.enqueue`."""
        sizes = function.sizes(grid, group)
        if sizes is None:
            return self._refuse_uneven(kernel, grid, group)
        given = [x.pointer if hasattr(x, "pointer") else x for x in arguments]
        self._enter()
        stream = 0
        try:
            if self.streams.several:
                stream = self._stream_of(function, kernel, arguments)
            with function.lock:
                function.pack(*given)
                self._launch(function.handle, *sizes, 0, stream, 0, function.extra)
        except self._failures as error:
            raise failure(
                error, self.device, kernel=kernel.name, grid=tuple(grid)
            ) from None

    def starter(self, function: Function, *rest: Any) -> Start:
        """What starts a function time and again; see `GridBackend.starter`."""
        usual = super().starter(function, *rest)
        sizes = function.sizes(*rest[1:3])
        return function.again(self, sizes, rest[3], usual) if sizes else usual

    def start_once(self, function: Function, kernel: Kernel, *rest: Any) -> None:
        """Start a function over any grid; see `GridBackend.start_once`."""
        if not function.once(self, *rest):
            super().start_once(function, kernel, *rest)

    def _stream_of(
        self, function: Function, kernel: Kernel, arguments: Sequence[Any]
    ) -> int:
        """The stream on which a kernel runs, in order with what uses its memory."""
        stream = self.streams.using(arguments, function.writes)
        if stream.capture is not None and kernel.name in RANDOM:
            stream.capture.refuse(
                "draws random numbers", "draw them before, and pass them to it"
            )
        return stream.pointer

    def _refuse_uneven(
        self, kernel: Kernel, grid: Sequence[int], group: Sequence[int]
    ) -> None:
        """An empty grid is no work; one that groups do not fill is a mistake."""
        if 0 in grid:
            return
        raise LaunchError(
            f"groups of {tuple(group)} do not divide the grid {tuple(grid)}",
            device=self.device,
            kernel=kernel.name,
            grid=tuple(grid),
        )

    def synchronize(self) -> None:
        """Wait until all that was launched has ended.

        Raises
        ------
        OutOfMemoryError, LaunchError, DeviceLostError
            Some of it failed.
        CaptureError
            A function is being captured.
        """
        capture = self.streams.current.capture
        if capture is not None:
            capture.refuse("waits for the device", "wait after the call")
        try:
            self._enter()
            self._runtime.deviceSynchronize()
        except self._failures as error:
            is_full = getattr(error, "status", None) == OUT_OF_MEMORY
            kind = OutOfMemoryError if is_full else LaunchError
            raise failure(error, self.device, kind) from None
