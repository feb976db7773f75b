"""Memory, functions and launches, as `backends.cuda.raw` takes them."""

from __future__ import annotations

import ctypes
import hashlib
import re
import shutil
import subprocess
from collections.abc import Callable, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import numpy as np

from dcarray.backends.cuda.raw import Raw
from dcarray.backends.cuda.selecting import Selector
from dcarray.backends.grid import Limits
from dcarray.backends.starting import Allocator
from dcarray.kernel.nodes import Kernel
from dcarray.render.cuda import CUDA

__all__ = ["EmulatedDevice", "Memory", "compiler"]

HERE = Path(__file__).parent
FLAGS = ("-std=c++20", "-O0", "-w", "-shared", "-fPIC", "-pthread", f"-I{HERE}")
ENTRY = 'extern "C" __global__'


def compiler() -> str | None:
    """Where g++ is, or None."""
    return shutil.which("g++")


class Memory:
    """A block of bytes, aligned, that hold anything."""

    def __init__(self, nbytes: int) -> None:
        self._bytes = np.full(nbytes + 256, 0xCB, np.uint8)
        self._first = -self._bytes.ctypes.data % 256
        self.pointer = self._bytes.ctypes.data + self._first
        self.nbytes = nbytes

    def seen_as(self, dtype: Any) -> Any:
        """All of it as an array."""
        return self._bytes[self._first : self._first + self.nbytes].view(dtype)


class EmulatedDevice:
    """Runs texts on the host.

    Parameters
    ----------
    folder : Path
        For what g++ makes.
    """

    device = "cuda:0"
    supported = frozenset(map(np.dtype, "?bBhHiIlLqQefd"))
    limits = Limits(group=1024, units=2, shared=1 << 15, items=256)
    _main = SimpleNamespace(pointer=0, capture=None)
    streams = SimpleNamespace(current=_main, main=_main, several=False)

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._built: dict[str, ctypes.CDLL] = {}
        self.allocator = Allocator(cast(Any, self))
        self.select = Selector(Raw(cast(Any, self))).select

    def allocate(self, nbytes: int) -> Memory:
        return Memory(nbytes)

    def _clear(self, pointer: int, nbytes: int) -> None:
        ctypes.memset(pointer, 0, nbytes)

    def upload(self, source: Any, target: Memory) -> None:
        target.seen_as(np.uint8)[: source.size] = source

    def download(self, source: Memory, target: Any) -> None:
        target[:] = source.seen_as(np.uint8)[: target.size]

    def build(self, text: str, kernel: Kernel) -> Any:
        key = hashlib.sha256(text.encode()).hexdigest()[:16]
        if key not in self._built:
            path = self._folder / f"{key}.so"
            source = self._folder / f"{key}.cpp"
            source.write_text(translated(text))
            command = [compiler() or "g++", *FLAGS, "-o", str(path), str(source)]
            done = subprocess.run(command, capture_output=True, text=True, check=False)
            assert not done.returncode, done.stderr
            self._built[key] = ctypes.CDLL(str(path))
        return getattr(self._built[key], f"launch_{kernel.name}")

    def enqueue(
        self,
        function: Any,
        kernel: Kernel,
        grid: Sequence[int],
        group: Sequence[int],
        arguments: Sequence[Any],
    ) -> None:
        kinds = {int: ctypes.c_longlong, float: ctypes.c_double}
        given = [
            ctypes.c_void_p(x.pointer)
            if isinstance(x, Memory)
            else kinds[float if isinstance(x, float) else int](x)
            for x in arguments
        ]
        blocks = (grid[0] // group[0], (*grid, 1)[1])
        function(*map(ctypes.c_uint, (*blocks, group[0])), *given)

    def starter(
        self, function: Any, kernel: Kernel, grid: Any, group: Any, numbers: Any
    ) -> Callable[[Sequence[Any], Any], None]:
        last = [number.item() for number in numbers]
        return lambda memories, scalars: self.enqueue(
            function, kernel, grid, group, [*memories, *scalars, *last]
        )


def translated(text: str) -> str:
    """C++ for the host, with a launch for each kernel."""
    text = text.replace(CUDA.preamble, "")
    launches = []
    for kind, name, listed in re.findall(
        rf"{ENTRY} (void) [^;{{]*?\b(\w+)\(([^)]*)\)\s*\{{", text
    ):
        parameters = [one.replace("__restrict__", "") for one in listed.split(",")]
        names = [re.split(r"[\s*]+", one.strip())[-1] for one in parameters]
        listed = ", ".join(parameters)
        called = f"{name}({', '.join(names)})"
        launches.append(
            f'extern "C" {kind} launch_{name}(\n'
            f"    unsigned grid_x, unsigned grid_y, unsigned threads_, {listed}) {{\n"
            f"  launch(grid_x, grid_y, threads_, [=] {{ {called}; }});\n"
            "}\n"
        )
    body = text.replace(ENTRY, "static")
    return "\n".join(['#include "emulator.h"', body, *launches])
