"""A device that shares the host's memory, and is as strict as OpenCL allows.

Host and device have bytes of their own behind each block, and they are made equal only
when the block goes over; kernels run when somebody waits.  So a turn that nobody asked
for, or a wait that is missing, gives wrong numbers or fails here.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from dcarray.backends.moving import Bytes
from dcarray.kernel.nodes import Array, Kernel

from .interpreted_device import InterpretedBackend

__all__ = ["SharingBackend", "Shared"]

POISON = 0xCB


class Shared:
    """A block: what kernels see, what the host sees, and whose turn it is."""

    def __init__(self, host: Any, turn: str) -> None:
        self.host = host
        self.device = host.copy()
        self.turn = turn  # "device", "both" or "host"
        self.nbytes = host.size


class SharingBackend(InterpretedBackend):
    """Its own `Sharing`."""

    least = 1

    def __init__(self, device: str = "shared:0", **limits: Any) -> None:
        super().__init__(device, **limits)
        self.sharing = self
        self.waiting: list[tuple[Any, ...]] = []
        self.turns: list[str] = []

    # ------------------------------------------------------------------------- memory
    def allocate(self, nbytes: int) -> Shared:
        """New bytes, which hold anything."""
        return Shared(super().allocate(nbytes), "device")

    def upload(self, source: Any, target: Shared) -> None:
        """Copy bytes."""
        assert target.turn == "device"
        self.synchronize()
        target.device[: source.size] = source

    def download(self, source: Shared, target: Any) -> None:
        """Copy bytes."""
        assert source.turn != "host"
        self.synchronize()
        target[...] = source.device[: target.size]

    # ------------------------------------------------------------------------ sharing
    def bytes_of(self, memory: Shared) -> Any:
        """The host's bytes."""
        start = memory.host.__array_interface__["data"][0]
        return np.asarray(Bytes(memory, start, memory.nbytes))

    def adopted(self, source: Any, room: int) -> Shared | None:
        """Bytes of the host, at addresses that floats can have."""
        assert room >= source.size
        if source.__array_interface__["data"][0] % 4:
            return None
        self.turns.append("adopted")
        return Shared(source, "both")

    def to_host(self, memory: Shared, writing: bool) -> None:
        """The host sees what kernels left."""
        self.turns.append("to host")
        self.synchronize()
        if memory.turn == "device":
            memory.host[...] = memory.device
        if writing:
            memory.turn = "host"
        elif memory.turn == "device":
            memory.turn = "both"

    def to_device(self, memory: Shared, writing: bool) -> None:
        """Kernels see what the host left."""
        self.turns.append("to device")
        if memory.turn == "host":
            memory.device[...] = memory.host
            memory.turn = "both"
        if writing:
            memory.host[...] = POISON
            memory.turn = "device"

    # ------------------------------------------------------------------------ kernels
    def enqueue(
        self,
        function: Kernel,
        kernel: Kernel,
        grid: Sequence[int],
        group: Sequence[int],
        arguments: Sequence[Any],
    ) -> None:
        """Run it when somebody waits."""
        blocks = [x for x in arguments if isinstance(x, Shared)]
        arrays = [x for x in kernel.parameters if isinstance(x, Array)]
        for block, array in zip(blocks, arrays, strict=True):
            assert block.turn == "device" or not array.writable, kernel.name
            assert block.turn != "host", kernel.name
        given = [x.device if isinstance(x, Shared) else x for x in arguments]
        self.waiting.append((function, kernel, tuple(grid), tuple(group), given))

    def synchronize(self) -> None:
        """Run what waits."""
        waiting, self.waiting = self.waiting, []
        for work in waiting:
            super().enqueue(*work)
