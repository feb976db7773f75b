"""Operations that do not fuse, on devices with grids: launches of library kernels.

One file a family; `work` has what they share.
"""

from .mapping import GridLibrary

__all__ = ["GridLibrary"]
