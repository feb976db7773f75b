"""Backends of other packages: found by their entry point, and never fatal.

A package names its plugin in the group ``dcarray.backends``; the entry point's name is
the kind of the devices, and what it points to (a module, usually) has

- ``factory(index)``, which makes the `Backend` of one device;
- ``count()``, which says how many devices there are;
- ``version``, and ``requires``, the packages that it needs, as for pip; without them
  the package's own metadata count.

Plugins are found when an unknown kind of device is asked for or the devices are listed,
and imported one by one.
"""

from __future__ import annotations

import importlib
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ..errors import DeviceError, UnsupportedError
from . import registry, troubles
from .base import Backend
from .gate import gate
from .requirements import unmet
from .residents import evacuate

if TYPE_CHECKING:
    from importlib.metadata import Distribution, EntryPoint

__all__ = ["PluginHealth", "check", "discover", "health", "load", "reload"]

GROUP = "dcarray.backends"

_CONTRACT = (
    *("device", "supported", "native", "rates"),
    *("allocate", "view", "upload", "download", "compile", "launch", "synchronize"),
)


@dataclass(frozen=True, slots=True)
class PluginHealth:
    """How a plugin does.

    Attributes
    ----------
    name : str
        The kind of its devices.
    version : str
    requires : tuple of str
        Packages that it needs.
    origin : str
        Where it comes from: the package and the entry point.
    devices : int
        How many there are.
    status : str
        ``"ok"``, or why it is skipped.
    """

    name: str
    version: str
    requires: tuple[str, ...]
    origin: str
    devices: int
    status: str


@dataclass(slots=True)
class _Found:
    entry: EntryPoint
    distribution: Distribution
    version: str = ""
    requires: tuple[str, ...] = ()
    loaded: bool = False


_known: dict[str, _Found] | None = None


# --------------------------------------------------------------------------- finding
def discover() -> tuple[str, ...]:
    """The kinds of devices that plugins offer; nothing is imported."""
    return tuple(_plugins())


def _plugins() -> dict[str, _Found]:
    global _known
    with registry.lock:
        if _known is None:
            _known = {}
            for entry, distribution in _entries():
                name = entry.name
                if registry.is_taken(name) or name in _known:
                    origin = _origin(entry, distribution)
                    troubles.report(f"{name} of {origin}", f"{name!r} is taken")
                else:
                    _known[name] = _Found(entry, distribution)
        return _known


def _entries() -> Iterator[tuple[EntryPoint, Distribution]]:
    from importlib.metadata import EntryPoint, distributions  # takes 15 ms

    seen = set()
    # `entry_points()` and a package's metadata take three times as long.
    for distribution in distributions():
        text = distribution.read_text("entry_points.txt")
        if text is None or f"[{GROUP}]" not in text:
            continue
        for name, value in _section(text):
            # A package may lie on the path twice: the first one counts.
            if (name, value) not in seen:
                seen.add((name, value))
                yield EntryPoint(name, value, GROUP), distribution


def _section(text: str) -> Iterator[tuple[str, str]]:
    inside = False
    for line in text.splitlines():
        line = line.strip()
        if line.startswith("["):
            inside = line == f"[{GROUP}]"
        elif inside and "=" in line and not line.startswith(("#", ";")):
            name, _, value = line.partition("=")
            yield name.strip(), value.strip()


def _origin(entry: EntryPoint, distribution: Distribution) -> str:
    return f"{distribution.metadata['Name']} ({entry.value})"


# --------------------------------------------------------------------------- loading
def load(kind: str) -> bool:
    """Import the plugin of a kind of device; whether there is one that works."""
    with registry.lock:
        found = _plugins().get(kind)
        if found is None:
            return False
        if not found.loaded:
            found.loaded = True
            try:
                _register(kind, found)
            except KeyboardInterrupt:
                found.loaded = False
                raise
            except BaseException as error:  # also what is raised to skip a test
                troubles.report(kind, troubles.words(error))
        return registry.is_taken(kind)


def _register(kind: str, found: _Found) -> None:
    plugin: Any = found.entry.load()
    version = getattr(plugin, "version", None)
    found.version = found.distribution.version if version is None else version
    found.requires = _stated(plugin, found.distribution)
    wrong = [name for name in ("factory", "count") if not _is_callable(plugin, name)]
    if wrong:
        raise UnsupportedError(f"{found.entry.value} has no {' and no '.join(wrong)}()")
    if not isinstance(found.version, str):
        raise UnsupportedError(f"version is {found.version!r}, no text")
    missing = [text for text in map(unmet, found.requires) if text]
    if missing:
        raise UnsupportedError("; ".join(missing))

    def factory(index: int) -> Backend:
        return check(plugin.factory(index), f"{kind}:{index}")

    registry.register(kind, factory, plugin.count)


def _is_callable(plugin: object, name: str) -> bool:
    return callable(getattr(plugin, name, None))


def _stated(plugin: object, distribution: Distribution) -> tuple[str, ...]:
    given: Any = getattr(plugin, "requires", None)
    if given is None:
        # Those with a marker belong to an extra, or to another system.
        given = [text for text in distribution.requires or () if ";" not in text]
    if isinstance(given, str) or not all(isinstance(text, str) for text in given):
        raise UnsupportedError(f"requires is {given!r}, no list of texts")
    return tuple(given)


def check(backend: Any, label: str) -> Backend:
    """The backend, if it has all that the contract asks for.

    Raises
    ------
    DeviceError
        Something is missing.
    """
    missing = [name for name in _CONTRACT if not hasattr(backend, name)]
    if missing:
        raise DeviceError(
            f"{type(backend).__name__} is no backend: it has no {', '.join(missing)}",
            device=label,
        )
    if backend.device != label:
        raise DeviceError(
            f"the backend says that it is {backend.device!r}", device=label
        )
    return backend  # type: ignore[no-any-return]


# ---------------------------------------------------------------------------- health
def health() -> list[PluginHealth]:
    """How every plugin does, those that are skipped included.

    Examples
    --------
    >>> import dcarray as dc
    >>> for plugin in dc.backends.health():
    ...     print(plugin.name, plugin.version, plugin.status)
    """
    rows = []
    seen = set()
    for kind, found in _plugins().items():
        seen.add(kind)
        devices = registry.counted(kind) if load(kind) else 0
        rows.append(
            PluginHealth(
                kind,
                found.version or found.distribution.version,
                found.requires,
                _origin(found.entry, found.distribution),
                devices,
                troubles.trouble(kind) or "ok",
            )
        )
    for kind, text in troubles.known().items():
        if kind not in seen:
            rows.append(PluginHealth(kind, "", (), "", 0, text))
    return rows


# ---------------------------------------------------------------------------- reload
def reload(name: str) -> None:
    """Load the code of a plugin afresh, while arrays live on.

    What its devices hold is brought to the host first: the arrays keep their labels,
    and the next operation takes them to the new backend.  Arrays of other devices are
    not touched.  Work that is running is waited for.

    Parameters
    ----------
    name : str
        Kind of the devices, ``"opencl"`` for example.  Where it is no plugin, its
        devices are opened anew.

    Raises
    ------
    UnsupportedError
        There is no such kind, or it is the CPU.
    DeviceError
        The plugin is broken now, and the old one stays; or its devices cannot be read.
    """
    if name == "cpu":
        raise UnsupportedError("reload: the CPU is part of dcarray")
    importlib.invalidate_caches()
    with gate.closed():
        for label in registry.labels(name):
            evacuate(label)
        with registry.lock:
            if name in _plugins() or not registry.is_taken(name):
                _replace(name)
            for label in registry.labels(name):
                registry.remove(label)


def _replace(name: str) -> None:
    entries = [pair for pair in _entries() if pair[0].name == name]
    if not entries:
        raise UnsupportedError(f"reload: no plugin {name!r}")
    found = _Found(*entries[0], loaded=True)
    modules = _taken_out(found.entry.module)
    try:
        _register(name, found)
    except BaseException as error:
        _taken_out(found.entry.module)
        sys.modules.update(modules)
        if isinstance(error, KeyboardInterrupt):
            raise
        raise DeviceError(f"reload: {name}: {troubles.words(error)}") from error
    _plugins()[name] = found
    troubles.clear(name)


def _taken_out(module: str) -> dict[str, Any]:
    """The module and those inside it, which will be imported again."""
    inside = module + "."
    names = [n for n in sys.modules if n == module or n.startswith(inside)]
    return {name: sys.modules.pop(name) for name in names}
