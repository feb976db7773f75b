"""What lies on a device, and how all of it leaves."""

from __future__ import annotations

import contextlib
import weakref
from typing import TYPE_CHECKING

from ..errors import DeviceError, DeviceLostError
from .registry import backend_for

if TYPE_CHECKING:
    from .buffer import Buffer

__all__ = ["evacuate", "on_devices", "resident"]

on_devices: set[weakref.ref[Buffer]] = set()
"""Buffers with a copy on a device other than the CPU, for spilling.  A copy of the set
is safe to look through."""


def resident(device: str) -> list[Buffer]:
    """Buffers with a copy on a device, the least recently used first."""
    alive = [reference() for reference in list(on_devices)]
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
