"""Compiling and loading: g++ for Metal's compiler, a shared object for a library."""

from __future__ import annotations

import contextlib
import ctypes
import hashlib
import os
import shutil
import subprocess
import tempfile
import threading
import time
from collections.abc import Sequence
from functools import cache
from pathlib import Path

from .translate import CompilationError, Function, translate

__all__ = ["CompilationError", "Library", "compiler"]

HERE = Path(__file__).parent
FLAGS = (
    *("-std=c++17", "-O1", "-fPIC", "-shared", "-pthread"),
    *("-ffp-contract=off", "-fsingle-precision-constant", "-U_FORTIFY_SOURCE"),
    *("-Wno-attributes", f"-I{HERE / 'include'}", f"-I{HERE}"),
)
ERROR_ROOM = 512


def compiler() -> str | None:
    """Where g++ is, or None."""
    return shutil.which("g++")


@cache
def _folder() -> Path:
    """A folder of this user's own, kept from run to run."""
    folder = Path(tempfile.gettempdir()) / f"dcarray-metal-simulator-{os.getuid()}"
    folder.mkdir(mode=0o700, exist_ok=True)
    seen = folder.stat()
    if folder.is_symlink() or seen.st_uid != os.getuid() or seen.st_mode & 0o077:
        return Path(tempfile.mkdtemp(prefix="dcarray-metal-simulator-"))
    week_ago = time.time() - 7 * 86400
    for path in folder.iterdir():
        with contextlib.suppress(FileNotFoundError):  # another run was faster
            if path.stat().st_mtime < week_ago:
                path.unlink()
    return folder


@cache
def _headers() -> bytes:
    files = sorted([*(HERE / "include").iterdir(), HERE / "runtime.h"])
    return b"".join(path.read_bytes() for path in files)


def _built(text: str, *flags: str) -> Path:
    """The shared object made of C++ text, from the folder if it is there."""
    key = "\0".join([text, *FLAGS, *flags]).encode() + _headers()
    path = _folder() / f"{hashlib.sha256(key).hexdigest()[:32]}.so"
    if path.exists():
        path.touch()
        return path
    found = compiler()
    if found is None:
        raise RuntimeError("the simulated Metal device needs g++")
    made = path.with_suffix(f".{os.getpid()}.{threading.get_ident()}")
    result = subprocess.run(
        [found, *FLAGS, "-x", "c++", "-", *flags, "-o", str(made)],
        input=text,
        capture_output=True,
        text=True,
    )
    if result.returncode:
        raise CompilationError(result.stderr)
    made.replace(path)
    return path


_lock = threading.Lock()


@cache
def _runtime_path() -> Path:
    return _built((HERE / "runtime.cpp").read_text(), "-O2")


@cache
def _runtime() -> ctypes.CDLL:
    return ctypes.CDLL(str(_runtime_path()), ctypes.RTLD_GLOBAL)


class Library:
    """Kernels of one text, ready to run.

    Raises
    ------
    CompilationError
        The text does not compile.
    """

    def __init__(self, source: str) -> None:
        text, functions = translate(source)
        with _lock:
            run = _runtime().msl_run
        self.functions: dict[str, Function] = {f.name: f for f in functions}
        path = _built(text, "-x", "none", str(_runtime_path()))
        self._object = ctypes.CDLL(str(path))
        self._run = run

    def sizes(self, name: str) -> dict[int, int]:
        """For each buffer that a kernel takes, the least length in bytes."""
        table = (ctypes.c_uint * 1).in_dll(self._object, f"msl_sizes_{name}")
        count = table[0]
        whole = (ctypes.c_uint * (1 + 2 * count)).in_dll(
            self._object, f"msl_sizes_{name}"
        )
        return dict(zip(whole[1::2], whole[2::2], strict=True))

    def run(
        self,
        name: str,
        buffers: Sequence[int],
        threads: tuple[int, int, int],
        group: tuple[int, int, int],
    ) -> str | None:
        """Run a kernel over a grid; an error's text if it went wrong.

        ``buffers`` are addresses by the number of the buffer.
        """
        if not all(threads):
            return None
        addresses = (ctypes.c_void_p * max(1, len(buffers)))(*buffers)
        error = ctypes.create_string_buffer(ERROR_ROOM)
        failed = self._run(
            ctypes.cast(self._object[f"msl_entry_{name}"], ctypes.c_void_p),
            addresses,
            (ctypes.c_uint32 * 3)(*threads),
            (ctypes.c_uint32 * 3)(*group),
            int(self.functions[name].has_barriers),
            error,
            ctypes.c_size_t(ERROR_ROOM),
        )
        return error.value.decode() if failed else None
