"""Every setting, in one typed table.

A setting is read from the environment when dcarray is imported (``DCARRAY_DEVICE`` for
`device`) and can be overridden for a block of code, in the running thread or task::

    with dcarray.config(device="cuda:0", fallback="error"):
        ...
"""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from contextvars import ContextVar, Token
from dataclasses import dataclass, field, fields, replace
from types import TracebackType
from typing import (
    TYPE_CHECKING,
    Any,
    Literal,
    get_args,
    get_origin,
    get_type_hints,
)

from . import native
from .errors import ConfigError

if TYPE_CHECKING:
    from logging import Logger

__all__ = [
    "Settings",
    "config",
    "Limits",
    "current",
    "describe",
    "limits",
    "logger",
    "measured_here",
    "set_process_default",
]

MiB = 1 << 20
GiB = 1 << 30

WHOLE = 5
"""Times `Settings.small_array`, see `Settings.whole_below`."""


def _setting(default: Any, doc: str) -> Any:
    return field(default=default, metadata={"doc": doc})


@dataclass(frozen=True, slots=True)
class Settings:
    """The table.  Sizes are in bytes and times in seconds unless the text says so."""

    device: str = _setting(
        "auto", "Device on which new arrays are made: auto, cpu, cuda:0 ..."
    )
    auto_devices: Literal["all", "cpu"] = _setting(
        "all",
        "Where work on auto may run: on any device that is worth it, or on the CPU "
        "alone.",
    )
    small_array: int = _setting(
        9216,
        "Results with fewer elements are computed at once by a NumPy call; larger "
        "ones are recorded and fused.  Functions that are more than one operation are "
        "NumPy's own below five times as many.  ``dcarray tune`` measures it.",
    )
    lazy: Literal["auto", "always", "never"] = _setting(
        "auto", "Record large results (auto), results of any size (always) or none."
    )
    max_group_nodes: int = _setting(
        64,
        "A pending expression with more operations than this runs; in a loop, all that "
        "its last round reads.",
    )
    max_group_inputs: int = _setting(
        24, "A pending expression that reads more arrays than this runs."
    )
    max_pending_bytes: int = _setting(
        4 * GiB, "A pending expression that keeps more memory alive than this runs."
    )
    engine: Literal["auto", "interpreter"] = _setting(
        "auto", "How fused groups run on the CPU: compiled, or block by block in NumPy."
    )
    threads: int = _setting(0, "CPU threads; 0 means one for each available core.")
    thread_work: int = _setting(
        1 << 16,
        "Elements times operations from which a group has more than one CPU thread.  "
        "``dcarray tune`` measures it.",
    )
    block_bytes: int = _setting(
        1 << 14,
        "What the operands and temporaries of a block of a group may fill of the CPU's "
        "cache together.  ``dcarray tune`` measures it.",
    )
    fallback: Literal["allow", "warn", "error"] = _setting(
        "allow",
        "What to do when an operation runs on the host because it is not native on "
        "the array's device.",
    )
    implicit_transfer: Literal["error", "allow"] = _setting(
        "error", "Whether an array on a named GPU turns into a NumPy array unasked."
    )
    scalars: Literal["array", "numpy"] = _setting(
        "array",
        "Single elements and whole-array reductions are 0-d arrays (the standard) or "
        "NumPy scalars (as in NumPy).",
    )
    math: Literal["exact", "fast"] = _setting(
        "exact",
        "Elementary functions of large arrays on the CPU: NumPy's bits, or polynomials "
        "within 2 units in the last place (fast).",
    )
    matmul_precision: Literal["ieee", "tf32"] = _setting(
        "ieee",
        "Products and convolutions of float32 on tensor cores that have room for 10 "
        "bits of each factor (tf32), or in float32 itself (ieee).",
    )
    pool_limit: int = _setting(0, "Most bytes a device's pool holds; 0 means no limit.")
    pool_idle_limit: int = _setting(
        0,
        "Most bytes of free blocks that a device's pool keeps for reuse; 0 means 1 GiB "
        "of the host's memory, and a quarter of a device's own.",
    )
    pool_process_limit: int = _setting(
        0, "Most bytes that all pools of the process hold; 0 means no limit."
    )
    pool_largest_block: int = _setting(
        0, "Larger blocks go back to the system at once; 0 means as `pool_idle_limit`."
    )
    pool_trim_interval: float = _setting(
        10.0, "Free blocks that were idle for this long go back to the system."
    )
    clear_buffers: bool = _setting(False, "Zero a block before it is used again.")
    cache_dir: str = _setting(
        "", "Folder of the kernel cache; empty means the user's cache folder."
    )
    shared_cache_dir: str = _setting(
        "", "A second, read-only folder of compiled kernels."
    )
    cache_size: int = _setting(
        100 * MiB, "Most bytes of compiled kernels on disk; 0 turns the cache off."
    )
    record: str = _setting(
        "",
        "File to which every compiled kernel is added, for ``dcarray precompile``; "
        "empty means none.",
    )
    validate: str = _setting(
        "",
        "Label of a device on which every group runs as well; the results are compared "
        "within the bounds of the operations.  Empty means none.",
    )
    bounds_check: bool = _setting(
        False, "Kernels of the user check every index of an array, and raise."
    )
    verify_transfers: bool = _setting(
        False, "Read every transfer back and compare checksums."
    )
    retries: int = _setting(3, "How often work that failed transiently is tried again.")
    retry_delay: float = _setting(0.01, "Pause before the first retry; it doubles.")
    log_level: Literal["debug", "info", "warning", "error"] = _setting(
        "warning", "Level of the logger ``dcarray``."
    )

    @property
    def eager_below(self) -> int:
        """Results with fewer elements than this are computed at once."""
        if self.lazy == "auto":
            return self.small_array
        return sys.maxsize if self.lazy == "never" else 0

    @property
    def whole_below(self) -> int:
        """Functions that are more than one operation, and do not fuse, are NumPy's own
        for arrays of the host with fewer elements than this."""
        return min(WHOLE * self.eager_below, sys.maxsize)


_TYPES = get_type_hints(Settings)


def describe() -> list[tuple[str, str, str, str]]:
    """The table as rows of (name, environment variable, default, text)."""
    return [
        (f.name, f"DCARRAY_{f.name.upper()}", repr(f.default), f.metadata["doc"])
        for f in fields(Settings)
    ]


def _checked(name: str, value: object) -> object:
    kind = _TYPES.get(name)
    if kind is None:
        known = ", ".join(_TYPES)
        raise ConfigError(f"config: no setting {name!r}; there are {known}")
    if get_origin(kind) is Literal:
        if value not in get_args(kind):
            takes = ", ".join(map(repr, get_args(kind)))
            raise ConfigError(f"config: {name} got {value!r}, takes {takes}")
        return value
    if kind is float and type(value) is int:
        value = float(value)
    if kind is str and not isinstance(value, (str, int, float, type(None))):
        value = str(value)  # a Device, a path
    if type(value) is not kind:
        raise ConfigError(f"config: {name} got {value!r}, takes {kind.__name__}")
    if kind in (int, float) and value < 0:  # type: ignore[operator]
        raise ConfigError(f"config: {name} got {value!r}, takes a number >= 0")
    return value


def _parsed(name: str, text: str) -> object:
    kind = _TYPES[name]
    try:
        if kind is bool:
            return {"1": True, "true": True, "0": False, "false": False}[text.lower()]
        return kind(text) if kind in (int, float) else text
    except (KeyError, ValueError):
        raise ConfigError(
            f"DCARRAY_{name.upper()}: got {text!r}, takes {kind.__name__}"
        ) from None


def from_environment(environment: Mapping[str, str]) -> Settings:
    """The settings that a process starts with."""
    given = {}
    for name in _TYPES:
        text = environment.get(f"DCARRAY_{name.upper()}")
        if text is not None and text != "":
            given[name] = _checked(name, _parsed(name, text))
    return Settings(**given)  # type: ignore[arg-type]


_active: ContextVar[Settings] = ContextVar("dcarray_settings")
_process = from_environment(os.environ)
_given = {name for name in _TYPES if os.environ.get(f"DCARRAY_{name.upper()}")}
"""Settings of the process that the user has chosen."""


def current() -> Settings:
    """The settings in force."""
    settings: Settings = native.setting(_active, _process)
    return settings


class Limits:
    """What the settings in force say to the short ways, ready to be read.

    Attributes
    ----------
    settings : Settings
    small : int
        `Settings.eager_below`.
    whole : int
        `Settings.whole_below`.
    numbers : bool
        Whether single elements are NumPy's scalars.
    auto : bool
        Whether new arrays are on ``auto``.
    """

    __slots__ = ("auto", "numbers", "settings", "small", "whole")

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self.small = settings.eager_below
        self.whole = settings.whole_below
        self.numbers = settings.scalars == "numpy"
        self.auto = settings.device == "auto"


_limits = Limits(_process)


def limits() -> Limits:
    """The same of the settings in force."""
    global _limits
    settings = native.setting(_active, _process)
    found = _limits
    if found.settings is not settings:
        found = _limits = Limits(settings)
    return found


def logger() -> Logger:
    """The logger ``dcarray``, at the level of the settings in force."""
    from logging import getLogger  # takes 4 ms, and messages are rare

    found = getLogger("dcarray")
    found.setLevel(current().log_level.upper())
    return found


def set_process_default(**settings: object) -> None:
    """Change settings for the whole process, all threads."""
    global _process
    checked = {name: _checked(name, value) for name, value in settings.items()}
    _process = replace(_process, **checked)  # type: ignore[arg-type]
    _given.update(checked)


def measured_here(**settings: int) -> None:
    """What suits this machine, for the whole process; what the user has set stays."""
    global _process
    free = {name: value for name, value in settings.items() if name not in _given}
    _process = replace(_process, **free)  # type: ignore[arg-type]


class config:
    """Settings for a block of code.

    Parameters
    ----------
    **settings
        Any of the fields of `Settings`.

    Raises
    ------
    ConfigError
        A name that does not exist, or a value that the setting does not take.

    Examples
    --------
    >>> import dcarray as dc
    >>> with dc.config(lazy="never"):
    ...     y = dc.ones(3) + 1
    """

    def __init__(self, **settings: object) -> None:
        self._changes = {n: _checked(n, value) for n, value in settings.items()}
        self._tokens: list[Token[Settings]] = []
        # For who enters it again: what it changed last, and into what.
        self._known: tuple[Settings | None, Settings | None] = (None, None)

    def __enter__(self) -> Settings:
        before = current()
        known, changed = self._known
        if changed is None or known is not before:
            changed = self._changed(before)
            self._known = before, changed
        self._tokens.append(_active.set(changed))
        return changed

    def _changed(self, settings: Settings) -> Settings:
        for name, value in self._changes.items():
            if getattr(settings, name) != value:
                return replace(settings, **self._changes)  # type: ignore[arg-type]
        return settings

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        _active.reset(self._tokens.pop())
