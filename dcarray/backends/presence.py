"""Signs that there is a GPU, read without loading anything that could use it.

The backend of CUDA takes 30 ms to load: too much for a program that only learns from it
that there is no GPU.
"""

from __future__ import annotations

import importlib.util
import os

__all__ = ["cuda_is_likely"]

PLACES = (
    "/dev/nvidiactl",
    "/dev/nvidia0",
    "/proc/driver/nvidia",
    "/dev/dxg",
    r"C:\Windows\System32\nvcuda.dll",
)
"""What a driver leaves where the system shows it."""


def cuda_is_likely() -> bool:
    """Whether there may be a CUDA device that can be used, and CuPy to use it with."""
    if os.environ.get("CUDA_VISIBLE_DEVICES", "0").strip() in ("", "-1"):
        return False
    if not any([os.path.exists(path) for path in PLACES]):
        return False
    return importlib.util.find_spec("cupy") is not None
