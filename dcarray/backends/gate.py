"""A gate before the devices: work passes, unless a backend is being replaced."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from types import TracebackType

from ..errors import DeviceError

__all__ = ["Gate", "gate"]


_STAY = 12


class Gate:
    """Many threads may be inside; `closed` waits until none is, and keeps all out."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        # One entry for each thread that is inside: to add one takes no lock, and with
        # those that stay no memory either.
        self._inside: list[None] = [None] * _STAY
        self._closed = False

    def enter(self) -> None:
        """Go in; waits while it is closed."""
        self._inside.append(None)
        while self._closed:  # looked at after the entry is there
            self.leave()
            with self._changed:
                self._changed.wait_for(self._is_open)
                self._inside.append(None)

    def leave(self) -> None:
        """Go out."""
        self._inside.pop()
        if self._closed:
            with self._changed:
                self._changed.notify_all()

    def __enter__(self) -> None:
        self.enter()

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.leave()

    def _is_open(self) -> bool:
        return not self._closed

    @contextmanager
    def closed(self, patience: float = 60.0) -> Iterator[None]:
        """Nobody is inside as long as the block lasts.

        Raises
        ------
        DeviceError
            Work was still running after ``patience`` seconds.
        """
        latest = time.monotonic() + patience
        with self._changed:
            if not self._changed.wait_for(self._is_open, patience):
                raise DeviceError("another backend is being reloaded")
            self._closed = True
            quiet = self._changed.wait_for(
                lambda: len(self._inside) == _STAY,
                max(0.0, latest - time.monotonic()),
            )
            if not quiet:
                self._open()
                raise DeviceError(f"a device was at work for {patience:g} s")
        try:
            yield
        finally:
            with self._changed:
                self._open()

    def _open(self) -> None:
        self._closed = False
        self._changed.notify_all()

    def after_fork(self) -> None:
        """The threads that were inside are not in this process."""
        self.__init__()  # type: ignore[misc]


gate = Gate()

if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=gate.after_fork)
