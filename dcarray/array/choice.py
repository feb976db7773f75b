"""Whether an operation is one NumPy call here and now, or is written down."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import lru_cache
from typing import Any

import numpy as np

from ..backends.registry import AUTO, Device
from ..config import current
from ..dtypes import DType, is_recordable
from ..layout import dense_strides
from ..lazy import errstate
from ..ops.elementwise import ABSOLUTE, MULTIPLY, POWER, SQUARE
from ..ops.spec import Op
from .operands import spreads
from .state import NUMBERS, ArrayState, is_foreign, is_writeable

__all__ = ["CHOOSY", "is_choosy", "needs_numpy", "runs_at_once"]

CHOOSY = frozenset({ABSOLUTE, MULTIPLY, SQUARE})
"""NumPy's loops for complex numbers with other bits along negative strides, or for
one element, on every processor."""


def needs_numpy(
    op: Op,
    operands: Sequence[Any],
    outs: Sequence[Any],
    where: Any,
    keywords: dict[str, Any],
    device: Device,
    mask: int,
) -> bool:
    """Whether NumPy should do it here and now."""
    arrays = [x for x in operands if isinstance(x, ArrayState)]
    for x in operands:
        if not isinstance(x, NUMBERS) and not is_recordable(x.dtype):
            return True
    if not (device is AUTO or device.kind in ("auto", "cpu")):
        return False
    # Foreign memory in `out` can be written at any time, and so can read-only views
    # not be written at all: NumPy says so in its own words.
    for target in outs:
        if target is not None and (
            not isinstance(target, ArrayState)
            or target._is_shared()
            or not is_writeable(target)
            or not is_recordable(target.dtype)
        ):
            return True
    if where is not True or not arrays:
        return True
    if keywords.keys() - {"casting", "dtype"} or mask == errstate.IMMEDIATE:
        return True
    if op is POWER and _integers(operands):
        return True  # the loop may raise: an exponent below zero
    if _has_choices(op, operands) or any(
        [is_choosy(op, x.dtype, x.shape, x.strides) for x in outs if x is not None]
    ):
        return True
    below = current().eager_below
    if all(x._host is not None and not x._host.shape for x in arrays):
        return True
    small = True
    for x in arrays:
        if x._host is None or x.size >= below:
            small = False
        if not _is_aligned(x):
            return True
    if small and below and not spreads(arrays, below):
        return True
    return _pointless(operands, outs)


def runs_at_once(op: Op, operands: Sequence[Any], device: Device) -> bool:
    """Whether NumPy should do a plain ``op(*operands)`` here and now."""
    for x in operands:
        if not isinstance(x, (ArrayState, *NUMBERS, np.ndarray, np.generic)):
            return device is AUTO or device.kind in ("auto", "cpu")
    return needs_numpy(op, operands, (), True, {}, device, errstate.capture())


def _integers(operands: Sequence[Any]) -> bool:
    return all(
        isinstance(x, int) or (not isinstance(x, NUMBERS) and x.dtype.kind in "bui")
        for x in operands
    )


def _has_choices(op: Op, operands: Sequence[Any]) -> bool:
    """Whether NumPy's loop has other bits for strides that only its iterator knows.

    Whether that hands out an operand's own strides or a buffer depends on all lengths.
    """
    arrays = [x for x in operands if isinstance(x, (ArrayState, np.ndarray))]
    if op in CHOOSY:
        return any([is_choosy(op, x.dtype, x.shape, x.strides) for x in arrays]) and (
            all([x.size == 1 for x in arrays])
            or any([min(x.strides, default=0) < 0 for x in arrays])
        )
    if op is POWER and len(arrays) == 2:
        base, exponent = arrays
        if exponent.size > 1 and (
            exponent.shape != base.shape or 0 in exponent.strides
        ):
            return True  # one exponent for many elements is another loop
    return any([is_choosy(op, x.dtype, x.shape, x.strides) for x in arrays])


def is_choosy(
    op: Op, dtype: DType, shape: Sequence[int], strides: Sequence[int]
) -> bool:
    """Whether NumPy has several loops for an operand, with different bits."""
    backwards = min(strides, default=0) < 0
    if dtype.kind == "c" and op in CHOOSY:
        return backwards or math.prod(shape) == 1
    if dtype.kind not in "fc" or op in CHOOSY:
        return False
    if backwards and _differs(op, dtype, -1):
        return True
    return _differs(op, dtype, 2) and tuple(strides) != dense_strides(
        tuple(shape), dtype.itemsize
    )


@lru_cache(None)
def _differs(op: Op, dtype: DType, step: int) -> bool:
    """Whether NumPy's loop gives other bits for operands with gaps or backwards.

    Where NumPy has a vector library (AVX-512), its loops take it for strides from 0 on,
    for float16 for contiguous elements only, and the C library's functions else.  On
    other processors nothing differs.
    """
    if op.outputs > 1 or not isinstance(op.numpy, np.ufunc):
        return False
    if dtype.itemsize == 2:
        x = np.arange(1 << 16, dtype=np.uint16).view(dtype)
    else:
        x = np.linspace(-3, 3, 1999).astype(dtype)
    with np.errstate(all="ignore"):
        dense = [x * 0.9**k + k / 2 for k in range(op.inputs)]
        spread = [np.repeat(operand, abs(step)) for operand in dense]
        if step < 0:
            spread = [operand[::-1].copy() for operand in spread]
        try:
            usual = op.numpy(*dense)
            found = op.numpy(*[operand[::step] for operand in spread])
        except TypeError:  # no loop for this dtype
            return False
    return bool(usual.tobytes() != found.tobytes())


def _is_aligned(x: ArrayState) -> bool:
    host = x._host
    return host is None or host.flags.aligned


def _pointless(operands: Sequence[Any], outs: Sequence[Any]) -> bool:
    """Whether recording gains nothing: memory of outsiders is read at once, and alone,
    with nothing pending to fuse it with."""
    foreign = pending = False
    for x in operands:
        if is_foreign(x):
            foreign = foreign or x.ndim > 0  # what has no axes is a number by now
        elif isinstance(x, ArrayState):
            if x._is_shared():
                foreign = True
            elif x._is_pending():
                pending = True
    return foreign and not pending
