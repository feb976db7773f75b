"""The short way of a launch that was made before: arrays of the host, on the CPU.

A launch of the same types, over a grid given in the same way, needs nothing but its
addresses and numbers, packed into words.
"""

from __future__ import annotations

import ctypes
import math
import struct
from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

import numpy as np

from ...array import DeviceArray
from ...backends.cpu.kernels import Compiled, compiled, run_groups
from ...backends.registry import AUTO
from ...config import Settings, current
from ...kernel.nodes import Array
from ...kernel.specialise import Specialised
from ...profile import count, is_active

__all__ = ["Key", "Ready", "again", "key_of", "ready"]

Key: TypeAlias = tuple[Any, ...]
Sizes: TypeAlias = tuple[int, ...]

_IN_ORDER = 0x1  # bits of an array's flags
_ALIGNED = 0x100
_WRITEABLE = 0x400

_CODES = {
    "b1": "?7x",
    "i1": "b7x",
    "i2": "h6x",
    "i4": "i4x",
    "i8": "q",
    "u1": "B7x",
    "u2": "H6x",
    "u4": "I4x",
    "u8": "Q",
    "f4": "f4x",
    "f8": "d",
}
"""How `struct` packs a number into a word."""


class Ready:
    """What a launch needs beside its arguments.

    Attributes
    ----------
    settings : Settings
        Those that were in force.
    found : Specialised
    code : Compiled
    layout : Callable
        Groups for the lengths of a grid: ``(lengths) -> (grid, group)``; None where
        both are given.
    """

    def __init__(
        self,
        found: Specialised,
        code: Compiled,
        pack: Callable[..., bytes],
        layout: Callable[[Sizes], tuple[Sizes, Sizes]] | None,
    ) -> None:
        self.settings: Settings = current()
        self.found = found
        self.code = code
        self.pack = pack
        self.layout = layout
        self.roles = [(x.kind, x.place, x.axis) for x in found.roles]
        prototype = ctypes.CFUNCTYPE(None, ctypes.c_char_p, *[ctypes.c_int64] * 3)
        self.function = prototype(code.address)
        self.sizes: dict[tuple[Sizes, Sizes], Sizes] = {}


def ready(
    found: Specialised,
    group: Sizes,
    layout: Callable[[Sizes], tuple[Sizes, Sizes]] | None,
) -> Ready | None:
    """How to launch a kernel the short way; None if it has none."""
    x, y, z = (*group, 1, 1)[:3]
    code = compiled(found.kernel, (x, y, z))
    if code is None or found.sites:
        return None
    words = "="
    for parameter in found.kernel.parameters:
        dtype = parameter.dtype
        one = _CODES.get(f"{dtype.kind}{dtype.itemsize}")
        if isinstance(parameter, Array):
            one = "q"
            if dtype.kind == "c":  # one parameter may be two words
                return None
        if one is None:
            return None
        words += one
    return Ready(found, code, struct.Struct(words + "6q").pack, layout)


def key_of(arguments: Sequence[Any], grid: Any, group: Any) -> Key | None:
    """What launches have in common that may go the same short way; None if there is
    none."""
    found: list[Any] = [grid, group]
    for item in arguments:
        kind = type(item)
        if kind is DeviceArray:
            host = item._host
            device = item._device
            if host is None or (device is not AUTO and device.kind != "cpu"):
                return None
            flags = host.flags.num
            if not flags & _ALIGNED or not host.ndim:
                return None
            found.append((host.dtype, host.ndim, flags & _IN_ORDER))
        elif kind in (int, float, bool) or issubclass(kind, np.generic):
            found.append(kind)
        else:
            return None
    return tuple(found)


def again(
    way: Ready, arguments: Sequence[Any], lengths: Sizes | None, group: Sizes | None
) -> bool:
    """Launch a kernel the short way; False where it does not lead there any more."""
    found = way.found
    if way.settings is not current() or is_active() or not found.is_current():
        return False
    for place in found.written:
        item = arguments[place]
        if not item._host.flags.num & _WRITEABLE:
            return False
        if item._binding is not None:
            item._writable_array()
    if lengths is None:
        lengths = arguments[found.written[0]].shape
    grid = lengths
    if way.layout is not None:
        grid, group = way.layout(lengths)
    assert group is not None
    sizes = way.sizes.get((grid, group))
    if sizes is None:
        whole, shares = (*grid, 1, 1)[:3], (*group, 1, 1)[:3]
        counts = [n // m for n, m in zip(whole, shares, strict=True)]
        sizes = (*counts, *shares)
        way.sizes = {(grid, group): sizes}
    values: list[Any] = []
    for kind, place, axis in way.roles:
        if kind == "grid":
            values.append(lengths[axis])
            continue
        item = arguments[place]
        if kind == "number":
            values.append(item)
        elif kind == "array":
            values.append(item._host.__array_interface__["data"][0])
        elif kind == "length":
            values.append(item._host.shape[axis])
        elif kind == "stride":
            step, rest = divmod(item._host.strides[axis], item._host.itemsize)
            if rest:
                return False
            values.append(step)
        else:  # an offset: the address is that of the first element
            values.append(0)
    try:
        words = way.pack(*values, *sizes)
    except (struct.error, OverflowError, TypeError):
        return False  # the long way knows what such a number becomes
    if math.prod(grid):
        run_groups(way.code, way.function, words, sizes)
    count("kernel")
    return True
