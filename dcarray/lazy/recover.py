"""What happens when a device fails: free, spill, retry, then the next device, then the
CPU.  Each step is a function of its own."""

from __future__ import annotations

import logging
import time
import warnings
from collections.abc import Callable
from typing import Any

from ..backends.base import Backend
from ..backends.buffer import resident
from ..backends.registry import CPU, Device, backend_for
from ..config import current
from ..errors import (
    CompileError,
    DeviceError,
    DeviceLostError,
    LaunchError,
    OutOfMemoryError,
    UnsupportedError,
)
from ..profile import Event, emit
from . import route

__all__ = ["fallback_allowed", "run"]

logger = logging.getLogger("dcarray")


_ONLY_CPU = ["cpu"]


def run(
    attempt: Callable[[Backend], None],
    describe: Callable[[], route.Work],
    device: Device,
) -> str:
    """Do ``attempt`` on the best device, or on the next one when that fails.

    ``describe`` tells what the work is, for the router and for messages.

    Returns
    -------
    str
        The device on which it succeeded.

    Raises
    ------
    DeviceError
        No device could do it, or falling back is not allowed.
    """
    labels = route.candidates(device)
    if labels == _ONLY_CPU:
        try:
            attempt(backend_for("cpu"))
            return "cpu"
        except DeviceError:
            pass  # the long way knows what to do
    work = describe()
    if len(labels) == 1:
        order = list(labels)
    else:
        order = [p.device for p in route.choose(work, labels)]
    if "cpu" not in order:
        order.append("cpu")
    last: Exception | None = None
    for label in order:
        backend = backend_for(label)
        if last is not None and label not in labels:
            fallback_allowed(work.name, label, last)
        try:
            _with_retries(attempt, backend, work)
        except (CompileError, LaunchError, DeviceLostError, OutOfMemoryError) as error:
            if label == "cpu":
                raise
            if isinstance(error, DeviceLostError):
                lose(label)
            logger.warning("%s failed on %s: %s", work.name, label, error)
            last = error
        except UnsupportedError as error:
            if label == "cpu":
                raise
            last = error
        else:
            return label
    assert last is not None
    raise last


def fallback_allowed(name: str, label: str, reason: Exception | None = None) -> None:
    """Count a fallback to the host, or refuse it.

    Raises
    ------
    UnsupportedError, DeviceError
        Under the setting ``fallback="error"``.
    """
    policy = current().fallback
    if policy == "error":
        if reason is not None:
            raise reason
        raise UnsupportedError(
            f"{name}: not native, and config(fallback='error') forbids running it on "
            "the host through NumPy"
        )
    if policy == "warn":
        warnings.warn(f"{name} ran on {label}", RuntimeWarning, stacklevel=2)
    emit(Event("fallback", name, label))


def _with_retries(
    attempt: Callable[[Backend], None], backend: Backend, work: route.Work
) -> None:
    settings = current()
    delay = settings.retry_delay
    relief = iter((trim_pools, drop_copies, spill_oldest))
    tries = 0
    while True:
        try:
            return attempt(backend)
        except OutOfMemoryError:
            step = next(relief, None)
            if step is None:
                raise
            step(backend, work)
        except DeviceError as error:
            if not error.transient or tries >= settings.retries:
                raise
            tries += 1
            emit(Event("retry", work.name, backend.device))
            time.sleep(delay)
            delay *= 2


# ------------------------------------------------------------------- memory pressure
def trim_pools(backend: Backend, work: route.Work) -> None:
    """Give idle blocks back to the system."""
    pool: Any = getattr(backend, "pool", None)
    if pool is not None:
        pool.trim()


def drop_copies(backend: Backend, work: route.Work) -> None:
    """Give up copies that are valid elsewhere too."""
    used = set(map(id, work.reads))
    for buffer in resident(backend.device):
        if id(buffer) not in used:
            buffer.drop(backend.device)
    trim_pools(backend, work)


def spill_oldest(backend: Backend, work: route.Work) -> None:
    """Move what was not used for longest to the host, until the work should fit."""
    needed = work.written + sum(buffer.nbytes for buffer in work.reads)
    used = set(map(id, work.reads))
    freed = 0
    for buffer in resident(backend.device):
        if freed >= needed:
            break
        if id(buffer) not in used:
            moved = buffer.spill(backend.device)
            freed += moved
            emit(Event("spill", "buffer", backend.device, nbytes=moved))
    trim_pools(backend, work)


def lose(label: str) -> None:
    """A device is gone: what is valid elsewhere lives on."""
    for buffer in resident(label):
        buffer.lose(label)
    if label in route.auto_devices and label != str(CPU):
        route.auto_devices.remove(label)
