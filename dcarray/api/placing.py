"""Operands of a function brought to the device on which one of them is."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..array import DeviceArray
from ..backends.registry import Device
from . import calling
from .conversion import as_array, default_dtype

__all__ = ["on_device", "placed"]


def on_device(x: Any, device: Device) -> DeviceArray:
    """An operand as an array on a device.

    Numbers and lists get a dtype that the device has, as they would if an array were
    made of them there.
    """
    found = as_array(x)
    if found._device is device:
        return found
    if not isinstance(x, (DeviceArray, np.ndarray, np.generic)):
        found = found.astype(default_dtype(found.dtype, device), copy=False)
    moved: DeviceArray = found.to_device(device)
    return moved


def placed(x: Any, *others: Any) -> DeviceArray:
    """An operand on the named device on which one of several is."""
    return on_device(x, calling.named_device((x, *others), {}))
