"""Calls whose arguments are at hand, but for where things are.

The compiled core calls cublasLtMatmul and cuFFT by their addresses; without that
`ctypes` does.
"""

from __future__ import annotations

import ctypes
import sys
import threading
from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

from ... import native
from ...errors import LaunchError
from ..base import Start
from ..starting import Allocator, Starter, starter_of
from .memory import Block, Room
from .stacks import ALIGNED

__all__ = [
    "BIAS_POINTER",
    "COUNTS",
    "Again",
    "Call",
    "FourierPlan",
    "Prepared",
    "Transform",
    "address",
]

_POINTER, _SIZE = ctypes.c_void_p, ctypes.c_size_t
_MATMUL = ctypes.CFUNCTYPE(ctypes.c_int, *[_POINTER] * 14, _SIZE, _POINTER)
_CHANGE = ctypes.CFUNCTYPE(ctypes.c_int, _POINTER, ctypes.c_int, _POINTER, _SIZE)
_EXECUTE = ctypes.CFUNCTYPE(
    ctypes.c_int, ctypes.c_int, _POINTER, _POINTER, ctypes.c_int
)

_is_ending: Callable[[], bool] | None = sys.is_finalizing
"""None once the module is empty, when a process ends."""

BIAS_POINTER = 8
"""CUBLASLT_MATMUL_DESC_BIAS_POINTER."""


class Call:
    """A product of matrices.

    Attributes
    ----------
    function, change : int
        The addresses of cublasLtMatmul, and of what gives a description the address of
        a bias; 0 without one.
    handle, description, one, zero, first, second, result, choice : int
        The addresses of its arguments; those of matrices are their layouts.
    workspace : int
        Bytes.
    kept : object
        What lives as long as this does.
    """

    __slots__ = (
        "__weakref__",
        "change",
        "choice",
        "description",
        "first",
        "function",
        "handle",
        "kept",
        "one",
        "result",
        "second",
        "workspace",
        "zero",
    )

    def __init__(
        self,
        functions: tuple[int, int],
        handle: int,
        description: int,
        factors: tuple[int, int],
        layouts: tuple[int, int, int],
        choice: int,
        workspace: int,
        kept: Any,
    ) -> None:
        self.function, self.change = functions
        self.handle = handle
        self.description = description
        self.one, self.zero = factors
        self.first, self.second, self.result = layouts
        self.choice = choice
        self.workspace = workspace
        self.kept = kept

    def run(self, x: int, y: int, out: int, bias: int, room: int, stream: int) -> int:
        """Multiply what lies at two addresses; gives cuBLAS's status."""
        return invoke(  # type: ignore[name-defined,no-any-return]  # noqa: F821
            self.function,
            self.change,
            self.handle,
            self.description,
            self.one,
            x,
            self.first,
            y,
            self.second,
            self.zero,
            out,
            self.result,
            self.choice,
            room,
            self.workspace,
            stream,
            bias,
        )


class Prepared(Starter):
    """What multiplies blocks of a device into the first one of them.

    Parameters
    ----------
    backend : CudaBackend
    call : Call
    starts : sequence of (int, int)
        Where the second and the third block begin, for each call, in bytes.
    nbytes : int
        Of the result of a call.
    room : Room
        What it works in.
    usual : callable or None
        What does it where blocks begin elsewhere than those of the pool.
    check : callable
        Says what a status of cuBLAS means.
    """

    __slots__ = (
        "_allocator",
        "_backend",
        "_call",
        "_check",
        "_is_only",
        "_nbytes",
        "_room",
        "_starts",
        "_streams",
    )

    def __init__(
        self,
        backend: Any,
        call: Call,
        starts: Sequence[tuple[int, int]],
        nbytes: int,
        room: Room,
        usual: Any,
        check: Callable[[int], None],
    ) -> None:
        super().__init__(usual)
        self._backend = backend
        self._allocator = backend.allocator
        self._is_only = backend._is_only
        self._streams = backend.streams
        self._call, self._starts = call, list(starts)
        self._nbytes, self._room = nbytes, room
        self._check = check

    def start(self, memories: list[Any], scalars: Sequence[Any]) -> None:
        """See `Starter`."""
        target = address(memories[0])
        first, second = address(memories[1]), address(memories[2])
        if self.usual is not None and (first | second) % ALIGNED:
            self.usual(memories, scalars)
            return
        streams = self._streams
        stream = streams.main
        if not self._is_only:
            self._backend._enter()
        if streams.several:
            stream = streams.current
            with streams.entered():
                for place, memory in enumerate(memories):
                    streams.use(memory, place == 0, stream)
        call = self._call
        place = bias = 0
        if call.workspace:
            if stream is streams.main:
                room = self._room.at_least(call.workspace)
            else:
                room = self._allocator.allocate(call.workspace)
            place = address(room)
        if call.change:
            bias = address(memories[3])
        pointer = stream.pointer
        for here, there in self._starts:
            # Rows of ours are columns of cuBLAS.
            x, y = second + there, first + here
            status = call.run(x, y, target, bias, place, pointer)
            if status:  # of a thread without a device, maybe
                self._backend._enter()
                status = call.run(x, y, target, bias, place, pointer)
                if status:
                    self._check(status)
            target += self._nbytes


class FourierPlan:
    """A plan of cuFFT's, destroyed with the object.

    Attributes
    ----------
    execute : int
        The address of the function that runs it.
    handle : int
    nbytes : int
        Of the memory that a call needs besides.
    stream, area : int
        The addresses that it was given last: of its stream, and of that memory.
    """

    __slots__ = (
        "__weakref__",
        "area",
        "destroy",
        "execute",
        "handle",
        "nbytes",
        "stream",
    )

    def __init__(
        self, destroy: Callable[[int], Any], execute: int, handle: int, nbytes: int
    ) -> None:
        self.destroy = destroy
        self.execute = execute
        self.handle = handle
        self.nbytes = nbytes
        self.stream = self.area = -1

    def __del__(self) -> None:
        if _is_ending is not None and not _is_ending():
            self.destroy(self.handle)


class Transform(Starter):
    """What transforms one block into another by a plan of cuFFT's.

    Parameters
    ----------
    backend : CudaBackend
    lock : Lock
        Of all plans of the device: what one was given holds for its next run.
    find : callable
        Gives the plan: others may have taken its place.
    library : object
        cuFFT.
    turn : int
        1 for an inverse transform of complex numbers, -1 otherwise.
    begin : int
        Bytes before the source, in its block.
    """

    __slots__ = (
        "_allocator",
        "_backend",
        "_begin",
        "_find",
        "_is_only",
        "_known",
        "_library",
        "_lock",
        "_streams",
        "_turn",
    )

    def __init__(
        self,
        backend: Any,
        lock: Any,
        find: Callable[[], FourierPlan],
        library: Any,
        turn: int,
        begin: int,
    ) -> None:
        none: Any = None
        super().__init__(none)
        self._backend = backend
        self._allocator = backend.allocator
        self._is_only = backend._is_only
        self._streams = backend.streams
        self._lock = lock
        self._find = find
        self._library = library
        self._turn = turn
        self._begin = begin
        self._known: Any = None

    def start(self, memories: list[Any], scalars: Sequence[Any]) -> None:
        """See `Starter`.

        Raises
        ------
        LaunchError
            cuFFT failed.
        """
        if not self._is_only:
            self._backend._enter()
        with self._lock:
            plan = None if self._known is None else native.referent(self._known)
            if plan is None:
                plan = self._find()
                self._known = native.reference(plan)
            status = self._run(plan, memories)
            if status:  # of a thread without a device, maybe
                self._backend._enter()
                status = self._run(plan, memories)
        if status:
            raise LaunchError(
                "cuFFT failed", device=self._backend.device, code=f"cufft {status}"
            )

    def _run(self, plan: FourierPlan, memories: list[Any]) -> int:
        streams = self._streams
        stream = streams.main
        status = 0
        if streams.several:
            stream = streams.current
            with streams.entered():
                streams.use(memories[0], False, stream)
                streams.use(memories[1], True, stream)
            if stream.capture is not None:
                stream.capture.kept.append(plan)
        pointer = stream.pointer
        if plan.stream != pointer:
            status = self._library.cufftSetStream(plan.handle, pointer)
            plan.stream = -1 if status else pointer
        if plan.nbytes:
            room = self._allocator.allocate(plan.nbytes)
            place = address(room)
            if plan.area != place:
                status = status or self._library.cufftSetWorkArea(plan.handle, place)
                plan.area = -1 if status else place
        if status:
            return status
        source, target = address(memories[0]) + self._begin, address(memories[1])
        return transform(  # type: ignore[name-defined,no-any-return]  # noqa: F821
            plan.execute, plan.handle, source, target, self._turn
        )


class Again:
    """What does again what a row did.

    Parameters
    ----------
    allocator : Allocator
    counting : callable
        Gives the counts of the current stream.
    sizes : sequence of int
        Bytes of the arrays that are made, `COUNTS` for those counts.
    steps : sequence of (callable, sequence of int)
        What it did, and the numbers of the arrays that each took: those of the caller,
        and then those that are made.
    results : sequence of int
        The numbers of the results.
    """

    __slots__ = ("_allocator", "_counting", "_results", "_sizes", "_steps")

    def __init__(
        self,
        allocator: Allocator,
        counting: Callable[[], Any],
        sizes: Sequence[int],
        steps: Sequence[tuple[Start, Sequence[int]]],
        results: Sequence[int],
    ) -> None:
        self._allocator = allocator
        self._counting = counting
        self._sizes = list(sizes)
        self._steps = [(starter_of(start), list(places)) for start, places in steps]
        self._results = list(results)

    def __call__(self, memories: list[Any]) -> list[Any] | None:
        """Memory of the caller's arrays → that of the results; None for memory that
        begins elsewhere than that of the pool."""
        for memory in memories:
            if type(memory) is not Block and memory.pointer % ALIGNED:
                return None
        return self.run(memories)

    def run(self, memories: list[Any]) -> list[Any]:
        """The same, of memory that begins as that of the pool does."""
        for nbytes in self._sizes:
            if nbytes == COUNTS:
                memories.append(self._counting())
            else:
                memories.append(self._allocator.allocate(nbytes))
        for starter, places in self._steps:
            step: Starter = starter
            step.start([memories[k] for k in places], ())
        return [memories[k] for k in self._results]


COUNTS = -1
"""Stands for the size of counts."""


def address(memory: Any) -> int:
    """Where memory of a device begins."""
    if type(memory) is Block:
        block = memory
        return block.pointer
    found: int = memory.pointer
    return found


_lock = threading.Lock()


@cache
def _function(prototype: Any, address: int) -> Any:
    return prototype(address)


def _by_ctypes(function: int, change: int, handle: int, *given: int) -> Any:
    description, one, x, a, y, b, zero, out, c, *rest, bias = given
    arguments = (description, one, x, a, y, b, zero, out, c, out, c, *rest)
    matmul = _function(_MATMUL, function)
    if not change:
        return matmul(handle, *arguments)
    value = _POINTER(bias)
    with _lock:
        found = _function(_CHANGE, change)(
            arguments[0], BIAS_POINTER, ctypes.addressof(value), 8
        )
        return found or matmul(handle, *arguments)


def _execute(function: int, handle: int, source: int, target: int, turn: int) -> Any:
    return _function(_EXECUTE, function)(handle, source, target, turn)


# In the compiled core these names stand for functions in C, see the .pxd file.
globals().update(invoke=_by_ctypes, transform=_execute)
