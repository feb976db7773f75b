"""OpenCL devices, through pyopencl: GPUs and CPUs of any vendor."""

from .backend import OpenClBackend
from .platforms import count

__all__ = ["OpenClBackend", "count"]
