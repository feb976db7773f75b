"""The methods of `numpy.ndarray`: conversions and views.

What picks and orders elements is in `picking`, what reduces them in `reducing`.
"""

from __future__ import annotations

import os
import pickle
from typing import Any, Self, SupportsIndex

import numpy as np

from ..backends.buffer import Buffer
from ..backends.registry import AUTO, device_of
from ..config import current
from ..dtypes import is_recordable
from ..layout import Layout, phantom
from ..lazy import errstate, execute, recover
from . import calls, whole
from .movement import copied, moved, raveled, reshaped
from .operators import Operators
from .reducing import Reducing
from .state import HostArray, check_dtype
from .straight import between, fetched, is_near, pooled, sent

__all__ = ["Methods", "plain"]

_type = type


class Methods(Reducing):
    """NumPy's methods."""

    __slots__ = ()

    # ----------------------------------------------------------------- conversion
    @whole.method
    def astype(
        self,
        dtype: Any,
        order: Any = "K",
        casting: Any = "unsafe",
        subok: bool = True,
        copy: bool = True,
        *,
        device: Any = None,
    ) -> Any:
        """A copy converted to ``dtype``, recorded where it is large."""
        if device is not None and self._device != device:
            moved_there = self.to_device(device)
            return moved_there.astype(dtype, order, casting, subok, copy)
        target = np.dtype(dtype)
        if target == self.dtype and not copy and order == "K":
            return self
        mask = errstate.capture()
        if order == "K" and casting == "unsafe" and self._records_cast(target, mask):
            return calls.cast(type(self), self, target, mask)
        check_dtype(target, self._device)
        if self._device.kind not in ("auto", "cpu"):
            # NumPy says what it thinks of the conversion.
            np.zeros(1, self.dtype).astype(target, casting=casting)
            if target == self.dtype and not copy:
                return copied(self, order) if not self._lies_in(order) else self
            return copied(calls.cast(type(self), self, target), order)
        host = self._array()
        result = host.astype(dtype, order, casting, subok, copy)
        if result is host:
            return self
        return self._like_me(result)

    def _lies_in(self, order: Any) -> bool:
        """Whether the elements lie in this order already."""
        flags = phantom(self._layout, self.dtype).flags
        return bool(
            flags.c_contiguous
            if order == "C"
            else flags.f_contiguous
            if order == "F"
            else flags.forc
        )

    def _records_cast(self, target: Any, mask: int) -> bool:
        if not is_recordable(target) or not calls.can_record(self):
            return False
        if self.dtype.kind == "c" and target.kind != "c":
            return False  # NumPy warns
        if self._device.kind not in ("auto", "cpu"):
            return True
        host = self._host
        return mask != errstate.IMMEDIATE and (
            host is None or (host.size >= current().eager_below and host.flags.aligned)
        )

    def _like_me(self, result: HostArray) -> Any:
        """A new array of the host, on the label of this one."""
        made = type(self)._of_host(result)
        if self._device is AUTO:
            return made
        if self._device.kind in ("auto", "cpu"):
            made._device = self._device
            return made
        return made.to_device(self._device)

    @whole.method
    def copy(self, order: Any = "C") -> Any:
        """A copy with memory of its own, as `numpy.ndarray.copy`."""
        return copied(self, order)

    def item(self, *args: Any) -> Any:
        """One element as a Python scalar, as `numpy.ndarray.item`."""
        return self._array().item(*args)

    def tolist(self) -> Any:
        """The elements as nested lists of Python scalars."""
        return self._array().tolist()

    def tobytes(self, order: Any = "C") -> bytes:
        """The elements as bytes, in C order unless ``order`` says otherwise."""
        return self._array().tobytes(order)

    def tofile(self, fid: Any, sep: str = "", format: str = "%s") -> None:
        """Write the elements to a file, as `numpy.ndarray.tofile`."""
        self._array().tofile(fid, sep, format)

    def dump(self, file: Any) -> None:
        """Write a pickle of the array to a file."""
        if isinstance(file, (str, os.PathLike)):
            with open(file, "wb") as opened:
                pickle.dump(self, opened)
        else:
            pickle.dump(self, file)

    def dumps(self) -> bytes:
        """The pickle of the array as bytes."""
        return pickle.dumps(self)

    def get(self, out: HostArray | None = None) -> HostArray:
        """A NumPy copy of the array, wherever it is.

        Parameters
        ----------
        out : numpy.ndarray, optional
            Of the same shape and dtype: where the copy goes.  Memory that is pinned,
            see `dcarray.pinned_empty`, is filled fastest.

        Returns
        -------
        numpy.ndarray

        Raises
        ------
        TypeError, ValueError
            ``out`` has another dtype, or another shape.
        """
        if out is not None and out.shape != self.shape:
            raise ValueError(f"get: out has shape {out.shape}, not {self.shape}")
        return fetched(self, out)

    def to_device(self, device: Any, /, *, stream: Any = None) -> Any:
        """The array on another device.

        Parameters
        ----------
        device : str or Device
        stream : None
            The standard allows other values to libraries that have streams.

        Returns
        -------
        DeviceArray
            Itself if it is there already, else a copy.
        """
        if stream is not None:
            raise ValueError(f"to_device: got stream={stream!r}, takes None")
        target = device_of(device, "auto")
        if target == self._device:
            return self
        there = between(self, target)
        if there is not None:
            return there
        near = is_near(self._device)
        host = self._array() if near else fetched(self)
        made = sent(type(self), host, target)
        if made is not None:
            return made
        if near:
            host = pooled(host)
        made = type(self)._of_host(host, target)
        if target.kind in ("auto", "cpu"):
            return made
        check_dtype(self.dtype, target)
        buffer = Buffer.of_host(host)
        recover.place(buffer, str(target))
        layout = Layout.of(host, buffer.start)
        return type(self)._of_buffer(buffer, layout, host.dtype, target)

    def prefetch(self, device: Any, /) -> Any:
        """Bring the elements to a device before they are needed there.

        The label does not change.
        """
        target = device_of(device, "auto")
        read = self._read()
        execute.evaluate((read.value,))
        buffer = read.value.buffer
        if target.kind != "auto" and buffer is not None and not buffer.is_shared:
            recover.place(buffer, str(target))
        return self

    def byteswap(self, inplace: bool = False) -> Any:
        """The array with the bytes of each element reversed."""
        if inplace:
            self._writable_array().byteswap(inplace=True)
            return self
        return self._like_me(self._array().byteswap())

    # ---------------------------------------------------------------------- views
    @whole.method
    def diagonal(self, offset: int = 0, axis1: int = 0, axis2: int = 1) -> Any:
        """A view of diagonals, as `numpy.diagonal`."""
        places = offset, axis1, axis2
        return moved(self, lambda a: a.diagonal(*places), "diagonal", *places)

    @whole.method
    def flatten(self, order: Any = "C") -> Any:
        """A one-dimensional copy, as `numpy.ndarray.flatten`."""
        result = self.ravel("K") if order == "K" else reshaped(self, -1, order)
        return result.copy() if result._binding is self._binding else result

    @whole.method
    def ravel(self, order: Any = "C") -> Any:
        """The elements in one dimension, a view where the strides allow one."""
        if self._device.kind not in ("auto", "cpu"):
            return raveled(self, order)
        if order == "C" and self._host is None and self._layout.plain:
            return reshaped(self, -1)
        host = self._array()
        result = host.ravel(order)
        if np.may_share_memory(result, host):
            return self._host_sibling(result)
        return type(self)._of_host(result, self._device)

    @whole.method
    def reshape(self, *shape: Any, order: Any = "C", copy: bool | None = None) -> Any:
        """The elements in another shape, a view where the strides allow one."""
        if len(shape) == 1:
            shape = shape[0]
        return reshaped(self, plain(shape), order, copy)

    def resize(self, *new_shape: Any, refcheck: bool = True) -> None:
        """Change shape and size in place; new elements are zero."""
        if len(new_shape) == 1:
            (new_shape,) = new_shape
        if new_shape == () or new_shape is None:
            return
        single = isinstance(new_shape, (int, np.integer))
        shape: tuple[int, ...] = (new_shape,) if single else tuple(new_shape)  # type: ignore[assignment]
        if any(length < 0 for length in shape):
            raise ValueError("negative dimensions not allowed")
        host = self._array()
        if not host.flags.c_contiguous and not host.flags.f_contiguous:
            raise ValueError("resize only works on single-segment arrays")
        order: Any = "C" if host.flags.c_contiguous else "F"
        changed = np.zeros(shape, self.dtype, order=order)
        flat = host.ravel("K")
        number = min(flat.size, changed.size)
        changed.ravel("K")[:number] = flat[:number]
        self._become(type(self)._of_host(changed, self._device))

    @whole.method
    def squeeze(self, axis: Any = None) -> Any:
        """A view without axes of length 1, as `numpy.squeeze`."""
        return moved(self, lambda a: a.squeeze(axis), "squeeze", axis)

    @whole.method
    def swapaxes(self, axis1: SupportsIndex, axis2: SupportsIndex) -> Any:
        """A view with two axes exchanged."""
        places = axis1, axis2
        return moved(self, lambda a: a.swapaxes(*places), "swapaxes", *places)

    @whole.method
    def transpose(self, *axes: Any) -> Any:
        """A view with the axes reversed or in the order given."""
        order = plain(axes)
        return moved(self, lambda a: a.transpose(*order), "transpose", order)

    def view(self, dtype: Any = None, type: Any = None) -> Any:
        """A view of the same memory, with another dtype if one is given."""
        if isinstance(dtype, _type) and issubclass(dtype, (np.ndarray, Operators)):
            dtype = None
        if dtype is None:
            return moved(self, lambda a: a[...])
        return moved(self, lambda a: a.view(dtype))

    def getfield(self, dtype: Any, offset: int = 0) -> Any:
        """A view of a part of each element, as `numpy.ndarray.getfield`."""
        return moved(self, lambda a: a.getfield(dtype, offset))

    def setfield(self, val: Any, dtype: Any, offset: int = 0) -> None:
        """Assign to a part of each element, as `numpy.ndarray.setfield`."""
        self._writable_array().setfield(plain(val), dtype, offset)

    def setflags(self, write: Any = None, align: Any = None, uic: Any = None) -> None:
        """Change whether the array can be written, as `numpy.ndarray.setflags`."""
        if self._device.kind in ("auto", "cpu"):
            self._array().setflags(write=write, align=align, uic=uic)
        if write is not None:
            self._locked = not write

    # -------------------------------------------------------------------- private
    def _become(self, other: Self) -> None:
        """Take over another array's fields."""
        self._before_write()
        self._host = other._host
        self._binding = other._binding
        self._view = other._view
        self._locked = False


def plain(x: Any) -> Any:
    """Arguments such as shapes and axes, without arrays in them."""
    if isinstance(x, Operators):
        return x._array()
    if type(x) in (tuple, list):
        return type(x)([plain(item) for item in x])
    return x
