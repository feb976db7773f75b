"""Which devices there are, and what their labels mean."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from typing import Any

from ..errors import UnsupportedError
from .base import Backend

__all__ = [
    "AUTO",
    "CPU",
    "Device",
    "backend_for",
    "device_of",
    "devices",
    "install",
    "opened",
    "register",
    "remove",
]

ENTRY_POINTS = "dcarray.backends"

Factory = Callable[[int], Backend]


class Device:
    """The label of a device: ``auto``, ``cpu``, or a kind with a number, ``cuda:0``.

    Devices compare equal to their text.

    Raises
    ------
    UnsupportedError
        There is no such device.

    Examples
    --------
    >>> import dcarray as dc
    >>> dc.Device("cpu") == "cpu"
    True
    """

    __slots__ = ("_label", "index", "kind")

    def __init__(self, label: str | Device) -> None:
        text = str(label)
        kind, _, number = text.partition(":")
        if number and not number.isdecimal():
            raise UnsupportedError(f"Device: got {text!r}, takes 'cpu', 'cuda:0' ...")
        self.kind = kind
        self.index = int(number) if number else 0
        self._label = kind if kind in ("auto", "cpu") else f"{kind}:{self.index}"

    def __str__(self) -> str:
        return self._label

    def __repr__(self) -> str:
        return f"Device({self._label!r})"

    def __eq__(self, other: object) -> bool:
        if isinstance(other, Device):
            return self._label == other._label
        return isinstance(other, str) and self._label == other

    def __hash__(self) -> int:
        return hash(self._label)


AUTO = Device("auto")
CPU = Device("cpu")

_lock = threading.RLock()
_factories: dict[str, tuple[Factory, Callable[[], int]]] = {}
_backends: dict[str, Backend] = {}
_searched = False


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
    with _lock:
        _factories[kind] = (factory, count)


def _cpu(index: int) -> Backend:
    from .cpu import CpuBackend

    return CpuBackend()


def _simulated(index: int) -> Backend:
    from .simulated import SimulatedBackend

    return SimulatedBackend(index)


def _one() -> int:
    return 1


register("cpu", _cpu, _one)
register("test", _simulated, _one)


def _search_entry_points() -> None:
    global _searched
    if not _searched:
        from importlib.metadata import entry_points  # takes 15 ms

        _searched = True
        for entry in entry_points(group=ENTRY_POINTS):
            plugin: Any = entry.load()
            register(entry.name, plugin.factory, plugin.count)


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
    with _lock:
        found = _backends.get(label)
        if found is None:
            device = Device(label)
            if device.kind not in _factories:
                _search_entry_points()
            if device.kind not in _factories:
                known = ", ".join(["auto", *_factories])
                raise UnsupportedError(f"no device {label!r}; kinds are {known}")
            factory, count = _factories[device.kind]
            if device.index >= count():
                raise UnsupportedError(
                    f"no device {label!r}; there are {count()} of kind {device.kind}"
                )
            found = factory(device.index)
            _backends[label] = found
    return found


def devices() -> list[Device]:
    """The devices that arrays can be made on; ``auto`` comes first.

    The simulated device of `dcarray.testing` is not listed.
    """
    with _lock:
        _search_entry_points()
        found = [AUTO]
        for kind, (_, count) in _factories.items():
            if kind != "test":
                found.extend(Device(f"{kind}:{i}") for i in range(count()))
    return found


def device_of(device: str | Device | None, default: str) -> Device:
    """The device that an argument ``device=`` means.

    Raises
    ------
    UnsupportedError
        There is no such device.
    """
    if device is None:
        device = default
    found = _known.get(device) if isinstance(device, str) else device
    if found is None:
        found = Device(device)
        if found.kind != "auto":
            backend_for(str(found))
        _known[str(device)] = found
    return found


_known: dict[str, Device] = {"auto": AUTO, "cpu": CPU}


def install(backend: Backend) -> None:
    """Make a backend known under its label, whatever the registered kinds say."""
    with _lock:
        _backends[backend.device] = backend


def remove(label: str) -> None:
    """Forget a backend that was installed."""
    with _lock:
        _backends.pop(label, None)
        _known.pop(label, None)


def opened() -> list[Backend]:
    """The backends that are in use in this process."""
    return list(_backends.values())


def _after_fork() -> None:
    global _lock
    _lock = threading.RLock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)
