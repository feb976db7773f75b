"""``dcarray info``: versions, processor, devices, engine, cache."""

from __future__ import annotations

import os
import platform
from importlib.metadata import PackageNotFoundError, version
from types import ModuleType
from typing import Any

import numpy as np
from rich.markup import escape
from rich.table import Table

from ..backends import health
from ..backends.cpu.loops import struct_agrees
from ..backends.cpu.properties import processor
from ..backends.cpu.threads import available_threads
from ..backends.cuda.driver import said
from ..backends.registry import Device, backend_for, devices
from ..backends.tuned import tuned_for
from ..core import compiled_modules
from ..errors import DeviceError
from .cache import cache_table
from .tables import in_bytes, pairs

__all__ = ["info_tables"]


def info_tables(root: ModuleType) -> list[Table]:
    """All of it."""
    return [_versions(root), _machine(), *_devices(), cache_table()]


def _versions(root: ModuleType) -> Table:
    table = pairs("Versions")
    table.add_row("Python", f"{platform.python_version()} on {platform.system()}")
    table.add_row("dcarray", root.__version__)
    table.add_row("its core", _core())
    for name in ("numpy", "llvmlite", "ml-dtypes", "array-api-compat"):
        table.add_row(name, _version(name))
    return table


def _core() -> str:
    count = len(compiled_modules())
    return f"compiled ({count} modules)" if count else "Python, see DCARRAY_PURE"


def _version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return "not installed"


def _machine() -> Table:
    table = pairs("Machine")
    table.add_row("processor", processor()[0])
    table.add_row("cores", f"{os.cpu_count()}, {available_threads()} threads in use")
    table.add_row("devices", ", ".join(map(str, devices())))
    table.add_row("CUDA", escape(said()))
    compiled = struct_agrees() and _version("llvmlite") != "not installed"
    table.add_row(
        "CPU engine",
        "compiled (LLVM, with NumPy's inner loops)" if compiled else "interpreter",
    )
    return table


def _devices() -> list[Table]:
    """A table for each device, and one of the plugins if there are any."""
    tables = [_device(device) for device in devices() if device.kind != "auto"]
    plugins = health()
    if plugins:
        table = pairs("Plugins, and what is skipped")
        for row in plugins:
            facts = [f"version {row.version}"] if row.version else []
            if row.origin:
                facts.append(f"from {row.origin}")
            if row.requires:
                facts.append(f"needs {', '.join(row.requires)}")
            facts.append(f"{row.devices} devices")
            table.add_row(row.name, f"{_status(row.status)}; {'; '.join(facts)}")
        tables.append(table)
    return tables


def _device(device: Device) -> Table:
    table = pairs(f"Device {device}")
    try:
        found = device.properties()
    except DeviceError as error:
        table.add_row("status", _status(error.message))
        return table
    name = found.name
    if not name.startswith(found.vendor):
        name = f"{found.vendor} {name}"
    table.add_row("name", name)
    table.add_row("driver", found.driver)
    memory = f"{_amount(found.memory_total)}, {_amount(found.memory_free)} free"
    unified = " (the host's own)" if found.unified_memory else ""
    table.add_row("memory", memory + unified)
    for pool in found.pools:
        table.add_row(
            "pool", f"{in_bytes(pool.held)} held, {in_bytes(pool.in_use)} in use"
        )
    table.add_row("compute units", str(found.compute_units or "unknown"))
    table.add_row("dtypes", _dtypes(found.dtypes))
    table.add_row("status", _status(found.status))
    known = tuned_for(backend_for(str(device)))
    table.add_row("tuned", "no, see dcarray tune" if known is None else "yes")
    return table


def _status(text: str) -> str:
    return text if text == "ok" else f"[red]{escape(text)}[/]"


def _amount(nbytes: int | None) -> str:
    return "unknown" if nbytes is None else in_bytes(nbytes)


def _dtypes(dtypes: frozenset[np.dtype[Any]]) -> str:
    """Names in NumPy's order; those of ml_dtypes come last."""
    found = sorted(
        dtypes, key=lambda d: (d.isbuiltin != 1, "buifc".find(d.kind), d.num)
    )
    return " ".join(dict.fromkeys(map(str, found)))
