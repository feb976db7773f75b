"""Metal devices, through pyobjc: GPUs of Apple, whose memory is the host's own.

It has run on a simulated device only, never on Apple's hardware.
"""

from .backend import MetalBackend
from .driver import count

__all__ = ["MetalBackend", "count"]
