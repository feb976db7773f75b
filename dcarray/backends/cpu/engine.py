"""LLVM: text to machine code, and machine code to functions.

llvmlite is loaded when the first kernel is built.  Without it, or where NumPy's structs
are not what we take them for, there is no engine and the interpreter does all the work.
"""

from __future__ import annotations

import ctypes
import hashlib
import os
import platform
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np

from ...config import logger
from ...errors import CompileError
from ...profile import Event, emit
from ...render.llvm import NAME, RENDERER_VERSION
from ...render.llvm_driver import DRIVER
from ...render.llvm_team import TEAM
from ..cache import object_cache
from ..recording import Entry, record
from .loops import struct_agrees

__all__ = ["Call", "Engine", "Kernel", "data_address", "engine", "flag_functions"]


Call = Callable[..., int]


@dataclass(frozen=True, slots=True)
class Kernel:
    """A loaded block function; ``owner`` keeps its memory."""

    address: int
    owner: Any


@dataclass(frozen=True, slots=True)
class TeamFunctions:
    """What `llvm_team` defines."""

    post: Call
    lead: Call
    help: Call


class Engine:
    """Builds kernels for this processor."""

    def __init__(self) -> None:
        import llvmlite
        import llvmlite.binding as llvm

        llvm.initialize_native_target()
        llvm.initialize_native_asmprinter()
        self._llvm = llvm
        self._lock = threading.Lock()
        self._kernels: dict[str, Kernel] = {}
        self._cpu = llvm.get_host_cpu_name()
        self._features = llvm.get_host_cpu_features().flatten()
        version = ".".join(map(str, llvm.llvm_version_info))
        self._identity = (
            f"renderer {RENDERER_VERSION} llvmlite {llvmlite.__version__} "
            f"llvm {version} numpy {np.__version__} {self._cpu} {self._features}\n"
        )
        loader = self.kernel(DRIVER + TEAM, "dcarray_drive", optimise=False).owner
        self.drive = _function(loader, "dcarray_drive", 4)
        self.entry: int = loader.get_function_address("dcarray_drive")
        self.single: int = loader.get_function_address("dcarray_single")
        self.team = TeamFunctions(
            _function(loader, "dcarray_post", 5),
            _function(loader, "dcarray_lead", 7),
            _function(loader, "dcarray_help", 3),
        )

    def has_symbol(self, name: str) -> bool:
        """Whether machine code can call a function of this name."""
        return bool(self._llvm.address_of_symbol(name))

    @property
    def has_halves(self) -> bool:
        """Whether the processor converts float16."""
        return "+f16c" in self._features

    @property
    def has_fused(self) -> bool:
        """Whether the processor has a fused multiply-add."""
        return "+fma" in self._features or platform.machine() in ("aarch64", "arm64")

    @property
    def vector_bytes(self) -> int:
        """Bytes of the longest vectors with which arithmetic is fast."""
        return 64 if "+avx512f" in self._features else 32

    def after_fork(self) -> None:
        """In a child process: a lock that nobody holds."""
        self._lock = threading.Lock()

    def kernel(
        self,
        text: str,
        name: str = NAME,
        label: str = "driver",
        optimise: bool = True,
    ) -> Kernel:
        """Machine code for a module: from memory, from disk, or built now.

        Parameters
        ----------
        text : str
        name : str
            The function that is wanted.
        label : str
            What reports call it.
        optimise : bool
            What has no loops over elements is not worth the time.

        Raises
        ------
        CompileError
            The text is none that LLVM takes.
        """
        key = self._key(text)
        with self._lock:
            found = self._kernels.get(key)
            if found is None:
                if optimise:  # the others are built wherever there is an engine
                    record("cpu", text, name, label)
                cache = object_cache()
                content = cache.get(key)
                if content is None:
                    content = self._build(text, label, optimise)
                    cache.put(key, content, label)
                found = self._load(content, name)
                self._kernels[key] = found
        return found

    def build_ahead(self, entry: Entry) -> None:
        """Put a kernel of a record on disk, without loading it.

        Raises
        ------
        CompileError
            Its text is none that LLVM takes.
        """
        key, cache = self._key(entry.text), object_cache()
        if cache.get(key) is None:
            content = self._build(entry.text, entry.label, optimise=True)
            cache.put(key, content, entry.label)

    def _key(self, text: str) -> str:
        return hashlib.sha256((self._identity + text).encode()).hexdigest()

    def _machine(self) -> Any:
        target = self._llvm.Target.from_default_triple()
        return target.create_target_machine(
            cpu=self._cpu, features=self._features, opt=1, jit=True
        )

    def _build(self, text: str, label: str, optimise: bool) -> bytes:
        start = time.perf_counter()
        llvm = self._llvm
        try:
            module = llvm.parse_assembly(text)
            module.triple = llvm.get_default_triple()
            # Before optimising: a wrong signature would end the process.
            module.verify()
        except RuntimeError as error:
            raise CompileError(
                str(error).strip(), device="cpu", kernel=label, source=text
            ) from None
        machine = self._machine()
        if optimise:
            options = llvm.create_pipeline_tuning_options(speed_level=2)
            options.loop_vectorization = True
            builder = llvm.create_pass_builder(machine, options)
            builder.getModulePassManager().run(module, builder)
        content = bytes(machine.emit_object(module))
        emit(
            Event(
                kind="compile",
                name=label,
                nbytes=len(content),
                seconds=time.perf_counter() - start,
                start=start,
            )
        )
        return content

    def _load(self, content: bytes, name: str) -> Kernel:
        llvm = self._llvm
        loader = llvm.create_mcjit_compiler(llvm.parse_assembly(""), self._machine())
        loader.add_object_file(llvm.ObjectFileRef.from_data(content))
        loader.finalize_object()
        return Kernel(loader.get_function_address(name), loader)


def _function(loader: Any, name: str, arguments: int) -> Call:
    kind = ctypes.CFUNCTYPE(*[ctypes.c_int64] * (arguments + 1))
    return kind(loader.get_function_address(name))


_lock = threading.Lock()
_engine: Engine | None = None
_searched = False


def engine() -> Engine | None:
    """The engine of this process, or None where nothing can be compiled."""
    global _engine, _searched
    if not _searched:
        with _lock:
            if not _searched:
                _engine = _make()
                _searched = True
    return _engine


def _make() -> Engine | None:
    if not (struct_agrees() and _addresses_agree()):
        logger().warning("cpu: NumPy's structs are unknown here; nothing is compiled")
        return None
    try:
        return Engine()
    except (ImportError, OSError, RuntimeError) as error:
        logger().warning("cpu: no LLVM (%s); nothing is compiled", error)
        return None


def _after_fork() -> None:
    global _lock
    _lock = threading.Lock()
    if _engine is not None:
        _engine.after_fork()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)


# ---------------------------------------------------------------- addresses of arrays
_HEADER = object.__basicsize__
_word_at = ctypes.c_ssize_t.from_address


def data_address(array: np.ndarray[Any, Any]) -> int:
    """Address of the first element, read from ``PyArrayObject`` (see ndarraytypes.h).

    Ten times as fast as ``array.ctypes.data``; the engine is off if they disagree.
    """
    return _word_at(id(array) + _HEADER).value


def _addresses_agree() -> bool:
    arrays = [np.zeros(3), np.zeros((2, 5), "i1")[:, 1::2], np.array(7)]
    arrays.append(arrays[0][::-1])
    return all(data_address(array) == array.ctypes.data for array in arrays)


# ------------------------------------------------------------------------------ flags
_FLAGS = {  # NumPy's bits 1 divide, 2 overflow, 4 underflow, 8 invalid, as in fenv.h
    "x86_64": (4, 8, 16, 1),
    "amd64": (4, 8, 16, 1),
    "aarch64": (2, 4, 8, 1),
    "arm64": (2, 4, 8, 1),
}


@lru_cache(1)
def flag_functions() -> tuple[int, int] | None:
    """Addresses of ``fetestexcept`` and ``feclearexcept``, if they are known here."""
    if platform.machine().lower() not in _FLAGS:
        return None
    for library in (None, "libm.so.6", "ucrtbase"):
        try:
            loaded = ctypes.CDLL(library)
            functions = loaded.fetestexcept, loaded.feclearexcept
        except (OSError, AttributeError, TypeError):
            continue
        test, clear = (ctypes.cast(f, ctypes.c_void_p).value or 0 for f in functions)
        return test, clear
    return None


@lru_cache(16)
def flag_mask(watch: int) -> int:
    """NumPy's flags as the C library numbers them."""
    bits = _FLAGS[platform.machine().lower()]
    return sum(bit for k, bit in enumerate(bits) if watch >> k & 1)
