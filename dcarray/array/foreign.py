"""Arrays on memory of a GPU that another library made."""

from __future__ import annotations

from typing import Any

from ..backends.buffer import device_buffer
from ..backends.exchange import Exchanging
from ..backends.registry import Device, backend_for, counted, device_of
from . import capsule
from .state import ArrayState, check_dtype

__all__ = ["device_of_foreign", "taken"]

KINDS = {2: "cuda"}
"""Kinds of devices whose foreign memory is used in place, by DLPack's number."""


def device_of_foreign(x: Any) -> Device | None:
    """The device on which another library's array is used in place, if there is one."""
    ask = getattr(x, "__dlpack_device__", None)
    if ask is None:
        return None
    try:
        number, index = ask()
    except (BufferError, RuntimeError, ValueError):  # JAX's arrays on several devices
        return None
    kind = KINDS.get(int(number))
    if kind is None or index >= counted(kind):
        return None
    return device_of(f"{kind}:{index}", "auto")


def taken(cls: type[ArrayState], x: Any, device: Device) -> Any:
    """An array on the memory of another library's array that `device_of_foreign` knows.

    Memory that its owner can write counts as shared for ever; what its owner says is
    read-only is read-only here, too.

    Raises
    ------
    UnsupportedError
        The device has no such dtype.
    BufferError
        The owner does not give the memory away.
    """
    backend = backend_for(str(device))
    assert isinstance(backend, Exchanging)
    stream = backend.takes_over()
    try:
        given = x.__dlpack__(stream=stream, max_version=(1, 0))
    except TypeError:  # from before the version was asked for
        given = x.__dlpack__(stream=stream)
    # JAX does not say in its capsules that its arrays never change.
    is_jax = type(x).__module__.partition(".")[0] in ("jax", "jaxlib")
    is_locked = is_jax or capsule.is_read_only(given)
    memory, layout, dtype = backend.taken(given)
    check_dtype(dtype, device)
    buffer = device_buffer(device.label, memory, memory.nbytes)
    made = cls._of_buffer(buffer, layout, dtype, device)
    if is_locked:
        made._locked = True
    else:
        buffer.share(None, str(device))
    return made
