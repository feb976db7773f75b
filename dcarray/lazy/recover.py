"""What happens when a device fails: free, spill, retry, then the next device, then the
CPU.  Each step is a function of its own."""

from __future__ import annotations

import time
import traceback
import warnings
from collections.abc import Callable, Sequence
from typing import Any

from ..backends.base import Backend, Memory
from ..backends.buffer import Buffer, device_buffer
from ..backends.gate import gate
from ..backends.registry import CPU, Device, backend_for
from ..backends.residents import resident
from ..backends.retry import retried
from ..config import current, logger
from ..errors import (
    CompileError,
    DeviceError,
    DeviceLostError,
    LaunchError,
    OutOfMemoryError,
    UnsupportedError,
)
from ..profile import Event, emit
from . import joining, route

__all__ = [
    "allocated",
    "empty",
    "fallback_allowed",
    "place",
    "run",
    "with_relief",
    "without_locals",
]


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
            began = time.perf_counter() if joining.may_join(device) else 0.0
            attempt(backend_for("cpu"))
            if began:
                joining.spent(time.perf_counter() - began)
            return "cpu"
        except DeviceError:
            pass  # the long way knows what to do
    with gate:
        return _run(attempt, describe(), labels)


def _run(
    attempt: Callable[[Backend], None], work: route.Work, labels: Sequence[str]
) -> str:
    if len(labels) == 1:
        order = list(labels)
    else:
        order = [p.device for p in route.decide(work, labels)]
    if "cpu" not in order:
        order.append("cpu")
    for buffer in work.reads:
        buffer.hold()
    try:
        return _first_that_can(attempt, work, order, labels)
    finally:
        for buffer in work.reads:
            buffer.release()


def _first_that_can(
    attempt: Callable[[Backend], None],
    work: route.Work,
    order: list[str],
    labels: Sequence[str],
) -> str:
    last: Exception | None = None
    for label in order:
        backend = backend_for(label)
        if last is not None and label not in labels:
            fallback_allowed(work.name, label, last)
        try:
            with_relief(attempt, backend, work)
        except (CompileError, LaunchError, DeviceLostError, OutOfMemoryError) as error:
            if label == "cpu":
                raise
            if isinstance(error, DeviceLostError):
                lose(label)
            logger().warning("%s failed on %s: %s", work.name, label, error)
            last = without_locals(error)
            order[-1:-1] = [one for one in _instead(backend, error) if one not in order]
        except UnsupportedError as error:
            if label == "cpu":
                raise
            last = without_locals(error)
        else:
            return label
    assert last is not None
    raise last


def _instead(backend: Backend, error: DeviceError) -> list[str]:
    """Devices that may do what one cannot compile; the CPU comes behind them."""
    ask: Any = getattr(backend, "instead", None)
    return [] if ask is None or not isinstance(error, CompileError) else ask()


def without_locals(error: Exception) -> Exception:
    """The error, which no longer keeps the memory of the failed attempt alive."""
    traceback.clear_frames(error.__traceback__)
    return error


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


def with_relief(
    attempt: Callable[[Backend], None], backend: Backend, work: route.Work
) -> None:
    """Do ``attempt``, again after each way of making room."""
    relief = iter((trim_pools, drop_copies, spill_oldest))
    while True:
        try:
            return retried(lambda: attempt(backend), work.name, backend.device)
        except OutOfMemoryError:
            step = next(relief, None)
            if step is None:
                raise
        # Outside of the handler: the failed attempt's own memory is free by now.
        step(backend, work)


def place(buffer: Buffer, label: str) -> None:
    """Bring a buffer's bytes to a device, making room for them.

    Raises
    ------
    OutOfMemoryError
        There is not that much.
    """
    work = route.Work("copy", buffer.nbytes, 0, (), buffer.nbytes)
    with gate:
        with_relief(lambda backend: buffer.read_on(backend), backend_for(label), work)


def empty(nbytes: int, label: str) -> Buffer:
    """New memory on a device, making room for it.

    Raises
    ------
    OutOfMemoryError
        There is not that much.
    """
    return device_buffer(label, allocated(nbytes, label), nbytes)


def allocated(nbytes: int, label: str) -> Memory:
    """The same without a buffer: nobody can spill it before something is there.

    Raises
    ------
    OutOfMemoryError
        There is not that much.
    """
    made: list[Memory] = []
    work = route.Work("empty", nbytes, 0, (), nbytes)
    with gate:
        with_relief(
            lambda backend: made.append(backend.allocate(nbytes)),
            backend_for(label),
            work,
        )
    return made[0]


# ------------------------------------------------------------------- memory pressure
def trim_pools(backend: Backend, work: route.Work) -> None:
    """Give idle blocks back to the system."""
    pool: Any = getattr(backend, "pool", None)
    if pool is not None:
        pool.trim()


def drop_copies(backend: Backend, work: route.Work) -> None:
    """Give up copies that are valid elsewhere too."""
    for buffer in resident(backend.device):
        buffer.drop(backend.device)
    trim_pools(backend, work)


def spill_oldest(backend: Backend, work: route.Work) -> None:
    """Move what was not used for longest to the host, until the work should fit."""
    needed = work.written + sum(buffer.nbytes for buffer in work.reads)
    freed = 0
    for buffer in resident(backend.device):
        if freed >= needed:
            break
        moved = buffer.spill(backend.device)
        if moved:
            freed += moved
            emit(Event("spill", "buffer", backend.device, nbytes=moved))
    trim_pools(backend, work)


def lose(label: str) -> None:
    """A device is gone: what is valid elsewhere lives on."""
    for buffer in resident(label):
        buffer.lose(label)
    if label in route.auto_devices and label != str(CPU):
        route.auto_devices.remove(label)
