"""Which OpenCL devices there are."""

from __future__ import annotations

import importlib.util
from functools import cache
from typing import Any

from ...config import logger

__all__ = ["count", "devices", "has_warps"]


@cache
def devices() -> tuple[Any, ...]:
    """All devices of all platforms: GPUs and accelerators first, CPUs last.

    Empty where pyopencl is not installed, or finds no driver.
    """
    if importlib.util.find_spec("pyopencl") is None:
        return ()
    try:
        import pyopencl as cl

        found = [device for one in cl.get_platforms() for device in one.get_devices()]
    except Exception as error:  # pyopencl raises what its loader raises
        logger().info("OpenCL: %s", error)
        return ()
    is_cpu = cl.device_type.CPU
    return tuple(sorted(found, key=lambda device: bool(device.type & is_cpu)))


def count() -> int:
    """How many devices there are."""
    return len(devices())


def has_warps(handle: Any) -> bool:
    """Whether 32 neighbours of a group run as one on a device of NVIDIA, which lets all
    of them exchange values with an instruction from compute capability 7.0 on."""
    if "cl_nv_device_attribute_query" not in handle.extensions.split():
        return False
    return bool(handle.warp_size_nv == 32 and handle.compute_capability_major_nv >= 7)
