"""Devices: the contract, the memory that arrays live in, and one file or folder for
each kind of device.  A backend runs what the renderers wrote; it never builds text."""

from .plugins import PluginHealth, health, reload

__all__ = ["PluginHealth", "health", "reload"]
