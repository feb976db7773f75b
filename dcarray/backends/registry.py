"""Which devices there are, and what their labels mean."""

from __future__ import annotations

import operator
import os
import threading
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from ..errors import DeviceError, DeviceMismatchError, UnsupportedError
from . import troubles
from .base import Backend, DeviceProperties

__all__ = [
    "common_device",
    "AUTO",
    "CPU",
    "Device",
    "backend_for",
    "counted",
    "device_of",
    "devices",
    "install",
    "is_taken",
    "labels",
    "opened",
    "register",
    "remove",
    "when_removed",
]

Factory = Callable[[int], Backend]


class Device:
    """The label of a device: ``auto``, ``cpu``, or a kind with a number, ``cuda:0``.

    Devices compare equal to their text.  Whether there is such a device is found out
    when it is used.

    Raises
    ------
    UnsupportedError
        The text is no label.

    Examples
    --------
    >>> import dcarray as dc
    >>> dc.Device("cpu") == "cpu"
    True
    """

    __slots__ = ("index", "is_named", "kind", "label")

    def __init__(self, label: str | Device) -> None:
        text = str(label)
        kind, _, number = text.partition(":")
        if number and not number.isdecimal():
            raise UnsupportedError(f"Device: got {text!r}, takes 'cpu', 'cuda:0' ...")
        self.kind = kind
        self.index = int(number) if number else 0
        self.is_named = kind not in ("auto", "cpu")  # and has memory of its own
        self.label = kind if kind in ("auto", "cpu") else f"{kind}:{self.index}"

    def __str__(self) -> str:
        return self.label

    def __repr__(self) -> str:
        return f"Device({self.label!r})"

    def properties(self) -> DeviceProperties:
        """What the device is, and how it is at this moment.

        ``auto`` has those of the CPU, which it can always choose.

        Returns
        -------
        DeviceProperties
            Name and vendor, memory, compute units, dtypes, pools and status.

        Examples
        --------
        >>> import dcarray as dc
        >>> dc.Device("cpu").properties().status
        'ok'
        """
        if self.kind != "auto":
            return _properties(backend_for(str(self)))
        found = _properties(backend_for("cpu"))
        return replace(found, device="auto", name="chosen for each group")

    def __eq__(self, other: object) -> bool:
        if isinstance(other, Device):
            return self.label == other.label
        return isinstance(other, str) and self.label == other

    def __hash__(self) -> int:
        return hash(self.label)


AUTO = Device("auto")
CPU = Device("cpu")

lock = threading.RLock()
_factories: dict[str, tuple[Factory, Callable[[], int]]] = {}
_backends: dict[str, Backend] = {}
_removed: list[Callable[[str], None]] = []


def register(kind: str, factory: Factory, count: Callable[[], int]) -> None:
    """Add a kind of device.

    Parameters
    ----------
    kind : str
        The first part of its labels.
    factory : callable
        ``factory(index)`` makes the backend of one device.
    count : callable
        Says how many devices there are.
    """
    with lock:
        _factories[kind] = (factory, count)


def _cpu(index: int) -> Backend:
    from .cpu import CpuBackend

    return CpuBackend()


def _simulated(index: int) -> Backend:
    from .simulated import SimulatedBackend

    return SimulatedBackend(index)


def _one() -> int:
    return 1


def _opencl(index: int) -> Backend:
    from .opencl import OpenClBackend

    return OpenClBackend(index)


def _opencl_count() -> int:
    from .opencl import count

    return count()


def _metal(index: int) -> Backend:
    from .metal import MetalBackend

    return MetalBackend(index)


def _metal_count() -> int:
    from .metal import count

    return count()


def _cuda(index: int) -> Backend:
    from .cuda import CudaBackend

    return CudaBackend(index)


def _cuda_count() -> int:
    from .cuda import count

    return count()


register("cpu", _cpu, _one)
register("cuda", _cuda, _cuda_count)
register("opencl", _opencl, _opencl_count)
register("metal", _metal, _metal_count)
register("test", _simulated, _one)


def is_taken(kind: str) -> bool:
    """Whether a kind of device is registered."""
    return kind in _factories


def counted(kind: str) -> int:
    """How many devices there are of a registered kind; none where it cannot say."""
    try:
        number = operator.index(_factories[kind][1]())
        if number < 0:
            raise ValueError(f"count() is {number}")
    except Exception as error:
        troubles.report(kind, f"it cannot count: {troubles.words(error)}")
        return 0
    troubles.clear(kind)
    return number


def backend_for(label: str) -> Backend:
    """The backend of a device.

    Raises
    ------
    UnsupportedError
        There is no such device.
    """
    found = _backends.get(label)
    if found is not None:
        return found
    with lock:
        found = _backends.get(label)
        if found is None:
            device = Device(label)
            found = _backends[label] = _open(device)
    return found


def _open(device: Device) -> Backend:
    kind = device.kind
    if not (is_taken(kind) or _has_plugin(kind)):
        known = ", ".join(["auto", *_factories])
        trouble = troubles.trouble(kind)
        because = f"; {kind} is skipped: {trouble}" if trouble else ""
        raise UnsupportedError(f"no device '{device}'; kinds are {known}{because}")
    number = counted(kind)
    if device.index >= number:
        trouble = troubles.trouble(kind)
        because = f"; {trouble}" if trouble else ""
        raise UnsupportedError(
            f"no device '{device}'; there are {number} of kind {kind}{because}"
        )
    try:
        return _factories[kind][0](device.index)
    except (DeviceError, UnsupportedError):
        raise
    except Exception as error:
        raise DeviceError(
            f"the device does not open: {troubles.words(error)}", device=str(device)
        ) from error


def _has_plugin(kind: str) -> bool:
    from . import plugins  # imports this module

    return plugins.load(kind)


def _properties(backend: Backend) -> DeviceProperties:
    pool: Any = getattr(backend, "pool", None)
    ask: Any = getattr(backend, "properties", None)
    found = DeviceProperties(
        backend.device,
        dtypes=backend.supported,
        pools=() if pool is None else (pool.statistics(),),
    )
    try:
        return found if ask is None else ask()
    except Exception as error:
        return replace(found, status=troubles.words(error))


def devices() -> list[Device]:
    """The devices that arrays can be made on; ``auto`` comes first.

    The simulated device of `dcarray.testing` is not listed.
    """
    from . import plugins  # imports this module

    with lock:
        for kind in plugins.discover():
            plugins.load(kind)
        found = [AUTO]
        for kind in _factories:
            if kind != "test":
                found.extend(Device(f"{kind}:{i}") for i in range(counted(kind)))
    return found


def device_of(device: str | Device | None, default: str) -> Device:
    """The device that an argument ``device=`` means.

    Raises
    ------
    UnsupportedError
        There is no such device.
    TypeError
        It is neither a label nor a device.
    """
    if device is None:
        device = default
    if not isinstance(device, (str, Device)):
        raise TypeError(
            f"device: got {device!r}, takes a label, 'cpu' or 'cuda:0' say, or a Device"
        )
    label = str(device)
    found = _known.get(label)
    if found is None:
        found = Device(label)
        if found.kind != "auto":
            backend_for(str(found))
        _known[label] = found
    return found


_known: dict[str, Device] = {"auto": AUTO, "cpu": CPU}


def install(backend: Backend) -> None:
    """Make a backend known under its label, whatever the registered kinds say."""
    with lock:
        _backends[backend.device] = backend


def remove(label: str) -> None:
    """Forget the backend of a device, and what others know of it."""
    with lock:
        _backends.pop(label, None)
        _known.pop(label, None)
    for forget in _removed:
        forget(label)


def when_removed(forget: Callable[[str], None]) -> None:
    """Have ``forget(label)`` called when the backend of a device is removed."""
    _removed.append(forget)


def labels(kind: str) -> list[str]:
    """The devices of a kind that are in use in this process."""
    return [label for label in list(_backends) if label.partition(":")[0] == kind]


def opened() -> list[Backend]:
    """The backends that are in use in this process."""
    return list(_backends.values())


def _after_fork() -> None:
    global lock
    lock = threading.RLock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)


def common_device(devices: Sequence[Device], name: str) -> Device:
    """The label of a result: ``auto`` gives way to a named device.

    Raises
    ------
    DeviceMismatchError
        Two different named devices meet.
    """
    found = AUTO
    for device in devices:
        if device is not AUTO and device != AUTO:
            if found is not AUTO and device != found:
                raise DeviceMismatchError(
                    f"{name}: got arrays on {found} and {device}; move one with "
                    "to_device()"
                )
            found = device
    return found
