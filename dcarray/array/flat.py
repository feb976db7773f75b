"""Elements one after the other: `DeviceArray.flat`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from . import export
from .methods import plain
from .operands import wrap
from .state import ArrayState, HostArray

__all__ = ["FlatIterator"]


class FlatIterator:
    """Iterates over the elements in C order and indexes them, as `numpy.flatiter`.

    Parameters
    ----------
    base : DeviceArray
        On the host; nothing is copied.
    """

    __slots__ = ("_flat", "_source", "base")

    __hash__ = None  # type: ignore[assignment]

    def __init__(self, base: ArrayState) -> None:
        export.host_allowed(base, "flat")
        self.base = base
        self._source = base._array()
        self._flat: Any = self._source.flat

    @property
    def coords(self) -> tuple[int, ...]:
        """The index of the next element along each axis."""
        return tuple(self._flat.coords)

    @property
    def index(self) -> int:
        """The number of the next element."""
        return int(self._flat.index)

    def copy(self) -> Any:
        """The elements as a new vector."""
        return self[:]

    def __len__(self) -> int:
        return self.base.size

    def __iter__(self) -> Iterator[Any]:
        return self

    def __next__(self) -> Any:
        if self.base._host is not self._source:  # written to in the meantime
            number = self._flat.index
            self._source = self.base._array()
            self._flat = self._source.flat
            for _ in range(number):
                next(self._flat)
        return next(self._flat)

    def __getitem__(self, key: Any) -> Any:
        result = self.base._array().flat[plain(key)]
        if isinstance(result, np.ndarray):
            return wrap(type(self.base), result, self.base._device)
        return result

    def __setitem__(self, key: Any, value: Any) -> None:
        self.base._writable_array().flat[plain(key)] = plain(value)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> HostArray:
        return np.array(self.base._array().flat, dtype)

    def __eq__(self, other: Any) -> Any:
        return self[:] == _flattened(other)

    def __ne__(self, other: Any) -> Any:
        return self[:] != _flattened(other)

    def __lt__(self, other: Any) -> Any:
        return self[:] < _flattened(other)

    def __le__(self, other: Any) -> Any:
        return self[:] <= _flattened(other)

    def __gt__(self, other: Any) -> Any:
        return self[:] > _flattened(other)

    def __ge__(self, other: Any) -> Any:
        return self[:] >= _flattened(other)


def _flattened(other: Any) -> Any:
    return other[:] if isinstance(other, FlatIterator) else other
