"""A CUDA device for our own texts that needs none: g++ compiles them, the host runs
them.  What it cannot show is a race between warps or blocks."""

from .device import EmulatedDevice, compiler

__all__ = ["EmulatedDevice", "compiler"]
