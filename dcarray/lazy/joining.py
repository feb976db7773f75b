"""When a GPU becomes one of the devices of ``auto``.

Opening one takes a second, and memory on it, so a program must have shown that it is
worth that: it has spent as much time on ``auto`` work on the CPU as opening takes, or
the device is open already.  On a machine without a GPU's driver nothing is imported.
"""

from __future__ import annotations

import os

from ..backends.presence import cuda_is_likely
from ..backends.registry import AUTO, Device, backend_for, labels
from ..config import current, logger
from ..errors import DeviceError, UnsupportedError
from . import route

__all__ = ["may_join", "spent"]

LABEL = "cuda:0"

OPENING = 1.0
"""Seconds that opening a device may take."""

LEAST = 1e-3
"""Seconds of the CPU's time below which work says nothing."""


class _Waiting:
    """What is known: ``likely`` is None until somebody looked, and False once the
    device joined or cannot."""

    likely: bool | None = None
    seconds = 0.0


def may_join(device: Device = AUTO) -> bool:
    """Whether the time of work on this label is of interest; costs next to nothing."""
    return device is AUTO and _Waiting.likely is not False


def spent(seconds: float) -> None:
    """Work on ``auto`` took the CPU so long."""
    if seconds < LEAST or current().auto_devices != "all":
        return
    if _Waiting.likely is None:
        _Waiting.likely = cuda_is_likely()
    if not _Waiting.likely:
        return
    _Waiting.seconds += seconds
    if _Waiting.seconds >= OPENING or LABEL in labels("cuda"):
        _join()


def _join() -> None:
    _Waiting.likely = False
    if LABEL in route.auto_devices:
        return
    try:
        backend_for(LABEL)
    except (DeviceError, UnsupportedError, Warning) as error:
        logger().warning("auto stays on the CPU: %s", error)
        return
    route.auto_devices.append(LABEL)


def _after_fork() -> None:
    """A child cannot use its parent's device, nor open it."""
    _Waiting.likely = False
    if LABEL in route.auto_devices:
        route.auto_devices.remove(LABEL)


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)
