"""Failures on demand."""

from __future__ import annotations

import threading
import time
from collections import Counter
from dataclasses import dataclass

from ...errors import (
    CompileError,
    DeviceError,
    DeviceLostError,
    LaunchError,
    OutOfMemoryError,
)

__all__ = ["VERBS", "Faults"]

VERBS = ("allocate", "upload", "download", "compile", "launch", "library")
"""What a simulated device can be told to fail at."""

_ERRORS: dict[str, type[DeviceError]] = {
    "allocate": OutOfMemoryError,
    "compile": CompileError,
    "launch": LaunchError,
    "library": LaunchError,
}


@dataclass(slots=True)
class _Fault:
    at: int
    times: int | None
    error: type[DeviceError] | None
    transient: bool
    seconds: float

    def strikes(self, call: int) -> bool:
        if call < self.at:
            return False
        return self.times is None or call < self.at + self.times


class Faults:
    """What a device shall do wrong, and how often it did each thing.

    Attributes
    ----------
    calls : Counter
        How often each verb was used.
    failures : Counter
        How often it failed.
    lost : bool
        Whether the device answers no more.
    """

    def __init__(self, device: str) -> None:
        self.device = device
        self.calls: Counter[str] = Counter()
        self.failures: Counter[str] = Counter()
        self.lost = False
        self._planned: dict[str, list[_Fault]] = {verb: [] for verb in VERBS}
        self._corrupt: dict[str, int] = {}
        self._lock = threading.Lock()

    # ---------------------------------------------------------------------- planning
    def fail(
        self,
        verb: str,
        at: int = 1,
        times: int | None = 1,
        error: type[DeviceError] | None = None,
        transient: bool = False,
    ) -> None:
        """Fail at a verb.

        Parameters
        ----------
        verb : str
            One of `VERBS`.
        at : int
            The first call that fails, counted from now.
        times : int or None
            How many calls fail from there on; None means all.
        error : type, optional
            What is raised; by default what the verb usually fails with.
            `DeviceLostError` takes the whole device away.
        transient : bool
            Whether the error says that it may succeed the next time.
        """
        chosen = error or _ERRORS.get(verb, DeviceError)
        self._plan(verb, _Fault(at, times, chosen, transient, 0.0))

    def slow(
        self, verb: str, seconds: float, at: int = 1, times: int | None = None
    ) -> None:
        """Take longer at a verb."""
        self._plan(verb, _Fault(at, times, None, False, seconds))

    def corrupt(self, verb: str, times: int = 1) -> None:
        """Change a byte in the next uploads or downloads."""
        self._corrupt[verb] = times

    def clear(self) -> None:
        """Work well again, except that a lost device stays lost."""
        with self._lock:
            for planned in self._planned.values():
                planned.clear()
            self._corrupt.clear()

    def _plan(self, verb: str, fault: _Fault) -> None:
        with self._lock:
            fault.at += self.calls[verb]
            self._planned[verb].append(fault)

    # -------------------------------------------------------------------- happening
    def strike(self, verb: str, kernel: str | None = None) -> None:
        """Count a call, and fail if it is time.

        Raises
        ------
        DeviceError
            As planned.
        """
        pause = 0.0
        raised: DeviceError | None = None
        with self._lock:
            if self.lost:
                raise self._error(DeviceLostError, verb, kernel)
            self.calls[verb] += 1
            for fault in self._planned[verb]:
                if fault.strikes(self.calls[verb]):
                    pause += fault.seconds
                    if fault.error is not None and raised is None:
                        self.failures[verb] += 1
                        self.lost = issubclass(fault.error, DeviceLostError)
                        raised = self._error(fault.error, verb, kernel, fault.transient)
        if pause:
            time.sleep(pause)
        if raised is not None:
            raise raised

    def corrupts(self, verb: str) -> bool:
        """Whether this transfer arrives changed."""
        with self._lock:
            left = self._corrupt.get(verb, 0)
            if left:
                self._corrupt[verb] = left - 1
            return left > 0

    def _error(
        self,
        kind: type[DeviceError],
        verb: str,
        kernel: str | None,
        transient: bool = False,
    ) -> DeviceError:
        words = "the device is gone" if kind is DeviceLostError else "failed as planned"
        return kind(
            f"{verb}: {words}", device=self.device, kernel=kernel, transient=transient
        )
