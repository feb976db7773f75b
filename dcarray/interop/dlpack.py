"""DLPack: memory of other libraries, without a copy where that is possible.

The other direction is `DeviceArray.__dlpack__`.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..api.conversion import chosen_device, convert, placed
from ..api.coverage import native
from ..array import DeviceArray
from ..array.foreign import device_of_foreign, taken
from ..array.movement import copied, moved
from ..backends.registry import Device

__all__ = ["from_dlpack"]

ON_CPU = (1, 3, 10, 13)
"""DLPack's types of devices whose memory the host can read: the CPU, and memory that is
pinned, in ROCm's or CUDA's way, or managed."""

KINDS = {2: "CUDA", 4: "OpenCL", 7: "Vulkan", 8: "Metal", 14: "oneAPI"}


@native
def from_dlpack(
    x: Any,
    /,
    *,
    device: str | Device | None = None,
    copy: bool | None = None,
) -> DeviceArray:
    """An array on the memory of another library's array, also on a CUDA device.

    The memory stays shared: each side sees what the other writes.

    Parameters
    ----------
    x : object with ``__dlpack__`` and ``__dlpack_device__``
    device : str or Device, optional
        Where the array is to be; by default where the memory is.
    copy : bool, optional
        True always copies; False raises an error where memory cannot be shared.

    Returns
    -------
    DeviceArray

    Raises
    ------
    ValueError, BufferError
        ``copy=False`` where a copy would be needed, or memory of another device whose
        owner gives no copy of it on the CPU.
    """
    target = None if device is None else chosen_device(device)
    if isinstance(x, DeviceArray):
        if copy is None and (target is None or target == x._device):
            return moved(x, lambda a: a[...])  # type: ignore[no-any-return]
        if copy is False and (target is None or target == x._device):
            return moved(x, lambda a: a[...])  # type: ignore[no-any-return]
        return convert(x, copy=copy, device=target)  # type: ignore[no-any-return]
    place = device_of_foreign(x)
    if place is not None and target in (None, place):
        there = taken(DeviceArray, x, place)
        return copied(there, "K") if copy else there  # type: ignore[no-any-return]
    if place is not None and copy is not False:
        there = taken(DeviceArray, x, place)
        return convert(there, copy=True, device=target)  # type: ignore[no-any-return]
    kind, _ = x.__dlpack_device__()
    on_host = kind in ON_CPU
    stays = target is None or target.kind in ("auto", "cpu")
    if copy is False and not (on_host and stays):
        raise ValueError(
            "from_dlpack: the memory cannot be shared between "
            f"{x.__dlpack_device__()} and {target or 'the host'}; copy=False"
        )
    if on_host and stays and not copy:
        host = np.from_dlpack(x)
        return DeviceArray._of_shared(host, target or chosen_device("auto"))
    host = np.from_dlpack(x) if on_host else _copied_by_owner(x, kind)
    return placed(np.array(host), target if target is not None else "auto")


def _copied_by_owner(x: Any, kind: int) -> Any:
    try:
        return np.from_dlpack(x, device="cpu")
    except (BufferError, RuntimeError, TypeError, ValueError) as error:
        name = KINDS.get(int(kind), "device")
        raise BufferError(
            f"from_dlpack: this is {name} memory (DLPack's type {int(kind)}), and its "
            "owner gives no copy on the CPU; make one there"
        ) from error
