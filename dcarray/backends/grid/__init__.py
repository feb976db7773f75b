"""What devices that run kernels over a grid have in common: OpenCL, Metal, CUDA.

A program becomes array kernels, sized for the device, built from text once and
launched; a concrete backend says how its driver builds and launches.
"""

from .backend import GridBackend, GridView, Limits

__all__ = ["GridBackend", "GridView", "Limits"]
