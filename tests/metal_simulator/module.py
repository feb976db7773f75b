"""The part of pyobjc's module ``Metal`` that the backend calls.

Names, arguments and results are those that pyobjc makes of Metal's methods: an error
that Objective-C would write through a pointer comes back beside the result.  Command
buffers run on a thread of their own, in the order of their commits, so that a missing
wait is noticed.
"""

from __future__ import annotations

import contextlib
import ctypes
import queue
import sys
import threading
import types
from collections import Counter, namedtuple
from collections.abc import Iterator
from typing import Any

from .library import CompilationError, Library, compiler

__all__ = ["Simulator", "installed"]

MTLSize = namedtuple("MTLSize", "width height depth")

COMPLETED, FAILED = 4, 5
PAGE_FAULT, OUT_OF_MEMORY, DEVICE_REMOVED = 3, 8, 11
RED_ZONE = 64
RED = 0xA5
POISON = 0xCB
PAGE = 16384
MOST_BYTES = 4096
"""Metal takes no more by `setBytes_length_atIndex_`."""


class Refused(AssertionError):
    """What Metal's API validation ends the program for."""


def check(condition: Any, message: str) -> None:
    """Validation, as Metal's own."""
    if not condition:
        raise Refused(message)


class Error:
    """An NSError."""

    def __init__(self, domain: str, code: int, text: str) -> None:
        self._facts = (domain, code, text)

    def domain(self) -> str:
        return self._facts[0]

    def code(self) -> int:
        return self._facts[1]

    def localizedDescription(self) -> str:
        return self._facts[2]


class CompileOptions:
    """An MTLCompileOptions."""

    def __init__(self) -> None:
        self.fast_math = True

    @classmethod
    def alloc(cls) -> CompileOptions:
        return cls()

    def init(self) -> CompileOptions:
        return self

    def setFastMathEnabled_(self, enabled: bool) -> None:
        self.fast_math = enabled


class Contents:
    """The `objc.varlist` that a buffer's ``contents`` is."""

    def __init__(self, address: int, length: int) -> None:
        self._address = address
        self._length = length

    def as_buffer(self, count: int) -> memoryview:
        check(0 <= count <= self._length, f"{count} of {self._length} bytes")
        found = (ctypes.c_char * count).from_address(self._address)
        return memoryview(found).cast("B")


class Buffer:
    """An MTLBuffer in shared memory, between two zones that nobody may write to."""

    def __init__(self, device: Device, length: int) -> None:
        self.device_ = device
        self._length = length
        size = length + 2 * RED_ZONE + 64
        self._memory = ctypes.create_string_buffer(size)
        start = ctypes.addressof(self._memory)
        self.address = -(-(start + RED_ZONE) // 64) * 64
        ctypes.memset(start, RED, size)
        ctypes.memset(self.address, POISON, length)
        device.allocated(length)

    def __del__(self) -> None:
        self.device_.allocated(-self._length)

    def length(self) -> int:
        return self._length

    def contents(self) -> Contents:
        return Contents(self.address, self._length)

    def is_intact(self) -> bool:
        """Whether nothing was written beside the buffer."""
        clean = bytes([RED]) * RED_ZONE
        before = ctypes.string_at(self.address - RED_ZONE, RED_ZONE)
        after = ctypes.string_at(self.address + self._length, RED_ZONE)
        return before == clean and after == clean


class Borrowed(Buffer):
    """An MTLBuffer in memory of somebody else, of whole pages."""

    def __init__(self, device: Device, address: int, length: int) -> None:
        check(address % PAGE == 0, f"address {address:#x} is no page's")
        check(length > 0 and length % PAGE == 0, f"{length} bytes are no whole pages")
        self.device_ = device
        self._length = length
        self.address = address
        device.allocated(length)

    def is_intact(self) -> bool:
        return True


class LibraryObject:
    """An MTLLibrary."""

    def __init__(self, compiled: Library) -> None:
        self._compiled = compiled

    def functionNames(self) -> list[str]:
        return list(self._compiled.functions)

    def newFunctionWithName_(self, name: str) -> Function | None:
        if name not in self._compiled.functions:
            return None
        return Function(self._compiled, name)


class Function:
    """An MTLFunction."""

    def __init__(self, compiled: Library, name: str) -> None:
        self.compiled = compiled
        self._name = name

    def name(self) -> str:
        return self._name


class PipelineState:
    """An MTLComputePipelineState."""

    def __init__(self, device: Device, function: Function) -> None:
        self.device_ = device
        self.function = function
        self.sizes = function.compiled.sizes(function.name())

    def maxTotalThreadsPerThreadgroup(self) -> int:
        simulator = self.device_.simulator
        return simulator.pipeline_group or simulator.group

    def threadExecutionWidth(self) -> int:
        return 32


class ComputeEncoder:
    """An MTLComputeCommandEncoder."""

    def __init__(self, commands: CommandBuffer) -> None:
        self._commands = commands
        self._state: PipelineState | None = None
        self._bound: dict[int, tuple[Buffer | ctypes.Array[Any], int]] = {}
        self._ended = False

    def setComputePipelineState_(self, state: PipelineState) -> None:
        check(isinstance(state, PipelineState), "no pipeline state")
        self._state = state

    def setBuffer_offset_atIndex_(self, buffer: Buffer, offset: int, at: int) -> None:
        check(isinstance(buffer, Buffer), f"buffer {at} is {buffer!r}")
        check(0 <= at < 31, f"no buffer index {at}")
        check(0 <= offset < buffer.length(), f"offset {offset} in buffer {at}")
        self._bound[at] = (buffer, offset)

    def setBytes_length_atIndex_(self, source: Any, length: int, at: int) -> None:
        check(0 <= at < 31, f"no buffer index {at}")
        check(0 < length <= MOST_BYTES, f"{length} bytes at index {at}")
        copied = ctypes.create_string_buffer(bytes(source)[:length], length)
        self._bound[at] = (copied, 0)

    def dispatchThreadgroups_threadsPerThreadgroup_(
        self, groups: Any, group: Any
    ) -> None:
        threads = tuple([g * n for g, n in zip(groups, group, strict=True)])
        self.dispatchThreads_threadsPerThreadgroup_(threads, group)

    def dispatchThreads_threadsPerThreadgroup_(self, threads: Any, group: Any) -> None:
        state = self._state
        assert not self._ended
        check(state is not None, "no pipeline state is set")
        assert state is not None
        threads, group = tuple(threads), tuple(group)
        check(all(n > 0 for n in (*threads, *group)), f"{threads} in groups of {group}")
        most = state.maxTotalThreadsPerThreadgroup()
        count = group[0] * group[1] * group[2]
        check(count <= most, f"(threads of a threadgroup: {count}) must be <= {most}")
        addresses = [0] * 31
        keep = []
        for at, size in state.sizes.items():
            check(at in self._bound, f"missing buffer binding at index {at}")
            bound, offset = self._bound[at]
            is_buffer = isinstance(bound, Buffer)
            length = bound.length() if is_buffer else len(bound)  # type: ignore
            check(length - offset >= size, f"buffer {at} is shorter than {size}")
            start = bound.address if is_buffer else ctypes.addressof(bound)  # type: ignore
            addresses[at] = start + offset
            keep.append(bound)
        self._commands.add(state, addresses, keep, threads, group)

    def endEncoding(self) -> None:
        self._ended = True
        self._commands.encoding = False


class CommandBuffer:
    """An MTLCommandBuffer."""

    def __init__(self, commands: CommandQueue) -> None:
        self._queue = commands
        self._work: list[tuple[Any, ...]] = []
        self._done = threading.Event()
        self._status = 0
        self._error: Error | None = None
        self.encoding = False

    def computeCommandEncoder(self) -> ComputeEncoder:
        check(not self.encoding, "another encoder is active")
        self.encoding = True
        return ComputeEncoder(self)

    def add(self, *work: Any) -> None:
        self._work.append(work)

    def commit(self) -> None:
        check(not self.encoding, "commit before endEncoding")
        check(self._status == 0, "committed twice")
        self._status = 2
        self._queue.put(self)

    def waitUntilCompleted(self) -> None:
        check(self._status > 0, "wait before commit")
        self._done.wait()

    def status(self) -> int:
        return self._status

    def error(self) -> Error | None:
        return self._error

    def run(self) -> None:
        """What the GPU does with it."""
        self._error = self._queue.device_.simulator.struck() or self._run_all()
        self._status = FAILED if self._error else COMPLETED
        self._work.clear()
        self._done.set()

    def _run_all(self) -> Error | None:
        for state, addresses, keep, threads, group in self._work:
            name = state.function.name()
            text = state.function.compiled.run(name, addresses, threads, group)
            self._queue.device_.simulator.counts["dispatch"] += 1
            if text is None and not all(
                b.is_intact() for b in keep if isinstance(b, Buffer)
            ):
                text = "it wrote beside a buffer"
            if text is not None:
                return Error(
                    "MTLCommandBufferErrorDomain", PAGE_FAULT, f"{name}: {text}"
                )
        return None


class CommandQueue:
    """An MTLCommandQueue."""

    def __init__(self, device: Device) -> None:
        self.device_ = device
        self._waiting: queue.SimpleQueue[CommandBuffer | None] = queue.SimpleQueue()
        thread = threading.Thread(
            target=_serve, args=(self._waiting,), name="simulated GPU", daemon=True
        )
        thread.start()

    def __del__(self) -> None:
        self._waiting.put(None)

    def commandBuffer(self) -> CommandBuffer:
        return CommandBuffer(self)

    def put(self, commands: CommandBuffer) -> None:
        self._waiting.put(commands)


def _serve(waiting: queue.SimpleQueue[CommandBuffer | None]) -> None:
    while True:
        commands = waiting.get()
        if commands is None:
            return
        commands.run()
        del commands


class Device:
    """An MTLDevice."""

    def __init__(self, simulator: Simulator) -> None:
        self.simulator = simulator
        self._allocated = 0
        self._lock = threading.Lock()

    def name(self) -> str:
        return "Simulated Metal device"

    def registryID(self) -> int:
        return 1

    def hasUnifiedMemory(self) -> bool:
        return True

    def isLowPower(self) -> bool:
        return False

    def recommendedMaxWorkingSetSize(self) -> int:
        return self.simulator.memory

    def maxBufferLength(self) -> int:
        return self.simulator.memory

    def currentAllocatedSize(self) -> int:
        return self._allocated

    def maxThreadsPerThreadgroup(self) -> MTLSize:
        group = self.simulator.group
        return MTLSize(group, group, group)

    def maxThreadgroupMemoryLength(self) -> int:
        return 32768

    def supportsFamily_(self, family: int) -> bool:
        return family <= 1007

    def allocated(self, nbytes: int) -> None:
        """Count memory that comes or goes."""
        with self._lock:
            self._allocated += nbytes

    def newBufferWithLength_options_(self, length: int, options: int) -> Buffer | None:
        check(length > 0, "a buffer of no bytes")
        check(options == 0, "only shared storage is simulated")
        if length > self.simulator.memory - self._allocated:
            return None
        return Buffer(self, length)

    def newBufferWithBytesNoCopy_length_options_deallocator_(
        self, source: memoryview, length: int, options: int, deallocator: None
    ) -> Buffer:
        check(options == 0, "only shared storage is simulated")
        check(not source.readonly, "the memory cannot be written")
        check(length <= source.nbytes, f"{length} of {source.nbytes} bytes")
        address = ctypes.addressof(ctypes.c_char.from_buffer(source))
        return Borrowed(self, address, length)

    def newLibraryWithSource_options_error_(
        self, source: str, options: CompileOptions | None, error: None
    ) -> tuple[LibraryObject | None, Error | None]:
        self.simulator.counts["compile"] += 1
        self.simulator.sources.append(source)
        try:
            if self.simulator.refusing:
                raise CompilationError("program_source:1:1: error: a refusal on demand")
            return LibraryObject(Library(source)), None
        except CompilationError as wrong:
            return None, Error("MTLLibraryErrorDomain", 3, str(wrong))

    def newComputePipelineStateWithFunction_error_(
        self, function: Function, error: None
    ) -> tuple[PipelineState | None, Error | None]:
        return PipelineState(self, function), None

    def newCommandQueue(self) -> CommandQueue:
        return CommandQueue(self)


class Simulator:
    """One simulated device, and the module that shows it.

    Parameters
    ----------
    memory : int
        Bytes that the device has.
    group : int
        Most threads of a threadgroup.

    Attributes
    ----------
    counts : Counter
        Calls of ``"compile"`` and runs of ``"dispatch"``.
    sources : list of str
        All texts that were compiled.
    failing : Error or None
        What the next command buffer fails with.
    refusing : bool
        Whether nothing compiles.
    pipeline_group : int or None
        Most threads of a threadgroup for kernels, if fewer than those of the device.
    """

    def __init__(self, memory: int = 8 << 30, group: int = 1024) -> None:
        self.memory = memory
        self.group = group
        self.counts: Counter[str] = Counter()
        self.sources: list[str] = []
        self.failing: Error | None = None
        self.refusing = False
        self.pipeline_group: int | None = None
        self.device = Device(self)

    def fail(self, code: int, text: str = "a failure on demand") -> None:
        """Make the next command buffer fail."""
        self.failing = Error("MTLCommandBufferErrorDomain", code, text)

    def struck(self) -> Error | None:
        """The failure that was asked for, once."""
        failing, self.failing = self.failing, None
        return failing

    def module(self) -> types.ModuleType:
        """A module ``Metal`` whose only device this is."""
        made: Any = types.ModuleType("Metal")
        made.MTLCreateSystemDefaultDevice = lambda: self.device
        made.MTLCopyAllDevices = lambda: [self.device]
        made.MTLCompileOptions = CompileOptions
        made.MTLSize = MTLSize
        made.MTLSizeMake = MTLSize
        made.MTLResourceStorageModeShared = 0
        made.MTLCommandBufferStatusCompleted = COMPLETED
        made.MTLCommandBufferStatusError = FAILED
        return made  # type: ignore[no-any-return]


@contextlib.contextmanager
def installed(simulator: Simulator) -> Iterator[Simulator]:
    """Let ``import Metal`` and ``import objc`` find the simulator."""
    assert compiler(), "the simulated Metal device needs g++"
    bridge: Any = types.ModuleType("objc")
    bridge.autorelease_pool = contextlib.nullcontext
    bridge.pyobjc_id = id
    modules = {"Metal": simulator.module(), "objc": bridge}
    before = {name: sys.modules.get(name) for name in modules}
    sys.modules.update(modules)
    try:
        yield simulator
    finally:
        for name, module in before.items():
            if module is None:
                sys.modules.pop(name, None)
            else:
                sys.modules[name] = module
