"""The command line: ``python -m dcarray``, also installed as ``dcarray``.

Exit status: that of the program for ``run``; otherwise 0, 1 if what was asked for
failed, 2 for a command line that makes no sense.
"""

from __future__ import annotations

import argparse
import importlib
import sys
from collections.abc import Sequence
from types import ModuleType

from ..errors import ConfigError, DeviceError, UnsupportedError

__all__ = ["main"]


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
        from .running import run

        return run(options.script, program, _root(), options.profile, options.record)
    try:
        return _do(options)
    except (ConfigError, DeviceError, OSError, UnsupportedError) as error:
        print(f"dcarray {options.command}: {error}", file=sys.stderr)
        return 1


def _do(options: argparse.Namespace) -> int:
    """What was asked for; each command loads only what it needs."""
    if options.command == "demo":
        from ..demo import run_demo

        return run_demo(_root(), options.output)
    if options.command == "check":
        from .checking import check

        return check(options.files)
    if options.command == "bench":
        from .benching import bench

        return bench(_root())
    if options.command == "tune":
        from .tuning import tune

        return tune(options.device)
    if options.command == "precompile":
        from .precompile import precompile

        return precompile(options.record)
    from .cache import cache_table, clear, kernels_table
    from .tables import show

    if options.command == "info":
        from .info import info_tables

        return show(*info_tables(_root()))
    if options.action == "clear":
        return clear(options.kernels)
    if options.kernels:
        raise ConfigError("cache info takes no names of kernels")
    return show(cache_table(), kernels_table())


def _root() -> ModuleType:
    return importlib.import_module(__name__.partition(".")[0])


def _split(arguments: list[str]) -> tuple[list[str], list[str]]:
    """What is for dcarray, and what comes after the script of ``run``."""
    if arguments[:1] != ["run"]:
        return arguments, []
    value = False
    for place, word in enumerate(arguments[1:], 2):
        if not value and not word.startswith("-"):
            return arguments[:place], arguments[place:]
        value = word == "--record" and not value
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
        usage="dcarray run [--profile] [--record FILE] SCRIPT [ARGUMENTS ...]",
        description="Run an unmodified NumPy program. The script and the modules in "
        "its folder see dcarray as numpy; installed libraries keep the real one.",
    )
    run.add_argument(
        "--profile",
        action="store_true",
        help="print what ran where, and every fallback, when the program ends",
    )
    run.add_argument(
        "--record",
        metavar="FILE",
        help="add every compiled kernel to a file, for precompile",
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
    commands.add_parser(
        "bench",
        help="time a short set of work beside NumPy",
        description="Time a short set of NumPy's work with NumPy and with dcarray, in "
        "turn, and compare the results.",
    )
    tune = commands.add_parser(
        "tune",
        help="measure the devices, so that work goes where it ends first",
        description="Measure launches, memory, arithmetic and transfers of devices, "
        "and search the fastest layout of kernels on them. What is found is kept in "
        "the cache folder.",
    )
    tune.add_argument(
        "--device",
        action="append",
        default=[],
        metavar="DEVICE",
        help="opencl:0, say; can be repeated (all devices)",
    )
    precompile = commands.add_parser(
        "precompile",
        help="build the kernels of a recorded run ahead of time",
        description="Build the kernels that a run with --record, or with "
        "DCARRAY_RECORD set to a file, has used, into the cache folder.",
    )
    precompile.add_argument("record", metavar="FILE", help="the record")
    cache = commands.add_parser("cache", help="the compiled kernels on disk")
    cache.add_argument("action", choices=("info", "clear"))
    cache.add_argument(
        "kernels", metavar="KERNEL", nargs="*", help="clear only those of these names"
    )
    return parser
