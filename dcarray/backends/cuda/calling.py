"""Calls whose arguments are at hand, but for where things are.

The compiled core calls cublasLtMatmul by its address; without that `ctypes` does.
"""

from __future__ import annotations

import ctypes
import threading
from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

from ..base import Start
from .stacks import ALIGNED

__all__ = ["BIAS_POINTER", "Call", "Launch", "Prepared"]

_POINTER, _SIZE = ctypes.c_void_p, ctypes.c_size_t
_MATMUL = ctypes.CFUNCTYPE(ctypes.c_int, *[_POINTER] * 14, _SIZE, _POINTER)
_CHANGE = ctypes.CFUNCTYPE(ctypes.c_int, _POINTER, ctypes.c_int, _POINTER, _SIZE)

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


class Prepared:
    """What multiplies blocks of a device into the first one of them.

    Parameters
    ----------
    backend : CudaBackend
    call : Call
    starts : sequence of (int, int)
        Where the second and the third block begin, for each call, in bytes.
    nbytes : int
        Of the result of a call.
    usual : callable or None
        What does it where blocks begin elsewhere than those of the pool.
    """

    __slots__ = (
        "_allocate",
        "_backend",
        "_call",
        "_check",
        "_nbytes",
        "_starts",
        "_streams",
        "_threads",
        "_usual",
    )

    def __init__(
        self,
        backend: Any,
        call: Call,
        starts: Sequence[tuple[int, int]],
        nbytes: int,
        usual: Any,
        check: Callable[[int], None],
    ) -> None:
        self._backend = backend
        self._allocate = backend.allocate
        self._threads = backend._threads
        self._streams = backend.streams
        self._call = call
        self._starts = list(starts)
        self._nbytes = nbytes
        self._usual = usual
        self._check = check

    def __call__(self, memories: Sequence[Any], scalars: Sequence[Any]) -> None:
        out, x, y = memories[:3]
        first, second, target = x.pointer, y.pointer, out.pointer
        if self._usual is not None and (first | second) % ALIGNED:
            self._usual(memories, scalars)
            return
        streams = self._streams
        stream = streams.main
        if not self._backend._is_only or not getattr(self._threads, "entered", False):
            self._backend._enter()
        if streams.several:
            stream = streams.current
            with streams.entered():
                for memory in memories:
                    streams.use(memory, memory is out, stream)
        call = self._call
        place = bias = 0
        if call.workspace:
            room = self._allocate(call.workspace)
            place = room.pointer
        if call.change:
            bias = memories[3].pointer
        for here, there in self._starts:
            # Rows of ours are columns of cuBLAS.
            status = call.run(
                second + there, first + here, target, bias, place, stream.pointer
            )
            if status:
                self._check(status)
            target += self._nbytes


class Launch:
    """What does again what a row did in one step, whose result is all that it makes.

    Parameters
    ----------
    allocate : callable
    nbytes : int
        Of the result.
    run : callable
        The step.
    places : sequence of int
        Which arrays it takes; that of the result is the number of the operands.
    """

    __slots__ = ("_allocate", "_nbytes", "_places", "_run")

    def __init__(
        self,
        allocate: Callable[[int], Any],
        nbytes: int,
        run: Start,
        places: Sequence[int],
    ) -> None:
        self._allocate = allocate
        self._nbytes = nbytes
        self._run = run
        self._places = list(places)

    def __call__(self, memories: list[Any]) -> list[Any] | None:
        for memory in memories:
            if memory.pointer % ALIGNED:
                return None
        made = self._allocate(self._nbytes)
        memories.append(made)
        self._run([memories[k] for k in self._places], ())
        return [made]


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


# In the compiled core the name stands for a function in C, see the .pxd file.
globals()["invoke"] = _by_ctypes
