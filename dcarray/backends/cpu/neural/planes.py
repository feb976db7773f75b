"""Rows that treat every plane (one channel of one image) for itself: blocks of planes,
on several threads."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, TypeAlias

import numpy as np

from ....ops.kernels.planes import plane_kernel
from ....ops.spec import Op
from ..kernels import run_pieces
from ..threads import available_threads, run_slices
from ..wholes.radix import rented
from .norms import pieces_of

__all__ = ["by_planes", "by_rows"]

HostArray: TypeAlias = np.ndarray[Any, Any]
Sizes: TypeAlias = tuple[int, ...]

BLOCK_BYTES = 1 << 18
"""Bytes of a block's operands: a quarter of a usual second-level cache."""


def by_planes(op: Op) -> Callable[..., Any]:
    """The function of a row, which calls its oracle for one block after the other."""

    def call(*operands: HostArray, channels_last: bool, **options: Any) -> Any:
        blocks = _cut(operands, channels_last)

        def found(number: int) -> tuple[HostArray, ...]:
            parts = [x[blocks[number]] for x in operands]
            results = op.numpy(*parts, channels_last=channels_last, **options)
            return results if isinstance(results, tuple) else (results,)

        if len(blocks) == 1:
            results = found(0)
            return results if op.outputs > 1 else results[0]
        first = found(0)
        whole = tuple([_empty(r, operands[0], channels_last) for r in first])

        def task(number: int) -> None:
            results = found(number + 1) if number >= 0 else first
            for target, result in zip(whole, results):
                target[blocks[number + 1]] = result

        task(-1)
        run_slices(task, len(blocks) - 1, available_threads())
        return whole if op.outputs > 1 else whole[0]

    return call


def by_rows(op: Op, largest: bool) -> Callable[..., Any]:
    """`by_planes` for windows along one or two axes, by a kernel where it can be."""
    others = by_planes(op)

    def call(x: HostArray, *, channels_last: bool, **window: Any) -> Any:
        found = None
        if not channels_last and x.dtype.char in "fd" and x.ndim < 5 and x.size:
            found = _pooled(np.ascontiguousarray(x), largest, **window)
        if found is None:
            return others(x, channels_last=channels_last, **window)
        return found

    return call


def _pooled(
    x: HostArray,
    largest: bool,
    *,
    kernel: Sizes,
    stride: Sizes,
    low: Sizes,
    dilation: Sizes,
    size: Sizes,
) -> HostArray | None:
    windows = list(zip(kernel, dilation, stride, low, strict=True))
    sources = x.shape[2:]
    if len(windows) == 1:
        windows, sources, size = [(1, 1, 1, 0), *windows], (1, *sources), (1, *size)
    taps, gap, step, left = windows[1]
    if left < 0:
        return None  # the first columns are in no window, and have no place in a row
    padded = max(left + sources[1], (size[1] - 1) * step + (taps - 1) * gap + 1)
    planes = x.shape[0] * x.shape[1]
    pieces, each = pieces_of(planes, x.size)
    joined = np.empty(pieces * padded, x.dtype)
    found = rented(planes * math.prod(size), x.dtype)
    numbers = (planes, each, *sources, *size, *windows[0], *windows[1], padded)
    if not run_pieces(
        plane_kernel(x.dtype, largest), pieces, (x, found, joined, *numbers)
    ):
        return None
    return found.reshape(*x.shape[:2], *size[-(x.ndim - 2) :])


def _cut(operands: tuple[HostArray, ...], channels_last: bool) -> list[Any]:
    """Keys of blocks along the images, or along the channels of each of them."""
    batch = operands[0].shape[0]
    channels = operands[0].shape[-1 if channels_last else 1]
    nbytes = sum([x.nbytes for x in operands])
    if nbytes <= 2 * BLOCK_BYTES:
        return [...]
    images = max(1, batch * BLOCK_BYTES // nbytes)
    some = max(1, min(channels, batch * channels * BLOCK_BYTES // nbytes))
    if images > 1 or some == channels:
        return [slice(k, k + images) for k in range(0, batch, images)]
    if channels_last:
        some = min(channels, max(some, 16))  # a whole line of the cache
    edges = [slice(k, k + some) for k in range(0, channels, some)]
    return [
        (slice(k, k + 1), ..., edge) if channels_last else (slice(k, k + 1), edge)
        for k in range(batch)
        for edge in edges
    ]


def _empty(part: HostArray, operand: HostArray, channels_last: bool) -> HostArray:
    """Memory for all planes, given the result for some."""
    if channels_last:
        shape = (operand.shape[0], *part.shape[1:-1], operand.shape[-1])
    else:
        shape = (*operand.shape[:2], *part.shape[2:])
    return np.empty(shape, part.dtype)
