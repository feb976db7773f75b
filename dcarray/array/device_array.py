"""`DeviceArray`, put together: attributes, protocols, printing."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar

import numpy as np

from ..backends.registry import Device, device_of
from ..config import current
from ..ops.spec import Op
from . import calls, capsule, export
from .fallback import call_numpy, on_host
from .flags import DeviceFlags
from .flat import FlatIterator
from .movement import moved, part
from .operators import lightened
from .picking import Picking
from .quick import on_ufunc
from .state import HostArray
from .ways import PRIORITY
from .whole import arrays_are, method

__all__ = ["DeviceArray"]

Handler = Callable[..., Any]


class DeviceArray(Picking):
    """An array: a value, pending or stored, and the layout through which it is seen.

    Made by the functions of the namespace (`asarray`, `zeros`, `arange` ...).  It has
    the attributes and methods of `numpy.ndarray` and those of the Python Array API
    standard.

    Parameters
    ----------
    shape : tuple of int
    dtype : dtype, optional
    buffer, offset, strides, order
        As for `numpy.ndarray`; memory of ``buffer`` is shared.
    """

    __slots__ = ()
    __array_priority__ = PRIORITY

    array_functions: ClassVar[dict[Any, Handler]] = {}
    """What `__array_function__` calls instead of NumPy's function, by that function."""
    namespaces: ClassVar[list[Any]] = []
    """The module that `__array_namespace__` gives."""

    def __new__(
        cls,
        shape: Any,
        dtype: Any = float,
        buffer: Any = None,
        offset: int = 0,
        strides: Any = None,
        order: Any = None,
    ) -> DeviceArray:
        host = np.ndarray(shape, dtype, buffer, offset, strides, order)
        if buffer is not None:
            return cls._of_shared(host)
        device = device_of(None, current().device)
        if device.is_named and host.flags.c_contiguous:
            return cls._empty(host.shape, host.dtype, device)
        return cls._of_host(host, device)

    @property  # type: ignore[misc]
    def __class__(self) -> type:
        """`numpy.ndarray` in a NumPy program, whose tools ask
        ``isinstance(x, numpy.ndarray)``, `numpy.testing` first of all."""
        return np.ndarray if current().scalars == "numpy" else type(self)

    # ------------------------------------------------------------------ attributes
    @property
    def device(self) -> Device:
        """The label: ``auto``, ``cpu``, ``cuda:0`` ..."""
        return self._device

    @property
    def itemsize(self) -> int:
        """Bytes of an element."""
        return self.dtype.itemsize

    @property
    def nbytes(self) -> int:
        """Bytes of all elements."""
        return self.size * self.dtype.itemsize

    @property
    def flags(self) -> Any:
        """Memory layout, as `numpy.ndarray.flags`."""
        if self._device.kind in ("auto", "cpu"):
            return self._array().flags
        return DeviceFlags(self)

    @property
    def base(self) -> Any:
        """The array whose memory this one shows, or None."""
        if self._device.kind not in ("auto", "cpu"):
            bound = self._bind()
            root = None if bound._root is None else bound._root()
            if root is not None:
                return None if root is self else root
            shown, value = self._read(), bound.value
            if shown.layout == value.layout and shown.dtype == value.dtype:
                return None
            return self._sibling(value.layout, value.dtype)
        host = self._array()
        binding = self._binding
        if binding is None:
            return None
        for known in binding.hosts:
            array = known()
            if array is not None and array._host.flags.owndata:
                return None if array is self else array
        if binding.value.buffer is None:
            return None
        root = binding.value.buffer.root
        if root is None:
            return None
        whole = host.nbytes >= root.nbytes and not self._is_shared()
        return None if whole else type(self)._of_shared(root)

    @property
    @method
    def mT(self) -> Any:
        """The transpose of the last two axes.

        Raises
        ------
        ValueError
            Fewer than two axes.
        """
        return moved(self, lambda a: a.mT, "mT")

    @property
    @method
    def real(self) -> Any:
        """The real part, a view."""
        return part(self, "real") if self.dtype.kind == "c" else self

    @real.setter
    def real(self, value: Any) -> None:
        self.real[...] = value

    @property
    def imag(self) -> Any:
        """The imaginary part, a view of complex arrays."""
        if self.dtype.kind == "c":
            return part(self, "imag")
        zeros = np.zeros(self.shape, self.dtype)
        zeros.flags.writeable = False
        return self._like_me(zeros)

    @imag.setter
    def imag(self, value: Any) -> None:
        if self.dtype.kind != "c":
            raise TypeError("array does not have imaginary part to set")
        self.imag[...] = value

    @property
    def flat(self) -> Any:
        """An iterator over the elements, as `numpy.ndarray.flat`."""
        return FlatIterator(self)

    @flat.setter
    def flat(self, value: Any) -> None:
        if self._device.is_named:
            FlatIterator(self)[...] = value
            return
        host: Any = self._writable_array()
        host.flat = value._array() if isinstance(value, DeviceArray) else value

    @property
    def data(self) -> Any:
        """A buffer on the elements."""
        export.host_allowed(self, "data")
        return export.exported(self).data

    @property
    def ctypes(self) -> Any:
        """For foreign functions, as `numpy.ndarray.ctypes`; the memory counts as shared
        for ever."""
        export.share_for_ever(self)
        return self._array().ctypes

    # ------------------------------------------------------------------- container
    def __contains__(self, item: Any) -> bool:
        if self._device.kind not in ("auto", "cpu"):
            return bool((self == item).any())
        return (
            item in self._array()
            if not isinstance(item, DeviceArray)
            else (item._array() in self._array())
        )

    # -------------------------------------------------------------------- printing
    def __repr__(self) -> str:
        return repr(self._array())

    def __str__(self) -> str:
        return str(self._array())

    def __format__(self, spec: str) -> str:
        host = self._array()
        return format(host[()] if not host.shape else host, spec)

    def _repr_html_(self) -> str:
        import html  # takes a millisecond, and only notebooks ask

        shape = " × ".join(map(str, self.shape)) or "scalar"
        return (
            f"<div><code>{html.escape(repr(self))}</code><br>"
            f"<small>{shape}, {self.dtype}, {self._device}</small></div>"
        )

    # --------------------------------------------------------------------- copying
    def __copy__(self) -> Any:
        return self.copy("K")

    def __deepcopy__(self, memo: dict[int, Any]) -> Any:
        if self.dtype == np.dtype(object):
            result = type(self)._of_host(self._array().__deepcopy__(memo))
        else:
            result = self.copy("K")
        memo[id(self)] = result
        return result

    def __reduce__(self) -> Any:
        return _unpickled, (self._array().copy("A"), str(self._device))

    # ------------------------------------------------------------------- protocols
    def __array__(self, dtype: Any = None, copy: bool | None = None) -> HostArray:
        return export.to_numpy(self, dtype, copy)

    @property
    def __array_interface__(self) -> dict[str, Any]:
        return export.array_interface(self)

    @property
    def __cuda_array_interface__(self) -> dict[str, Any]:
        return capsule.cuda_array_interface(self)

    def __buffer__(self, flags: int, /) -> memoryview:
        export.host_allowed(self, "__buffer__")
        exported: Any = export.exported(self)
        return memoryview(exported)

    def __dlpack__(
        self,
        *,
        stream: Any = None,
        max_version: tuple[int, int] | None = None,
        dl_device: tuple[int, int] | None = None,
        copy: bool | None = None,
    ) -> Any:
        """A capsule for DLPack.

        Parameters
        ----------
        stream : int, optional
            Of a CUDA device: the consumer's stream, which waits for what makes the
            array: its address, 1 or None for the default one, 2 for that of the thread,
            -1 for no wait.  OpenCL and Metal have no streams: what was launched has
            ended.
        max_version : tuple of int, optional
            The consumer's newest version of DLPack.
        dl_device : tuple of int, optional
            The array's own device (the default), or the CPU, ``(1, 0)``.
        copy : bool, optional
            True copies, False shares.  By default arrays on the host and on CUDA
            devices are shared, and of those on other GPUs a copy is made there.  As
            long as memory is shared, operations on it are launched at once; on GPUs
            without streams, `dcarray.synchronize` waits for them before somebody else
            goes on.  ``copy=False`` with the CPU moves the array's memory to the host
            while it is in use there.

        Raises
        ------
        BufferError
            DLPack has no words for the array or its device.
        """
        here = self.__dlpack_device__()
        wanted = here if dl_device is None else tuple(dl_device)
        if wanted == here != (1, 0) and here[0] != _EXTENSION:
            return capsule.capsule_of(self, stream, max_version, copy)
        if here != (1, 0) != wanted:
            raise BufferError(
                f"__dlpack__: the array is on {self._device}; ask for a copy on the "
                "CPU with dl_device=(1, 0), or move it with to_device()"
            )
        shares = copy is False or (here == (1, 0) and not copy)
        source = export.exported(self) if shares else self.get()
        return source.__dlpack__(
            stream=stream, max_version=max_version, dl_device=dl_device, copy=None
        )

    def __dlpack_device__(self) -> tuple[int, int]:
        if self._device.kind in _DLPACK_ON_CPU:
            return (1, 0)
        known = capsule.dlpack_device(self._device)
        return known or (_EXTENSION, self._device.index)

    def __array_namespace__(self, *, api_version: str | None = None) -> Any:
        """The namespace of the standard.

        Raises
        ------
        ValueError
            A version that dcarray does not implement.
        """
        if api_version not in (None, *VERSIONS):
            raise ValueError(
                f"__array_namespace__: got {api_version!r}, takes one of {VERSIONS}"
            )
        return self.namespaces[0]

    __array_ufunc__ = on_ufunc

    def _on_ufunc(
        self,
        op: Op | None,
        ufunc: np.ufunc,
        method: str,
        inputs: tuple[Any, ...],
        keywords: dict[str, Any],
    ) -> Any:
        for x in inputs:
            handler = getattr(type(x), "__array_ufunc__", False)
            if handler is None:
                return NotImplemented
        cls = type(self)
        if op is not None:
            return calls.elementwise(cls, op, inputs, **keywords)
        if method == "at":
            host = inputs[0]
            rest = [calls.as_operand(x) for x in inputs[1:]]
            on_host(cls, ufunc.at, host, *rest)
            return None
        return call_numpy(cls, getattr(ufunc, method), *inputs, **keywords)

    def __array_function__(
        self, function: Any, types: Any, arguments: Any, keywords: Any
    ) -> Any:
        handler = self.array_functions.get(function)
        if handler is not None:
            return handler(*arguments, **keywords)
        return call_numpy(type(self), function, *arguments, **keywords)


arrays_are(DeviceArray)
lightened(DeviceArray)

_EXTENSION = 12
"""kDLExtDev: DLPack has no number for this kind of device."""

_DLPACK_ON_CPU = ("auto", "cpu", "test")
"""Devices whose arrays DLPack knows as the CPU's.  The simulated device has no number
of its own in DLPack: what it exports lives on the host from then on."""

VERSIONS = ("2021.12", "2022.12", "2023.12", "2024.12", "2025.12")
"""Versions of the Python Array API standard that the namespace serves."""


def _unpickled(host: HostArray, device: str) -> DeviceArray:
    array = DeviceArray._of_host(host)
    return array if device == "auto" else array.to_device(device)
