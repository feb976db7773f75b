"""The backend of one CUDA device."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from ...errors import DeviceError, LaunchError, OutOfMemoryError
from ...kernel.nodes import Kernel
from ...render.cuda import CUDA
from ..base import DeviceProperties, Rates
from ..grid import GridBackend, GridView, Limits
from ..grid.groups import halved
from ..grid.tuning import group_items
from ..pool import Pool
from ..recording import Entry
from .building import Builder
from .driver import OUT_OF_MEMORY, count, failure, failures, lost, properties, runtime
from .functions import Function
from .library import CudaLibrary, product
from .memory import Block

__all__ = ["CudaBackend"]

HostArray = np.ndarray[Any, Any]

DTYPES = "?bBhHiIlLqQefdFD"
PRODUCTS = frozenset("efdFD")
RATES = Rates(5e-6, 2e12, 2e13, 1e-5, 2e10)
"""Before anything is measured: launch, bandwidth, operations, transfers."""


class CudaBackend(GridBackend):
    """One device of CUDA.

    Everything is launched on the stream that CuPy and PyTorch use by default, so that
    memory which passes between them is in order.

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
    rates = RATES
    lanes = True

    def __init__(self, index: int = 0) -> None:
        from cupy.cuda import driver

        super().__init__()
        self.device = f"cuda:{index}"
        self.index = index
        self._runtime = runtime()
        self._launch = driver.launchKernel
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
        group = int(found["maxThreadsPerBlock"])
        self.limits = Limits(
            group=group,
            units=int(found["multiProcessorCount"]),
            shared=int(found["sharedMemPerBlock"]),
            items=group_items(group, int(found["warpSize"]), True),
            ahead=2,
            coalesces=True,
        )
        self.pool: Pool[int] = Pool(
            self.device, self._allocate, self._free, self._clear
        )
        self._builder = Builder(self.device, (int(found["major"]), int(found["minor"])))
        self.native: Mapping[str, Callable[..., Any]] = CudaLibrary(self)

    def _enter(self) -> None:
        """Make this the device of the calling thread."""
        if not self._is_only or not getattr(self._threads, "entered", False):
            self._runtime.setDevice(self.index)
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
                free, total = self._runtime.memGetInfo()
                raise MemoryError(
                    f"{free} of the device's {total} bytes are free"
                ) from None
            raise failure(error, self.device, DeviceError) from None

    def _free(self, pointer: int) -> None:
        try:
            self._enter()
            self._runtime.free(pointer)
        except self._failures as error:
            if not lost(getattr(error, "status", None)):
                raise failure(error, self.device, DeviceError) from None

    def _clear(self, pointer: int, nbytes: int) -> None:
        self._enter()
        self._runtime.memsetAsync(pointer, 0, nbytes, 0)

    def allocate(self, nbytes: int) -> Block:
        """A block of ``nbytes`` from the pool; it goes back when it dies.

        Kernels and copies run in the order of their launches, so a block that comes
        back may be used again at once.
        """
        pointer, size = self.pool.rent(nbytes)
        return Block(self.pool, pointer, size, nbytes)

    def upload(self, source: HostArray, target: Any) -> None:
        """Copy bytes of the host."""
        if source.size:
            source = np.ascontiguousarray(source)
            kind = self._runtime.memcpyHostToDevice
            self._copy(target.pointer, source.ctypes.data, source.nbytes, kind)

    def download(self, source: Any, target: HostArray) -> None:
        """Copy bytes to the host."""
        if not target.size:
            return
        received = target
        if not target.flags.c_contiguous:
            received = np.empty(target.shape, target.dtype)
        kind = self._runtime.memcpyDeviceToHost
        self._copy(received.ctypes.data, source.pointer, received.nbytes, kind)
        if received is not target:
            target[...] = received

    def _copy(self, target: int, source: int, nbytes: int, kind: int) -> None:
        """Copy, once all that was launched has ended."""
        try:
            self._enter()
            self._runtime.memcpy(target, source, nbytes, kind)
        except self._failures as error:
            raise failure(error, self.device, DeviceError) from None

    def dlpack_handle(self, memory: Any) -> int:
        """The address of a block."""
        return int(memory.pointer)

    def product(self, x: GridView, y: GridView, dtype: Any) -> GridView | None:
        """``x @ y`` by cuBLAS, which has floating-point numbers; see `GridBackend`."""
        if x.dtype == y.dtype == dtype and dtype.char in PRODUCTS:
            return product(self, x, y)
        return None

    # ------------------------------------------------------------------------ kernels
    def build(self, text: str, kernel: Kernel) -> Function:
        """The function of a text; see `GridBackend.build`."""
        self._enter()
        try:
            return self._builder.function(text, kernel)
        except self._failures as error:
            raise failure(error, self.device, kernel=kernel.name) from None

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
        if function.is_free:
            group = halved(group, function.most)
        x, y, z = (*group, 1, 1)[:3]
        items = (*grid, 1, 1)[:3]
        blocks = (items[0] // x, items[1] // y, items[2] // z)
        if not all(blocks):
            return self._refuse_uneven(kernel, grid, group)
        if blocks[0] * x != items[0] or blocks[1] * y != items[1] or items[2] % z:
            return self._refuse_uneven(kernel, grid, group)
        given = [x.pointer if hasattr(x, "pointer") else x for x in arguments]
        self._enter()
        try:
            with function.lock:
                function.pack(*given)
                self._launch(function.handle, *blocks, x, y, z, 0, 0, 0, function.extra)
        except self._failures as error:
            raise failure(
                error, self.device, kernel=kernel.name, grid=tuple(grid)
            ) from None

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
        """
        try:
            self._enter()
            self._runtime.deviceSynchronize()
        except self._failures as error:
            kind = (
                OutOfMemoryError
                if getattr(error, "status", None) == OUT_OF_MEMORY
                else LaunchError
            )
            raise failure(error, self.device, kind) from None
