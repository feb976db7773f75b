"""What kernels tell the host beside their results."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

from ..grid.views import GridView
from .raw import Raw
from .transfers import pinned

if TYPE_CHECKING:
    from .streams import Stream

__all__ = ["Flag", "flag_of"]


class Flag:
    """An integer of the host that kernels write; one call at a time has it.

    Attributes
    ----------
    address : int
    """

    def __init__(self) -> None:
        self._seen = pinned(4).view(np.int32)
        self._lock = threading.Lock()
        self.address = int(self._seen.ctypes.data)

    def watched(
        self, raw: Raw, call: Callable[[], GridView | None]
    ) -> tuple[GridView | None, int]:
        """What ``call`` launches, once it has ended, and the integer: 0 at first.

        Raises
        ------
        CaptureError
            A function is being captured.
        """
        stream: Stream = raw.backend.streams.current
        if stream.capture is not None:
            stream.capture.refuse(
                "does what is checked on the host while it runs",
                "solve equations before, and pass the result to it",
            )
        with self._lock:
            self._seen[0] = 0
            found = call()
            stream.synchronize()
            return found, int(self._seen[0])


def flag_of(raw: Raw) -> Flag:
    """The one of a device."""
    found: Flag = raw.kept("flag", lambda raw, key: Flag())
    return found
