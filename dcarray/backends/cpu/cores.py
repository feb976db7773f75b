"""Which cores helper threads run on."""

from __future__ import annotations

import ctypes
import os
import threading
from collections.abc import Callable, Sequence
from functools import lru_cache

__all__ = ["Elsewhere", "yield_function"]


class Elsewhere:
    """Keeps helper threads from the core of the thread that launches.

    Linux likes to wake a thread where the one runs that wakes it, and leaves the two
    there to take turns, for a hundred launches and more.
    """

    def __init__(self) -> None:
        self._core = -1
        self._count = 0

    def keep(self, helpers: Sequence[threading.Thread]) -> None:
        """To be called before they are woken."""
        core = _core_function()
        here = core() if core is not None else -1
        if here == self._core and len(helpers) == self._count:
            return
        self._core, self._count = here, len(helpers)
        if here < 0:
            return
        cores = os.sched_getaffinity(0) - {here}
        for thread in helpers:
            try:
                if cores and thread.native_id is not None:
                    os.sched_setaffinity(thread.native_id, cores)
            except OSError:  # then it runs where it likes
                pass


@lru_cache(1)
def _core_function() -> Callable[[], int] | None:
    """``sched_getcpu``, where threads can be kept from a core; None elsewhere."""
    if not hasattr(os, "sched_setaffinity"):
        return None
    try:
        found: Callable[[], int] = ctypes.CDLL(None).sched_getcpu
    except (OSError, AttributeError, TypeError):
        return None
    return found


@lru_cache(1)
def yield_function() -> int:
    """Address of ``sched_yield``, or 0 where there is none."""
    try:
        found = ctypes.CDLL(None).sched_yield
    except (OSError, AttributeError, TypeError):
        return 0
    return ctypes.cast(found, ctypes.c_void_p).value or 0
