"""Arrays leaving the library: `__array__`, DLPack, the buffer protocol.

What is exported can be written by somebody else, so an export counts as a write:
pending readers of the value run first, and until the exporter dies the memory is read
at once.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..config import current
from ..layout import Layout, address_of
from .state import ArrayState, HostArray

__all__ = [
    "array_interface",
    "exported",
    "host_allowed",
    "share_for_ever",
    "to_numpy",
]


class Exporter:
    """The owner, in NumPy's eyes, of exported memory: the base of the array that goes
    out.  It lives as long as any view of it."""

    def __init__(self, array: HostArray) -> None:
        self.array = array
        self.earlier: Exporter | None = None
        self.__array_interface__ = {
            "version": 3,
            "shape": array.shape,
            "typestr": array.dtype.str,
            "data": (
                array.__array_interface__["data"][0],
                not array.flags.writeable,
            ),
            "strides": array.strides,
        }


def host_allowed(x: ArrayState, what: str) -> None:
    """Whether an array may turn into a NumPy array unasked.

    Raises
    ------
    TypeError
        It is on a named GPU, and the settings forbid it.
    """
    if x._device.kind in ("auto", "cpu"):
        return
    if current().implicit_transfer != "allow":
        raise TypeError(
            f"{what}: the array is on {x._device}; copy it with x.get() or "
            'x.to_device("cpu"), or allow it with config(implicit_transfer="allow")'
        )


def exported(x: ArrayState) -> HostArray:
    """A NumPy array on the memory of ``x``, which is shared from now on."""
    x._before_write()
    host = x._array()
    binding = x._bind()
    buffer = binding.value.buffer
    assert buffer is not None
    if host.dtype.kind not in "biufcSUmM" or not host.size:
        buffer.share(None)
        return host
    exporter = Exporter(host)
    buffer.share(exporter)
    return np.asarray(exporter)


def to_numpy(x: ArrayState, dtype: Any = None, copy: bool | None = None) -> HostArray:
    """`numpy.asarray` of an array.

    Raises
    ------
    ValueError
        ``copy=False`` where a copy is needed.
    TypeError
        See `host_allowed`.
    """
    host_allowed(x, "__array__")
    if copy:
        return np.array(x._array(), dtype=dtype, copy=True)
    wanted = None if dtype is None else np.dtype(dtype)
    if wanted is not None and wanted != x.dtype:
        if copy is False:
            raise ValueError(
                "Unable to avoid copy while creating an array as requested."
            )
        return x._array().astype(wanted)
    if x._device.kind not in ("auto", "cpu"):
        if copy is False:
            raise ValueError(f"the array is on {x._device}: it must be copied")
        return np.array(x._array(), copy=True)
    return exported(x)


def share_for_ever(x: ArrayState) -> None:
    """The address is given away: nobody can tell when its use ends."""
    host_allowed(x, "ctypes")
    x._before_write()
    x._array()
    buffer = x._bind().value.buffer
    assert buffer is not None
    buffer.share(None)


class _Memory(np.ndarray):
    """Bytes on loan: a buffer, which NumPy takes and keeps alive, and for readers of
    ``["data"]`` what the protocol puts there, the pair (address, read-only)."""

    def __getitem__(self, index: Any) -> Any:
        address: int = self.__array_interface__["data"][0]
        return (address, not self.flags.writeable)[index]


def array_interface(x: ArrayState) -> dict[str, Any]:
    """``__array_interface__``.

    NumPy keeps the buffer in it alive, and so tells when the sharing ends; for dtypes
    without a buffer the memory counts as shared for ever.
    """
    host_allowed(x, "__array_interface__")
    if x.dtype.kind not in "biufcSUmM" and x.dtype.type is not np.void:
        # The protocol has no words for it; NumPy asks for `__array__` next.
        raise AttributeError(f"__array_interface__: cannot describe {x.dtype}")
    host = exported(x)
    interface = host.__array_interface__
    owner: object = host.base
    if isinstance(owner, Exporter):
        low, high = Layout(host.shape, host.strides).span(host.itemsize)
        start = address_of(host)
        memory = np.asarray(_Lent(host, start + low, high - low)).view(_Memory)
        interface["data"] = memory
        interface["offset"] = -low
        interface["strides"] = host.strides
    return interface


class _Lent:
    """The bytes that exported memory lies in."""

    def __init__(self, host: HostArray, start: int, nbytes: int) -> None:
        self.host = host
        self.__array_interface__ = {
            "version": 3,
            "shape": (nbytes,),
            "typestr": "|u1",
            "data": (start, not host.flags.writeable),
        }
