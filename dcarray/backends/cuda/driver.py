"""CUDA's runtime and driver, through CuPy: whether they are there, and their errors."""

from __future__ import annotations

import ctypes
import importlib.util
import os
from collections.abc import Mapping
from functools import cache
from typing import Any

from ...errors import DeviceError, DeviceLostError, LaunchError, UnsupportedError
from ..grid import Limits
from ..grid.tuning import group_items
from ..registry import Device

__all__ = [
    "LEAST",
    "count",
    "failure",
    "failures",
    "is_nvidia",
    "launch_entry",
    "limits_of",
    "lost",
    "properties",
    "release_idle",
    "runtime",
    "said",
]

LEAST = (7, 5)
"""The lowest compute capability that CUDA 13 compiles for."""

OUT_OF_MEMORY = 2
NO_DEVICE = 100
TOO_OLD = 35
"""cudaErrorInsufficientDriver; what a machine without a driver says, too."""

LOST = frozenset((4, 46, 79, 201, 214, 220, *range(700, 720), 999)) - {
    *(701, 704, 705, 708, 712, 713)  # mistakes of one call, after which all goes on
}
"""Codes after which a context answers nothing any more."""


@cache
def runtime() -> Any:
    """CuPy's module of the runtime's functions."""
    from cupy.cuda import runtime

    return runtime


@cache
def launch_entry() -> int:
    """The address of the driver's ``cuLaunchKernel``; 0 where it is not found."""
    try:
        library = ctypes.CDLL("nvcuda.dll" if os.name == "nt" else "libcuda.so.1")
        found = ctypes.cast(library.cuLaunchKernel, ctypes.c_void_p).value
    except (AttributeError, OSError):
        return 0
    return found or 0


@cache
def failures() -> tuple[type[Exception], ...]:
    """What CuPy raises for errors of the runtime and of the driver."""
    from cupy.cuda import driver, runtime

    return (runtime.CUDARuntimeError, driver.CUDADriverError)


@cache
def count() -> int:
    """How many devices there are; none where CuPy is not installed, or there is no GPU
    or no driver.

    Raises
    ------
    DeviceError
        CuPy is installed, but cannot work here.
    """
    if importlib.util.find_spec("cupy") is None:
        return 0
    try:
        if not runtime().driverGetVersion():
            return 0
        return int(runtime().getDeviceCount())
    except ImportError as error:
        raise DeviceError(f"CuPy cannot be imported: {error}", device="cuda") from None
    except failures() as error:
        code = getattr(error, "status", None)
        if code == NO_DEVICE:
            return 0
        hint = None
        if code == TOO_OLD:
            asked = _version(runtime().runtimeGetVersion())
            there = _version(runtime().driverGetVersion())
            hint = f"CuPy needs a driver for CUDA {asked} or later; this is for {there}"
        raise DeviceError(str(error), device="cuda", code=code, hint=hint) from None


def _version(number: int) -> str:
    return f"{number // 1000}.{number % 1000 // 10}"


def said() -> str:
    """What there is of CUDA on this machine, in words; it never fails."""
    if importlib.util.find_spec("cupy") is None:
        return "CuPy is not installed"
    try:
        import cupy

        found = runtime()
        driver = int(found.driverGetVersion())
        facts = [
            f"CuPy {cupy.__version__} for CUDA {_version(found.runtimeGetVersion())}"
        ]
        facts.append(f"driver for {_version(driver)}" if driver else "no driver")
        facts.append(_compiler())
        try:
            facts.append(f"{count()} devices")
        except DeviceError as error:
            facts.append(f"no device can be used: {error.hint or error.message}")
    except (ImportError, OSError, RuntimeError) as error:
        return f"CuPy cannot be imported: {error}"
    return "; ".join(facts)


def _compiler() -> str:
    try:
        from cupy.cuda import nvrtc

        major, minor = nvrtc.getVersion()
    except (AssertionError, ImportError, OSError, RuntimeError):
        return "no NVRTC: only kernels that were compiled before run"
    return f"NVRTC {major}.{minor}"


def properties(index: int, device: str) -> dict[str, Any]:
    """What the runtime says of a device.

    Raises
    ------
    UnsupportedError
        Its compute capability is too low.
    """
    found: dict[str, Any] = runtime().getDeviceProperties(index)
    capability = (int(found["major"]), int(found["minor"]))
    if capability < LEAST:
        raise UnsupportedError(
            f"{device} has compute capability {capability[0]}.{capability[1]}; "
            f"dcarray takes {LEAST[0]}.{LEAST[1]} or later"
        )
    return found


def is_nvidia(label: str) -> bool:
    """Whether a device of another kind is one of this vendor's, and works."""
    try:
        found = Device(label).properties()
    except DeviceError:
        return False
    return "nvidia" in found.vendor.lower() and found.status == "ok"


def release_idle() -> bool:
    """Have CuPy's own pool give back what it keeps on the device; whether it did."""
    import cupy

    pool = cupy.get_default_memory_pool()
    idle = int(pool.free_bytes())
    pool.free_all_blocks()
    return idle > 0


def lost(code: int | None) -> bool:
    """Whether a device answers nothing any more after this error."""
    return code in LOST


def failure(
    error: Exception,
    device: str,
    kind: type[DeviceError] = LaunchError,
    **facts: Any,
) -> DeviceError:
    """The exception for an error of CuPy's: of a kind, or that the device is lost."""
    code = getattr(error, "status", None)
    code = None if code is None else int(code)
    if lost(code):
        hint = "a lost context cannot be had again in this process; start a new one"
        return DeviceLostError(str(error), device=device, code=code, hint=hint, **facts)
    return kind(str(error), device=device, code=code, **facts)


def limits_of(facts: Mapping[str, Any]) -> Limits:
    """What a device with these properties can launch."""
    group = int(facts["maxThreadsPerBlock"])
    return Limits(
        group=group,
        units=int(facts["multiProcessorCount"]),
        shared=int(facts["sharedMemPerBlock"]),
        items=group_items(group, int(facts["warpSize"]), True),
        ahead=2,
        coalesces=True,
        run=16,
    )
