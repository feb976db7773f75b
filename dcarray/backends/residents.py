"""What lies on a device, and how all of it leaves."""

from __future__ import annotations

import contextlib
import weakref
from typing import TYPE_CHECKING

from .. import native
from ..errors import DeviceError, DeviceLostError
from .registry import backend_for

if TYPE_CHECKING:
    from .buffer import Buffer

__all__ = ["enter", "evacuate", "moment", "on_devices", "resident"]

on_devices: dict[int, weakref.ref[Buffer]] = {}
"""Buffers with a copy on a device other than the CPU, by their identity, for spilling;
some are gone.  A copy of it is safe to look through."""

_MANY = 1024


def moment() -> float:
    """A later one at each call: what was used last is spilled last."""
    global _moment
    _moment += 1.0
    return _moment


_moment = 0.0


def enter(buffer: Buffer) -> None:
    """There is a copy on a device from now on."""
    global _limit
    on_devices[native.identity(buffer)] = native.reference(buffer)
    if len(on_devices) > _limit:
        # Most identities are used again soon, so that this is rare.
        for name, reference in list(on_devices.items()):
            if reference() is None:
                gone = on_devices.pop(name, reference)
                if gone() is not None:  # one that another thread just entered
                    on_devices.setdefault(name, gone)
        _limit = max(_MANY, 2 * len(on_devices))


_limit = _MANY


def resident(device: str) -> list[Buffer]:
    """Buffers with a copy on a device, the least recently used first."""
    alive = [reference() for reference in list(on_devices.values())]
    found = [x for x in alive if x is not None and x.is_on(device)]
    return sorted(found, key=lambda buffer: buffer.last_used)


def evacuate(device: str) -> None:
    """Bring to the host what a device holds; no kernel may be running on it.

    Raises
    ------
    DeviceError
        The device cannot be read, or somebody is still at work.
    """
    with contextlib.suppress(DeviceLostError):
        backend_for(device).synchronize()
    for buffer in resident(device):
        try:
            buffer.spill(device)
            buffer.leave(device)
        except DeviceLostError:
            buffer.lose(device)
    left = len(resident(device))
    if left:
        raise DeviceError(f"{left} of its arrays are in use", device=device)
