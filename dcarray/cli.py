"""The command line: ``python -m dcarray``, also installed as ``dcarray``.

Exit status: that of the program for ``run``; otherwise 0, 1 if what was asked for
failed, 2 for a command line that makes no sense.
"""

from __future__ import annotations

import argparse
import importlib
import os
import platform
import sys
from collections.abc import Sequence
from importlib.metadata import PackageNotFoundError, version
from types import ModuleType
from typing import TYPE_CHECKING, Any

from .config import set_process_default
from .errors import ConfigError, DeviceError, KernelTypeError
from .profile import profile

if TYPE_CHECKING:
    import numpy as np
    from rich.table import Table

    from .backends.registry import Device

__all__ = ["main"]

LONGEST_TABLE = 40


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line.

    Parameters
    ----------
    arguments : sequence of str, optional
        In place of ``sys.argv[1:]``.

    Returns
    -------
    int
        Exit status.
    """
    given = list(sys.argv[1:] if arguments is None else arguments)
    own, program = _split(given)
    options = _parser().parse_args(own)
    if options.command == "run":
        return _run(options.script, program, options.profile)
    try:
        if options.command == "demo":
            return _demo(options.output)
        if options.command == "check":
            return _check(options.files)
        if options.command == "info":
            return _show(_versions(), _machine(), *_devices(), _cache_table())
        if options.action == "clear":
            return _clear_cache()
        return _show(_cache_table())
    except (DeviceError, ConfigError, OSError) as error:
        print(f"dcarray {options.command}: {error}", file=sys.stderr)
        return 1


def _root() -> ModuleType:
    return importlib.import_module(__name__.partition(".")[0])


def _split(arguments: list[str]) -> tuple[list[str], list[str]]:
    """What is for dcarray, and what comes after the script of ``run``."""
    if arguments[:1] != ["run"]:
        return arguments, []
    for place, word in enumerate(arguments[1:], 2):
        if not word.startswith("-"):
            return arguments[:place], arguments[place:]
    return arguments, []


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="dcarray",
        description="NumPy programs, unchanged, on every processor in the machine.",
    )
    parser.add_argument(
        "--version", action="version", version=f"dcarray {_root().__version__}"
    )
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    run = commands.add_parser(
        "run",
        help="run an unmodified NumPy program",
        usage="dcarray run [--profile] SCRIPT [ARGUMENTS ...]",
        description="Run an unmodified NumPy program. The script and the modules in "
        "its folder see dcarray as numpy; installed libraries keep the real one.",
    )
    run.add_argument(
        "--profile",
        action="store_true",
        help="print what ran where, and every fallback, when the program ends",
    )
    run.add_argument("script", metavar="SCRIPT", help="a Python file")
    demo = commands.add_parser(
        "demo", help="four NumPy programs, under NumPy and under dcarray, compared"
    )
    demo.add_argument(
        "--output", metavar="FILE", help="where the picture goes (demo.png)"
    )
    check = commands.add_parser(
        "check",
        help="whether the kernels of a file can be made for every kind of device",
        description="Read the kernels that files define, and make CUDA, OpenCL, Metal "
        "and LLVM of them. No device is needed.",
    )
    check.add_argument("files", metavar="FILE", nargs="+", help="a Python file")
    commands.add_parser("info", help="versions, processor, devices, engine, cache")
    cache = commands.add_parser("cache", help="the compiled kernels on disk")
    cache.add_argument("action", choices=("info", "clear"))
    return parser


def _demo(output: str | None) -> int:
    from .demo import run_demo

    return run_demo(_root(), output)


def _check(files: Sequence[str]) -> int:
    """Print what is wrong with the kernels of some files; whether anything is."""
    import traceback

    from .api.kernels.tools import checked, kernels_of

    wrong = 0
    for file in files:
        try:
            kernels = kernels_of(file)
        except (SyntaxError, KernelTypeError) as error:
            print("".join(traceback.format_exception_only(error)).rstrip())
            wrong += 1
            continue
        if not kernels:
            print(f"{file}: no kernels")
        for kernel in kernels:
            reports: dict[str, list[str]] = {}
            for target, found in checked(kernel):
                text = "ok"
                if found is not None:
                    text = "".join(traceback.format_exception_only(found)).rstrip()
                    wrong += 1
                reports.setdefault(text, []).append(target)
            for text, targets in reports.items():
                name = kernel.source_code.tree.name
                print(f"{file}: {name}: {', '.join(targets)}: {text}")
    return 1 if wrong else 0


# ----------------------------------------------------------------------------- run
def _run(script: str, arguments: Sequence[str], with_profile: bool) -> int:
    from .interop.script import run_script

    try:
        with open(script, "rb"):
            pass
    except OSError as error:
        print(
            f"dcarray run: can't open file {os.path.abspath(script)!r}: {error}",
            file=sys.stderr,
        )
        return 2
    set_process_default(scalars="numpy")
    root = _root()
    if not with_profile:
        run_script(script, arguments, root)
        return 0
    events = profile()
    try:
        with events:
            run_script(script, arguments, root)
    finally:
        sys.stdout.flush()
        _print_profile(events)
    return 0


def _print_profile(events: profile) -> None:
    from rich.console import Console
    from rich.table import Table

    console = Console(stderr=True)
    rows = events.table()
    table = Table(title="What ran", title_justify="left")
    table.add_column("kind")
    table.add_column("operations", overflow="fold", max_width=48)
    table.add_column("where")
    for heading in ("times", "elements", "memory traffic", "time"):
        table.add_column(heading, justify="right")
    for row in rows[:LONGEST_TABLE]:
        fallback = row["kind"] == "fallback"
        table.add_row(
            f"[yellow]{row['kind']}[/]" if fallback else str(row["kind"]),
            str(row["name"]),
            str(row["device"]),
            f"{row['count']:,}",
            f"{row['elements']:,}",
            _bytes(int(str(row["nbytes"]))),
            f"{1e3 * float(str(row['seconds'])):.3f} ms",
        )
    if rows:
        console.print(table)
    if len(rows) > LONGEST_TABLE:
        console.print(f"... and {len(rows) - LONGEST_TABLE} rows that took less time")
    operations = sum(event.nodes for event in events.groups)
    console.print(
        f"{len(events.groups):,} fused groups of {operations:,} operations, "
        f"{len(events.fallbacks):,} fallbacks, {events.seconds:.3f} s in all"
    )


def _bytes(number: int) -> str:
    size = float(number)
    for unit in ("B", "KiB", "MiB"):
        if size < 1024:
            return f"{size:.0f} {unit}" if unit == "B" else f"{size:.1f} {unit}"
        size /= 1024
    return f"{size:.1f} GiB"


# ------------------------------------------------------------------- info and cache
def _show(*tables: Table) -> int:
    from rich.console import Console

    console = Console()
    for table in tables:
        console.print(table)
    return 0


def _pairs(title: str) -> Table:
    from rich.table import Table

    table = Table(title=title, title_justify="left", show_header=False)
    table.add_column()
    table.add_column(overflow="fold")
    return table


def _versions() -> Table:
    table = _pairs("Versions")
    table.add_row("Python", f"{platform.python_version()} on {platform.system()}")
    table.add_row("dcarray", _root().__version__)
    for name in ("numpy", "llvmlite", "ml-dtypes", "array-api-compat"):
        table.add_row(name, _version(name))
    return table


def _version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return "not installed"


def _machine() -> Table:
    from .backends.cpu.loops import struct_agrees
    from .backends.cpu.properties import processor
    from .backends.cpu.threads import available_threads
    from .backends.registry import devices

    table = _pairs("Machine")
    table.add_row("processor", processor()[0])
    table.add_row("cores", f"{os.cpu_count()}, {available_threads()} threads in use")
    table.add_row("devices", ", ".join(map(str, devices())))
    compiled = struct_agrees() and _version("llvmlite") != "not installed"
    table.add_row(
        "CPU engine",
        "compiled (LLVM, with NumPy's inner loops)" if compiled else "interpreter",
    )
    return table


def _devices() -> list[Table]:
    """A table for each device, and one of the plugins if there are any."""
    from .backends import health
    from .backends.registry import devices

    tables = [_device(device) for device in devices() if device.kind != "auto"]
    plugins = health()
    if plugins:
        table = _pairs("Plugins, and what is skipped")
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
    table = _pairs(f"Device {device}")
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
        table.add_row("pool", f"{_bytes(pool.held)} held, {_bytes(pool.in_use)} in use")
    table.add_row("compute units", str(found.compute_units or "unknown"))
    table.add_row("dtypes", _dtypes(found.dtypes))
    table.add_row("status", _status(found.status))
    return table


def _status(text: str) -> str:
    from rich.markup import escape

    return text if text == "ok" else f"[red]{escape(text)}[/]"


def _amount(nbytes: int | None) -> str:
    return "unknown" if nbytes is None else _bytes(nbytes)


def _dtypes(dtypes: frozenset[np.dtype[Any]]) -> str:
    """Names in NumPy's order; those of ml_dtypes come last."""
    found = sorted(
        dtypes, key=lambda d: (d.isbuiltin != 1, "buifc".find(d.kind), d.num)
    )
    return " ".join(dict.fromkeys(map(str, found)))


def _cache_table() -> Table:
    from .backends.cache import object_cache

    cache = object_cache()
    statistics = cache.statistics()
    table = _pairs("Compiled kernels on disk")
    table.add_row("folder", statistics.folder if cache.usable else "not used")
    size = f"{_bytes(statistics.nbytes)} of at most {_bytes(cache.limit)}"
    table.add_row("kernels", f"{statistics.files:,}, {size}")
    if cache.shared is not None:
        table.add_row("also read", str(cache.shared))
    return table


def _clear_cache() -> int:
    from .backends.cache import object_cache

    cache = object_cache()
    removed = cache.clear()
    print(f"removed {removed} compiled kernels from {cache.folder}")
    return 0
