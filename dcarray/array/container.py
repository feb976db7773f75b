"""An array as Python takes it: its length, elements and shape, and a number where it
has one element."""

from __future__ import annotations

import operator
from collections.abc import Iterator
from operator import attrgetter
from typing import Any

import numpy as np

from ..dtypes import DType
from .indexing import get_item, set_item
from .movement import moved
from .state import ArrayState, host_sibling

__all__ = ["Container"]


def _items(x: ArrayState, length: int) -> Iterator[Any]:
    for index in range(length):
        yield get_item(x, index)


class Container(ArrayState):
    """Elements, and what the array is like."""

    __slots__ = ()

    @property
    def shape(self) -> tuple[int, ...]:
        """Lengths of the axes; assigning reshapes in place."""
        host = self._host
        return host.shape if host is not None else self._view[0].shape  # type: ignore[index]

    @shape.setter
    def shape(self, shape: Any) -> None:
        try:
            reshaped = moved(self, lambda a: np.reshape(a, shape, copy=False))
        except ValueError as error:
            if "copy" not in str(error):
                raise
            raise AttributeError(
                "incompatible shape for in-place modification. Use `.reshape()` to "
                "make a copy with the desired shape."
            ) from None
        self._host = reshaped._host
        self._view = reshaped._view

    @property
    def dtype(self) -> DType:
        """Data type of the elements; assigning looks at the bytes anew."""
        host = self._host
        return host.dtype if host is not None else self._view[1]  # type: ignore[index]

    @dtype.setter
    def dtype(self, dtype: Any) -> None:
        changed = moved(self, lambda a: a.view(dtype))
        self._host = changed._host
        self._view = changed._view

    @property
    def T(self) -> Any:
        """The transpose."""
        host = self._host
        if host is not None:
            return host_sibling(self, host.T)
        return moved(self, attrgetter("T"), "T")

    # -------------------------------------------------------------------- elements
    def __len__(self) -> int:
        host = self._host
        if host is not None:
            return len(host)
        shape = self.shape
        if not shape:
            raise TypeError("len() of unsized object")
        return shape[0]

    def __getitem__(self, key: Any) -> Any:
        return get_item(self, key)

    def __setitem__(self, key: Any, value: Any) -> None:
        set_item(self, key, value)

    def __delitem__(self, key: Any) -> None:
        raise ValueError("cannot delete array elements")

    def __iter__(self) -> Iterator[Any]:
        shape = self.shape
        if not shape:
            raise TypeError("iteration over a 0-d array")
        return _items(self, shape[0])

    # --------------------------------------------------------------------- numbers
    def __bool__(self) -> bool:
        return bool(self._array())

    def __int__(self) -> int:
        return int(self._array())

    def __float__(self) -> float:
        return float(self._array())

    def __complex__(self) -> complex:
        return complex(self._array())

    def __index__(self) -> int:
        return operator.index(self._array())
