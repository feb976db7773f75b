"""A lock that costs next to nothing while nobody else wants it.

Recording takes the graph's lock for each operation, and to call one of Python's own
from compiled code takes longer than what it guards.
"""

from __future__ import annotations

import threading
from types import FunctionType, TracebackType
from typing import Any

from .. import native

__all__ = ["Lock", "new_lock"]


class Lock:
    """As `threading.RLock`, also for a `threading.Condition`.

    Who takes the one token from the list has it: no two threads can.  Those that found
    none wait until they are told.
    """

    __slots__ = ("_changed", "_count", "_free", "_owner", "_waiting")

    def __init__(self) -> None:
        self._changed = threading.Condition(threading.Lock())
        self._free: list[None] = [None]
        self._owner = 0
        self._count = 0
        self._waiting = 0

    def acquire(self) -> bool:
        """Take it; waits while another thread has it."""
        me = native.thread()
        if self._owner == me:
            self._count += 1
            return True
        try:
            self._free.pop()
        except IndexError:
            self._wait()
        self._owner = me
        self._count = 1
        return True

    def _wait(self) -> None:
        with self._changed:
            self._waiting += 1  # looked at after the token is there again
            try:
                while True:
                    try:
                        self._free.pop()
                    except IndexError:
                        self._changed.wait()
                    else:
                        return
            finally:
                self._waiting -= 1

    def release(self) -> None:
        """Give it back.

        Raises
        ------
        RuntimeError
            Another thread has it, or none.
        """
        if self._owner != native.thread():
            raise RuntimeError("cannot release un-acquired lock")
        self._count -= 1
        if self._count == 0:
            self._owner = 0
            self._free.append(None)
            if self._waiting:
                with self._changed:
                    self._changed.notify()

    def __enter__(self) -> bool:
        return self.acquire()

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.release()

    # ------------------------------------------------------- what `Condition` asks for
    def _is_owned(self) -> bool:
        return self._owner == native.thread()

    def _release_save(self) -> int:
        count = self._count
        self._count = 1
        self.release()
        return count

    def _acquire_restore(self, count: int) -> None:
        self.acquire()
        self._count = count

    def after_fork(self) -> None:
        """In a child process, whose only thread has it: no other one waits."""
        self._changed = threading.Condition(threading.Lock())
        self._waiting = 0
        self.release()


def new_lock() -> Any:
    """A `Lock` where it is compiled, and Python's own from the sources."""
    is_source = isinstance(vars(Lock)["acquire"], FunctionType)
    return threading.RLock() if is_source else Lock()
