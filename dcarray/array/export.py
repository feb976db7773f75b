"""Arrays leaving the library: `__array__`, DLPack, the buffer protocol.

What is exported can be written by somebody else, so an export counts as a write:
pending readers of the value run first, and until the exporter dies the memory is read
at once.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..config import current
from .state import ArrayState, HostArray

__all__ = ["array_interface", "exported", "host_allowed", "to_numpy"]


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


def array_interface(x: ArrayState) -> dict[str, Any]:
    """``__array_interface__``: shared for ever, as nobody can tell when it ends."""
    host_allowed(x, "__array_interface__")
    x._before_write()
    host = x._array()
    buffer = x._bind().value.buffer
    assert buffer is not None
    buffer.share(None)
    return host.__array_interface__
