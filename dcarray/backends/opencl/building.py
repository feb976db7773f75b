"""Programs of OpenCL: built from text, or from the binaries of an earlier process."""

from __future__ import annotations

import os
import warnings
from collections.abc import Sequence
from typing import Any

from ...errors import CompileError
from ...profile import Event, emit
from ..cache import object_cache
from ..recording import Entry, record

__all__ = ["Builder"]


class Builder:
    """Makes functions for one device.

    Parameters
    ----------
    context, handle
        pyopencl's context and its only device.
    device : str
        The label.
    options : sequence of str
        For the compiler.
    """

    def __init__(
        self, context: Any, handle: Any, device: str, options: Sequence[str]
    ) -> None:
        import pyopencl as cl

        self._cl = cl
        self._context = context
        self._handle = handle
        self._device = device
        self._options = list(options)
        driver = (handle.platform.version, handle.name, handle.driver_version)
        # pyopencl adds the options of this variable to ours.
        parts = (*driver, *options, os.environ.get("PYOPENCL_BUILD_OPTIONS", ""))
        self._prefix = "\n".join(["opencl", *parts, ""])
        self._fresh: dict[int, tuple[str, Any, Any]] = {}

    def function(self, text: str, name: str) -> Any:
        """A function of a text.

        Raises
        ------
        CompileError
            With the compiler's own message.
        """
        record(self._device, text, name, name)
        cache = object_cache()
        key = self._prefix + text
        kept = cache.get(key)
        if kept is not None:
            found = self._load(kept, name)
            if found is not None:
                return found
            cache.discard(key)
        program = self._build(text, name)
        function = getattr(program, name)
        self._fresh[id(function)] = (key, program, function)
        return function

    def build_ahead(self, entry: Entry) -> None:
        """Put a function of a record on disk, as far as it is compiled before it runs.

        Raises
        ------
        CompileError
            With the compiler's own message.
        """
        cache = object_cache()
        key = self._prefix + entry.text
        if cache.get(key) is None:
            binary = self._build(entry.text, entry.name).binaries[0]
            if binary:
                cache.put(key, binary, entry.label)

    def is_fresh(self, function: Any) -> bool:
        """Whether a function was built from text and is not kept yet."""
        return id(function) in self._fresh

    def keep(self, function: Any) -> None:
        """Keep a function that has run.  Some drivers compile for a size of group at
        the first launch, and their binary has that from then on."""
        key, program, function = self._fresh.pop(id(function))
        binary = program.binaries[0]
        if binary:
            object_cache().put(key, binary, function.function_name)

    def _build(self, text: str, name: str) -> Any:
        cl = self._cl
        # pyopencl has a cache of its own, and warns where a compiler says anything.
        program = cl.Program(self._context, text)
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", cl.CompilerWarning)
                built = program.build(self._options, cache_dir=False)
        except cl.Error as error:
            raise CompileError(
                self._log(program) or str(error).strip(),
                device=self._device,
                kernel=name,
                source=text,
            ) from None
        emit(Event("compile", name, self._device))
        return built

    def _log(self, program: Any) -> str:
        """What the compiler said, if the driver tells."""
        try:
            found = program.get_build_info(
                self._handle, self._cl.program_build_info.LOG
            )
        except self._cl.Error:
            return ""
        return str(found).strip()

    def _load(self, binary: bytes, name: str) -> Any:
        """A function of a binary; None where the driver does not take it any more."""
        cl = self._cl
        try:
            program = cl.Program(self._context, [self._handle], [binary])
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", cl.CompilerWarning)
                program.build(self._options)
            return getattr(program, name)
        except (cl.Error, AttributeError):
            return None
