"""NumPy's BLAS kept to one thread while several of ours call it.

Two teams of threads on the same cores wait for each other: a product of matrices that
fit in cache then takes ten to a hundred times as long.
"""

from __future__ import annotations

import contextlib
import ctypes
import functools
import os
import threading
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

__all__ = ["blas_threads", "one_blas_thread"]

_SPELLINGS = (
    "scipy_openblas_{}_num_threads64_",
    "scipy_openblas_{}_num_threads",
    "openblas_{}_num_threads64_",
    "openblas_{}_num_threads",
)

_lock = threading.Lock()
_users = 0
_before = 0


@functools.cache
def _controls() -> tuple[Callable[[], int], Callable[[int], None]] | None:
    """How to read and set OpenBLAS's number of threads; None for another BLAS."""
    core: Any = np._core._multiarray_umath  # type: ignore[attr-defined]
    try:
        library = ctypes.CDLL(core.__file__)  # its own dependencies are searched too
    except OSError:
        return None
    for spelling in _SPELLINGS:
        if hasattr(library, spelling.format("set")):
            read = getattr(library, spelling.format("get"))
            write = getattr(library, spelling.format("set"))
            write.restype = None
            return read, write
    return None


def blas_threads() -> int | None:
    """How many threads NumPy's products run on now; None for another BLAS."""
    controls = _controls()
    return None if controls is None else controls[0]()


@contextlib.contextmanager
def one_blas_thread() -> Iterator[None]:
    """A block in which NumPy's products run on the thread that asks for them."""
    global _users, _before
    controls = _controls()
    if controls is None:
        yield
        return
    read, write = controls
    with _lock:
        if _users == 0:
            _before = read()
            write(1)
        _users += 1
    try:
        yield
    finally:
        with _lock:
            _users -= 1
            if _users == 0:
                write(_before)


def _after_fork() -> None:
    """The threads that asked for one BLAS thread are not in the child."""
    global _lock, _users
    _lock = threading.Lock()
    if _users:
        _users = 0
        controls = _controls()
        assert controls is not None
        controls[1](_before)


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)
