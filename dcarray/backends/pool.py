"""The memory pool: one class for every backend.

Blocks are kept in size classes.  Giving a block back takes no lock, because finalisers
do it, and they may run at any moment.
"""

from __future__ import annotations

import os
import threading
import time
import weakref
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeAlias

from ..config import Settings, current, logger
from ..errors import OutOfMemoryError

__all__ = ["Pool", "PoolStatistics", "Shelf", "size_class"]

Raw: TypeAlias = Any
"""A block, as the device has it."""

_pools: weakref.WeakSet[Pool] = weakref.WeakSet()
_process = threading.RLock()
"""Held while the limit of the process is looked at.  It is taken before a pool's lock,
never after."""

LARGE = 64 << 20
"""Blocks from here on are looked at one by one when they are given back."""

_LARGE = LARGE


@dataclass(frozen=True, slots=True)
class PoolStatistics:
    """Bytes and counts of one pool.

    ``held == in_use + idle`` at any time, and ``high_water`` is the most that was held;
    ``hits + misses`` is the number of rents, ``evictions`` that of blocks given back to
    the system.
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


class Shelf:
    """Idle blocks of one size, the last one used at the right end.

    Attributes
    ----------
    size : int
    blocks : list
    fewest : int
        As many as there were at least since the trimmer last looked.
    """

    __slots__ = ("blocks", "fewest", "size")

    def __init__(self, size: int) -> None:
        self.size = size
        self.blocks: list[Raw] = []
        self.fewest = 0


class Pool:
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
    settle : callable, optional
        Called now and then while there are blocks, and may wait: for a system that
        takes blocks back later than they are given.
    keeps : int
        Most bytes of free blocks that are kept, if the settings say nothing else.
    """

    def __init__(
        self,
        device: str,
        allocate: Callable[[int], Raw],
        free: Callable[[Raw], None],
        clear: Callable[[Raw, int], None],
        settle: Callable[[], None] | None = None,
        keeps: int = 1 << 30,
    ) -> None:
        self.device = device
        self.keeps = keeps
        self.settle = settle
        self._allocate = allocate
        self._free = free
        self._clear = clear
        self._shelves: dict[int, Shelf] = {}  # by the size of their blocks
        self._serving: dict[int, Shelf] = {}  # by what is asked for
        self._returned = 0  # more bytes than were taken since the last look
        self._patience = max(LARGE, keeps >> 6)  # how many may be, without a look
        self._latest = 0  # size of the block that came back last
        self._lock = threading.Lock()
        self._held = 0
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
        shelf = self.shelf_of(nbytes)
        return self.take(shelf), shelf.size

    def shelf_of(self, nbytes: int) -> Shelf:
        """The blocks of which one serves so many bytes."""
        shelf = self._serving.get(nbytes)
        if shelf is None:
            shelf = self._shelf(size_class(nbytes))
            if len(self._serving) < 4096:
                self._serving[nbytes] = shelf
        return shelf

    def take(self, shelf: Shelf) -> Raw:
        """A block of one size; `put` wants it back.  Waits for no lock where there is
        an idle one.

        Raises
        ------
        OutOfMemoryError
            As for `rent`.
        """
        settings = current()
        if self._returned > _LARGE and (
            self._returned > self._patience or settings.pool_idle_limit
        ):
            with self._lock:
                self._keep_limits(settings)
        blocks, size = shelf.blocks, shelf.size
        if blocks:
            try:
                block = blocks.pop()
            except IndexError:  # another thread took it
                return self._new(size, settings)
            self._hits += 1
            self._returned -= size
            left = len(blocks)
            if left < shelf.fewest:
                shelf.fewest = left
            if settings.clear_buffers:
                self._clear(block, size)
            return block
        return self._new(size, settings)

    def _shelf(self, size: int) -> Shelf:
        shelf = self._shelves.get(size)
        if shelf is None:
            with self._lock:
                shelf = self._shelves.setdefault(size, Shelf(size))
        return shelf

    def give_back(self, block: Raw, size: int) -> None:
        """Return a block of `rent`.  Waits for no lock: finalisers call it."""
        self.put(self._shelves[size], block)

    def put(
        self,
        shelf: Shelf,
        block: Raw,
        large: int = LARGE,
        settings: Callable[[], Settings] = current,
    ) -> None:
        """Return a block of `take`, see `give_back`.

        The last two are there because modules are empty when a process ends.
        """
        size = shelf.size
        shelf.blocks.append(block)
        # Threads may lose an update to each other: this only says when to look.
        self._returned += size
        self._latest = size
        if size >= large and self._lock.acquire(blocking=False):
            try:
                self._keep_limits(settings())
            finally:
                self._lock.release()

    # ------------------------------------------------------------------- the system
    def _new(self, size: int, settings: Settings) -> Raw:
        limit = settings.pool_process_limit
        if limit:
            with _process:
                self._room_in_process(size, limit)
                return self._allocated(size, settings)
        return self._allocated(size, settings)

    def _room_in_process(self, size: int, limit: int) -> None:
        if _held_by_all() + size <= limit:
            return
        for pool in list(_pools):
            pool.trim()
        if _held_by_all() + size > limit:
            raise OutOfMemoryError(
                f"cannot allocate {size} bytes: the limit of the process is {limit}",
                device=self.device,
                memory=self._written(),
                hint="raise the setting pool_process_limit",
            )

    def _allocated(self, size: int, settings: Settings) -> Raw:
        with self._lock:
            self._keep_limits(settings)
            limit = settings.pool_limit
            if limit and self._held + size > limit:
                self._drop_idle()
                if self._held + size > limit:
                    raise OutOfMemoryError(
                        f"cannot allocate {size} bytes: the limit is {limit}",
                        device=self.device,
                        memory=self._written(),
                        hint="raise the setting pool_limit",
                    )
            try:
                block = self._allocate(size)
            except MemoryError:
                self._drop_idle()
                block = self._last_try(size)
            self._held += size
            self._high_water = max(self._high_water, self._held)
            self._misses += 1
            if self._trimmer is None:
                self._trimmer = threading.Thread(
                    target=_trim_when_idle,
                    args=(weakref.ref(self),),
                    name=f"dcarray pool {self.device}",
                    daemon=True,
                )
                self._trimmer.start()
        return block

    def _last_try(self, size: int) -> Raw:
        try:
            return self._allocate(size)
        except MemoryError as error:
            raise OutOfMemoryError(
                f"cannot allocate {size} bytes: {error}",
                device=self.device,
                memory=self._written(),
            ) from None

    def _idle_bytes(self) -> int:
        return sum([s.size * len(s.blocks) for s in list(self._shelves.values())])

    def _keep_limits(self, settings: Settings) -> None:
        """Give blocks back to the system that are too large, or too many."""
        self._returned = 0
        limit = settings.pool_idle_limit or self.keeps
        largest = settings.pool_largest_block or limit
        shelves = self._shelves.values()
        for shelf in shelves:
            while shelf.size > largest and self._evict(shelf):
                pass
        excess = self._idle_bytes() - limit
        if excess <= 0:
            return
        # What came back last is likely to be wanted next.
        for shelf in sorted(shelves, key=lambda shelf: shelf.size == self._latest):
            while excess > 0 and self._evict(shelf):
                excess -= shelf.size

    # -------------------------------------------------------------------------- trim
    def trim(self) -> int:
        """Give all idle blocks back to the system.

        Returns
        -------
        int
            Bytes given back.
        """
        with self._lock:
            before = self._held
            self._drop_idle()
            return before - self._held

    def trim_unused(self) -> int:
        """Give blocks back that were idle since this was last called; their bytes."""
        with self._lock:
            before = self._held
            for shelf in self._shelves.values():
                for _ in range(min(shelf.fewest, len(shelf.blocks))):
                    self._evict(shelf)
                shelf.fewest = len(shelf.blocks)
            return before - self._held

    def _drop_idle(self) -> None:
        for shelf in self._shelves.values():
            while self._evict(shelf):
                pass
            shelf.fewest = 0

    def _evict(self, shelf: Shelf) -> bool:
        """Give the oldest block of a size back to the system; whether there was one."""
        try:
            block = shelf.blocks.pop(0)
        except IndexError:  # other threads take blocks meanwhile
            return False
        self._held -= shelf.size
        self._evictions += 1
        self._free(block)
        return True

    # -------------------------------------------------------------------- statistics
    def statistics(self) -> PoolStatistics:
        """A consistent snapshot."""
        with self._lock:
            self._keep_limits(current())
            idle = self._idle_bytes()
            return PoolStatistics(
                self.device,
                self._held,
                self._held - idle,
                idle,
                self._high_water,
                self._hits,
                self._misses,
                self._evictions,
            )

    def _written(self) -> str:
        return (
            f"{self._held} bytes held, {self._idle_bytes()} of them idle, "
            f"at most {self._high_water} were held"
        )

    def after_fork(self) -> None:
        """In a child process: a new lock, and no thread that the parent had."""
        self._lock = threading.Lock()
        self._trimmer = None


def _held_by_all() -> int:
    return sum([pool._held for pool in list(_pools)])


def _trim_when_idle(reference: weakref.ref[Pool]) -> None:
    """Body of a pool's trimming thread; ends when the pool holds nothing."""
    while True:
        time.sleep(max(current().pool_trim_interval, 0.05))
        pool = reference()
        if pool is None:
            return
        try:
            pool.trim_unused()
            if pool.settle is not None:
                pool.settle()
        except Exception as error:  # of the driver's; the next time may be better
            logger().warning("pool of %s: %s", pool.device, error)
        with pool._lock:
            if not pool._held:
                pool._trimmer = None
                return
        del pool


def _after_fork() -> None:
    global _process
    _process = threading.RLock()
    for pool in list(_pools):
        pool.after_fork()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)
