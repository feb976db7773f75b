"""Kernels of the user: written once in a subset of Python, run on every device.

`decorator` has `kernel`, and `user_kernel` what it makes of a function; `arguments`
turns those of a call into what a device takes, `launching` runs them, and `tools` shows
and checks what is generated.  `vectorize` makes an elementwise operation of a
function, by way of `rows`.
"""

from __future__ import annotations

from .decorator import kernel
from .vectorize import vectorize

__all__ = ["kernel", "vectorize"]
