"""Arrays filled by the kernel of `ops.kernels.counters`, on their device."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any

import numpy as np

from ..api.kernels.launching import launch
from ..api.kernels.user_kernel import Kernel, layout_on
from ..array import DeviceArray
from ..backends.registry import backend_for
from ..kernel.specialise import ArrayOf, Specialised
from ..ops.kernels import counters

__all__ = ["fill"]

DOUBLE = np.dtype(np.float64)
UINT64 = np.dtype(np.uint64)
INT64 = np.dtype(np.int64)


def fill(
    out: DeviceArray, make: str, bits: int, numbers: Sequence[Any], blocks: int
) -> None:
    """Fill an array in C order.

    Parameters
    ----------
    out : DeviceArray
    make : str
        The function of `ops.kernels.counters` that makes numbers of words.
    bits : int
        Of a number.
    numbers : sequence
        What the kernel takes behind the array.
    blocks : int
    """
    device = out._device
    backend = backend_for("cpu" if device.kind == "auto" else device.label)
    found = _kernel(out.dtype, make, bits, DOUBLE in backend.supported)
    lengths = (blocks,)
    launch(
        found,
        [out.reshape(-1), *numbers],
        lengths,
        *layout_on(backend)(lengths),
        device,
    )


@functools.cache
def _kernel(dtype: Any, make: str, bits: int, doubles: bool) -> Specialised:
    """The kernel that fills arrays of a dtype, for a device with doubles or without."""
    number = dtype if dtype.kind == "f" else UINT64
    kinds = [ArrayOf(dtype, 1), UINT64, UINT64, UINT64, INT64, number, number]
    constants = {"make": getattr(counters, make), "each": 128 // bits}
    kernel = Kernel(counters.draw_by_counter, ())
    return kernel.specialised(kinds, constants, None, 1, doubles)
