"""Command buffers on their way, and what became of them."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from ...errors import DeviceError
from .driver import autorelease_pool, failure
from .functions import Function
from .memory import Block, Fate

__all__ = ["Queue"]

COMPLETED = 4
FAILED = 5
"""MTLCommandBufferStatusCompleted and MTLCommandBufferStatusError."""

MOST_ON_THE_WAY = 64
"""Metal lets no more command buffers of a queue exist."""


@dataclass(frozen=True, slots=True)
class _Launch:
    commands: Any
    kernel: str
    grid: tuple[int, ...]
    buffers: tuple[Any, ...]
    reads: tuple[Fate, ...]
    writes: tuple[Fate, ...]


class Queue:
    """Runs kernels in the order in which they come.

    A failure is seen when somebody waits: then, or at the next use of what should have
    been written, it is raised.

    Parameters
    ----------
    device : str
    queue : MTLCommandQueue
    """

    def __init__(self, device: str, queue: Any) -> None:
        self.device = device
        self._queue = queue
        self._lock = threading.Lock()
        self._on_the_way: deque[_Launch] = deque()
        self._untold: DeviceError | None = None

    def commit(
        self,
        function: Function,
        blocks: Sequence[Block],
        numbers: bytes,
        groups: Any,
        threads: Any,
    ) -> None:
        """Start a kernel.

        Raises
        ------
        DeviceError
            What should have written one of the blocks has failed.
        """
        for block in blocks:
            if block.fate.error is not None:
                raise block.fate.error
        with self._lock, autorelease_pool():
            self._look(MOST_ON_THE_WAY // 2)
            commands = self._queue.commandBuffer()
            encoder = commands.computeCommandEncoder()
            encoder.setComputePipelineState_(function.state)
            for place, block in enumerate(blocks):
                encoder.setBuffer_offset_atIndex_(block.buffer, 0, place)
            if numbers:
                encoder.setBytes_length_atIndex_(numbers, len(numbers), len(blocks))
            encoder.dispatchThreadgroups_threadsPerThreadgroup_(groups, threads)
            encoder.endEncoding()
            commands.commit()
            writes = function.writes()
            self._on_the_way.append(
                _Launch(
                    commands,
                    function.kernel.name,
                    tuple([g * n for g, n in zip(groups, threads, strict=True)]),
                    tuple([block.buffer for block in blocks]),
                    tuple([block.fate for block in blocks]),
                    tuple(
                        [b.fate for b, is_written in zip(blocks, writes) if is_written]
                    ),
                )
            )

    def wait(self) -> None:
        """Return when all has ended; blocks then know their fate."""
        if self._on_the_way:
            with self._lock, autorelease_pool():
                self._look(0)

    def wait_for(self, buffer: Any) -> None:
        """Return when what works on a buffer has ended, and all before that."""
        if self._on_the_way:
            with self._lock, autorelease_pool():
                for later, launch in enumerate(reversed(self._on_the_way)):
                    if any(used is buffer for used in launch.buffers):
                        self._look(later)
                        return

    def finish(self) -> None:
        """Return when all has ended.

        Raises
        ------
        DeviceError
            Something failed since this was last called.
        """
        self.wait()
        untold, self._untold = self._untold, None
        if untold is not None:
            raise untold

    def _look(self, most: int) -> None:
        """Take off those that have ended, and wait until ``most`` are left."""
        on_the_way = self._on_the_way
        while on_the_way:
            first = on_the_way[0]
            if len(on_the_way) > most:
                first.commands.waitUntilCompleted()
            elif first.commands.status() < COMPLETED:
                return
            on_the_way.popleft()
            self._settle(first)

    def _settle(self, launch: _Launch) -> None:
        error: DeviceError | None = None
        if launch.commands.status() == FAILED:
            found = launch.commands.error()
            error = failure(found, self.device, launch.kernel, launch.grid)
            self._untold = self._untold or error
        else:
            # It ran, on what an earlier failure had left.
            error = next((f.error for f in launch.reads if f.error is not None), None)
        if error is not None:
            for fate in launch.writes:
                fate.error = error
