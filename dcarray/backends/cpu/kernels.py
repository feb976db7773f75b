"""Kernels over a grid on the CPU: compiled, groups on all threads; or in step by NumPy
where there is no LLVM, or no spelling of an operation."""

from __future__ import annotations

import ctypes
import math
import os
import struct
import threading
from array import array
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ...config import current
from ...errors import UnsupportedError
from ...kernel.interpret import interpret
from ...kernel.nodes import (
    Apply,
    Array,
    Atomic,
    Barrier,
    Body,
    For,
    If,
    Kernel,
    Load,
    Store,
    While,
)
from ...kernel.walk import expressions, parts, statements
from ...render.llvm_functions import library_functions
from ...render.llvm_grid import GRID, render_grid
from .engine import Engine, data_address, engine
from .threads import available_threads, run_slices

__all__ = [
    "Compiled",
    "compiled",
    "run_groups",
    "run_in_step",
    "run_kernel",
    "run_pieces",
    "single_piece",
]

_WORD = np.dtype(np.int64)
_FAR = 1 << 63
_pack_word = struct.Struct("=q").pack

_SLICE = 1 << 17
"""Operations from which a slice of its own pays: some ten µs."""

_ROUNDS = 64
"""How often the body of a loop is taken to run."""

_SLOW = 16
"""What a function like ``exp`` counts for; so does an atomic operation."""

_QUICK = frozenset(
    "add subtract multiply negative absolute less less_equal greater greater_equal "
    "equal not_equal bitwise_and bitwise_or bitwise_xor invert left_shift "
    "right_shift".split()
)


@dataclass(frozen=True, slots=True)
class Compiled:
    """A kernel's function; the scratch memory that it needs for each work item of a
    group, and besides; and how many operations there are for each."""

    function: Callable[..., Any]
    address: int
    each: int
    fixed: int
    weight: int
    owner: Any


Group = tuple[int, int, int]

_compiled: dict[tuple[Kernel, Group | None], Compiled | None] = {}
_lock = threading.Lock()


def compiled(kernel: Kernel, group: Group | None = None) -> Compiled | None:
    """The machine code of a kernel, or None where there is none; for groups of so many
    items if they are given."""
    if current().engine == "interpreter":
        return None
    for key in ((kernel, None), (kernel, group)):
        if key in _compiled:
            return _compiled[key]
    # Where items meet, groups have the size that the kernel was written for.
    meet = any(isinstance(item, Barrier) for item in statements(kernel.body))
    fixed = group if meet else None
    with _lock:
        found = engine()
        code = None if found is None else _compile(found, kernel, fixed)
        _compiled[kernel, fixed] = code
    return code


def _compile(found: Engine, kernel: Kernel, group: Group | None) -> Compiled | None:
    try:
        text, each, fixed = render_grid(kernel, group)
    except UnsupportedError:
        return None
    # A symbol that is not there would end the process.
    if not all(map(found.has_symbol, library_functions(text))):
        return None
    if " half " in text and not found.has_halves:
        return None
    built = found.kernel(text, GRID, kernel.name)
    function = ctypes.CFUNCTYPE(None, *[ctypes.c_int64] * 4)(built.address)
    weight = 1 + _operations(kernel.body)
    return Compiled(function, built.address, each, fixed, weight, built.owner)


def _operations(body: Body) -> int:
    """About how many operations statements are."""
    total = 0
    for node in body:
        inside = 0
        if isinstance(node, (If, For, While)):
            inside = _operations(node.body)
        if isinstance(node, If):
            inside += _operations(node.otherwise)
        total += inside * _ROUNDS if isinstance(node, (For, While)) else inside
        total += _SLOW if isinstance(node, Atomic) else isinstance(node, Store)
        for item in expressions(node):
            for part in parts(item):
                if isinstance(part, Apply):
                    total += 1 if part.primitive in _QUICK else _SLOW
                else:
                    total += isinstance(part, Load)
    return total


def run_kernel(
    kernel: Kernel, grid: Sequence[int], group: Sequence[int], arguments: Sequence[Any]
) -> None:
    """Run a kernel; see `GridBackend.run`.  Arrays are NumPy's, of one axis."""
    if not math.prod(grid):
        return
    sizes = [*group, 1, 1][:3]
    code = compiled(kernel, (sizes[0], sizes[1], sizes[2]))
    if code is None:
        run_in_step(kernel, grid, group, arguments)
        return
    counts = [n // m for n, m in zip([*grid, 1, 1][:3], sizes, strict=True)]
    table = _table(kernel, arguments, (*counts, *sizes))
    run_groups(code, code.function, ctypes.addressof(table), (*counts, *sizes))


def run_pieces(kernel: Kernel, pieces: int, arguments: Sequence[Any]) -> bool:
    """Run a kernel whose groups have one work item and a long piece of work each, on
    all threads; False if there is no machine code of it.
    """
    code = compiled(kernel, (1, 1, 1))
    if code is None:
        return False
    table = _table(kernel, arguments, (pieces, 1, 1, 1, 1, 1))
    address, edges = ctypes.addressof(table), range(pieces + 1)
    nbytes, threads = code.each + code.fixed, available_threads()
    _run_slices(code.function, address, edges, nbytes, threads)
    return True


def single_piece(kernel: Kernel) -> Callable[..., None] | None:
    """A kernel of one work item, of arrays and whole numbers, as a function that runs
    it on the thread that calls it; None if there is no machine code of it."""
    code = compiled(kernel, (1, 1, 1))
    if code is None or code.each + code.fixed:
        return None
    function = code.function
    arrays = sum([isinstance(item, Array) for item in kernel.parameters])
    sizes = (1, 1, 1, 1, 1, 1)

    def run(*arguments: Any) -> None:
        addresses = map(data_address, arguments[:arrays])
        words = array("q", (*addresses, *arguments[arrays:], *sizes))
        function(words.buffer_info()[0], 0, 1, 0)

    return run


def _table(kernel: Kernel, arguments: Sequence[Any], sizes: Sequence[int]) -> Any:
    """What a kernel's function is called with, in memory."""
    words = bytearray()
    for parameter, argument in zip(kernel.parameters, arguments, strict=True):
        if isinstance(parameter, Array):
            words += _pack_word(data_address(argument))
        elif (
            type(argument) is int
            and parameter.dtype == _WORD
            and -_FAR <= argument < _FAR
        ):  # most of them, without the care that others need
            words += _pack_word(argument)
        else:
            words += _words(argument, parameter.dtype)
    words += struct.pack("=6q", *sizes)
    return (ctypes.c_char * len(words)).from_buffer(words)


def run_groups(
    code: Compiled, function: Callable[..., Any], words: Any, sizes: Sequence[int]
) -> None:
    """Run the groups of a grid, on several threads where it pays.

    ``sizes`` are the numbers of groups, and those of items of a group, along three
    axes; ``function`` takes ``words`` as it is.
    """
    groups = sizes[0] * sizes[1] * sizes[2]
    items = sizes[3] * sizes[4] * sizes[5]
    nbytes = code.each * items + code.fixed
    slices = min(groups, groups * items * code.weight // _SLICE)
    threads = available_threads() if slices > 1 else 1
    slices = max(1, min(slices, 8 * threads)) if threads > 1 else 1
    edges = [groups * k // slices for k in range(slices + 1)]
    _run_slices(function, words, edges, nbytes, threads)


def _run_slices(
    function: Callable[..., Any],
    words: Any,
    edges: Sequence[int],
    nbytes: int,
    threads: int,
) -> None:
    """Run groups between edges, each slice with scratch memory of its own."""

    def task(number: int) -> None:
        start = 0
        if nbytes:
            scratch = np.empty(nbytes + 64, np.uint8)
            start = -(-scratch.__array_interface__["data"][0] // 64) * 64
        function(words, edges[number], edges[number + 1], start)

    run_slices(task, len(edges) - 1, threads)


def _words(value: Any, dtype: np.dtype[Any]) -> bytes:
    """A number as the lowered kernel takes it, each part in 8 bytes."""
    with np.errstate(all="ignore"):
        number = dtype.type(value)
    parts = (number.real, number.imag) if dtype.kind == "c" else (number,)
    found = bytearray()
    for part in parts:
        if part.dtype.kind not in "biu" and part.dtype.itemsize < 4:
            part = np.float32(part)
        found += part.tobytes().ljust(8, b"\0")
    return bytes(found)


def run_in_step(
    kernel: Kernel, grid: Sequence[int], group: Sequence[int], arguments: Sequence[Any]
) -> None:
    """Run a kernel by NumPy: all work items in step."""
    with np.errstate(all="ignore"):
        given = [
            x if isinstance(p, Array) else np.asarray(p.dtype.type(x))
            for p, x in zip(kernel.parameters, arguments, strict=True)
        ]
    if math.prod(grid):
        interpret(kernel, given, grid, group)


def _after_fork() -> None:
    global _lock
    _lock = threading.Lock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)
