"""The backend of one Metal device."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ...errors import CompileError, DeviceError, LaunchError, OutOfMemoryError
from ...kernel.nodes import Kernel
from ...render.metal import METAL
from ..base import DeviceProperties, Rates
from ..grid import GridBackend, Limits
from ..grid.groups import is_free
from ..pool import Pool
from .driver import devices, metal, pointer_of, text_of
from .functions import Function, Numbers, groups_of
from .memory import Block, bytes_of
from .queue import Queue
from .sharing import SharedStorage

__all__ = ["MetalBackend"]

HostArray = np.ndarray[Any, Any]

DTYPES = "?bBhHiIlLqQefF"
RATES = Rates(30e-6, 1e11, 2e12, 2e-6, 5e10)
"""Before anything is measured: launch, bandwidth, operations, transfers."""

MOST_ITEMS = 256
UNITS = 16
"""Metal does not tell how many threadgroups run at once."""


_APPLE = 1001  # MTLGPUFamilyApple1


class MetalBackend(GridBackend):
    """One device of Metal.

    Its memory is the host's (shared storage): both use the same blocks, and kernels run
    in the order of their launches, beside the host.

    Parameters
    ----------
    index : int
        Its number, the system's default device first.

    Raises
    ------
    DeviceError
        Its driver makes no command queue.
    """

    dialect = METAL
    dlpack_type = 8  # kDLMetal

    def __init__(self, index: int = 0) -> None:
        super().__init__()
        self.device = f"metal:{index}"
        self.handle = handle = devices()[index]
        self._module = metal()
        import ml_dtypes  # takes 5 ms

        bfloat16: np.dtype[Any] = np.dtype(ml_dtypes.bfloat16)
        self.supported = frozenset([*map(np.dtype, DTYPES), bfloat16])
        self.rates = RATES
        # GPUs of Apple's own have simdgroups of 32; others may have more or fewer.
        self.lanes = bool(handle.supportsFamily_(_APPLE))
        queue = handle.newCommandQueue()
        if queue is None:
            raise DeviceError("no command queue", device=self.device)
        self._queue = Queue(self.device, queue)
        storage = self._module.MTLResourceStorageModeShared
        self.sharing = SharedStorage(handle, self._queue, storage)
        group = int(handle.maxThreadsPerThreadgroup().width)
        self.limits = Limits(
            group=group,
            units=UNITS,
            shared=int(handle.maxThreadgroupMemoryLength()),
            items=min(group, MOST_ITEMS),
            ahead=4,
            coalesces=True,
        )
        self.pool: Pool = Pool(
            self.device, self._allocate, self._free, self._clear, self._queue.wait
        )
        self._numbers = Numbers()

    def properties(self) -> DeviceProperties:
        """What the device says of itself."""
        handle = self.handle
        total = int(handle.recommendedMaxWorkingSetSize())
        return DeviceProperties(
            self.device,
            name=str(handle.name()),
            vendor="Apple",
            driver="Metal",
            memory_total=total,
            memory_free=max(0, total - int(handle.currentAllocatedSize())),
            dtypes=self.supported,
            unified_memory=bool(handle.hasUnifiedMemory()),
            pools=(self.pool.statistics(),),
        )

    # ------------------------------------------------------------------------- memory
    def _allocate(self, nbytes: int) -> Any:
        handle = self.handle
        used = int(handle.currentAllocatedSize())
        total = int(handle.recommendedMaxWorkingSetSize())
        if used + nbytes > total:
            raise MemoryError(f"{used} of {total} bytes are in use")
        storage = self._module.MTLResourceStorageModeShared
        buffer = handle.newBufferWithLength_options_(nbytes, storage)
        if buffer is None:
            raise MemoryError(f"{used} of {total} bytes are in use")
        return buffer

    def _free(self, buffer: Any) -> None:
        """Metal frees a buffer when its last user is gone."""

    def _clear(self, buffer: Any, nbytes: int) -> None:
        self._queue.wait_for(buffer)
        bytes_of(buffer, nbytes).fill(0)

    def allocate(self, nbytes: int) -> Block:
        """A block of ``nbytes`` from the pool; it goes back when it dies."""
        most = int(self.handle.maxBufferLength())
        if nbytes > most:
            raise OutOfMemoryError(
                f"{nbytes} bytes; a block has {most} at most", device=self.device
            )
        buffer, size = self.pool.rent(nbytes)
        return Block(self.pool, buffer, size, nbytes)

    def host_bytes(self, memory: Block) -> HostArray:
        """The bytes of a block, without a copy, once what works on it has ended.

        Raises
        ------
        DeviceError
            What should have written them has failed.
        """
        self.sharing.to_host(memory, True)
        return bytes_of(memory.buffer, memory.nbytes)

    def upload(self, source: HostArray, target: Block) -> None:
        """Copy bytes of the host."""
        if source.size:
            np.copyto(self.host_bytes(target)[: source.size], source)

    def download(self, source: Block, target: HostArray) -> None:
        """Copy bytes to the host."""
        if target.size:
            np.copyto(target, self.host_bytes(source)[: target.size])

    def dlpack_handle(self, memory: Block) -> int:
        """The address of a block's MTLBuffer, an object of Objective-C."""
        return pointer_of(memory.buffer)

    # ------------------------------------------------------------------------ kernels
    def build(self, text: str, kernel: Kernel) -> Function:
        """The function of a text; see `GridBackend.build`."""
        options = self._module.MTLCompileOptions.alloc().init()
        options.setFastMathEnabled_(False)
        library, error = self.handle.newLibraryWithSource_options_error_(
            text, options, None
        )
        state = None
        if library is not None:
            function = library.newFunctionWithName_(kernel.name)
            state, error = self.handle.newComputePipelineStateWithFunction_error_(
                function, None
            )
        if state is None:
            raise CompileError(
                text_of(error).strip(),
                device=self.device,
                kernel=kernel.name,
                source=text,
            )
        most = int(state.maxTotalThreadsPerThreadgroup())
        return Function(kernel, state, most, is_free(kernel))

    def enqueue(
        self,
        function: Function,
        kernel: Kernel,
        grid: Sequence[int],
        group: Sequence[int],
        arguments: Sequence[Any],
    ) -> None:
        """Start a function; see `GridBackend.enqueue`."""
        groups, threads = groups_of(function, grid, group)
        if threads[0] * threads[1] * threads[2] > function.most:
            raise LaunchError(
                f"a threadgroup of {tuple(group)}; this kernel takes "
                f"{function.most} threads at most",
                device=self.device,
                kernel=kernel.name,
                grid=tuple(grid),
            )
        if not all(groups):
            return
        blocks = [x for x in arguments if isinstance(x, Block)]
        numbers = [x for x in arguments if not isinstance(x, Block)]
        size = self._module.MTLSizeMake
        self._queue.commit(
            function,
            blocks,
            self._numbers.packed(numbers),
            size(*groups),
            size(*threads),
        )

    def synchronize(self) -> None:
        """Wait until all that was launched has ended.

        Raises
        ------
        DeviceError
            Some of it failed, and nobody was told yet.
        """
        self._queue.finish()
