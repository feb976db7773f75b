"""NumPy on the whole machine: the names of NumPy and of the Array API standard.

``import dcarray as np`` runs a NumPy program; ``import dcarray as dc`` gives, besides,
devices, settings and reports.

The names stand in `dcarray.namespace`, which is loaded when the first one is asked for.
"""

from __future__ import annotations

import os
import sys
from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING, Any

import numpy  # noqa: F401 - always needed, and loaded here so that nothing waits for it

if TYPE_CHECKING:
    from .namespace import *  # noqa: F403

if os.environ.get("DCARRAY_PURE", "0") not in ("", "0"):
    from .core import use_sources

    use_sources()

from . import native, native_arrays  # noqa: F401 - before `__getattr__` could look for it

_SPECIAL = (
    "__all__",
    "__array_api_version__",
    "__array_namespace_info__",
    "__version__",
)
"""Names with two underscores that are public."""

_HIDDEN = ("array", "config", "kernel", "profile")
"""Rooms of the house that have the name of a public function: the function wins."""


class _Package(ModuleType):
    """The package, whose functions are not hidden by rooms of the same name."""

    def __setattr__(self, name: str, value: Any) -> None:
        if name not in _HIDDEN or not isinstance(value, ModuleType):
            super().__setattr__(name, value)


sys.modules[__name__].__class__ = _Package


def __getattr__(name: str) -> Any:
    if name.startswith("__") and name not in _SPECIAL:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    namespace = import_module(f"{__name__}.namespace")
    space = globals()
    if "__all__" not in space:
        for public in (*namespace.__all__, *_SPECIAL, "_core"):
            if public in vars(namespace):
                space[public] = vars(namespace)[public]
        import_module(f"{__name__}.backends.tuned").adopt()
        if all(f"{__name__}.{room}" in sys.modules for room in _HIDDEN):
            # No room is to come, and Python looks faster into a plain module.
            sys.modules[__name__].__class__ = ModuleType
    if name in space:
        return space[name]
    value = getattr(namespace, name)
    space[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__getattr__("__all__")})
