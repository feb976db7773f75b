"""``dcarray tune``: measures devices, and keeps what was found."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from dataclasses import fields

from rich.console import Console
from rich.table import Table

from ..backends.base import Backend, Rates
from ..backends.calibrate import measured_rates
from ..backends.grid import GridBackend
from ..backends.grid.trials import search
from ..backends.grid.tuning import Choice
from ..backends.registry import backend_for, devices
from ..backends.tuned import Tuned, keep, tuned_file
from ..config import current
from ..errors import ConfigError, DeviceError, UnsupportedError
from .tables import pairs
from .thresholds import measured_settings

__all__ = ["tune"]

UNITS = {
    "launch": (1e6, "µs for a launch"),
    "bandwidth": (1e-9, "GB/s of memory"),
    "operations": (1e-9, "billion operations a second"),
    "transfer_latency": (1e6, "µs to begin a transfer"),
    "transfer_bandwidth": (1e-9, "GB/s of transfers"),
}

SETTINGS = {
    "small_array": "elements from which results are recorded",
    "thread_work": "elements times operations from which threads share a group",
    "block_bytes": "bytes of cache for a block",
}


def tune(labels: Sequence[str]) -> int:
    """Measure devices, all of them if none are named; the exit status.

    A device that fails is reported, and the others are measured.

    Raises
    ------
    ConfigError
        There is no folder in which to keep what is found.
    """
    path = tuned_file()
    if path is None:
        raise ConfigError("there is no cache folder in which to keep what is found")
    console = Console()
    wanted = labels or [str(one) for one in devices() if one.kind != "auto"]
    failed = 0
    for label in wanted:
        try:
            console.print(_tune(backend_for(label)))
        except (DeviceError, UnsupportedError) as error:
            print(f"dcarray tune: {label}: {error}", file=sys.stderr)
            failed += 1
    if failed < len(wanted):
        console.print(f"kept in {path}", soft_wrap=True)
    return 1 if failed else 0


def _tune(backend: Backend) -> Table:
    """Measure a device, and keep and report what was found."""
    rates = measured_rates(backend)
    table = _table(backend, rates)
    layouts: Mapping[str, tuple[int, ...]] = {}
    settings: Mapping[str, int] = {}
    if backend.device == "cpu":
        settings = measured_settings(backend)
        for name, value in settings.items():
            before = getattr(current(), name)
            table.add_row(
                name.replace("_", " "), f"{value} {SETTINGS[name]} (not {before})"
            )
    if isinstance(backend, GridBackend):

        def tell(kind: str, layout: Choice, gain: float) -> None:
            table.add_row(kind, _words(layout, gain))

        layouts = search(backend, tell=tell)
    keep(backend, Tuned(rates, layouts, settings))
    return table


def _table(backend: Backend, rates: dict[str, float]) -> Table:
    table = pairs(f"Device {backend.device}")
    for name in (field.name for field in fields(Rates)):
        if name in rates:
            factor, unit = UNITS[name]
            before = getattr(backend.rates, name)
            text = f"{rates[name] * factor:.3g} {unit} (not {before * factor:.3g})"
            table.add_row(name.replace("_", " "), text)
    return table


def _words(layout: Choice, gain: float) -> str:
    faster = f", {gain:.2f} times as fast as before" if gain > 1 else ""
    return (
        f"{layout.items} items in a group, {layout.ahead} ahead, "
        f"{layout.waves} groups for each unit{faster}"
    )
