"""Integers below a bound, as NumPy draws them: the upper half of a product with the
bound, drawn again where the lower half is too small (Lemire 2019).

A number that is refused costs the stream one word, so the numbers that NumPy's loop
gives are those of one sequence without the refused ones.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ..api.counting import count_nonzero
from ..api.creation import full
from ..api.joining import concatenate
from ..api.ranges import arange
from ..array import DeviceArray
from ..backends.registry import Device
from .streams import Stream

__all__ = ["bounded"]

LOW = np.uint64(0xFFFFFFFF)


def bounded(
    stream: Stream,
    device: Device,
    count: int,
    low: int,
    width: int,
    dtype: np.dtype[Any],
) -> DeviceArray:
    """Integers from ``low`` to ``low + width``.

    Parameters
    ----------
    stream : Stream
    device : Device
    count : int
    low, width : int
        As the dtype holds them.
    dtype : dtype
        Of integers, or bool.
    """
    if not width or not count:
        return full(count, low, dtype, device=device)
    if dtype.kind == "b":
        return _coins(stream, device, count)
    size = 8 * dtype.itemsize
    take: Callable[[int], Any]
    if size == 64 and width > 0xFFFFFFFF:
        take = lambda number: stream.draw(device, number, np.uint64)  # noqa: E731
    elif size >= 32:
        size = 32
        take = lambda number: stream.draw(device, number, np.uint32)  # noqa: E731
    else:
        take = _Pieces(stream, device, size).take
    if width == (1 << size) - 1:
        found = take(count)
    else:
        found = _kept(take, count, width + 1, size)
    whole = np.dtype(f"u{dtype.itemsize}")
    shifted = found.astype(whole) + whole.type(low % (1 << 8 * dtype.itemsize))
    return shifted.astype(dtype)  # type: ignore[no-any-return]


def _coins(stream: Stream, device: Device, count: int) -> DeviceArray:
    """Single bits of 32, the lowest first."""
    words = stream.draw(device, -(-count // 32), np.uint32)
    places = arange(32, dtype=np.uint32, device=device)
    found = (words[:, None] >> places & np.uint32(1)).reshape(-1)[:count]
    return found.astype(np.bool_)  # type: ignore[no-any-return]


class _Pieces:
    """Numbers of 8 or 16 bits, several out of each one of 32, the lowest first."""

    def __init__(self, stream: Stream, device: Device, bits: int) -> None:
        self.stream = stream
        self.device = device
        self.dtype = np.dtype(f"u{bits // 8}")
        self.each = 32 // bits
        self.rest: Any = None

    def take(self, count: int) -> Any:
        """The next numbers."""
        parts = [] if self.rest is None else [self.rest]
        missing = count - sum([part.size for part in parts])
        if missing > 0:
            words = self.stream.draw(self.device, -(-missing // self.each), np.uint32)
            parts.append(words.view(self.dtype))
        found = parts[0] if len(parts) == 1 else concatenate(parts)
        self.rest = found[count:]
        return found[:count]


def _kept(take: Callable[[int], Any], count: int, bound: int, bits: int) -> Any:
    """Numbers below ``bound``; only as many are drawn as are missing, so that the last
    one that is drawn is kept."""
    least = ((1 << bits) - bound) % bound
    parts = []
    while True:
        found, below = _product(take(count), bound, bits)
        if not least:
            return found
        keep = below >= below.dtype.type(least)
        kept = int(count_nonzero(keep))
        if kept == count:
            parts.append(found)
            return parts[0] if len(parts) == 1 else concatenate(parts)
        parts.append(found[keep])
        count -= kept


def _product(x: Any, bound: int, bits: int) -> tuple[Any, Any]:
    """The upper and the lower half of a product."""
    if bits < 64:
        wide = np.dtype(np.uint64 if bits == 32 else np.uint32).type
        whole = x.astype(wide) * wide(bound)
        return whole >> wide(bits), whole & wide((1 << bits) - 1)
    upper, lower = np.uint64(bound >> 32), np.uint64(bound & 0xFFFFFFFF)
    shift = np.uint64(32)
    high, low = x >> shift, x & LOW
    middle = high * lower + (low * lower >> shift)
    other = low * upper + (middle & LOW)
    found = high * upper + (middle >> shift) + (other >> shift)
    return found, x * np.uint64(bound)
