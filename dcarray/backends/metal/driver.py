"""pyobjc's module ``Metal``: whether it is there, its devices, its errors."""

from __future__ import annotations

import importlib
from contextlib import AbstractContextManager
from typing import Any

from ...config import logger
from ...errors import DeviceError, DeviceLostError, LaunchError, OutOfMemoryError

__all__ = [
    "autorelease_pool",
    "count",
    "devices",
    "failure",
    "metal",
    "pointer_of",
    "text_of",
]

OUT_OF_MEMORY = 8
"""MTLCommandBufferErrorOutOfMemory."""
LOST = frozenset((4, 11))
"""MTLCommandBufferErrorAccessRevoked, MTLCommandBufferErrorDeviceRemoved."""
TRANSIENT = frozenset((1, 2))
"""MTLCommandBufferErrorInternal, MTLCommandBufferErrorTimeout."""


def metal() -> Any:
    """The module ``Metal``, or None where it cannot be imported."""
    try:
        return importlib.import_module("Metal")
    except ImportError:
        return None
    except Exception as error:  # pyobjc raises what its bridge raises
        logger().info("Metal: %s", error)
        return None


def autorelease_pool() -> AbstractContextManager[Any]:
    """What frees Objective-C's temporary objects at its end, on any thread."""
    found: AbstractContextManager[Any] = importlib.import_module(
        "objc"
    ).autorelease_pool()
    return found


def devices() -> tuple[Any, ...]:
    """All devices; the system's default one comes first."""
    module = metal()
    if module is None:
        return ()
    first = module.MTLCreateSystemDefaultDevice()
    if first is None:
        return ()
    others = [
        device
        for device in module.MTLCopyAllDevices() or ()
        if device.registryID() != first.registryID()
    ]
    return (first, *others)


def count() -> int:
    """How many devices there are."""
    return len(devices())


def pointer_of(thing: Any) -> int:
    """The address of an object of Objective-C."""
    return int(importlib.import_module("objc").pyobjc_id(thing))


def text_of(error: Any) -> str:
    """What an NSError says."""
    return "unknown error" if error is None else str(error.localizedDescription())


def failure(error: Any, device: str, kernel: str, grid: tuple[int, ...]) -> DeviceError:
    """The exception for the error of a command buffer."""
    code = None if error is None else int(error.code())
    kind: type[DeviceError] = LaunchError
    if code == OUT_OF_MEMORY:
        kind = OutOfMemoryError
    elif code in LOST:
        kind = DeviceLostError
    return kind(
        text_of(error),
        device=device,
        code=code,
        kernel=kernel,
        grid=grid,
        transient=code in TRANSIENT,
    )
