"""The compiled forms of programs, by device."""

from __future__ import annotations

from ..backends.base import Backend, Executable
from ..backends.registry import when_removed
from ..errors import UnsupportedError
from ..ops.program import Program

__all__ = ["executable_for", "forget"]

_executables: dict[tuple[str, Program], Executable] = {}


def executable_for(backend: Backend, program: Program) -> tuple[Executable, bool]:
    """The compiled form of a program, and whether it was compiled just now.

    Raises
    ------
    UnsupportedError
        The device lacks a dtype of the program.
    """
    key = (backend.device, program)
    found = _executables.get(key)
    is_new = found is None
    if found is None:
        unsupported = set(program.slot_dtypes()) - backend.supported
        if unsupported:
            listed = ", ".join(sorted(map(str, unsupported)))
            raise UnsupportedError(
                f"{program.describe()}: {backend.device} does not support {listed}"
            )
        found = _executables[key] = backend.compile(program)
    return found, is_new


def forget(device: str) -> None:
    """Forget the kernels of a device."""
    for key in [key for key in _executables if key[0] == device]:
        del _executables[key]


when_removed(forget)
