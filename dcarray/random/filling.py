"""Arrays filled by the kernel of `ops.kernels.counters`, on their device."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any

import numpy as np

from ..api.creation import empty
from ..api.kernels.launching import launch
from ..api.kernels.user_kernel import Kernel, layout_on
from ..array import DeviceArray
from ..backends.buffer import device_buffer
from ..backends.gate import gate
from ..backends.registry import Device, backend_for
from ..errors import DeviceError, UnsupportedError
from ..kernel.specialise import ArrayOf, Specialised
from ..layout import Layout
from ..ops.kernels import counters
from ..profile import count as tally, is_active

__all__ = ["fill", "made"]

DOUBLE = np.dtype(np.float64)
UINT64 = np.dtype(np.uint64)
INT64 = np.dtype(np.int64)


def made(
    shape: tuple[int, ...],
    dtype: np.dtype[Any],
    device: Device,
    make: str,
    bits: int,
    numbers: Sequence[Any],
    blocks: int,
) -> DeviceArray:
    """A new array on a device; see `fill`."""
    if device.is_named and blocks and not is_active():
        try:  # the short way: nobody watches, and there is no choice
            return _made_at_once(shape, dtype, device, make, bits, numbers, blocks)
        except (DeviceError, UnsupportedError):
            pass  # the long way knows what to do
    out = empty(shape, dtype, device=device)
    if blocks:
        fill(out, make, bits, numbers, blocks)
    return out


def _made_at_once(
    shape: tuple[int, ...],
    dtype: np.dtype[Any],
    device: Device,
    make: str,
    bits: int,
    numbers: Sequence[Any],
    blocks: int,
) -> DeviceArray:
    label = device.label
    backend: Any = backend_for(label)
    run = getattr(backend, "run", None)
    if run is None:
        raise UnsupportedError(f"{label} runs no kernels")
    found = _kernel(dtype, make, bits, DOUBLE in backend.supported, False)
    layout = Layout.plain_for(shape, dtype.itemsize)
    count = layout.size
    items = _items(blocks)
    with gate:
        memory = backend.allocate(count * dtype.itemsize)
        known = {"array": memory, "length": np.int64(count), "grid": np.int64(items)}
        given = [
            numbers[role.place - 1] if role.kind == "number" else known[role.kind]
            for role in found.roles
        ]
        run(found.kernel, *layout_on(backend)((items,)), given)
    tally("kernel")
    buffer = device_buffer(label, memory, memory.nbytes)
    return DeviceArray._of_buffer(buffer, layout, dtype, device)


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
    if not blocks:
        return
    device = out._device
    backend = backend_for("cpu" if device.kind == "auto" else device.label)
    by_page = backend.device == "cpu"
    found = _kernel(out.dtype, make, bits, DOUBLE in backend.supported, by_page)
    lengths = (blocks // counters.PAGE if by_page else _items(blocks),)
    launch(
        found,
        [out.reshape(-1), *numbers],
        lengths,
        *layout_on(backend)(lengths),
        device,
    )


def _items(blocks: int) -> int:
    """Work items of `draw_by_counter` for so many blocks."""
    pages = -(-blocks // counters.PAGE)
    return -(-pages // len(counters.TURNS)) * counters.PAGE


@functools.cache
def _kernel(
    dtype: Any, make: str, bits: int, doubles: bool, by_page: bool
) -> Specialised:
    """The kernel that fills arrays of a dtype, for a device with doubles or without."""
    number = dtype if dtype.kind == "f" else UINT64
    kinds = [ArrayOf(dtype, 1), UINT64, UINT64, UINT64, INT64, number, number]
    constants = {"make": getattr(counters, make), "each": 128 // bits}
    draw = counters.draw_by_page if by_page else counters.draw_by_counter
    return Kernel(draw, ()).specialised(kinds, constants, None, 1, doubles)
