"""What the host is: its processor and its memory, as the system says them."""

from __future__ import annotations

import os
import platform
from typing import Any

import numpy as np

from ..base import DeviceProperties
from ..pool import Pool

__all__ = ["host_memory", "host_properties", "processor"]

_VENDORS = {"GenuineIntel": "Intel", "AuthenticAMD": "AMD"}


def host_properties(
    supported: frozenset[np.dtype[Any]], pool: Pool
) -> DeviceProperties:
    """The properties of the CPU."""
    total, free = host_memory()
    name, vendor = processor()
    return DeviceProperties(
        device="cpu",
        name=name,
        vendor=vendor,
        driver=f"NumPy {np.__version__}",
        memory_total=total,
        memory_free=free,
        compute_units=_cores(),
        dtypes=supported,
        unified_memory=True,
        pools=(pool.statistics(),),
    )


def processor() -> tuple[str, str]:
    """Name and vendor of the processor."""
    found = _pairs("/proc/cpuinfo", stop="flags")
    name = found.get("model name") or platform.processor() or platform.machine()
    vendor = found.get("vendor_id", "")
    if not vendor and platform.system() == "Darwin":
        vendor = "Apple" if platform.machine() == "arm64" else "Intel"
    return name, _VENDORS.get(vendor, vendor)


def host_memory() -> tuple[int | None, int | None]:
    """Bytes of memory in all, and those that a program can still have."""
    found = _pairs("/proc/meminfo")
    if "MemTotal" in found:
        total, free = found["MemTotal"], found.get("MemAvailable")
        return _kilobytes(total), None if free is None else _kilobytes(free)
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"), None
    except (AttributeError, OSError, ValueError):
        return None, None


def _cores() -> int:
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def _kilobytes(text: str) -> int:
    return int(text.split()[0]) << 10


def _pairs(path: str, stop: str = "") -> dict[str, str]:
    """Lines ``name: text`` of a file of the system, up to the line ``stop``."""
    found: dict[str, str] = {}
    try:
        with open(path, encoding="utf-8") as file:
            for line in file:
                name, _, text = line.partition(":")
                if name.strip() == stop:
                    break
                found[name.strip()] = text.strip()
    except OSError:
        pass
    return found
