"""One block of memory that is the copy of the host and that of a device at once.

The two take turns: what the host writes is ready before a kernel starts that reads it,
and the host waits for the kernels that use what it wants to touch.  Handing over copies
nothing.
"""

from __future__ import annotations

import weakref
from typing import Any

import numpy as np

from .base import Backend, Memory, Sharing
from .cpu.memory import room_of
from .moving import Bytes, bytes_of

__all__ = ["Pair", "adopted", "shown"]

HostArray = np.ndarray[Any, Any]


class Pair:
    """The device, its block, and whose turn it is.

    Attributes
    ----------
    device : str
        The device beside the CPU.
    memory : Memory
        Its block.
    """

    __slots__ = ("_sharing", "device", "memory")

    def __init__(self, device: str, memory: Memory, sharing: Sharing) -> None:
        self.device = device
        self.memory = memory
        self._sharing = sharing

    def __contains__(self, device: str) -> bool:
        return device in ("cpu", self.device)

    def other(self, device: str) -> str:
        """Who has the memory besides ``device``."""
        return self.device if device == "cpu" else "cpu"

    def let_read(self, device: str) -> None:
        """Both may read from now on; waits where ``device`` is the CPU."""
        self._let(device, False)

    def let_write(self, device: str) -> None:
        """Only ``device`` may use the memory from now on."""
        self._let(device, True)

    def shows(self, root: HostArray) -> weakref.ref[Bytes] | None:
        """What keeps the device's block for who looks at it as ``root``; None where the
        memory is the host's own."""
        owner: object = root.base
        if isinstance(owner, Bytes) and owner.owner is self.memory:
            return weakref.ref(owner)
        return None

    def _let(self, device: str, writing: bool) -> None:
        if device == "cpu":
            self._sharing.to_host(self.memory, writing)
        else:
            self._sharing.to_device(self.memory, writing)


def shown(
    backend: Backend, memory: Memory, nbytes: int
) -> tuple[Pair, HostArray] | None:
    """A device's block as the host's copy too, and its bytes; None where that cannot
    be, or does not pay."""
    sharing: Sharing | None = getattr(backend, "sharing", None)
    if sharing is None or nbytes < sharing.least:
        return None
    return Pair(backend.device, memory, sharing), sharing.bytes_of(memory)


def adopted(backend: Backend, root: HostArray, nbytes: int) -> Pair | None:
    """Memory of the host as a device's copy too; None where that cannot be, or does not
    pay."""
    sharing: Sharing | None = getattr(backend, "sharing", None)
    if sharing is None or nbytes < sharing.least or not root.flags.writeable:
        return None
    memory = sharing.adopted(bytes_of(root, nbytes), room_of(root, nbytes))
    return None if memory is None else Pair(backend.device, memory, sharing)
