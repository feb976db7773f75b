"""What ``dcarray tune`` measured on this machine, kept beside the compiled kernels.

One file holds all devices, each under its name, driver and number of units: what was
measured with another driver says nothing of this one.  A file that makes no sense is
not used, and says so once.
"""

from __future__ import annotations

import json
import math
import os
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from functools import lru_cache
from pathlib import Path
from typing import Any

from ..config import logger, measured_here
from .base import Backend, DeviceProperties, Rates
from .cache import folders, is_safe, object_cache
from .registry import backend_for

__all__ = ["Tuned", "adopt", "keep", "tuned_file", "tuned_for"]

FILE = "tuned.json"
VERSION = 1
NAMES = tuple(entry.name for entry in fields(Rates))
SETTINGS = ("small_array", "thread_work", "block_bytes")
LARGEST = 1 << 40


@dataclass(frozen=True, slots=True)
class Tuned:
    """What is known of a device.

    Attributes
    ----------
    rates : dict
        Those fields of `Rates` that were measured.
    layouts : dict
        For each kind of kernels three numbers, see `grid.tuning.Choice`.
    settings : dict
        Those settings that depend on the CPU.
    """

    rates: Mapping[str, float] = field(default_factory=dict)
    layouts: Mapping[str, tuple[int, ...]] = field(default_factory=dict)
    settings: Mapping[str, int] = field(default_factory=dict)

    def over(self, rates: Rates) -> Rates:
        """Rates, those that were measured instead of the table's."""
        return replace(rates, **self.rates)


def tuned_file() -> Path | None:
    """Where it is kept; None where no folder may be used."""
    cache = object_cache()
    return cache.folder / FILE if cache.usable else None


def tuned_for(backend: Backend) -> Tuned | None:
    """What was measured for a device, or None."""
    cache = object_cache()
    places = [cache.folder] if cache.usable else []
    if cache.shared is not None and is_safe(cache.shared):
        places.append(cache.shared)
    for folder in places:
        devices = _read(folder / FILE)
        found = devices.get(_key(backend)) if devices else None
        if found is not None:
            return found
    return None


def adopt() -> None:
    """Use the settings that were measured for this CPU, where the user has set none."""
    if not any((folder / FILE).is_file() for folder in folders()):
        return  # as mostly: no backend is opened for it
    found = tuned_for(backend_for("cpu"))
    if found is not None:
        measured_here(**found.settings)


def keep(backend: Backend, found: Tuned) -> Path | None:
    """Keep what was measured; returns the file, or None where no folder may be used.

    Raises
    ------
    OSError
        The file cannot be written.
    """
    path = tuned_file()
    if path is None:
        return None
    devices = {**_read(path), _key(backend): found}
    content = {
        "version": VERSION,
        "devices": {
            key: {
                "rates": dict(one.rates),
                "layouts": dict(one.layouts),
                "settings": dict(one.settings),
            }
            for key, one in devices.items()
        },
    }
    handle, name = tempfile.mkstemp(dir=path.parent, suffix=".part")  # mode 0600
    try:
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            json.dump(content, file, indent=1)
        os.replace(name, path)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise
    _read.cache_clear()
    return path


def _key(backend: Backend) -> str:
    ask: Any = getattr(backend, "properties", None)
    found = DeviceProperties(backend.device) if ask is None else ask()
    name = found.name or found.device
    return f"{name}, {found.driver or 'no driver'}, {found.compute_units} units"


@lru_cache(8)
def _read(path: Path) -> Mapping[str, Tuned]:
    try:
        text = path.read_text(encoding="utf-8")
    except OSError:
        return {}
    except ValueError as error:
        return _broken(path, error)
    try:
        content = json.loads(text)
        if content["version"] != VERSION:
            raise ValueError(f"version {content['version']!r}")
        return {str(key): _tuned(one) for key, one in content["devices"].items()}
    except (ValueError, TypeError, KeyError, AttributeError) as error:
        return _broken(path, error)


def _broken(path: Path, error: Exception) -> Mapping[str, Tuned]:
    logger().warning(
        "tuning: %s makes no sense (%s) and is not used: run dcarray tune", path, error
    )
    return {}


def _tuned(found: Any) -> Tuned:
    rates = {name: float(found["rates"][name]) for name in found["rates"]}
    for name, value in rates.items():
        if name not in NAMES or not (0 < value < math.inf):
            raise ValueError(f"{name} is {value}")
    layouts = {
        str(kind): tuple([int(number) for number in numbers])
        for kind, numbers in found["layouts"].items()
    }
    settings = {name: int(value) for name, value in found.get("settings", {}).items()}
    for name, value in settings.items():
        if name not in SETTINGS or not (0 < value <= LARGEST):
            raise ValueError(f"{name} is {value}")
    return Tuned(rates, layouts, settings)
