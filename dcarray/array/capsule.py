"""DLPack capsules of memory on a device, which NumPy cannot make.

NumPy makes the capsule of an array that has the right shape, strides and dtype but no
memory; then the device, the handle and the offset are written over NumPy's.  So what
runs when the capsule or its consumer lets go, perhaps without the GIL or while an
exception is on its way, is C code of NumPy's: it ends the life of that array, and with
it that of its base.
"""

from __future__ import annotations

import ctypes
import weakref
from typing import Any

import numpy as np

from ..backends.base import Exporting, Memory
from ..backends.exchange import Exchanging
from ..backends.registry import Device, backend_for
from ..layout import Layout, phantom
from .movement import copied
from .state import ArrayState, is_writeable

__all__ = ["capsule_of", "cuda_array_interface", "dlpack_device", "is_read_only"]

READ_ONLY = 1
IS_COPIED = 2
"""Flags of ``DLManagedTensorVersioned``."""

BFLOAT16 = 4
"""The code of a type that NumPy does not export."""


class _Tensor(ctypes.Structure):
    """``DLTensor``."""

    _fields_ = (
        ("data", ctypes.c_void_p),
        ("device_type", ctypes.c_int32),
        ("device_id", ctypes.c_int32),
        ("ndim", ctypes.c_int32),
        ("code", ctypes.c_uint8),
        ("bits", ctypes.c_uint8),
        ("lanes", ctypes.c_uint16),
        ("shape", ctypes.c_void_p),
        ("strides", ctypes.c_void_p),
        ("byte_offset", ctypes.c_uint64),
    )


class _Versioned(ctypes.Structure):
    """``DLManagedTensorVersioned``; the older ``DLManagedTensor`` begins with the
    tensor."""

    _fields_ = (
        ("major", ctypes.c_uint32),
        ("minor", ctypes.c_uint32),
        ("manager", ctypes.c_void_p),
        ("deleter", ctypes.c_void_p),
        ("flags", ctypes.c_uint64),
        ("tensor", _Tensor),
    )


class Exported:
    """The owner, in NumPy's eyes, of what went out; lives as long as it is used."""

    def __init__(self, memory: Memory, layout: Layout, dtype: np.dtype[Any]) -> None:
        self.memory = memory
        self.earlier: object = None
        shown = phantom(layout, dtype)
        self.__array_interface__ = shown.__array_interface__


def dlpack_device(device: Device) -> tuple[int, int] | None:
    """DLPack's numbers for a device, or None where it has none."""
    backend: object = backend_for(str(device))
    if isinstance(backend, Exporting):
        return (backend.dlpack_type, device.index)
    return None


def capsule_of(
    x: ArrayState,
    stream: int | None,
    max_version: tuple[int, int] | None,
    copy: bool | None,
) -> Any:
    """A capsule of an array on a device that has a number in DLPack.

    Whoever takes the capsule can write its memory: it counts as shared until the last
    user of the capsule lets go.  Where the two sides cannot wait for each other it is a
    copy, made on the device, unless ``copy`` is False.

    Raises
    ------
    BufferError
        DLPack has no words for the array's dtype or strides, the memory is shared on
        the host already, or the device has no such stream.
    """
    backend = backend_for(str(x._device))
    assert isinstance(backend, Exporting)
    is_exchanging = isinstance(backend, Exchanging)
    if stream is not None and not is_exchanging:
        raise BufferError(f"__dlpack__: got stream={stream!r}, takes None")
    is_copy = copy is True
    if copy is None:
        can_lock = max_version is not None and max_version[0] > 0
        is_copy = (
            not is_exchanging
            or not (can_lock or is_writeable(x))
            or _is_shared_on_host(x)
        )
    source = copied(x) if is_copy else x
    source._before_write()
    read = source._read()
    buffer = read.value.buffer
    assert buffer is not None
    is_bfloat16 = read.dtype.name == "bfloat16"
    shown = np.dtype(np.uint16) if is_bfloat16 else read.dtype
    memory = buffer.read_on(backend)
    exported = Exported(memory, read.layout, shown)
    template = np.asarray(exported)
    if not (is_copy or is_writeable(x)):
        template.flags.writeable = False
    capsule: Any = template.__dlpack__(max_version=max_version)
    if not is_copy:
        buffer.share(exported, backend.device)
    tensor = _opened(capsule, IS_COPIED if is_copy else 0)
    tensor.data = backend.dlpack_handle(memory)
    tensor.device_type = backend.dlpack_type
    tensor.device_id = x._device.index
    tensor.byte_offset = read.layout.offset
    if is_bfloat16:
        tensor.code = BFLOAT16
    if isinstance(backend, Exchanging):
        backend.hand_over(memory, stream)
    else:
        backend.synchronize()  # the consumer does not know our queue
    return capsule


class _Lent:
    """Somebody may write memory as long as this lives."""

    def __init__(self) -> None:
        self.earlier: object = None


def cuda_array_interface(x: ArrayState) -> dict[str, Any]:
    """``__cuda_array_interface__``, version 3, of an array on a CUDA device.

    Who takes the memory keeps the array, so it is shared as long as the array lives.
    It is ready on the default stream.

    Raises
    ------
    AttributeError
        The array is not on a CUDA device, or the interface has no words for its dtype.
    """
    backend: object = None
    if x._device.kind == "cuda":
        backend = backend_for(str(x._device))
    if not isinstance(backend, Exporting) or not isinstance(backend, Exchanging):
        raise AttributeError(
            f"__cuda_array_interface__: the array is on {x._device}, not on CUDA"
        )
    if x.dtype.kind not in "biufc":
        raise AttributeError(f"__cuda_array_interface__: cannot describe {x.dtype}")
    x._before_write()
    read = x._read()
    buffer = read.value.buffer
    assert buffer is not None
    memory = buffer.read_on(backend_for(str(x._device)))
    lent = _Lent()
    buffer.share(lent, str(x._device))
    weakref.finalize(x, id, lent)  # which keeps it until then
    backend.hand_over(memory, None)
    address = backend.dlpack_handle(memory) + read.layout.offset
    return {
        "version": 3,
        "shape": x.shape,
        "typestr": x.dtype.str,
        "data": (address if x.size else 0, not is_writeable(x)),
        "strides": x.strides,
        "stream": 1,
    }


def is_read_only(capsule: Any) -> bool:
    """Whether the owner says that nobody writes the memory in a capsule."""
    held = ctypes.py_object(capsule)
    name = b"dltensor_versioned"
    if not ctypes.pythonapi["PyCapsule_IsValid"](held, name):
        return False
    address = ctypes.pythonapi["PyCapsule_GetPointer"]
    address.restype = ctypes.c_void_p
    return bool(_Versioned.from_address(address(held, name)).flags & READ_ONLY)


def _is_shared_on_host(x: ArrayState) -> bool:
    buffer = x._bind().value.buffer
    return buffer is not None and buffer.is_shared_on("cpu")


def _opened(capsule: Any, flags: int) -> _Tensor:
    """The tensor in a capsule, and the flags added where there are some."""
    held = ctypes.py_object(capsule)
    address = ctypes.pythonapi["PyCapsule_GetPointer"]
    address.restype = ctypes.c_void_p
    name = b"dltensor_versioned"
    if not ctypes.pythonapi["PyCapsule_IsValid"](held, name):
        return _Tensor.from_address(address(held, b"dltensor"))
    managed: Any = _Versioned.from_address(address(held, name))
    managed.flags |= flags
    tensor: _Tensor = managed.tensor
    return tensor
