"""NVIDIA's runtime compiler, for tests: it needs no GPU and no toolkit."""

from __future__ import annotations

import ctypes
import importlib.util
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any

__all__ = ["available", "compiled"]


@cache
def _library() -> Any:
    """The library of the package nvidia-cuda-nvrtc, or None."""
    found = importlib.util.find_spec("nvidia")
    for folder in (found.submodule_search_locations or ()) if found else ():
        for path in sorted(Path(folder).glob("cu*/lib/libnvrtc.so.*")):
            return ctypes.CDLL(str(path))
    return None


def available() -> bool:
    """Whether it is installed."""
    return _library() is not None


def compiled(text: str, architecture: str, options: Sequence[str] = ()) -> str:
    """The PTX of a text for ``"sm_90"`` say.

    Raises
    ------
    ValueError
        With the compiler's messages.
    """
    library = _library()
    program = ctypes.c_void_p()
    _check(
        library.nvrtcCreateProgram(
            ctypes.byref(program), text.encode(), b"test.cu", 0, None, None
        )
    )
    try:
        given = [f"--gpu-architecture={architecture}", *options]
        array = (ctypes.c_char_p * len(given))(*[item.encode() for item in given])
        if library.nvrtcCompileProgram(program, len(given), array):
            raise ValueError(_text(program, "ProgramLog"))
        return _text(program, "PTX")
    finally:
        _check(library.nvrtcDestroyProgram(ctypes.byref(program)))


def _text(program: ctypes.c_void_p, what: str) -> str:
    library = _library()
    size = ctypes.c_size_t()
    _check(getattr(library, f"nvrtcGet{what}Size")(program, ctypes.byref(size)))
    content = ctypes.create_string_buffer(size.value)
    _check(getattr(library, f"nvrtcGet{what}")(program, content))
    return content.value.decode()


def _check(status: int) -> None:
    if status:
        raise ValueError(f"NVRTC says {status}")
