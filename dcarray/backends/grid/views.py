"""Arrays in the memory of a device."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from ...errors import UnsupportedError
from ...layout import Layout

__all__ = ["GridView"]

HostArray = np.ndarray[Any, Any]


@dataclass(frozen=True, slots=True)
class GridView:
    """A block of the device's memory seen through a layout."""

    memory: Any
    layout: Layout
    dtype: np.dtype[Any]

    @property
    def shape(self) -> tuple[int, ...]:
        """Lengths of the axes."""
        return self.layout.shape

    @property
    def ndim(self) -> int:
        """Number of axes."""
        return len(self.layout.shape)

    @property
    def size(self) -> int:
        """Number of elements."""
        return self.layout.size

    def through(self, function: Callable[[HostArray], HostArray]) -> GridView:
        """The view that a view operation of NumPy's gives, ``lambda a: a.T`` say."""
        layout, dtype = self.layout.apply(self.dtype, function)
        return GridView(self.memory, layout, dtype)

    def elements(self) -> tuple[int, tuple[int, ...]]:
        """Offset and strides, counted in elements.

        Raises
        ------
        UnsupportedError
            They are no whole numbers of elements.
        """
        size = self.dtype.itemsize
        layout = self.layout
        if layout.offset % size or any(stride % size for stride in layout.strides):
            raise UnsupportedError(
                f"{self.dtype} at offset {layout.offset} with strides "
                f"{layout.strides}: a device takes whole elements"
            )
        return layout.offset // size, tuple([s // size for s in layout.strides])
