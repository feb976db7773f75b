"""Kernels of the user: written once in a subset of Python, run on every device.

`decorator` has `kernel` and what it makes of a function; `arguments` turns a call's
arguments into what a device takes, `launching` runs them, and `tools` shows and checks
what is generated.
"""

from __future__ import annotations

from .decorator import Kernel, kernel

__all__ = ["Kernel", "kernel"]
