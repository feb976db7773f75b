"""NVIDIA's devices, through CuPy: kernels of our own compiled by NVRTC, memory of our
own pool, and the vendor's libraries where they are the best."""

from .backend import CudaBackend
from .driver import count

__all__ = ["CudaBackend", "count"]
