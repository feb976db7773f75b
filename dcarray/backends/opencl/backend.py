"""The backend of one OpenCL device."""

from __future__ import annotations

import math
import os
import threading
import weakref
from collections.abc import Sequence
from typing import Any

import numpy as np

from ...errors import DeviceError, LaunchError, OutOfMemoryError
from ...kernel.nodes import Kernel
from ...render.opencl import NVIDIA, OPENCL
from ..base import DeviceProperties, Rates
from ..grid import GridBackend, Limits
from ..grid.groups import halved, is_free
from ..grid.tuning import group_items
from ..pool import Pool
from ..recording import Entry
from .building import Builder
from .memory import PAGE, Block, HostMemory, Storage
from .platforms import devices, has_warps

__all__ = ["OpenClBackend"]

HostArray = np.ndarray[Any, Any]

GPU = Rates(20e-6, 5e11, 5e12, 20e-6, 1e10)
CPU = Rates(50e-6, 1e10, 4e9, 5e-6, 1e10)
"""Before anything is measured: launch, bandwidth, operations, transfers."""


class OpenClBackend(GridBackend):
    """One device of OpenCL.

    Parameters
    ----------
    index : int
        Its number among all devices, GPUs first.

    Raises
    ------
    DeviceError
        Its driver makes no context.
    """

    dialect = OPENCL
    dlpack_type = 4  # kDLOpenCL

    def __init__(self, index: int = 0) -> None:
        import pyopencl as cl

        super().__init__()
        self._cl = cl
        self.device = f"opencl:{index}"
        self.handle = handle = devices()[index]
        try:
            self._context = cl.Context([handle])
            self._queue = cl.CommandQueue(self._context)
        except cl.Error as error:
            raise DeviceError(f"no context: {error}", device=self.device) from None
        extensions = set(handle.extensions.split())
        codes = "?bBhHiIlLqQefF"
        if "cl_khr_fp64" in extensions or handle.double_fp_config:
            codes += "dD"
        self.supported = frozenset(map(np.dtype, codes))
        self.lanes = has_warps(handle)
        if self.lanes:
            self.dialect = NVIDIA
        is_cpu = bool(handle.type & cl.device_type.CPU)
        self.rates = CPU if is_cpu else GPU
        group = int(handle.max_work_group_size)
        self.limits = Limits(
            group=group,
            units=int(handle.max_compute_units),
            shared=int(handle.local_mem_size),
            items=group_items(group, self._bundle(), not is_cpu),
            ahead=1 if is_cpu else 2,
            coalesces=not is_cpu,
        )
        self.sharing: HostMemory | None = None
        if handle.host_unified_memory:
            # A GPU reaches whole pages and lines of the cache; drivers of CPUs ask for
            # no more than the dtypes do.
            places = (16, 1) if is_cpu else (PAGE, 64)
            self.sharing = HostMemory(self.device, self._context, self._queue, *places)
            # The host's memory goes when the process ends: kernels must not be at it.
            weakref.finalize(self, _finish, self._queue, os.getpid())
        own = 0 if handle.host_unified_memory else int(handle.global_mem_size)
        # The pool's thread waits for nothing: it must not be in a wait of the driver's
        # when the process ends.
        settle = None if self.sharing is None else self.sharing.sweep
        self.pool: Pool = Pool(
            *(self.device, self._allocate, self._free, self._clear, settle),
            keeps=max(1 << 30, own // 4),
        )
        options = self._build_options()
        self._builder = Builder(self._context, handle, self.device, options)
        self._largest = int(handle.max_mem_alloc_size)
        self._enqueuing = threading.Lock()
        self._arguments: dict[int, list[Any]] = {}
        self._typed: set[int] = set()
        self._most: dict[int, int] = {}  # items of a group, where a kernel takes fewer

    def _build_options(self) -> list[str]:
        correct = self._cl.device_fp_config.CORRECTLY_ROUNDED_DIVIDE_SQRT
        if self.handle.single_fp_config & correct:
            return ["-cl-fp32-correctly-rounded-divide-sqrt"]
        return []

    def _bundle(self) -> int:
        """Work items that run in step: a driver of OpenCL 3.0 or of NVIDIA tells."""
        handle = self.handle
        for name in ("preferred_work_group_size_multiple", "warp_size_nv"):
            try:
                found = int(getattr(handle, name))
            except (self._cl.Error, AttributeError):
                continue
            if found > 0:
                return found
        return 32

    def properties(self) -> DeviceProperties:
        """What the device is; how much memory is free no driver tells."""
        handle, platform = self.handle, self.handle.platform
        return DeviceProperties(
            self.device,
            name=handle.name.strip(),
            vendor=handle.vendor.strip(),
            driver=f"{platform.name.strip()}, {handle.driver_version.strip()}",
            memory_total=int(handle.global_mem_size),
            compute_units=int(handle.max_compute_units),
            dtypes=self.supported,
            unified_memory=bool(handle.host_unified_memory),
            pools=(self.pool.statistics(),),
        )

    # ------------------------------------------------------------------------- memory
    def _allocate(self, nbytes: int) -> Storage:
        cl = self._cl
        try:
            if self.sharing is not None:
                return self.sharing.allocate(nbytes)
            buffer = cl.Buffer(self._context, cl.mem_flags.READ_WRITE, nbytes)
            # Drivers allocate at the first use: find out now whether there is room.
            cl.enqueue_fill_buffer(self._queue, buffer, b"\0", 0, 1)
        except (cl.Error, OverflowError) as error:
            raise MemoryError(str(error)) from None
        return Storage(buffer)

    def _free(self, storage: Storage) -> None:
        if self.sharing is not None:
            self.sharing.give_back(storage)
        else:
            storage.buffer.release()

    def _clear(self, storage: Storage, nbytes: int) -> None:
        if self.sharing is not None:
            self.sharing.unmap(storage)
        self._cl.enqueue_fill_buffer(self._queue, storage.buffer, b"\0", 0, nbytes)

    def _settle(self) -> None:
        if self.sharing is not None:
            self.sharing.sweep(wait=True)

    def allocate(self, nbytes: int) -> Block:
        """A block of ``nbytes`` from the pool; it goes back when it dies."""
        if nbytes > self._largest:
            raise OutOfMemoryError(
                f"{nbytes} bytes; a block has {self._largest} at most",
                device=self.device,
            )
        storage, size = self.pool.rent(nbytes)
        if storage.mapped is not None and self.sharing is not None:
            self.sharing.unmap(storage)
        return Block(self.pool, storage, size, nbytes)

    def upload(self, source: HostArray, target: Block) -> None:
        """Copy bytes of the host."""
        if source.size:
            self._checked("upload", target.buffer, np.ascontiguousarray(source))

    def download(self, source: Block, target: HostArray) -> None:
        """Copy bytes to the host."""
        if not target.size:
            return
        if target.flags.c_contiguous:
            self._checked("download", target, source.buffer)
        else:
            received = np.empty(target.shape, target.dtype)
            self._checked("download", received, source.buffer)
            target[...] = received

    def dlpack_handle(self, memory: Block) -> int:
        """The ``cl_mem`` of a block."""
        return int(memory.buffer.int_ptr)

    def _checked(self, verb: str, target: Any, source: Any) -> None:
        try:
            self._cl.enqueue_copy(self._queue, target, source, is_blocking=True)
        except self._cl.Error as error:
            raise DeviceError(f"{verb}: {error}", device=self.device) from None

    # ------------------------------------------------------------------------ kernels
    def build(self, text: str, kernel: Kernel) -> Any:
        """The function of a text; see `GridBackend.build`."""
        return self._builder.function(text, kernel.name)

    def build_ahead(self, entry: Entry) -> None:
        """Put a kernel of a record on disk; see `Builder.build_ahead`."""
        self._builder.build_ahead(entry)

    def enqueue(
        self,
        function: Any,
        kernel: Kernel,
        grid: Sequence[int],
        group: Sequence[int],
        arguments: Sequence[Any],
    ) -> None:
        """Start a function; see `GridBackend.enqueue`."""
        given = [x.buffer if isinstance(x, Block) else x for x in arguments]
        if self._most and id(function) in self._most:
            group = halved(group, self._most[id(function)])
        try:
            with self._enqueuing:  # a function remembers its arguments
                self._set_arguments(function, given)
                self._cl.enqueue_nd_range_kernel(
                    self._queue, function, tuple(grid), tuple(group)
                )
                if self._builder.is_fresh(function):
                    self._queue.finish()
                    self._builder.keep(function)
        except self._cl.Error as error:
            if self._takes_fewer(function, kernel, group):
                return self.enqueue(function, kernel, grid, group, arguments)
            raise LaunchError(
                str(error), device=self.device, kernel=kernel.name, grid=tuple(grid)
            ) from None

    def _takes_fewer(self, function: Any, kernel: Kernel, group: Sequence[int]) -> bool:
        """Whether a launch failed because the kernel leaves no room for such a group,
        though the device does, and runs with a smaller one; that is remembered."""
        if math.prod(group) > self.limits.group or not is_free(kernel):
            return False
        wanted = self._cl.kernel_work_group_info.WORK_GROUP_SIZE
        most = int(function.get_work_group_info(wanted, self.handle))
        if math.prod(halved(group, most)) == math.prod(group):
            return False
        self._most[id(function)] = most
        return True

    def _set_arguments(self, function: Any, given: list[Any]) -> None:
        """Say what the function shall run on.

        Memory takes no time.  A number takes pyopencl 8 µs, unless it knows its dtype,
        and that takes it a millisecond, once: worth it where numbers change.
        """
        key = id(function)
        if key in self._typed:
            function.set_args(*given)
            return
        known = self._arguments.pop(key, None)
        if known is None:
            function.set_args(*given)
        else:
            for place, (new, old) in enumerate(zip(given, known, strict=True)):
                if new is old:
                    continue
                if isinstance(new, np.generic):
                    dtypes = [getattr(x, "dtype", None) for x in given]
                    function.set_scalar_arg_dtypes(dtypes)
                    self._typed.add(key)
                    function.set_args(*given)
                    return
                function.set_arg(place, new)
        self._arguments[key] = given

    def synchronize(self) -> None:
        """Wait until all that was launched has ended."""
        try:
            self._queue.finish()
        except self._cl.Error as error:
            raise LaunchError(str(error), device=self.device) from None
        self._settle()


def _finish(queue: Any, process: int) -> None:
    """Wait for a queue, in the process that made it: a child has no threads of its
    driver's."""
    if os.getpid() == process:
        queue.finish()
