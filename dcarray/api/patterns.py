"""Numbers in order and matrices with a pattern, computed on a named device: the host
brings it two short rows of integers, whatever the size of the result, and not again."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from ..array import DeviceArray, calls
from ..array.made import new, standing
from ..backends.registry import Device, backend_for
from ..ops.elementwise import ADD, EQUAL, GREATER_EQUAL
from ..ops.spec import Op
from .conversion import placed

__all__ = ["MOST", "at_or_below", "axis_of", "counts", "grid", "on_diagonal", "pays"]

INT32 = np.dtype(np.int32)
INT64 = np.dtype(np.int64)

LARGE = 1 << 16
"""Bytes from which it takes longer to make an array on the host and bring it."""

MOST = 1 << 62
"""Integers below it are int64, and so are those one step behind them."""

SIDE = 1 << 12
"""Numbers in order, of which each one of a coarse row is the first."""


def pays(lengths: Sequence[Any], dtype: Any, device: Device) -> bool:
    """Whether the device makes an array of such axes: one that is large, and of a dtype
    that it has; else the host makes it, or says what is wrong."""
    if not device.is_named or any([type(n) is not int or n < 0 for n in lengths]):
        return False
    try:
        wanted = np.dtype(dtype)
    except TypeError:
        return False
    is_large = math.prod(lengths) * wanted.itemsize > LARGE
    return is_large and wanted in backend_for(str(device)).supported


def counts(start: int, step: int, number: int, device: Device) -> DeviceArray:
    """``start + step * k`` for so many k, as int64 on a named device."""
    if not pays((number,), INT64, device):
        return placed(np.arange(number) * step + start, device)
    return _counted(start, step, number, device)


def _counted(start: int, step: int, number: int, device: Device) -> DeviceArray:
    """The same, to be read alone."""
    if number <= SIDE:
        return _row(start, step, number, INT64, device)
    coarse = _row(start, SIDE * step, -(-number // SIDE), INT64, device)
    fine = _row(0, step, SIDE, INT64, device)
    made: DeviceArray = calls.elementwise(DeviceArray, ADD, (coarse[:, None], fine))
    found: DeviceArray = made.reshape(-1)[:number]
    return found


def _row(
    start: int, step: int, number: int, dtype: np.dtype[Any], device: Device
) -> DeviceArray:
    """``start + step * k`` for so many k, which the host brings; to be read alone."""
    made: DeviceArray = standing(
        (_row, start, step, number, dtype, device.label),
        lambda: placed((np.arange(number) * step + start).astype(dtype), device),
    )
    return made


def axis_of(span: Any) -> tuple[int, int, int] | None:
    """How many numbers a slice of `numpy.mgrid` stands for, the first one and the step;
    None unless all of them are small integers."""
    if type(span) is not slice:
        return None
    start = 0 if span.start is None else span.start
    step = 1 if span.step is None else span.step
    numbers = (start, span.stop, step)
    if any([type(x) is not int or abs(x) >= MOST for x in numbers]) or step <= 0:
        return None
    return max(0, -(-(span.stop - start) // step)), start, step


def grid(
    axes: Sequence[tuple[int, int, int]], dtype: np.dtype[Any], device: Device
) -> DeviceArray:
    """For each axis, how many places there are, the first number and the step: the
    number of each place along each axis."""
    shape = tuple([number for number, _, _ in axes])
    made: DeviceArray = new(DeviceArray, (len(axes), *shape), dtype, device)
    for axis, (number, start, step) in enumerate(axes):
        behind = (None,) * (len(axes) - axis - 1)
        made[axis] = _counted(start, step, number, device)[(slice(None), *behind)]
    return made


def on_diagonal(
    rows: int, columns: int, shift: int, dtype: np.dtype[Any], device: Device
) -> DeviceArray:
    """Ones where a matrix on a named device has its diagonal, zeros elsewhere."""
    mask = _compared(EQUAL, rows, columns, shift, device)
    return calls.cast(DeviceArray, mask, dtype)


def at_or_below(rows: int, columns: int, shift: int, device: Device) -> DeviceArray:
    """Bools that are true at and below a diagonal of a matrix on a named device."""
    return _compared(GREATER_EQUAL, rows, columns, shift, device)


def _compared(
    op: Op, rows: int, columns: int, shift: int, device: Device
) -> DeviceArray:
    """The number of each row compared with that of each column less a shift."""
    shift = max(-rows - 1, min(shift, columns + 1))
    low = min(0, -shift)
    number = max(rows, columns - shift) - low
    numbers = _row(low, 1, number, INT32, device)
    down = numbers[-low : rows - low]
    across = numbers[-shift - low : columns - shift - low]
    found: DeviceArray = calls.elementwise(DeviceArray, op, (down[:, None], across))
    return found
