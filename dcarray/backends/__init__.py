"""Devices: the contract, the memory that arrays live in, and one file or folder for
each kind of device.  A backend runs what the renderers wrote; it never builds text."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .plugins import PluginHealth, health, reload

__all__ = ["PluginHealth", "health", "reload"]


def __getattr__(name: str) -> Any:
    if name in __all__:
        from . import plugins  # only who asks needs it

        return getattr(plugins, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
