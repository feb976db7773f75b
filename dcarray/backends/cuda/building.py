"""Modules of CUDA: compiled by NVRTC, or loaded from the disk of an earlier process."""

from __future__ import annotations

from typing import Any

from ...errors import CompileError
from ...kernel.nodes import Kernel
from ...profile import Event, emit
from ...render.cuda import OPTIONS
from ..cache import object_cache
from ..recording import Entry, record
from .driver import failures
from .functions import Function

__all__ = ["Builder"]

NO_COMPILER = (AssertionError, ImportError, OSError, RuntimeError)
"""What CuPy raises where NVRTC's library is not to be found."""


class Builder:
    """Makes functions for one device.

    Attributes
    ----------
    lacks_compiler : bool
        Whether something was not on disk, and NVRTC could not be found.

    Parameters
    ----------
    device : str
        The label.
    capability : tuple of int
        Of the device; code is compiled for exactly this one.
    """

    def __init__(self, device: str, capability: tuple[int, int]) -> None:
        self._device = device
        self.lacks_compiler = False
        self._options = (
            f"--gpu-architecture=sm_{capability[0]}{capability[1]}",
            "--std=c++17",
            *OPTIONS,
        )
        self._prefix: str | None = None

    def _key(self, text: str) -> str:
        if self._prefix is None:
            parts = ("cuda", _version(), *self._options, "")
            self._prefix = "\n".join(parts)
        return self._prefix + text

    def function(self, text: str, kernel: Kernel) -> Function:
        """A function of a text.

        Raises
        ------
        CompileError
            With the compiler's own message, or because there is no compiler.
        """
        from cupy.cuda import Module

        record(self._device, text, kernel.name, kernel.name)
        cache = object_cache()
        key = self._key(text)
        kept = cache.get(key)
        if kept is not None:
            try:
                module = Module()
                module.load(kept)
                return Function(module, kernel)
            except failures():
                cache.discard(key)
        binary = self._compiled(text, kernel.name)
        cache.put(key, binary, kernel.name)
        module = Module()
        module.load(binary)
        return Function(module, kernel)

    def build_ahead(self, entry: Entry) -> None:
        """Put a function of a record on disk.

        Raises
        ------
        CompileError
            With the compiler's own message.
        """
        cache = object_cache()
        key = self._key(entry.text)
        if cache.get(key) is None:
            cache.put(key, self._compiled(entry.text, entry.name), entry.label)

    def _compiled(self, text: str, name: str) -> bytes:
        """The machine code of a text."""
        from cupy.cuda import nvrtc

        facts: dict[str, Any] = {
            "device": self._device,
            "kernel": name,
            "source": text,
        }
        try:
            program = nvrtc.createProgram(text, f"{name}.cu", (), ())
        except NO_COMPILER as error:
            self.lacks_compiler = True
            hint = "install nvidia-cuda-nvrtc or CUDA's toolkit"
            raise CompileError(f"no NVRTC: {error}", hint=hint, **facts) from None
        try:
            nvrtc.compileProgram(program, self._options)
            binary = bytes(nvrtc.getCUBIN(program))
        except nvrtc.NVRTCError as error:
            said = str(nvrtc.getProgramLog(program)).strip()
            raise CompileError(said or str(error), **facts) from None
        finally:
            nvrtc.destroyProgram(program)
        emit(Event("compile", name, self._device))
        return binary


def _version() -> str:
    """Of NVRTC; empty where there is none: what was compiled before runs all the
    same."""
    from cupy.cuda import nvrtc

    try:
        return ".".join(map(str, nvrtc.getVersion()))
    except NO_COMPILER:
        return ""
