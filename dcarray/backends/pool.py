"""The memory pool: one class for every backend.

Blocks are kept in size classes.  A block that is given back waits in a queue (so that a
finaliser, which may run at any moment, takes no lock) and is sorted in at the next
rent.
"""

from __future__ import annotations

import os
import threading
import time
import weakref
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from ..config import Settings, current
from ..errors import OutOfMemoryError

__all__ = ["Pool", "PoolStatistics", "size_class"]

Raw = TypeVar("Raw")

_pools: weakref.WeakSet[Pool[Any]] = weakref.WeakSet()


@dataclass(frozen=True, slots=True)
class PoolStatistics:
    """Bytes and counts of one pool.

    ``held == in_use + idle`` at any time; ``hits + misses`` is the number of rents and
    ``evictions`` the number of blocks given back to the system.
    """

    device: str
    held: int
    in_use: int
    idle: int
    high_water: int
    hits: int
    misses: int
    evictions: int


def size_class(nbytes: int) -> int:
    """The size of the block that serves ``nbytes``: at most an eighth larger."""
    if nbytes <= 4096:
        return max(512, -(-nbytes // 512) * 512)
    step = 1 << ((nbytes - 1).bit_length() - 4)
    return -(-nbytes // step) * step


class Pool(Generic[Raw]):
    """Blocks of one device's memory, kept for reuse.

    Parameters
    ----------
    device : str
        Label, for messages and statistics.
    allocate : callable
        ``allocate(nbytes)`` gives a new block or raises `MemoryError`.
    free : callable
        Gives a block back to the system.
    clear : callable
        ``clear(block, nbytes)`` zeroes a block.
    """

    def __init__(
        self,
        device: str,
        allocate: Callable[[int], Raw],
        free: Callable[[Raw], None],
        clear: Callable[[Raw, int], None],
    ) -> None:
        self.device = device
        self._allocate = allocate
        self._free = free
        self._clear = clear
        self._idle: dict[int, list[tuple[float, Raw]]] = {}
        self._returned: deque[tuple[int, Raw]] = deque()
        self._lock = threading.Lock()
        self._held = 0
        self._idle_bytes = 0
        self._high_water = 0
        self._hits = 0
        self._misses = 0
        self._evictions = 0
        self._trimmer: threading.Thread | None = None
        _pools.add(self)

    # ------------------------------------------------------------------ rent, return
    def rent(self, nbytes: int) -> tuple[Raw, int]:
        """A block of at least ``nbytes`` and its size, which `give_back` wants.

        Raises
        ------
        OutOfMemoryError
            The system has no more, or a limit of the settings is reached.
        """
        size = size_class(nbytes)
        settings = current()
        with self._lock:
            if self._returned:
                self._sort_in(settings)
            blocks = self._idle.get(size)
            if blocks:
                block = blocks.pop()[1]
                self._idle_bytes -= size
                self._hits += 1
                reused = True
            else:
                block = self._new(size, settings)
                reused = False
            in_use = self._held - self._idle_bytes
            if in_use > self._high_water:
                self._high_water = in_use
        if reused and settings.clear_buffers:
            self._clear(block, size)
        return block, size

    def give_back(self, block: Raw, size: int) -> None:
        """Return a block.  Takes no lock: finalisers call it."""
        self._returned.append((size, block))

    def _new(self, size: int, settings: Settings) -> Raw:
        self._make_room(size, settings)
        try:
            block = self._allocate(size)
        except MemoryError:
            self._drop_idle(float("inf"))
            try:
                block = self._allocate(size)
            except MemoryError as error:
                raise OutOfMemoryError(
                    f"cannot allocate {size} bytes: {error}",
                    device=self.device,
                    memory=self._written(),
                ) from None
        self._held += size
        self._misses += 1
        return block

    def _make_room(self, size: int, settings: Settings) -> None:
        limit = settings.pool_limit
        if limit and self._held + size > limit:
            self._drop_idle(float("inf"))
            if self._held + size > limit:
                raise OutOfMemoryError(
                    f"cannot allocate {size} bytes: the limit is {limit}",
                    device=self.device,
                    memory=self._written(),
                    hint="raise the setting pool_limit",
                )
        limit = settings.pool_process_limit
        if limit and sum(pool._held for pool in list(_pools)) + size > limit:
            self._drop_idle(float("inf"))
            if sum(pool._held for pool in list(_pools)) + size > limit:
                raise OutOfMemoryError(
                    f"cannot allocate {size} bytes: the process's limit is {limit}",
                    device=self.device,
                    memory=self._written(),
                    hint="raise the setting pool_process_limit",
                )

    def _sort_in(self, settings: Settings) -> None:
        now = time.monotonic()
        while self._returned:
            size, block = self._returned.popleft()
            if (
                size > settings.pool_largest_block
                or self._idle_bytes + size > settings.pool_idle_limit
            ):
                self._evict(block, size)
            else:
                self._idle.setdefault(size, []).append((now, block))
                self._idle_bytes += size
        if self._trimmer is None and self._idle_bytes:
            self._trimmer = threading.Thread(
                target=_trim_when_idle, args=(weakref.ref(self),), daemon=True
            )
            self._trimmer.start()

    # -------------------------------------------------------------------------- trim
    def trim(self, idle_for: float = 0.0) -> int:
        """Give blocks that were idle for so many seconds back to the system.

        Returns
        -------
        int
            Bytes given back.
        """
        with self._lock:
            before = self._held
            self._sort_in(current())
            self._drop_idle(time.monotonic() - idle_for)
            return before - self._held

    def _drop_idle(self, before: float) -> None:
        for size, blocks in self._idle.items():
            kept = [entry for entry in blocks if entry[0] > before]
            for moment, block in blocks:
                if moment <= before:
                    self._idle_bytes -= size
                    self._evict(block, size)
            blocks[:] = kept

    def _evict(self, block: Raw, size: int) -> None:
        self._held -= size
        self._evictions += 1
        self._free(block)

    # -------------------------------------------------------------------- statistics
    def statistics(self) -> PoolStatistics:
        """A consistent snapshot."""
        with self._lock:
            self._sort_in(current())
            return PoolStatistics(
                self.device,
                self._held,
                self._held - self._idle_bytes,
                self._idle_bytes,
                self._high_water,
                self._hits,
                self._misses,
                self._evictions,
            )

    def _written(self) -> str:
        return (
            f"{self._held} bytes held, {self._idle_bytes} of them idle, "
            f"at most {self._high_water} were in use"
        )

    def after_fork(self) -> None:
        """In a child process: a new lock, and no thread that the parent had."""
        self._lock = threading.Lock()
        self._trimmer = None


def _trim_when_idle(reference: weakref.ref[Pool[Any]]) -> None:
    """Body of a pool's trimming thread; ends when nothing is idle."""
    while True:
        interval = current().pool_trim_interval
        time.sleep(max(interval, 0.05))
        pool = reference()
        if pool is None:
            return
        pool.trim(interval)
        with pool._lock:
            if not pool._idle_bytes:
                pool._trimmer = None
                return
        del pool


def _after_fork() -> None:
    for pool in list(_pools):
        pool.after_fork()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)
