"""Elements one after the other: `DeviceArray.flat`."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import numpy as np

from . import export
from .methods import plain
from .movement import raveled
from .operands import wrap
from .state import ArrayState, HostArray

__all__ = ["FlatIterator"]


class FlatIterator:
    """Iterates over the elements in C order and indexes them, as `numpy.flatiter`.

    Parameters
    ----------
    base : DeviceArray
    """

    __slots__ = ("_flat", "_number", "_source", "base")

    __hash__ = None  # type: ignore[assignment]

    def __init__(self, base: ArrayState) -> None:
        self.base: Any = base
        self._source: HostArray | None = None
        self._flat: Any = None
        self._number = 0  # of the next element, on a named device

    def _walk(self) -> Any:
        """NumPy's iterator over the current elements, as far as this one has come."""
        if self._source is None or self.base._host is not self._source:
            number = 0 if self._flat is None else self._flat.index
            self._source = self.base._array()
            self._flat = self._source.flat
            for _ in range(number):
                next(self._flat)
        return self._flat

    @property
    def coords(self) -> tuple[int, ...]:
        """The index of the next element along each axis."""
        if self.base._device.is_named:
            rest, found = self._number, []
            for length in self.base.shape[:0:-1]:
                rest, place = divmod(rest, max(1, length))
                found.append(place)
            return (rest, *found[::-1]) if self.base.ndim else ()
        return tuple(self._walk().coords)

    @property
    def index(self) -> int:
        """The number of the next element."""
        if self.base._device.is_named:
            return self._number
        return int(self._walk().index)

    def copy(self) -> Any:
        """The elements as a new vector."""
        return self[:]

    def __len__(self) -> int:
        return int(self.base.size)

    def __iter__(self) -> Iterator[Any]:
        return self

    def __next__(self) -> Any:
        if not self.base._device.is_named:
            return next(self._walk())
        if self._number == self.base.size:
            raise StopIteration
        self._number += 1
        return self[self._number - 1]

    def __getitem__(self, key: Any) -> Any:
        if self.base._device.is_named:
            return raveled(self.base)[self._places(key)].copy()
        result = self.base._array().flat[plain(key)]
        if isinstance(result, np.ndarray):
            return wrap(type(self.base), result, self.base._device)
        return result

    def __setitem__(self, key: Any, value: Any) -> None:
        if not self.base._device.is_named:
            self.base._writable_array().flat[plain(key)] = plain(value)
            return
        if type(key) is tuple and (not key or (len(key) == 1 and key[0] is Ellipsis)):
            raise IndexError(
                "Assigning to a flat iterator with a 0-D index is not supported"
            )
        row = raveled(self.base)
        key = self._places(key)
        row[key] = _repeated(row, key, value)
        if row._binding is not self.base._binding:
            self.base[...] = row.reshape(self.base.shape)

    def _places(self, key: Any) -> Any:
        """A key as a row of the elements takes it; NumPy says what an odd one means."""
        if isinstance(key, (int, np.integer, slice)) and type(key) is not bool:
            return key
        if isinstance(key, FlatIterator):
            key = key[:]
        if isinstance(key, (ArrayState, np.ndarray)):
            kind, shape = key.dtype.kind, key.shape
            if (kind in "iu" and shape) or (kind == "b" and shape == (len(self),)):
                return key
        elif key is Ellipsis:
            return key
        return np.arange(len(self)).reshape(self.base.shape).flat[plain(key)]

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> HostArray:
        export.host_allowed(self.base, "flat")
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


def _repeated(row: Any, key: Any, value: Any) -> Any:
    """A value for some elements of a row: again from its beginning where it ends."""
    if not isinstance(value, ArrayState):
        value = np.asarray(value)
    value = value.ravel()
    shape = row[key].shape
    count = math.prod(shape)
    if isinstance(key, (int, np.integer)) and value.size > 1:
        raise ValueError("Error setting single item of array.")
    if value.size in (0, 1):
        return value
    if value.size != count:
        value = value[np.arange(count) % value.size]
    return value.reshape(shape)
