"""A simulated device for a block of code."""

from __future__ import annotations

import itertools
from collections.abc import Iterable
from types import TracebackType
from typing import Any

from ..backends import registry
from ..backends.base import Rates
from ..backends.simulated import SimulatedBackend
from ..backends.simulated.backend import RATES
from ..errors import DeviceError
from ..lazy import route

__all__ = ["SimulatedDevice"]

_numbers = itertools.count(1)


class SimulatedDevice:
    """A device whose memory NumPy cannot touch, and that fails on demand.

    It has a label of its own, ``test:1`` and so on, that means something as long as the
    ``with`` block lasts.

    Parameters
    ----------
    memory : int, optional
        Bytes of memory that it has; by default there is no end.
    without : iterable of dtype
        Dtypes that it lacks, ``["float64"]`` for example.
    rates : Rates, optional
        How fast the router believes it to be.
    auto : bool
        Whether ``auto`` may choose it.

    Attributes
    ----------
    label : str
    backend : SimulatedBackend

    Examples
    --------
    >>> import dcarray as dc
    >>> from dcarray.testing import SimulatedDevice
    >>> with SimulatedDevice() as device:
    ...     x = dc.ones(4, device=device.label)
    ...     device.fail("launch", transient=True)
    ...     float((x + 1).sum()), device.backend.faults.failures["launch"]
    (8.0, 1)
    """

    def __init__(
        self,
        memory: int | None = None,
        without: Iterable[Any] = (),
        rates: Rates = RATES,
        auto: bool = False,
    ) -> None:
        self.backend = SimulatedBackend(next(_numbers), memory, without, rates)
        self.label = self.backend.device
        self._auto = auto

    def __enter__(self) -> SimulatedDevice:
        registry.install(self.backend)
        if self._auto:
            route.auto_devices.append(self.label)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self.label in route.auto_devices:
            route.auto_devices.remove(self.label)
        registry.remove(self.label)

    # ------------------------------------------------------------------------ faults
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
            ``allocate``, ``upload``, ``download``, ``compile``, ``launch`` or
            ``library``.
        at : int
            The first call that fails, counted from now.
        times : int or None
            How many calls fail from there on; None means all.
        error : type, optional
            What is raised; by default what the verb usually fails with.
        transient : bool
            Whether the error says that it may succeed the next time.
        """
        self.backend.faults.fail(verb, at, times, error, transient)

    def lose(self) -> None:
        """The device answers no more, and what it holds is gone."""
        self.backend.faults.lost = True

    def slow(self, verb: str, seconds: float, times: int | None = None) -> None:
        """Take longer at a verb."""
        self.backend.faults.slow(verb, seconds, times=times)

    def corrupt(self, verb: str, times: int = 1) -> None:
        """Change a byte in the next uploads or downloads."""
        self.backend.faults.corrupt(verb, times)

    def work_well(self) -> None:
        """End all planned faults; a device that is lost stays lost."""
        self.backend.faults.clear()

    # ------------------------------------------------------------------------ counts
    def count(self, verb: str) -> int:
        """How often a verb was used, failures included."""
        return self.backend.faults.calls[verb]

    def moved(self, verb: str) -> int:
        """Bytes moved by ``upload`` or ``download``."""
        return self.backend.moved[verb]
