"""Where a group runs.

For each device: launch + bytes / bandwidth + operations / rate + the transfer of what
is not valid there; the least wins.  Data stays where it is unless moving it pays.  The
rates are those that ``dcarray tune`` measured on this machine, or a backend's own.
"""

from __future__ import annotations

import functools
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ..backends.base import Backend, Rates
from ..backends.buffer import Buffer
from ..backends.registry import AUTO, Device, backend_for, when_removed
from ..backends.tuned import Tuned, tuned_for
from ..config import current

if TYPE_CHECKING:
    from .graph import Value

__all__ = [
    "Prediction",
    "Usual",
    "Work",
    "candidates",
    "choose",
    "decide",
    "far_home",
    "forget",
    "home_of",
    "learn",
    "measure",
    "predict",
    "rates_of",
    "set_rule",
]

FAR = 1 << 20
"""Bytes of memory that stay on the device that alone has them: work on a small part of
them goes there."""

# Moving data must win by this factor over leaving it where it is.
HYSTERESIS = 1.2


@dataclass(frozen=True, slots=True)
class Work:
    """What the router knows of a group or a library call."""

    name: str
    elements: int
    operations: int
    reads: tuple[Buffer, ...]
    written: int


@dataclass(frozen=True, slots=True)
class Prediction:
    """Seconds that a device would take, and how much of it is moving data."""

    device: str
    seconds: float
    transfer: float


auto_devices: list[str] = ["cpu"]
"""Devices among which ``auto`` chooses."""

_CPU_ALONE = ["cpu"]

_rules: dict[str, Callable[[Work], str | None] | int] = {}
_measured: dict[tuple[str, str, int], tuple[float, int]] = {}
"""Seconds, and how often they were measured."""

_lost: dict[tuple[str, str, int], float] = {}
"""Seconds by which a device would have been faster, had the data been there."""

_tuned: dict[str, Tuned | None] = {}
"""What is known of devices that were asked for."""

OFTEN = 256
"""Runs after which a usual place is looked at anew."""

_version = 0
"""Grows when something changes that `Usual` places depend on."""

COMPILING = 0.1
"""Seconds that compiling a kernel for the CPU may take."""

ENOUGH = 5
"""Measurements after which a kernel's time is known.  Each one waits for the device."""


def set_rule(name: str, rule: Callable[[Work], str | None] | int | None) -> None:
    """Overrule the prediction for groups that end in an operation.

    Parameters
    ----------
    name : str
        Name of the operation.
    rule : int, callable or None
        A number of elements below which the CPU is chosen; a function from `Work` to a
        device's label, or to None for no opinion; None removes the rule.
    """
    global _version
    _version += 1
    if rule is None:
        _rules.pop(name, None)
    else:
        _rules[name] = rule


def candidates(device: Device) -> list[str]:
    """Devices that may run work whose label is ``device``, without fallbacks."""
    if device is AUTO or device.kind == "auto":
        if len(auto_devices) > 1 and current().auto_devices == "cpu":
            return _CPU_ALONE
        return auto_devices
    return [str(device)]


def home_of(values: Sequence[Value]) -> str:
    """The device that alone has what ``auto`` work reads; ``"auto"`` if there is none,
    or if that does not settle where it runs."""
    if len(auto_devices) < 2 or _rules or current().auto_devices == "cpu":
        return "auto"
    found = "auto"
    for value in values:
        buffer = value.buffer
        valid = None if buffer is None else buffer._valid
        if valid is None or len(valid) > 1:
            return "auto"
        (label,) = valid
        if label != found:
            if found != "auto":
                return "auto"
            found = label
    return found if found in auto_devices else "auto"


def far_home(value: Value) -> Device | None:
    """The device that alone has what ``auto`` work is to read or write a part of, where
    bringing all of it to the host would take longer; else None."""
    if len(auto_devices) < 2:
        return None
    buffer = value.buffer
    if buffer is None or buffer.nbytes < FAR or buffer.is_valid_on("cpu"):
        return None
    label = home_of((value,))
    return None if label == "auto" else _labelled(label)


@functools.cache
def _labelled(label: str) -> Device:
    return Device(label)


def rates_of(backend: Backend) -> Rates:
    """What was measured here, and the backend's own rates where nothing was."""
    label = backend.device
    if label not in _tuned:
        _tuned[label] = tuned_for(backend)
    found = _tuned[label]
    return backend.rates if found is None else found.over(backend.rates)


def _source(buffer: Buffer) -> str:
    """Where the host would read from; what nobody has any more costs nothing."""
    return next(iter(buffer.valid_devices()), "cpu")


def _transfer(backend: Backend, work: Work) -> float:
    """Seconds to bring what is missing.  The host's rates are those of the devices from
    which it reads."""
    missing: dict[str, int] = {}
    for buffer in work.reads:
        if not buffer.is_near(backend.device):
            over = _source(buffer) if backend.device == "cpu" else backend.device
            missing[over] = missing.get(over, 0) + buffer.nbytes
    seconds = 0.0
    for label, nbytes in missing.items():
        rates = rates_of(backend if label == backend.device else backend_for(label))
        seconds += rates.transfer_latency + nbytes / rates.transfer_bandwidth
    return seconds


def predict(backend: Backend, work: Work) -> Prediction:
    """The time on one device."""
    rates = rates_of(backend)
    transfer = _transfer(backend, work)
    key = (backend.device, work.name, work.elements.bit_length())
    measured = _measured.get(key)
    if measured is not None:
        seconds = measured[0]
    else:
        moved = sum(b.nbytes for b in work.reads) + work.written
        seconds = (
            rates.launch
            + moved / rates.bandwidth
            + work.operations * work.elements / rates.operations
        )
    return Prediction(backend.device, seconds + transfer, transfer)


def learn(device: str, work: Work, seconds: float) -> None:
    """Correct the prediction by what was measured for the same work at this size."""
    key = (device, work.name, work.elements.bit_length())
    known, times = _measured.get(key, (seconds, 0))
    # What else the machine does makes it longer only.
    share = 0.7 if seconds < known else 0.3
    _measured[key] = (known + share * (seconds - known), times + 1)


def measure(
    backend: Backend, work: Work, launched: float, is_new: bool = False
) -> None:
    """Learn from work that was launched at that time of `time.perf_counter`.

    The first run of a kernel may still compile it, and counts on the CPU where that
    cannot be what took so long.
    """
    key = (backend.device, work.name, work.elements.bit_length())
    if _measured.get(key, (0.0, 0))[1] < ENOUGH:
        backend.synchronize()
        seconds = time.perf_counter() - launched
        if not is_new:
            learn(backend.device, work, seconds)
        elif seconds > 2 * COMPILING and backend.device == "cpu":
            learn(backend.device, work, seconds - COMPILING)


def forget(device: str) -> None:
    """Forget what was measured on a device."""
    global _version
    _version += 1
    _tuned.pop(device, None)
    for known in (_measured, _lost):
        for key in [key for key in known if key[0] == device]:
            del known[key]


when_removed(forget)


def decide(work: Work, labels: Sequence[str]) -> list[Prediction]:
    """The devices for work that is going to run, the best first.

    Work that comes again and again stays where its data is only until it has lost as
    much time there as moving the data would have taken.
    """
    ranked = choose(work, labels)
    first = ranked[0]
    for other in ranked[1:]:
        lost = first.seconds - (other.seconds - other.transfer)
        if first.transfer or not other.transfer or lost <= 0 or _ruled(work):
            continue
        key = (other.device, work.name, work.elements.bit_length())
        before = _lost.get(key, 0.0)
        if before >= other.transfer:
            _lost[key] = 0.0
            ranked.remove(other)
            return [other, *ranked]
        _lost[key] = before + lost
    return ranked


class Usual:
    """The device on which ``auto`` runs some work as long as the data is there: its
    time is known, and no other device would be faster with the data at hand."""

    __slots__ = ("_among", "_left", "_version", "label")

    def __init__(self, label: str) -> None:
        self.label = label
        self._among = list(auto_devices)
        self._version = _version
        self._left = OFTEN

    @classmethod
    def of(cls, work: Work, label: str) -> Usual | None:
        """What is usual for work that has run on a device; None if nothing is."""
        key = (label, work.name, work.elements.bit_length())
        labels = candidates(AUTO)
        if label not in labels or _measured.get(key, (0.0, 0))[1] < ENOUGH:
            return None
        own = predict(backend_for(label), work)
        if own.transfer or _ruled(work):
            return None
        for other in labels:
            if other != label:
                found = predict(backend_for(other), work)
                if found.seconds - found.transfer < own.seconds:
                    return None
        return cls(label)

    def holds(self) -> bool:
        """Whether it still holds; it is looked at anew now and then."""
        self._left -= 1
        return (
            self._left > 0
            and self._version == _version
            and self._among == candidates(AUTO)
        )


def _ruled(work: Work) -> bool:
    return work.name.rpartition(" ")[2] in _rules


def choose(work: Work, labels: Sequence[str]) -> list[Prediction]:
    """The devices, the best first."""
    ranked = sorted(
        (predict(backend_for(label), work) for label in labels),
        key=lambda p: p.seconds * (HYSTERESIS if p.transfer else 1.0),
    )
    rule = _rules.get(work.name.rpartition(" ")[2])
    wanted: str | None = None
    if isinstance(rule, int):
        wanted = "cpu" if work.elements < rule else None
    elif rule is not None:
        wanted = rule(work)
    if wanted is not None:
        ranked.sort(key=lambda p: p.device != wanted)
    return ranked
